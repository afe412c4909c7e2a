"""Finds answers that a reader can see before predicting them.

A page covers the output of a cell marked `.predict`, the arithmetic above it and the
text right below it. Within a screen of the cell, no other text or output may have the
number of the answer, unless the arithmetic starts from that number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from book.checks.numbers import fresh_blocks
from book.facts import predictions
from book.facts.quantities import Quantity, quantities
from book.records import outputs
from book.text.blocks import Block, Cell, Prose
from book.text.book import Book
from book.text.inline import Span
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
    seen = dict(_seen(blocks))
    for i, cell in enumerate(blocks):
        if not isinstance(cell, Cell) or not cell.predicts:
            continue
        place = cell.attributes["answer"]
        answer = predictions.number_at(place, outputs.text_of(cell.outputs))
        if answer is None or _is_of_setup(
            answer, predictions.number_in_text(blocks, cell)
        ):
            continue
        for others, step in ((blocks[:i][::-1], -1), (blocks[i + 1 :], 1)):
            for line, text in _on_screen(others, seen, step):
                if _tells(text, place, answer):
                    yield (
                        f"{section.at(line)}: reword '{' '.join(text.split())}', which "
                        f"tells the answer '{answer.text}' of line {cell.line} in {tab}"
                    )


def _is_of_setup(answer: Quantity, arithmetic: Span | None) -> bool:
    """Return True if the arithmetic of an answer starts from the same number."""
    numbers = list(quantities(arithmetic.text))[:-1] if arithmetic else []
    return answer.value in [number.value for number in numbers]


def _seen(blocks: list[Block]) -> Iterator[tuple[int, list[str]]]:
    """Yield what readers see of each block before they predict, under its place."""
    is_covered = False
    for block in blocks:
        if isinstance(block, Cell):
            is_covered = block.predicts
            text = "" if is_covered else outputs.text_of(block.outputs)
            yield id(block), text.splitlines()
            continue
        is_covered = is_covered and isinstance(block, Prose)
        hides = is_covered and not predictions.introduces(block)
        if not hides and not predictions.has_arithmetic(block):
            yield id(block), SENTENCE.split(block.text)


def _on_screen(
    blocks: list[Block], seen: dict[int, list[str]], step: int
) -> Iterator[tuple[int, str]]:
    """Yield the texts within a screen, each with the line of its block.

    `blocks` begin with the nearest one; `step` is -1 if they are above.
    """
    room = SCREEN
    for block in blocks:
        room -= len(block.code) if isinstance(block, Cell) else 0
        for text in seen.get(id(block), [])[::step]:
            if room < 0:
                return
            yield block.line, text
            room -= len(text)


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
