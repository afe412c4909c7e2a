"""Finds the points of a section, each a sentence and what shows it: the short deck.

`[A sentence.]{.point}` makes a point of the next figure, table, equation, listing or
output of its tab, up to the next point or heading. Of a cell, its plot is shown, or
what it printed. With `show=both`, the code is shown above the output, and with
`show=code`, the code of the next cell is shown alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from book.text.blocks import Block, Cell, Equation, Figure, Heading, Prose, Table
from book.text.inline import for_medium, spans, text_for

MARK = "point"


@dataclass
class Point:
    """A sentence in Markdown on a `line` of the file, and the block that shows it.

    `show` is "code", "both" or empty. `notes` is the text between the picture before
    and the block, which is None if there is none.
    """

    sentence: str
    line: int
    show: str
    notes: list[str] = field(default_factory=list)
    block: Block | None = None


def points(blocks: Iterable[Block]) -> Iterator[Point]:
    """Yield the points among the blocks of one tab, in order."""
    point: Point | None = None
    notes: list[str] = []
    for block in blocks:
        found = list(_marked(block))
        if point and (found or isinstance(block, Heading)):
            yield point
            point = None
        yield from found[:-1]
        if isinstance(block, Heading):
            notes = []
        point = found[-1] if found else point
        if _is_text(block):
            text = text_for(block.text, "slide").strip()
            notes += [text] if text else []
        elif point and _shows(block, point):
            point.block, point.notes, notes = block, notes, []
            yield point
            point = None
    if point:
        yield point


def _is_text(block: Block) -> bool:
    return isinstance(block, Prose) and not block.source.startswith("```")


def _marked(block: Block) -> Iterator[Point]:
    """Yield the points of a block of text."""
    for span in spans(block.text) if _is_text(block) else ():
        if MARK in span.classes:
            sentence = for_medium(span.text, "slide")
            show = span.attributes.get("show", "")
            yield Point(sentence, block.line_at(span.start), show)


def _shows(block: Block, point: Point) -> bool:
    """Return True if a block shows a point, as cells do that have outputs."""
    if isinstance(block, Cell):
        return bool(block.outputs) or point.show == "code"
    return isinstance(block, Figure | Table | Equation | Prose)
