"""Finds the points of a section, each a sentence and what shows it: a talk.

`[A sentence.]{.point}` makes a point of the next figure, table, equation, listing or
output of its tab, up to the next point or heading. Of a cell, its plot is shown, or
what it printed. With `show=both`, the code is shown above the output, and with
`show=code`, the code of the next cell is shown alone. The code joins a short output
without a setting, so that no slide has a single line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from book.facts import predictions
from book.records.outputs import (
    InteractiveFigure,
    Picture,
    PrintedText,
    read,
    text_of,
)
from book.text.blocks import (
    Block,
    Cell,
    Equation,
    Figure,
    Heading,
    Prose,
    Table,
)
from book.text.inline import for_medium, spans, text_for
from book.text.tabs import TAB_NAMES

MARK = "point"
WIDTH = 88  # characters of a line
SHORT, FULL = 3, 12  # lines of an output that its code joins, and of both
NEXT_ITEM = re.compile(r"\n(?=[-*+] |1\. )")


@dataclass
class Point:
    """A sentence in Markdown on a `line` of the file, and the block that shows it.

    `show` is "code", "both" or empty. `notes` is the text between the picture before
    and the block, which is None if there is none, and `after` the paragraph below the
    block. A point `asks` if readers predict the output that it shows; `answers` are
    the texts of the numbers.
    """

    sentence: str
    line: int
    show: str
    notes: list[str] = field(default_factory=list)
    block: Block | None = None
    after: str = ""
    answers: list[str] = field(default_factory=list)

    @property
    def asks(self) -> bool:
        """True if a question precedes the point."""
        return bool(self.answers)

    @property
    def outputs(self) -> list[PrintedText | Picture]:
        """The first plot of a cell, or all that it printed."""
        if not isinstance(self.block, Cell) or self.show == "code":
            return []
        found = [
            output
            for output in read(self.block.outputs)
            if not isinstance(output, InteractiveFigure)  # which has no picture
        ]
        plots = (output for output in found if isinstance(output, Picture))
        plot = next(plots, None)
        return [plot] if plot else found

    @property
    def code(self) -> str:
        """The code that is shown; it joins an output that is short."""
        if not isinstance(self.block, Cell):
            return ""
        code, printed = self.block.code.strip("\n"), lines_of(self.outputs)
        is_short = printed <= SHORT and printed + code.count("\n") < FULL
        is_line = printed == 1 and not self.asks
        joins = 0 < printed and (is_short or is_line)
        return code if self.show or joins else ""

    @property
    def said(self) -> list[str]:
        """All text around the block, for the notes."""
        block = self.block
        caption = block.caption if isinstance(block, Figure | Table) else ""
        said = [*self.notes, for_medium(caption, "slide"), self.after]
        return [text for text in said if text]


@dataclass
class Talk:
    """The points of a section in a tab, and the texts around them.

    `lead` is the first paragraph, `summary` the list of the Summary without the other
    frameworks, and `exercise` the first exercise; each may be empty. `opening` is the
    figure above the first heading, if no point shows it.
    """

    points: list[Point]
    opening: Figure | None = None
    lead: str = ""
    summary: str = ""
    exercise: str = ""

    @property
    def slides(self) -> int:
        """The number of slides, with the title."""
        shown = [point for point in self.points if point.block]
        return 1 + sum(1 + point.asks for point in shown) + bool(self.summary)


def lines_of(outputs: Iterable[PrintedText | Picture]) -> int:
    """Return the number of lines that printed texts take; a plot has none."""
    texts = [o.text.strip("\n") for o in outputs if isinstance(o, PrintedText)]
    lines = (line for text in texts for line in text.split("\n"))
    return sum(math.ceil(len(line) / WIDTH) or 1 for line in lines)


def talk(blocks: list[Block], tab: str) -> Talk:
    """Return the talk of a section in a tab, given its blocks for that tab."""
    lead, *_ = [*_texts_below(blocks, 1), ""]
    names = [name for key, name in TAB_NAMES.items() if key != tab]
    items = NEXT_ITEM.split("\n".join(_texts_below(blocks, 2, "Summary")))
    summary = "\n".join(i for i in items if not any(name in i for name in names))
    exercises = NEXT_ITEM.split("\n".join(_texts_below(blocks, 2, "Exercises")))
    exercise = next((e for e in exercises if e.startswith("1. ")), "")
    found = points(blocks)
    parts = [n for n, b in enumerate(blocks) if isinstance(b, Heading) and b.level > 1]
    figures = (b for b in blocks[: min(parts, default=0)] if isinstance(b, Figure))
    opening = next(figures, None)
    if any(point.block is opening for point in found):
        opening = None
    return Talk(found, opening, lead, summary, exercise)


def _texts_below(
    blocks: Iterable[Block], level: int, title: str | None = None
) -> Iterator[str]:
    """Yield the texts below a heading, or below the first of a level."""
    within = False
    for block in blocks:
        if isinstance(block, Heading):
            within = block.level == level and title in (None, block.title)
        elif within and _is_text(block) and (text := _text(block)):
            yield text


def points(blocks: list[Block]) -> list[Point]:
    """Return the points among the blocks of one tab, in order."""
    found: list[Point] = []
    notes: list[str] = []
    waiting: Point | None = None  # for a block
    shown: Point | None = None  # by the block above
    for block in blocks:
        marked = list(_marked(block))
        found += marked
        waiting = marked[-1] if marked else waiting
        if isinstance(block, Heading):
            waiting, notes = None, []
        if _is_text(block):
            text = _text(block)
            if shown:
                shown.after = text
            elif text:
                notes.append(text)
        elif waiting and _shows(block, waiting):
            waiting.block, waiting.notes, notes = block, notes, []
            if isinstance(block, Cell) and _is_typed(block) and waiting.outputs:
                printed = text_of(block.outputs)
                answers = predictions.answers(blocks, block, printed)
                waiting.answers = [answer.text for answer in answers]
            shown, waiting = waiting, None
            continue
        shown = None
    return found


def _is_typed(cell: Cell) -> bool:
    """Return True if readers type or choose, since a room draws no line."""
    return cell.predicts and not predictions.axes(cell)


def _is_text(block: Block) -> bool:
    return isinstance(block, Prose) and not block.source.startswith("```")


def _text(block: Block) -> str:
    return text_for(block.text, "slide").strip()


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
