"""Checks the tables of data that the library holds: cards, and measurements of others.

config.ini says under `[cards]` which properties a card has: the unit, the least and the
most plausible value. Under `[relations]`, a property is a formula of others, which a
card keeps within ten percent. Cards that the setting `complete` does not name may have
only those properties that figures show.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from book.base.errors import BookError
from book.checks.markup import bibliography_keys
from book.checks.numbers import evaluate
from book.facts.quantities import UNITS
from book.library import package
from book.text.book import Book
from book.text.tabs import TAB_NAMES

CARDS, MEASUREMENTS = "cards.csv", "cited.csv"
COLUMNS = {
    CARDS: ["card", "property", "value", "unit", "source"],
    MEASUREMENTS: [
        *("id", "topic", "what", "framework", "value", "unit", "hardware", "source"),
    ],
}
OPTIONAL = "optional"
COMPLETE = "complete"  # the setting that names cards with all properties
ASSUMED = "assumed"  # in the place of a source
WITHIN = 0.1
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Row = dict[str, str]
PlacedRows = list[tuple[str, Row]]  # each with its place


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each problem of the tables that the book has."""
    works = bibliography_keys(book) or set()
    for name, check in ((CARDS, _cards), (MEASUREMENTS, _measurements)):
        file = package.folder(book) / name
        if file.is_file():
            rows = _rows(file, name, book)
            yield from check(rows, book)
            for where, row in rows:
                if row["source"] not in works | {ASSUMED}:
                    message = f"'{row['source']}' is not in the bibliography; add it"
                    yield f"{where}: {message}"


def _rows(file: Path, name: str, book: Book) -> PlacedRows:
    """Return the rows of a table; raise a `BookError` if it has other columns."""
    place = file.relative_to(book.root)
    with file.open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines)
    columns = COLUMNS[name]
    if head != columns:
        raise BookError(f"its columns are not {', '.join(columns)}", f"{place}:1")
    found = []
    for number, row in enumerate(rows, start=2):
        where = f"{place}:{number}"
        cells = dict(zip(columns, row, strict=False))
        empty = [c for c in columns if not cells.get(c, "").strip() and c != "unit"]
        if len(row) != len(columns) or empty:
            raise BookError(f"a row needs {', '.join(columns)}", where)
        found.append((where, cells))
    return found


def _value(row: Row) -> float:
    """Return the value of a row; not a number if it has none."""
    try:
        return float(row["value"])
    except ValueError:
        return math.nan


# Cards


def _cards(rows: PlacedRows, book: Book) -> Iterator[str]:
    settings = _settings(book, "cards")
    complete = [name.strip() for name in settings.pop(COMPLETE, "").split(",")]
    cards: dict[str, dict[str, float]] = {}
    for where, row in rows:
        name, card = row["property"], cards.setdefault(row["card"], {})
        if name in card:
            yield f"{where}: {row['card']} has '{name}' already; remove one"
        card[name] = _value(row)
        if name not in settings:
            known = ", ".join(settings)
            yield f"{where}: unknown property '{name}'; choose from {known}"
            continue
        unit, least, most = settings[name].split()[:3]
        if row["unit"] != unit.replace("-", "") or not (
            float(least) <= _value(row) <= float(most)
        ):
            given = f"{row['value']} {row['unit']}"
            limits = f"{least} to {most} {unit}; correct it, or config.ini"
            yield f"{where}: '{given}' is not a plausible {name}, {limits}"
    needed = {name for name, text in settings.items() if OPTIONAL not in text.split()}
    for bearer, found in cards.items():
        place = f"d2l/{CARDS}"
        for name in sorted(needed - set(found)) if bearer in complete else ():
            yield f"{place}: {bearer} has no '{name}'; add it"
        for name, formula in _settings(book, "relations").items():
            yield from _wrong_relation(place, bearer, found, name, formula)


def _wrong_relation(
    place: str, card: str, data: dict[str, float], name: str, formula: str
) -> Iterator[str]:
    """Yield a problem if a property of a card is not what a formula of others says."""
    expected = evaluate(formula, data)
    if name in data and expected is not None:
        if not math.isclose(data[name], expected, rel_tol=WITHIN):
            says = f"'{name}' is {data[name]:g}, but {formula} is {expected:g}"
            yield f"{place}: {card}: {says}; correct one"


def _settings(book: Book, section: str) -> dict[str, str]:
    parser = book.config.build.parser
    if section not in parser:
        return {}
    return {k: v for k, v in parser.items(section) if k not in parser.defaults()}


# Measurements of others


def _measurements(rows: PlacedRows, book: Book) -> Iterator[str]:
    more = _settings(book, "measurements").get("units", "")
    units = {*UNITS, *map(str.strip, more.split(","))}
    counts = Counter(row["id"] for _, row in rows)
    for where, row in rows:
        name = row["id"]
        if counts[name] > 1:
            yield f"{where}: the id '{name}' is not unique; rename one"
        if not NAME.fullmatch(name) or not name.startswith(f"{row['topic']}-"):
            form = f"write one such as {row['topic']}-pytorch-finished"
            yield f"{where}: '{name}' is not a valid id; {form}"
        if not (math.isfinite(_value(row)) and _value(row) > 0):
            yield f"{where}: '{row['value']}' is not a positive number; correct it"
        if row["unit"] not in units:
            known = "write one that texts can use, or list it in config.ini"
            yield f"{where}: unknown unit '{row['unit']}'; {known}"
        if row["framework"] not in {*TAB_NAMES.values(), "any"}:
            known = f"choose from {', '.join([*TAB_NAMES.values(), 'any'])}"
            yield f"{where}: unknown framework '{row['framework']}'; {known}"
