"""Finds answers that readers can see while the output is covered.

Between the headings above and below the cell, no text in sight may have the number of
the answer, in any unit. Below the cover, none may have a number that would pass for it.
A text right below an output explains it, so the cover does not end there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from book.checks.numbers import MEASURED_WITHIN, agree, fresh_blocks
from book.facts.predictions import ends_cover, has_arithmetic, number_at
from book.facts.quantities import Quantity, quantities
from book.records.outputs import read, text_of
from book.text.blocks import Block, Cell, Figure, Heading
from book.text.book import Book
from book.text.section import Section

SAME = 0.005
SENTENCE = re.compile(r"(?<=[.:?!])\s+|\n\n")
LABEL = re.compile(r">([^<>]+)<")  # in an SVG
COUNTED = re.compile(r"\? (\w+)")
EXACT = re.compile(r"[0.]*[1-9]\.?(?:\d\.?[1-9]|[1-9]\.?\d)")  # three digits, not 100


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each answer in sight, and for each cover that ends at once."""
    for section in book.sections:
        for tab in book.tabs if any(cell.predicts for cell in section.cells) else ():
            blocks = fresh_blocks(book, section, tab, "cpu")
            ends = [i for i, block in enumerate(blocks) if isinstance(block, Heading)]
            for start, end in pairwise([0, *ends, len(blocks)]):
                yield from _problems(section, tab, blocks[start:end])


def _problems(section: Section, tab: str, passage: list[Block]) -> Iterator[str]:
    """Yield the problems between two headings."""
    cells = [block for block in passage if isinstance(block, Cell) and block.predicts]
    for cell in cells:
        which = f"of line {cell.line} in {tab}"
        below = passage[passage.index(cell) + 1 :]
        if below and ends_cover(below[0]) and cell is cells[-1]:
            where = section.at(below[0].line)
            yield f"{where}: move .open down; this text explains the output {which}"
        answer = number_at(cell.attributes["answer"], text_of(cell.outputs))
        if answer is None:
            continue  # book.checks.numbers reports it
        for block in _in_sight(passage):
            if cell.varies and isinstance(block, Cell) and block.varies:
                continue  # two measurements, which agree by chance
            within = MEASURED_WITHIN if block in below else SAME
            for text in _texts(section, block):
                if _tells(text, cell, answer, within):
                    told = f"'{' '.join(text.split())[:90]}' tells '{answer.text}'"
                    where = section.at(block.line)
                    yield f"{where}: {told}, the answer {which}; reword or cover it"


def _in_sight(passage: list[Block]) -> Iterator[Block]:
    """Yield the blocks of a page that no cover hides."""
    is_covered = False
    for block in passage:
        cell = block if isinstance(block, Cell) else None
        is_asking = cell is not None and cell.predicts
        is_covered = is_asking or (is_covered and not ends_cover(block))
        is_hidden = cell.only_in_notebooks if cell else has_arithmetic(block)
        if not is_covered and not is_hidden:
            yield block


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
    the noun after it, as in 16 sectors.
    """
    noun = COUNTED.search(cell.attributes["answer"])
    return any(
        agree(number, answer, within)
        and (
            EXACT.match(number.text)
            or number.kind == answer.kind != ""
            or (noun and number.text.isdigit() and f"{number.text} {noun[1]}" in text)
        )
        for number in quantities(text)
    )
