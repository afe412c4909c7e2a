"""Reads the cells marked `.predict`, whose outputs pages cover at first.

The paragraph right below waits with the output, unless it has a text marked `.open`.

Readers predict a number of the output before they see it, which the attribute
`question` of the cell asks for in words. `answer` is the part of the output with this
number, in whose place it has a question mark: `n = 8: ? ms`. Two dots stand for any
text within the line. `arithmetic` is the part
with the number that the cell itself predicts. Otherwise, a number marked `.arithmetic`
in the text above is the prediction.

Bars separate several numbers, which `fields` names: `fields="n = 8 | n = 16"`,
`answer="n = 8: ? ms | n = 16: ? ms"`. Readers of `choices="yes | no"` choose instead.
Right is the choice whose part of `answer` is in the output, or which is there itself if
there is no `answer`. `right="smallest"` or `right="largest"` compares the numbers of
the parts. With `right="ascending"` or `right="descending"`, readers put all choices in
the order of these numbers.

With `draw="0 to 50 over segments"`, readers draw a line instead: `fields` names the
places below it, and the axis on its left reaches from 0 to 50. It is logarithmic unless
it begins with 0.

A paragraph `[How many ms does a copy take?]{.ask cited=NAME}` asks for a published
number, for which the paragraph right below waits. Exercises ask for what their
solutions have (`book.facts.exercises`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

from book.facts.marked_numbers import marked
from book.text.blocks import Block, Cell, Prose
from book.text.inline import Span
from book.text.quantities import UNITS, Quantity, quantities

PIECE = re.compile(r"(\s+|\.\.|\?)")
PATTERNS = {"..": ".*?", "?": r"(?P<number>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"}
HOW_MANY = re.compile(r"\bhow many (\S+)", re.IGNORECASE)
# The equation of a marked number, such as $2 + 17 = 19$ MiB.
EQUATION = re.compile(r"\$(?P<left>[^$]+)=(?P<right>[^$=]+)\$")
ORDERS = ("ascending", "descending")
THEN = " → "  # between choices in order; the pages' scripts write the same
SIZE = r"\d+(?:\.\d+)?"
DRAW = re.compile(rf"(?P<least>{SIZE}) to (?P<most>{SIZE}) over (?P<over>\S.*)")
NO_UNIT = re.compile(r"FLOPs? per |x \w")  # as in 4 FLOP per byte, 4 x wgmma
NO_PARAGRAPH = re.compile(r"```|[*>-] |\d+\. ")  # a listing, a list or a quotation


class Asking(Protocol):
    """A cell or a marked text whose attributes ask for something."""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes by their names."""


def parts(asking: Asking, name: str) -> list[str]:
    """Return the parts of an attribute, which bars separate; empty without it."""
    text = asking.attributes.get(name)
    return [] if text is None else [part.strip() for part in text.split("|")]


def find(place: str, output: str) -> re.Match[str] | None:
    """Return the part of an output at a place such as `n = 8: .. ms`, if any."""
    patterns = [
        r"[ \t]+" if piece.isspace() else PATTERNS.get(piece, re.escape(piece))
        for piece in PIECE.split(place)
    ]
    return re.search("".join(patterns), output)


def number_at(place: str, output: str) -> Quantity | None:
    """Return the number of an output at a place such as `n = 8: ? ms`, if any."""
    found = find(place, output)
    if found is None:
        return None
    number = found["number"].rstrip(",")
    rest = output[found.start("number") :]
    with_unit = next(quantities(rest), None)
    if with_unit and with_unit.text.startswith(number):
        if not NO_UNIT.match(rest[len(with_unit.text) - len(with_unit.unit) :]):
            return with_unit
    return next(quantities(number))


def unit_asked(question: str) -> str:
    """Return the unit that a question asks for, ms in `How many ms ...?`, if any."""
    found = HOW_MANY.search(question)
    # FLOPs without a prefix are counted, or asked for per byte.
    return found[1] if found and found[1] in UNITS.keys() - {"FLOPs"} else ""


# The arithmetic of the text


def numbers_in_text(blocks: list[Block], cell: Cell) -> list[Span]:
    """Return the last numbers marked `.arithmetic` above a cell, one for each field.

    It is empty if there are fewer. They are not the cell's if another cell marked
    `.predict` comes between them.
    """
    found: list[Span] = []
    for block in blocks:
        if isinstance(block, Cell) and block.number == cell.number:
            break
        if isinstance(block, Cell) and block.predicts:
            found = []
        found += [span for _, span in marked([block], "arithmetic")]
    count = len(parts(cell, "fields")) or 1
    return found[-count:] if len(found) >= count else []


