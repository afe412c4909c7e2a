"""Fits the contents of slides: scales each slide, and splits slides that are too long.

A slide has a fixed size, which the browser scales to the screen, so heights follow
from the number of lines. `static/slides.css` uses the same sizes, and a test in a
browser measures every slide of the book.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from book.slides.marks import Block, Code, Figure, Plot, Printed, Slide, Text

# All sizes are in pixels of a slide of 1280 by 720.
WIDTH, HEIGHT = 1152, 618
TITLE, TITLE_LINE, TITLE_CHARACTERS = 14, 50, 54
PART = 30
TEXT, TEXT_LINE, TEXT_CHARACTER = 30, 1.4, 0.5
CODE, CODE_LINE, CODE_CHARACTER, PADDING = 24, 1.4, 0.605, 36
OUTPUT, OUTPUT_LINE = 22, 1.25
EQUATION, SPACE, PICTURE = 84, 14, 370
CAPTION, CAPTION_CHARACTERS = 34, 110

# The scales of the contents, of which the largest that fits is used. Only code is
# scaled above 1. A slide that does not fit at the smallest of these scales is split;
# only a part that cannot be split is scaled down to SMALLEST.
SCALES = (1.2, 1.1, 1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
SMALLEST = 0.6
WIDEST_TABLE = 92  # characters; longer printed lines are wrapped, as on the pages
LINK = re.compile(r"\]\([^)]*\)")


@dataclass
class Page:
    """A slide that fits at `scale`: part `number` of `total` parts of a slide."""

    slide: Slide
    scale: float
    number: int = 1
    total: int = 1


def pages(slide: Slide) -> list[Page]:
    """Return a slide at a scale at which it fits, or several parts of it."""
    for scale in SCALES:
        if fits(slide, slide.blocks, scale):
            return [Page(slide, scale)]
    parts = [replace(slide, blocks=blocks, notes=[]) for blocks in _split(slide)]
    parts[0].notes = slide.notes
    return [
        Page(part, _scale_of_part(part), number, len(parts))
        for number, part in enumerate(parts, start=1)
    ]


def _scale_of_part(part: Slide) -> float:
    """Return the largest scale up to 1 at which a part fits, or SMALLEST."""
    scales = (scale for scale in SCALES if scale <= 1)
    return next((s for s in scales if fits(part, part.blocks, s)), SMALLEST)


def fits(slide: Slide, blocks: list[Block], scale: float) -> bool:
    """Return True if the blocks fit below the title of a slide at this scale."""
    too_wide = any(_width(block, scale) > WIDTH for block in blocks)
    return not too_wide and _filled_share(slide, blocks, scale) <= 1


def _filled_share(slide: Slide, blocks: list[Block], scale: float) -> float:
    """Return the height of the blocks, relative to the room below the title."""
    room = HEIGHT - _title_height(slide)
    return sum(_height(block, scale) for block in blocks) / room


def _title_height(slide: Slide) -> int:
    """Return the height of a slide's title and of the line above it, in pixels."""
    characters = len(LINK.sub("]", slide.title))
    lines = math.ceil(characters / TITLE_CHARACTERS)
    return PART * bool(slide.part) + TITLE * bool(lines) + TITLE_LINE * lines


def _height(block: Block, scale: float) -> float:
    """Return the height of a block in pixels."""
    match block:
        case Text(markdown):
            size = TEXT * min(scale, 1)
            return _text_lines(markdown, size) * size * TEXT_LINE + SPACE
        case Code(source):
            lines = source.count("\n") + 1
            return lines * CODE * CODE_LINE * scale + SPACE + PADDING * scale
        case Printed(text, varies):
            lines = sum(_wrapped_lines(line, scale) for line in text.split("\n"))
            return (
                (lines + varies) * OUTPUT * OUTPUT_LINE * scale
                + SPACE
                + PADDING * scale
            )
        case Figure(caption=caption):
            lines = math.ceil(len(caption) / CAPTION_CHARACTERS)
            return PICTURE * min(scale, 1) + CAPTION * lines + SPACE
        case Plot():
            return PICTURE * min(scale, 1) + SPACE


def _text_lines(markdown: str, size: float) -> float:
    """Return the number of lines of a text in a font of `size` pixels."""
    characters = WIDTH / (size * TEXT_CHARACTER)
    if markdown.startswith("$$"):
        return EQUATION / (TEXT * TEXT_LINE)
    # Items of a list and rows of a table begin on new lines; lines of a paragraph
    # are joined.
    items = re.split(r"\n(?=\s*(?:[-*+|]|\d+\.)\s)", markdown)
    return sum(math.ceil(len(" ".join(i.split())) / characters) + 0.2 for i in items)


def _wrapped_lines(line: str, scale: float) -> int:
    """Return the number of lines that a printed line takes."""
    characters = int(WIDTH / (OUTPUT * CODE_CHARACTER * scale)) - 2
    return math.ceil(max(len(line), 1) / characters) if len(line) > WIDEST_TABLE else 1


