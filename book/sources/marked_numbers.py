"""Finds marked numbers in the text, and checks those of published measurements.

A number marked `.cited` is that of a row of the package's `cited.csv`; one that is
marked `.measured` is compared with outputs by `book.records.quotations`.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from book.sources.blocks import Block, Cell, Contents, Directive
from book.sources.inline import CITATIONS, MarkupError, Span, roles, spans
from book.sources.quantities import Quantity, distance, quantities

if TYPE_CHECKING:
    from book.sources.book import Book

Rows = Mapping[str, dict[str, str]]

MEASUREMENTS = "cited.csv"
# The name of a GPU in the description of hardware, such as 4090 in "2 x RTX 4090".
GPU = re.compile(r"\b\w*\d{3}\w*\b")


def marked(blocks: Iterable[Block], mark: str) -> Iterator[tuple[Block, Span]]:
    """Yield each text with this mark, and its block."""
    for block in blocks:
        if isinstance(block, Cell | Contents | Directive):
            continue
        with contextlib.suppress(MarkupError):  # book.sources.checks reports it
            for span in spans(block.text):
                if mark in span.classes:
                    yield block, span


def numbers(span: Span) -> list[Quantity]:
    """Return the numbers of a marked text; they share the unit that follows them."""
    if "value" in span.attributes:
        last_word = span.text.split()[-1]
        return list(quantities(f"{span.attributes['value']} {last_word}"))[:1]
    found = list(quantities(span.text))
    unit = next((q.unit for q in reversed(found) if q.unit), "")
    return [Quantity(q.text, q.value, q.unit or unit, q.start, q.end) for q in found]


def tolerance(span: Span) -> float:
    """Return the tolerance that a mark names, as a share; 0 if it names none."""
    return float(span.attributes.get("within", "0%").removesuffix("%")) / 100


def cited_works(block: Block) -> set[str]:
    """Return the keys of the works that a block cites."""
    cited = [role.value for role in roles(block.text) if role.name in CITATIONS]
    return {key.strip() for value in cited for key in value.split(",")}


def wrong_citations(book: Book) -> Iterator[str]:
    """Yield a line for each number that differs from its published measurement."""
    rows = published_measurements(book)
    for section in book.sections:
        for cell in section.cells:
            name = cell.attributes.get("cited", "")
            if name and name not in rows:
                yield f"{section.at(cell.line)}: {_unknown(name)}"
        for block, span in marked(section.blocks, "cited"):
            if problem := _problem_with_citation(block, span, rows):
                where = section.at(block.line_at(span.start))
                yield f"{where}: {problem}"


def published_measurements(book: Book) -> Rows:
    """Return the rows of the published measurements by their ids."""
    file = (book.root / book.config.library["version_file"]).parent / MEASUREMENTS
    if not file.is_file():
        return {}
    return {row["id"]: row for row in csv.DictReader(file.read_text().splitlines())}


def _problem_with_citation(block: Block, span: Span, rows: Rows) -> str:
    """Return why a number is not a right citation; empty if it is one."""
    name = span.attributes.get("id", "")
    if name not in rows:
        return _unknown(name)
    row = rows[name]
    value = f"{row['value']} {row['unit']}"
    measured = next(quantities(value))
    if not all(_is_rounded(number, measured, span) for number in numbers(span)):
        return (
            f"'{span.text}' is not the value of '{name}', {value}; correct the number"
        )
    names = GPU.findall(row["hardware"]) or [row["hardware"]]
    if row["source"] in cited_works(block) or any(n in block.text for n in names):
        return ""
    name_it = f"name the hardware of '{name}', {row['hardware']}, in this paragraph"
    return f"{name_it}, or cite {row['source']}"


def _unknown(name: str) -> str:
    return f"no measurement '{name}' in {MEASUREMENTS}; add it or correct the id"


def _is_rounded(number: Quantity, measured: Quantity, span: Span) -> bool:
    """Return True if a number is a measured one, rounded to the digits it has."""
    if tolerance(span):
        return distance(number, measured) <= tolerance(span)
    decimals = len(number.text.split()[0].partition(".")[2])
    half_a_digit = 0.5001 * 10**-decimals / abs(number.value or 1)
    # The distance is relative to its second argument.
    return distance(measured, number) <= half_a_digit
