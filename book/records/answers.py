"""Finds the numbers that answer the predictions of readers in recorded outputs.

`book.sources.predictions` describes the cells that ask for a prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode

from book.records import outputs, store
from book.sources import predictions
from book.sources.blocks import Block, Cell
from book.sources.book import Book
from book.sources.quantities import Quantity, quantities
from book.sources.section import Section


@dataclass(frozen=True)
class Answer:
    """The number that a cell printed, and the one that it or the text predicts."""

    printed: Quantity
    arithmetic: Quantity | None


def answer(
    blocks: list[Block], cell: Cell, recorded: list[NotebookNode]
) -> Answer | None:
    """Return the answer in the recorded outputs of a cell; None if they have none.

    `blocks` are those of the cell's tab.
    """
    text = outputs.text_of(recorded, cell)
    number = predictions.number_at(cell.attributes["answer"], text)
    if number is None:
        return None
    if "arithmetic" in cell.attributes:
        predicted = predictions.number_at(cell.attributes["arithmetic"], text)
    else:
        span = predictions.number_in_text(blocks, cell)
        predicted = predictions.result(span) if span else None
    return Answer(number, predicted)


def wrong_answers(book: Book) -> Iterator[str]:
    """Yield a line for each prediction whose numbers a fresh record does not have."""
    for section in book.sections:
        if any(cell.predicts for cell in section.cells):
            for tab in book.tabs:
                for machine in dict.fromkeys(["cpu", *store.machines(book)]):
                    yield from _wrong_answers(book, section, tab, machine)


def _wrong_answers(
    book: Book, section: Section, tab: str, machine: str
) -> Iterator[str]:
    shown = store.shown(book, section, tab, machine)
    if shown is None or shown.state != "fresh":
        return
    cells = [block for block in shown.blocks if isinstance(block, Cell)]
    for cell, recorded in zip(cells, shown.outputs, strict=True):
        if cell.predicts:
            text = outputs.text_of(recorded, cell)
            for problem in _problems(shown.blocks, cell, text):
                yield f"{section.at(cell.line)}: {problem} in {tab} on {machine}"


def _problems(blocks: list[Block], cell: Cell, text: str) -> Iterator[str]:
    for name in ("answer", "arithmetic"):
        place = cell.attributes.get(name)
        if place and predictions.number_at(place, text) is None:
            yield f"correct {name}: no output has the number of '{place}'"
    span = predictions.number_in_text(blocks, cell)
    if span and not predictions.agrees(span, list(quantities(text))):
        wrong = f"'{span.text}' is neither an equation nor in the output"
        yield f"write it as one, such as $2 + 3 = 5$ MiB: {wrong}"
