"""Finds marked numbers in the text, and the published measurements that they quote."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from book.library import package
from book.text.blocks import Block, Cell, Contents, References
from book.text.inline import MarkupError, Span, spans

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


def published_measurements(book: Book) -> Rows:
    """Return the rows of the published measurements by their ids."""
    file = package.folder(book) / MEASUREMENTS
    if not file.is_file():
        return {}
    return {row["id"]: row for row in csv.DictReader(file.read_text().splitlines())}