def has_arithmetic(block: Block) -> bool:
    """Return True if a block has a number marked `.arithmetic`."""
    return any(True for _ in marked([block], "arithmetic"))


def question_in_text(block: Block) -> Span | None:
    """Return the question marked `.ask` of which a paragraph consists, if any."""
    found = [span for _, span in marked([block], "ask")]
    is_whole = found and (found[0].start, found[0].end) == (0, len(block.text.rstrip()))
    return found[0] if is_whole and is_paragraph(block) else None


def asks(block: Block) -> bool:
    """Return True for a cell or a paragraph that asks readers for a prediction."""
    return block.predicts if isinstance(block, Cell) else bool(question_in_text(block))


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


# A line to draw


@dataclass(frozen=True)
class Axes:
    """The ends of the upright axis of a line to draw, and the name of the other."""

    least: float
    most: float
    over: str

    @property
    def ticks(self) -> list[float]:
        """Four parts of the upright axis, or the powers of ten within."""
        if not self.least:
            return [self.most * i / 4 for i in range(5)]
        powers = (float(f"1e{exponent}") for exponent in range(-12, 13))
        return [power for power in powers if self.least <= power <= self.most]

    def height(self, value: float) -> float:
        """Return the part of the upright axis that is below a value."""
        if self.least:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return value / self.most


def axes(cell: Cell) -> Axes | None:
    """Return the axes between which readers of a cell draw a line, if they do."""
    found = DRAW.fullmatch(cell.attributes.get("draw", ""))
    if not found:
        return None
    return Axes(float(found["least"]), float(found["most"]), found["over"])


# Answers


@dataclass(frozen=True)
class Answer:
    """The number that a cell printed, and the one that it or the text predicts.

    `text` is that of the number. If readers choose, it is the right choice, or all of
    them in order, and there are no numbers.
    """

    text: str
    printed: Quantity | None = None
    arithmetic: Quantity | None = None


def answers(blocks: list[Block], cell: Cell, text: str) -> list[Answer]:
    """Return the answer of each field in the text that a cell printed.

    It is empty if the text lacks any. `blocks` are those of the cell's tab.
    """
    if "choices" in cell.attributes:
        return [Answer(chosen) for chosen in right_answers(cell, text)]
    found = [number_at(place, text) for place in parts(cell, "answer")]
    if "arithmetic" in cell.attributes:
        predicted = [number_at(place, text) for place in parts(cell, "arithmetic")]
    else:
        spans = numbers_in_text(blocks, cell)
        predicted = [result(span) for span in spans] or [None] * len(found)
    pairs = zip(found, predicted, strict=True)
    return [Answer(n.text, n, p) for n, p in pairs if n] if all(found) else []


def right_answers(asking: Asking, text: str) -> list[str]:
    """Return the right answer of each field, or the right choice, or all in order.

    It is empty if the text lacks one.
    """
    if choices := parts(asking, "choices"):
        if asks_for_order(asking):
            order = ordered_choices(asking, text)
            return [THEN.join(order)] if order else []
        right = right_choices(asking, text)
        return [choices[right[0]]] if len(right) == 1 else []
    found = [number_at(place, text) for place in parts(asking, "answer")]
    return [number.text for number in found if number] if all(found) else []


def right_choices(asking: Asking, text: str) -> list[int]:
    """Return the choices that are right for the text that a cell printed.

    These are the places of choices in their list. Only one should be right.
    """
    places = parts(asking, "answer") or parts(asking, "choices")
    if "right" not in asking.attributes:
        return [i for i, place in enumerate(places) if place and find(place, text)]
    values = _values(places, text)
    if not values:
        return []
    extreme = min(values) if asking.attributes["right"] == "smallest" else max(values)
    return [i for i, value in enumerate(values) if value == extreme]


def asks_for_order(asking: Asking) -> bool:
    """Return True if readers put all choices in order."""
    return asking.attributes.get("right") in ORDERS


def ordered_choices(asking: Asking, text: str) -> list[str]:
    """Return the choices in the order of the numbers that a cell printed.

    It is empty if the text lacks a number, or if two are equal.
    """
    values = _values(parts(asking, "answer"), text)
    if not values or len(set(values)) < len(values):
        return []
    is_descending = asking.attributes["right"] == "descending"
    pairs = zip(values, parts(asking, "choices"), strict=True)
    return [choice for _, choice in sorted(pairs, reverse=is_descending)]


def _values(places: list[str], text: str) -> list[float]:
    """Return the numbers of a text in its places; empty if it lacks one."""
    numbers = [number_at(place, text) for place in places]
    values = [number.base_value for number in numbers if number]
    return values if len(values) == len(places) else []
