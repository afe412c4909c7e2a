"""Reads the cells marked `.predict`, whose outputs pages cover at first.

The paragraph right below waits with the output, unless it has a text marked `.open`.

Readers predict a number of the output before they see it, which the attribute
`question` of the cell asks for in words. `answer` is the part of the output with this
number, in whose place it has a question mark: `n = 8: ? ms`. Two dots stand for any
text within the line. `arithmetic` is the part
with the number that the cell itself predicts. Otherwise, a number marked `.arithmetic`
in the text above is the prediction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from book.facts.marked_numbers import marked
from book.text.blocks import Block, Cell, Prose
from book.text.inline import Span
from book.text.quantities import UNITS, Quantity, quantities

PIECE = re.compile(r"(\s+|\.\.|\?)")
PATTERNS = {"..": ".*?", "?": r"(?P<number>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"}
HOW_MANY = re.compile(r"\bhow many (\S+)", re.IGNORECASE)
# The equation of a marked number, such as $2 + 17 = 19$ MiB.
EQUATION = re.compile(r"\$(?P<left>[^$]+)=(?P<right>[^$=]+)\$")
NO_PARAGRAPH = re.compile(r"```|[*>-] |\d+\. ")  # a listing, a list or a quotation


def number_at(place: str, output: str) -> Quantity | None:
    """Return the number of an output at a place such as `n = 8: ? ms`, if any."""
    patterns = [
        r"[ \t]+" if piece.isspace() else PATTERNS.get(piece, re.escape(piece))
        for piece in PIECE.split(place)
    ]
    found = re.search("".join(patterns), output)
    if found is None:
        return None
    number = found["number"].rstrip(",")
    with_unit = next(quantities(output[found.start("number") :]), None)
    if with_unit and with_unit.text.startswith(number):
        return with_unit
    return next(quantities(number))


def unit_asked(question: str) -> str:
    """Return the unit that a question asks for, ms in `How many ms ...?`, if any."""
    found = HOW_MANY.search(question)
    # FLOPs without a prefix are counted, or asked for per byte.
    return found[1] if found and found[1] in UNITS.keys() - {"FLOPs"} else ""


# The arithmetic of the text


def number_in_text(blocks: list[Block], cell: Cell) -> Span | None:
    """Return the last number marked `.arithmetic` above a cell, if it is the cell's.

    It is not if another cell marked `.predict` comes between them.
    """
    found = None
    for block in blocks:
        if isinstance(block, Cell) and block.number == cell.number:
            break
        if isinstance(block, Cell) and block.predicts:
            found = None
        for _, span in marked([block], "arithmetic"):
            found = span
    return found


def has_arithmetic(block: Block) -> bool:
    """Return True if a block has a number marked `.arithmetic`."""
    return any(True for _ in marked([block], "arithmetic"))


def is_paragraph(block: Block) -> bool:
    """Return True for a paragraph, which is the only text that waits with an output."""
    return isinstance(block, Prose) and not NO_PARAGRAPH.match(block.source)


def is_open(block: Block) -> bool:
    """Return True for a block that does not wait, even right below an output."""
    return not is_paragraph(block) or any(True for _ in marked([block], "open"))


def introduces(block: Block) -> bool:
    """Return True if a text ends with a colon, and so belongs to what follows."""
    return block.text.rstrip("*)]").rstrip().endswith(":")


def result(span: Span) -> Quantity | None:
    """Return the number that a text marked `.arithmetic` arrives at, which is its last.

    It is None if the text has no number.
    """
    text = " ".join(span.text.split())
    found = list(quantities(EQUATION.sub(r"\g<right>", text).replace("$", "")))
    return found[-1] if found else None


# Answers


@dataclass(frozen=True)
class Answer:
    """The number that a cell printed, and the one that it or the text predicts."""

    printed: Quantity
    arithmetic: Quantity | None


def answer(blocks: list[Block], cell: Cell, text: str) -> Answer | None:
    """Return the answer in the text that a cell printed; None if it has none.

    `blocks` are those of the cell's tab.
    """
    number = number_at(cell.attributes["answer"], text)
    if number is None:
        return None
    if "arithmetic" in cell.attributes:
        predicted = number_at(cell.attributes["arithmetic"], text)
    else:
        span = number_in_text(blocks, cell)
        predicted = result(span) if span else None
    return Answer(number, predicted)
