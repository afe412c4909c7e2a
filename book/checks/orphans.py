"""Checks that the text of a tab does not lean on cells which only other tabs have.

- A paragraph that asks for the number of a cell marked `.predict` needs an answer in
  each tab that shows it: such a cell, or the number, in text or output of the tab.
- "The next cell" needs a cell of the tab among those that follow next, "the cell above"
  one since the last heading, and "the cell" one between the same headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, dropwhile, pairwise, product, takewhile

from book.checks.quotations import MEASURED_WITHIN, agree, fresh_blocks
from book.facts.predictions import (
    is_paragraph,
    number_at,
    parts,
    question_in_text,
)
from book.records.outputs import text_of
from book.text.blocks import Block, Cell, Heading, Labelled
from book.text.book import Book
from book.text.quantities import quantities
from book.text.section import Section
from book.text.tokens import body

ASKS = re.compile(r"\?[*)\]]*(?:\s|$)")
NEXT = re.compile(r"\b(?:next|following)(?: \w+)? cells?\b|\bcells? below\b")
ABOVE = re.compile(r"\bprevious cells?\b|\bcells? above\b")
NEAR = re.compile(r"\b[Tt]he cells?\b(?! (?:above|below|in|of|that)\b)")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each text that needs a cell or a number its tab lacks."""
    for section in book.sections if len(book.tabs) > 1 else ():
        yield from _missing_answers(book, section)
        blocks = section.blocks
        starts = [i for i, block in enumerate(blocks) if isinstance(block, Heading)]
        for start, end in pairwise([*starts, len(blocks)]):
            for i in range(start, end):
                if is_paragraph(blocks[i]):
                    places = blocks[i + 1 :], blocks[start:i], blocks[start:end]
                    yield from _missing_cells(book, section, blocks[i], *places)


def _missing_cells(
    book: Book,
    section: Section,
    block: Block,
    below: list[Block],
    above: list[Block],
    around: list[Block],
) -> Iterator[str]:
    """Yield each cell that a text names and one of its tabs lacks."""
    places = (NEXT, [*_next_cells(block, below)]), (ABOVE, above), (NEAR, around)
    for pattern, place in places:
        for found in pattern.finditer(block.text):
            for tab in filter(block.is_for, book.tabs):
                if not any(isinstance(b, Cell) and b.is_for(tab) for b in place):
                    where = section.at(block.line_at(found.start()))
                    name = " ".join(found[0].split())
                    yield f"{where}: '{name}' has no cell in {tab}; move the sentence"


def _next_cells(block: Block, below: list[Block]) -> Iterator[Block]:
    """Return the next cells of the tabs of a block, and the texts of tabs among them.

    A text that all tabs see on the page ends them.
    """
    tabs = {*block.tabs}
    seen = (b for b in below if not (tabs and b.tabs and tabs.isdisjoint(b.tabs)))
    beginning = dropwhile(lambda b: not isinstance(b, Cell), seen)
    return takewhile(lambda b: not _ends_place(b), beginning)


def _ends_place(block: Block) -> bool:
    in_tabs = isinstance(block, Cell) or bool(block.tabs)
    return not in_tabs and bool(body(block, "web") or isinstance(block, Labelled))


def _missing_answers(book: Book, section: Section) -> Iterator[str]:
    """Yield each question whose answer some of its tabs lack."""
    if not any(cell.predicts for cell in section.cells):
        return
    seen = {tab: _printed(book, section, tab) for tab in book.tabs}
    answers: dict[int, dict[str, list[str]]] = {}  # by the question's line, and tab
    for tab, blocks in seen.items():
        asking = 0
        for block in blocks:
            if isinstance(block, Heading) or question_in_text(block):
                asking = 0
            elif is_paragraph(block) and ASKS.search(block.text):
                asking = block.line
            elif asking and isinstance(block, Cell) and block.predicts:
                of_line = answers.setdefault(asking, {}).setdefault(tab, [])
                of_line.extend(_answers(block))
    for line, found in answers.items():
        numbers = [*dict.fromkeys(filter(None, chain.from_iterable(found.values())))]
        for tab, blocks in seen.items():
            if tab not in found and not _has_any(_passage(blocks, line), numbers):
                told = f"its answer, {' or '.join(numbers)}"
                yield f"{section.at(line)}: {tab} does not have {told}; write it there"


def _passage(blocks: list[Block], line: int) -> list[Block]:
    """Return the blocks from the one on a line up to the next heading."""
    start = next((i for i, b in enumerate(blocks) if b.line == line), len(blocks))
    return [*takewhile(lambda b: not isinstance(b, Heading), blocks[start:])]


def _printed(book: Book, section: Section, tab: str) -> list[Block]:
    """Return the blocks of a tab, with outputs if its record is fresh."""
    fresh = fresh_blocks(book, section, tab, "cpu")
    return fresh or [block for block in section.blocks if block.is_for(tab)]


def _answers(cell: Cell) -> list[str]:
    """Return the numbers that readers of a cell predict; none without a record."""
    if "choices" in cell.attributes:
        return []
    text = text_of(cell.outputs)
    found = (number_at(place, text) for place in parts(cell, "answer") or ["?"])
    return [number.text for number in found if number]


def _has_any(blocks: list[Block], answers: list[str]) -> bool:
    """Return True if blocks, unless there are none, have one of the answers."""
    texts = (text_of(b.outputs) if isinstance(b, Cell) else b.text for b in blocks)
    numbers = [*quantities("\n\n".join(texts))]
    wanted = [quantity for answer in answers for quantity in quantities(answer)]
    pairs = product(numbers, wanted)
    return not (blocks and wanted) or any(agree(*p, MEASURED_WITHIN) for p in pairs)
