"""Checks the cells that ask for a prediction, and the arithmetic that answers them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from book.base.errors import BookError
from book.facts import predictions
from book.facts.marked_numbers import marked
from book.facts.quantities import quantities
from book.records import outputs, store
from book.text.blocks import Block, Cell, Heading, Prose
from book.text.book import Book
from book.text.inline import Span
from book.text.section import Section

SETTINGS = ("answer", "arithmetic", "cited")


def mistakes(book: Book, section: Section) -> Iterator[tuple[int, str]]:
    """Yield each mistake in the predictions of a section with its line, once."""
    found = (
        _mistakes([block for block in section.blocks if block.is_for(tab)])
        for tab in book.tabs
    )
    yield from dict.fromkeys(chain.from_iterable(found))


def _mistakes(tab_blocks: list[Block]) -> Iterator[tuple[int, str]]:
    """Yield the mistakes in the predictions of a tab, each with its line."""
    waiting: list[tuple[int, str]] = []
    for block in tab_blocks:
        if isinstance(block, Heading):
            yield from waiting
            waiting = []
        if isinstance(block, Cell):
            yield from _cell_problems(block)
            waiting = [] if block.predicts else waiting
        for _, span in [] if isinstance(block, Cell) else marked([block], "arithmetic"):
            yield from _text_problems(block, span)
            alone = f"'{span.text}' is the arithmetic of no cell marked .predict below"
            remedy = "mark a cell before the next heading, or remove .arithmetic"
            waiting.append((block.line_at(span.start), f"{alone}; {remedy}"))
    yield from waiting


def _cell_problems(cell: Cell) -> Iterator[tuple[int, str]]:
    if not cell.predicts:
        for name in SETTINGS:
            if name in cell.attributes:
                yield cell.line, f"'{name}' without .predict; add it, or remove {name}"
        return
    if "answer" not in cell.attributes:
        example = 'answer="n = 8: ? ms"'
        yield cell.line, f"no part of the output to predict; write {example}"
    for name in ("answer", "arithmetic"):
        place = cell.attributes.get(name, "?")
        if place.count("?") != 1:
            yield cell.line, f"'{place}' must have one ? in the place of the number"


def _text_problems(block: Block, span: Span) -> Iterator[tuple[int, str]]:
    line = block.line_at(span.start)
    if not isinstance(block, Prose):
        yield line, f"'{span.text}' is in no paragraph; mark a number in one"
    try:
        predictions.result(span)
    except BookError as error:
        yield line, str(error)


# Comparison with outputs


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
    for cell in shown.cells:
        if cell.predicts:
            text = outputs.text_of(cell.outputs)
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
