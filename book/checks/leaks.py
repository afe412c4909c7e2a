"""Finds answers that a reader can see before predicting them.

A page covers the output of a cell marked `.predict`, the arithmetic above it and the
text right below it. Within a screen of the cell, no other text or output may have the
number of the answer, unless the arithmetic below that text starts from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from book.checks.numbers import fresh_blocks
from book.facts import predictions
from book.facts.marked_numbers import marked
from book.facts.quantities import Quantity, quantities
from book.records import outputs
from book.text.blocks import Block, Cell, Prose
from book.text.book import Book
from book.text.section import Section

SCREEN = 1500  # characters
SAME = 0.005
WORD = re.compile(r"[A-Za-z]{4,}")
SENTENCE = re.compile(r"(?<=[.:?!])\s+|\n\n")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each answer that stands near its question, uncovered."""
    for section in book.sections:
        if any(cell.predicts for cell in section.cells):
            for tab in book.tabs:
                yield from _problems(book, section, tab)


def _problems(book: Book, section: Section, tab: str) -> Iterator[str]:
    blocks = fresh_blocks(book, section, tab, "cpu")
    seen = list(_seen(blocks))
    for start, block, _ in seen:
        if not isinstance(block, Cell) or not block.predicts:
            continue
        place = block.attributes["answer"]
        answer = predictions.number_at(place, outputs.text_of(block.outputs))
        if answer is None:
            continue
        line, numbers = _setup(blocks, block)
        tells = f"tells the answer '{answer.text}' of line {block.line} in {tab}"
        for offset, other, text in seen:
            is_near = -SCREEN - len(text) <= offset - start <= SCREEN
            is_setup = other.line < line and answer.value in numbers
            if is_near and not is_setup and _tells(text, place, answer):
                sentence = " ".join(text.split())
                yield f"{section.at(other.line)}: reword '{sentence}', which {tells}"


def _setup(blocks: list[Block], cell: Cell) -> tuple[int, list[float]]:
    """Return the line of the arithmetic of a cell, and the numbers it starts from."""
    arithmetic = predictions.number_in_text(blocks, cell)
    for block, span in marked(blocks, "arithmetic"):
        if span == arithmetic:
            return block.line, [q.value for q in quantities(span.text)][:-1]
    return 0, []


def _seen(blocks: list[Block]) -> Iterator[tuple[int, Block, str]]:
    """Yield each text that readers see before they predict, with its block.

    The number before it is the number of characters above it on the page. A cell that
    asks for a prediction is there with an empty text.
    """
    offset, is_covered = 0, False
    for block in blocks:
        if isinstance(block, Cell):
            is_covered = block.predicts
            offset += 0 if is_covered else len(block.code)
            texts = [""] if is_covered else outputs.text_of(block.outputs).splitlines()
        else:
            is_covered = is_covered and isinstance(block, Prose)
            hides = is_covered and not predictions.introduces(block)
            hides = hides or predictions.has_arithmetic(block)
            texts = [] if hides else SENTENCE.split(block.text)
        for text in texts:
            yield offset, block, text
            offset += len(text)


def _tells(text: str, place: str, answer: Quantity) -> bool:
    """Return True if a sentence has the answer, or a likely number with its words."""
    asked = {word.lower() for word in WORD.findall(place)}
    related = not asked.isdisjoint(word.lower() for word in WORD.findall(text))
    return any(
        abs(number.value - answer.value) <= SAME * abs(answer.value)
        and number.unit == answer.unit != ""
        and (related or len(re.sub("[^1-9]", "", number.text)) > 1)
        for number in quantities(text)
    )
