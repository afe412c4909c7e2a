"""Checks what waits for a prediction: the output, and the one paragraph that explains it.

Between the headings above and below the cell, no text in sight may have the number of
the answer, in any unit. Below the cover, none may have a number that would pass for it.
A paragraph that says "Predict ..." needs a cell marked `.predict` below it, before the
next such paragraph, unless it sends readers to a figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from book.checks.numbers import agree, fresh_blocks
from book.facts.predictions import (
    has_arithmetic,
    introduces,
    is_open,
    is_paragraph,
    number_at,
)
from book.facts.quantities import Quantity, quantities
from book.records.outputs import read, text_of
from book.text.blocks import Block, Cell, Figure, Heading
from book.text.book import Book
from book.text.section import Section

SAME, NEAR = 0.005, 0.1
SENTENCE = re.compile(r"(?<=[.:?!])\s+|\n\n")
LABEL = re.compile(r">([^<>]+)<")  # in an SVG
COUNTED = re.compile(r"\? (\w+)")
EXACT = re.compile(r"[0.]*[1-9]\.?(?:\d\.?[1-9]|[1-9]\.?\d)")  # three digits, not 100
INVITES = re.compile(r"(?:^|[.:?!*\]]\s+|[\[(*])Predict\b(?!`)")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each answer in sight, and for each mistake in what waits."""
    for section in book.sections:
        seen = {tab: [b for b in section.blocks if b.is_for(tab)] for tab in book.tabs}
        below = {line for blocks in seen.values() for line in _below(blocks)}
        found = [_mistakes(section, seen[tab], below) for tab in book.tabs]
        yield from dict.fromkeys(chain.from_iterable(found))
        for tab in book.tabs if any(cell.predicts for cell in section.cells) else ():
            for passage in _passages(fresh_blocks(book, section, tab, "cpu")):
                yield from _answers(section, tab, passage, below)


def _passages(blocks: list[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of a tab between each two headings."""
    ends = [i for i, block in enumerate(blocks) if isinstance(block, Heading)]
    for start, end in pairwise([0, *ends, len(blocks)]):
        yield blocks[start:end]


def _below(blocks: list[Block]) -> Iterator[int]:
    """Yield the line of each block of a tab that is right below an output to predict."""
    seen = [b for b in blocks if not (isinstance(b, Cell) and b.only_in_notebooks)]
    for cell, block in pairwise(seen):
        if isinstance(cell, Cell) and cell.predicts:
            yield block.line


def _mistakes(section: Section, blocks: list[Block], below: set[int]) -> Iterator[str]:
    """Yield the mistakes in the paragraphs of a tab, given the lines below outputs."""
    is_lesson = "solutions" not in section.name
    for passage in _passages(blocks):
        waiting, asking = 0, ""
        for block in passage:
            where = section.at(block.line)
            if isinstance(block, Cell) and block.predicts:
                waiting, asking = 0, ""
            elif not is_open(block) and block.line in below:
                waiting += 1
                if waiting > 1:
                    yield f"{where}: a second paragraph waits; mark one of them .open"
                if introduces(block):
                    yield f"{where}: what this introduces is in sight; end it with '.'"
            elif is_paragraph(block) and is_open(block) and block.line not in below:
                yield f"{where}: no output covers this text; remove .open"
            if is_paragraph(block) and is_lesson and INVITES.search(block.text):
                yield from [asking] if asking else []
                asking = f"{where}: no cell marked .predict answers 'Predict'; reword it"
                asking = "" if ":numref:`fig_" in block.text else asking
        yield from [asking] if asking else []


def _answers(
    section: Section, tab: str, passage: list[Block], below: set[int]
) -> Iterator[str]:
    """Yield the answers in sight between two headings."""
    for cell in [b for b in passage if isinstance(b, Cell) and b.predicts]:
        answer = number_at(cell.attributes["answer"], text_of(cell.outputs))
        if answer is None:
            continue  # book.checks.numbers reports it
        for block in passage:
            if _is_hidden(block, below):
                continue
            if cell.varies and isinstance(block, Cell) and block.varies:
                continue  # two measurements, which agree by chance
            is_text = not isinstance(block, Cell)
            within = NEAR if is_text and block.line > cell.line else SAME
            for text in _texts(section, block):
                if _tells(text, cell, answer, within):
                    told = f"'{' '.join(text.split())[:90]}' tells '{answer.text}'"
                    which = f"the answer of line {cell.line} in {tab}"
                    yield f"{section.at(block.line)}: {told}, {which}; reword or move it"


def _is_hidden(block: Block, below: set[int]) -> bool:
    """Return True for a block that a page does not show, or not before the answer."""
    if isinstance(block, Cell):
        return block.only_in_notebooks or block.predicts
    return has_arithmetic(block) or (block.line in below and not is_open(block))


def _texts(section: Section, block: Block) -> Iterator[str]:
    """Yield the sentences, the lines and the labels that readers see in a block."""
    match block:
        case Cell(outputs=outputs):
            yield from text_of(outputs).splitlines()
            for shown in read(outputs):  # a picture, or an interactive figure
                yield getattr(shown, "alt", getattr(shown, "settings", ""))
        case Figure(caption=caption, alt=alt):
            yield from (caption, alt)
            file = section.path.parent / block.path
            yield from LABEL.findall(file.read_text()) if file.suffix == ".svg" else ()
        case _:
            yield from SENTENCE.split(block.text)


def _tells(text: str, cell: Cell, answer: Quantity, within: float) -> bool:
    """Return True if a text has a number that is the answer, in any unit.

    A number with fewer than three digits, such as 16, needs the unit of the answer or
    the noun after it, as in 16 sectors. One without a unit has to be exact,
    and tells no answer that varies.
    """
    noun = COUNTED.search(cell.attributes["answer"])
    return any(
        agree(number, answer, within if number.kind == answer.kind != "" else SAME)
        and (
            (EXACT.match(number.text) and not cell.varies)
            or number.kind == answer.kind != ""
            or (noun and number.text.isdigit() and f"{number.text} {noun[1]}" in text)
        )
        for number in quantities(text)
    )
