"""Checks the tables of data in the library: cards, measurements of others, and prices.

tables.toml says which properties a card has, and between which limits and in which
relations they are plausible.
"""

import csv
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from book.base.choices import choices
from book.checks.markup import bibliography_keys
from book.checks.quotations import evaluate
from book.facts.marked_numbers import MEASUREMENTS
from book.library import package
from book.library.package import CARDS, PRICES
from book.runner.errors import BookError
from book.text.book import Book
from book.text.quantities import UNITS
from book.text.tabs import TAB_NAMES

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PROPERTIES: dict[str, tuple[str, float, float]] = DATA["properties"]
COLUMNS = {
    CARDS: "card property value unit source",
    MEASUREMENTS: "id topic what framework value unit hardware source",
    PRICES: "card provider rented value unit date source",
}
ASSUMED = "assumed"  # in the place of a source
WITHIN = 0.1
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Row = dict[str, str]


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each problem of the tables that the book has."""
    works = {ASSUMED, *(bibliography_keys(book) or ())}
    for name, check in zip(COLUMNS, (_cards, _measurements, _prices), strict=True):
        file = package.folder(book) / name
        if file.is_file():
            rows = _rows(file, str(file.relative_to(book.root)))
            yield from check(rows)
            for where, row in rows.items():
                value, source = row["value"], row["source"]
                if not 0 < _value(row) < math.inf:
                    yield f"{where}: '{value}' is not a positive number; correct it"
                if source not in works:
                    yield f"{where}: '{source}' is not in the bibliography; add it"


def _rows(file: Path, place: str) -> dict[str, Row]:
    """Return the rows of a table by their places.

    Raises a `BookError` for a table with other columns, and for an incomplete row.
    """
    columns = COLUMNS[file.name].split()
    rows = csv.DictReader(file.read_text("utf-8").splitlines())
    if rows.fieldnames != columns:
        raise BookError(f"its columns are not {', '.join(columns)}", f"{place}:1")
    found = {}
    for row in rows:
        where = f"{place}:{rows.line_num}"
        if [name for name, cell in row.items() if cell or name == "unit"] != columns:
            raise BookError(f"a row needs {', '.join(columns)}", where)
        found[where] = row
    return found


def _value(row: Row) -> float:
    """Return the value of a row; not a number if it has none."""
    try:
        return float(row["value"])
    except ValueError:
        return math.nan


# Cards


def _cards(rows: dict[str, Row]) -> Iterator[str]:
    cards: dict[str, dict[str, float]] = {}
    for where, row in rows.items():
        name, card = row["property"], cards.setdefault(row["card"], {})
        if name in card:
            yield f"{where}: {row['card']} has '{name}' already; remove one"
        card[name] = _value(row)
        if name not in PROPERTIES:
            known = choices(name, PROPERTIES, "book/checks/tables.toml lists all")
            yield f"{where}: unknown property '{name}'; {known}"
            continue
        unit, least, most = PROPERTIES[name]
        if row["unit"] != unit or not least <= card[name] <= most:
            limits = f"{least:.15g} to {most:.15g} {unit or '-'}"
            wrong = f"'{row['value']} {row['unit']}' is not a plausible {name}"
            yield f"{where}: {wrong}, {limits}; correct it, or book/checks/tables.toml"
    for bearer, values in cards.items():
        yield from _problems_of_card(bearer, values)


def _problems_of_card(card: str, values: dict[str, float]) -> Iterator[str]:
    """Yield missing properties of a card, and those that contradict others."""
    needed = PROPERTIES.keys() - DATA["complete"]["optional"] - values.keys()
    for name in sorted(needed) if card in DATA["complete"]["cards"] else ():
        yield f"d2l/{CARDS}: {card} has no '{name}'; add it"
    for name, formula in DATA["relations"].items():
        expected = evaluate(formula, values)
        if name in values and expected is not None:
            if not math.isclose(values[name], expected, rel_tol=WITHIN):
                says = f"'{name}' is {values[name]:g}, but {formula} is {expected:g}"
                yield f"d2l/{CARDS}: {card}: {says}; correct one"


# Measurements and offers of others


def _measurements(rows: dict[str, Row]) -> Iterator[str]:
    units = {*UNITS, *DATA["measurements"]["units"]}
    frameworks = [*TAB_NAMES.values(), "any"]
    counts = Counter(row["id"] for row in rows.values())
    for where, row in rows.items():
        name = row["id"]
        if counts[name] > 1:
            yield f"{where}: the id '{name}' is not unique; rename one"
        if not NAME.fullmatch(name) or not name.startswith(f"{row['topic']}-"):
            form = f"write one such as {row['topic']}-pytorch-finished"
            yield f"{where}: '{name}' is not a valid id; {form}"
        if row["unit"] not in units:
            use = "write one that texts can use, or list it in book/checks/tables.toml"
            yield f"{where}: unknown unit '{row['unit']}'; {use}"
        if row["framework"] not in frameworks:
            known = f"choose from {', '.join(frameworks)}"
            yield f"{where}: unknown framework '{row['framework']}'; {known}"


def _prices(rows: dict[str, Row]) -> Iterator[str]:
    """Say if a price is over a year old, which is no problem to yield."""
    oldest = min((row["date"] for row in rows.values()), default="9")
    if oldest < str(date.today() - timedelta(days=365)):
        print(f"d2l/{PRICES}: a price of {oldest} is over a year old; look it up")
    yield from ()