def _width(block: Block, scale: float) -> float:
    """Return the width in pixels of code or output, or 0 for blocks that adapt."""
    match block:
        case Code(source):
            longest, size = max(map(len, source.split("\n"))), CODE
        case Printed(text):
            lines = [len(line) for line in text.split("\n")]
            longest, size = max(n for n in [0, *lines] if n <= WIDEST_TABLE), OUTPUT
        case _:
            return 0
    return longest * size * CODE_CHARACTER * scale + PADDING * scale


# Splitting

# The cost of each additional slide, and of the empty room on a slide, up to EMPTY.
NEW, EMPTY = 10.0, 4.0
# The cost of a split in each of these places.
IN_CELL, IN_CLASS, BEFORE_OUTPUT, BETWEEN_LINES = 0.5, 2.0, 5.0, 9.0
AFTER_HEAD = 4.0  # after the first paragraph of a class
AFTER_TEXT = 3.0  # between a text and the code below it


@dataclass
class Unit:
    """A piece that is not split, such as a paragraph of code, an item, or a picture.

    `cost` is that of a split before the unit. If the unit continues the block of the
    unit before it, `separator` is the text between the two; otherwise it is empty.
    """

    block: Block
    cost: float = 0.0
    separator: str = ""


def _split(slide: Slide) -> list[list[Block]]:
    """Return the blocks of a slide in parts that fit, split at the lowest cost."""
    units = list(_units(slide))
    # best[n] is the lowest cost of the first n units and the start of their last part.
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(units) + 1):
        costs = []
        for start in reversed(range(end)):
            blocks = _join(units[start:end])
            if start < end - 1 and not fits(slide, blocks, SCALES[-1]):
                break
            free = 1 - min(_filled_share(slide, blocks, SCALES[-1]), 1)
            cost = best[start][0] + NEW + EMPTY * free**2 + units[start].cost
            costs.append((cost, start))
        best.append(min(costs))
    parts: list[list[Block]] = []
    end = len(units)
    while end:
        start = best[end][1]
        parts.insert(0, _join(units[start:end]))
        end = start
    return parts


def _units(slide: Slide) -> Iterator[Unit]:
    """Yield the units of a slide in order."""
    above: Block | None = None
    for block in slide.blocks:
        match block:
            case Code(source):
                cost = AFTER_TEXT if isinstance(above, Text) else 0.0
                yield from _units_of_code(slide, source, cost)
            case Printed():
                yield from _split_long_unit(slide, Unit(block, BEFORE_OUTPUT))
            case Text(markdown):
                first, *rest = re.split(r"\n(?=[-*+] )", markdown)
                yield Unit(Text(first))
                yield from (Unit(Text(item), separator="\n") for item in rest)
            case Plot():
                yield Unit(block, BEFORE_OUTPUT)
            case _:
                yield Unit(block)
        above = block


def _units_of_code(slide: Slide, source: str, cost: float) -> Iterator[Unit]:
    """Yield the paragraphs of a cell; `cost` is that of a split before the cell."""
    first, *rest = re.split(r"\n\s*?\n(?=\s*\S)", source)
    yield from _split_long_unit(slide, Unit(Code(first), cost))
    for above, paragraph in pairwise([first, *rest]):
        in_class = AFTER_HEAD if above.startswith("class ") else IN_CLASS
        cost = in_class if paragraph.startswith(" ") else IN_CELL
        yield from _split_long_unit(slide, Unit(Code(paragraph), cost, "\n\n"))


def _split_long_unit(slide: Slide, unit: Unit) -> Iterator[Unit]:
    """Yield a unit, or a unit for each of its lines if it is too long for a slide."""
    if fits(slide, [unit.block], SCALES[-1]):
        yield unit
        return
    first, *rest = _text(unit.block).split("\n")
    yield replace(unit, block=_with_text(unit.block, first))
    for line in rest:
        # An indented line probably continues a statement, so a split costs more.
        cost = BETWEEN_LINES + len(line) - len(line.lstrip())
        yield Unit(_with_text(unit.block, line), cost, "\n")


def _join(units: list[Unit]) -> list[Block]:
    """Return the blocks that consist of these units."""
    blocks: list[Block] = []
    for unit in units:
        if blocks and unit.separator:
            last = blocks.pop()
            text = _text(last) + unit.separator + _text(unit.block)
            blocks.append(_with_text(last, text))
        else:
            blocks.append(unit.block)
    return blocks


def _text(block: Block) -> str:
    """Return the text of a block of text, code or output."""
    match block:
        case Text(text) | Code(text) | Printed(text):
            return text
    raise TypeError(block)


def _with_text(block: Block, text: str) -> Block:
    """Return a block of the same kind with another text."""
    match block:
        case Text():
            return Text(text)
        case Code():
            return Code(text)
        case Printed():
            return replace(block, text=text)
    raise TypeError(block)
