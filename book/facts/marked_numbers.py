"""Finds marked numbers in the text, and the published measurements that they quote."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from book.facts.quantities import Quantity, quantities
from book.library import package
from book.text.blocks import Block, Cell, Contents, References
from book.text.inline import CITATIONS, MarkupError, Span, roles, spans

if TYPE_CHECKING:
    from book.text.book import Book

Rows = Mapping[str, dict[str, str]]

MEASUREMENTS = "cited.csv"


def marked(blocks: Iterable[Block], mark: str) -> Iterator[tuple[Block, Span]]:
    """Yield each text with this mark, and its block."""
    for block in blocks:
        if isinstance(block, Cell | Contents | References):
            continue
        with contextlib.suppress(MarkupError):  # book.checks.markup reports it
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
    cited = (role for role in roles(block.text) if role.name in CITATIONS)
    return {key for role in cited for key in role.keys}


def published_measurements(book: Book) -> Rows:
    """Return the rows of the published measurements by their ids."""
    file = package.folder(book) / MEASUREMENTS
    if not file.is_file():
        return {}
    return {row["id"]: row for row in csv.DictReader(file.read_text().splitlines())}
