"""Checks what waits for a prediction: the output, and the paragraph that explains it.

Between the headings above and below the cell, no text in sight may have the number of
the answer, in any unit. Below the cover, none may have a number that would pass for it.
A paragraph that says "Predict ..." needs a cell marked `.predict` below it, before the
next such paragraph, unless it sends readers to a figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise, product, zip_longest

from book.checks.quotations import agree, fresh_blocks
from book.facts.marked_numbers import Rows, published_measurements
from book.facts.predictions import (
    asks,
    find,
    has_arithmetic,
    introduces,
    is_open,
    is_paragraph,
    number_at,
    parts,
    question_in_text,
    right_choices,
)
from book.records.outputs import read, text_of
from book.text.blocks import Block, Cell, Figure, Heading
from book.text.book import Book
from book.text.quantities import Quantity, quantities
from book.text.section import Section

SAME, NEAR = 0.005, 0.1
TELLING = 8  # characters of a text that shows which choice is right
SENTENCE = re.compile(r"(?<=[.:?!])\s+|\n\n")
LABEL = re.compile(r">([^<>]+)<")  # in an SVG
COUNTED = re.compile(r"\? (\w+)")
EXACT = re.compile(r"[0.]*[1-9]\.?(?:\d\.?[1-9]|[1-9]\.?\d)")  # three digits, not 100
INVITES = re.compile(r"(?:^|[.:?!*\]]\s+|[\[(*])Predict\b(?!`)")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each answer in sight, and for each mistake in what waits."""
    rows = published_measurements(book)
    for section in book.sections:
        seen = [[b for b in section.blocks if b.is_for(tab)] for tab in book.tabs]
        below = {line for blocks in seen for line in _below(blocks)}
        found = (_mistakes(section, blocks, below) for blocks in seen)
        yield from dict.fromkeys(chain.from_iterable(found))
        tabs = zip(book.tabs, seen, strict=True)
        for tab, shown in tabs if any(map(asks, section.blocks)) else ():
            blocks = fresh_blocks(book, section, tab, "cpu") or shown
            ends = [i for i, block in enumerate(blocks) if isinstance(block, Heading)]
            for start, end in pairwise([0, *ends, len(blocks)]):
                yield from _answers(section, tab, blocks[start:end], below, rows)


def _invites(block: Block) -> bool:
    """Return True for a paragraph that invites to predict what no figure shows."""
    invites = is_paragraph(block) and INVITES.search(block.text)
    return bool(invites) and ":numref:`fig_" not in block.text


def _below(blocks: list[Block]) -> Iterator[int]:
    """Yield the line of each block of a tab that is right below an output to guess."""
    seen = [b for b in blocks if not (isinstance(b, Cell) and b.only_in_notebooks)]
    yield from (block.line for cell, block in pairwise(seen) if asks(cell))


def _mistakes(section: Section, blocks: list[Block], below: set[int]) -> Iterator[str]:
    """Yield the mistakes in the paragraphs of a tab, given the lines below outputs."""
    waiting = [b for b in blocks if b.line in below and not is_open(b)]
    for block in filter(is_paragraph, blocks):
        where = section.at(block.line)
        if block in waiting and introduces(block):
            yield f"{where}: what this introduces is in sight; reword it"
        if is_open(block) and block.line not in below:
            yield f"{where}: no output covers this text; remove .open"
    ends = [b for b in blocks if isinstance(b, Heading) or asks(b)]
    for one, two in pairwise(sorted([*ends, *waiting], key=blocks.index)):
        if one in waiting and two in waiting:
            where = section.at(two.line)
            yield f"{where}: a second paragraph waits; mark one of them .open"
    asked = [] if "solutions" in section.name else [*filter(_invites, blocks)]
    turns = sorted([*ends, *asked], key=blocks.index)
    for one, two in zip_longest(turns, turns[1:]):
        if one in asked and not (two and asks(two)):
            where = section.at(one.line)
            yield f"{where}: no cell marked .predict answers 'Predict'; reword it"


def _answers(
    section: Section, tab: str, passage: list[Block], below: set[int], rows: Rows
) -> Iterator[str]:
    """Yield the answers in sight between two headings."""
    for asked in filter(asks, passage):
        cell = asked if isinstance(asked, Cell) else None
        answers = _places(cell) if cell else _published(asked, rows)
        varies = bool(cell and cell.varies)
        for block in passage:
            other = block if isinstance(block, Cell) else None
            if _is_hidden(block, below) or (other and varies and other.varies):
                continue  # two measurements agree by chance
            within = SAME if other or block.line < asked.line else NEAR
            for text, (place, number) in product(_texts(section, block), answers):
                if (
                    _tells(text, place, varies, number, within)
                    if number
                    else find(place, text)
                ):
                    tells = number.text if number else place
                    told = f"'{' '.join(text.split())[:90]}' tells '{tells}'"
                    which = f"the answer of line {asked.line} in {tab}; reword it"
                    yield f"{section.at(block.line)}: {told}, {which}, or move it"


def _places(cell: Cell) -> list[tuple[str, Quantity | None]]:
    """Return the places of the answers that a cell printed, with their numbers.

    That of a choice has none, and counts only if it is no short word such as True. What
    no output has is left to `book.checks.quotations`.
    """
    printed, places = text_of(cell.outputs), parts(cell, "answer")
    if "choices" not in cell.attributes:
        pairs = [(place, number_at(place, printed)) for place in places]
        return [pair for pair in pairs if pair[1]]
    if "right" in cell.attributes:
        return []
    right = [places[i] for i in right_choices(cell, printed) if places]
    return [(place, None) for place in right if len(place) >= TELLING]


def _published(block: Block, rows: Rows) -> list[tuple[str, Quantity | None]]:
    """Return the published number for which a paragraph asks, if there is one."""
    span = question_in_text(block)
    row = rows.get(span.attributes.get("cited", "")) if span else None
    return [("?", next(quantities(f"{row['value']} {row['unit']}")))] if row else []


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


def _tells(
    text: str, place: str, varies: bool, answer: Quantity, within: float
) -> bool:
    """Return True if a text has a number that is the answer, in any unit.

    A number with fewer than three digits, such as 16, needs the unit of the answer or
    the noun after it, as in 16 sectors. One without a unit has to be exact,
    and tells no answer that varies.
    """
    noun = COUNTED.search(place)
    return any(
        agree(number, answer, within if number.kind == answer.kind != "" else SAME)
        and (
            (EXACT.match(number.text) and not varies)
            or number.kind == answer.kind != ""
            or (noun and number.text.isdigit() and f"{number.text} {noun[1]}" in text)
        )
        for number in quantities(text)
    )
