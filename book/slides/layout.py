"""What fits on a slide: how much each shrinks, and where it is cut.

A slide has a fixed size, which the browser scales to the screen, so heights follow
from the number of lines. `static/slides.css` has the same sizes, and a test in a
browser measures every slide of the book.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from book.slides.marks import Block, Code, Figure, Plot, Printed, Slide, Text

# In pixels of a slide of 1280 by 720.
WIDTH, HEIGHT = 1152, 618
TITLE, TITLE_LINE, TITLE_CHARACTERS = 14, 50, 54
PART = 30
TEXT, TEXT_LINE, TEXT_CHARACTER = 30, 1.4, 0.5
CODE, CODE_LINE, CODE_CHARACTER, PADDING = 24, 1.4, 0.605, 36
OUTPUT, OUTPUT_LINE = 22, 1.25
EQUATION, SPACE, PICTURE = 84, 14, 370
CAPTION, CAPTION_CHARACTERS = 34, 110

# Parts of the full size; text grows no larger than that, code does. Rather than below
# the last of FITS a slide is cut in two; only what cannot be cut makes it smaller.
FITS = (1.2, 1.1, 1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)
SMALLEST = 0.6
WIDEST_TABLE = 92  # longer printed lines are folded, as on the pages
LINK = re.compile(r"\]\([^)]*\)")


@dataclass
class Page:
    """A slide that fits, at `fit` times the full size; `number` of `of` parts."""

    slide: Slide
    fit: float
    number: int = 1
    of: int = 1


def pages(slide: Slide) -> list[Page]:
    """The slide, shrunk to fit; or if it would be too small, several."""
    for fit in FITS:
        if fits(slide, slide.blocks, fit):
            return [Page(slide, fit)]
    parts = [replace(slide, blocks=blocks, notes=[]) for blocks in _cut(slide)]
    parts[0].notes = slide.notes
    return [
        Page(part, _fit_of_part(part), number, len(parts))
        for number, part in enumerate(parts, start=1)
    ]


def _fit_of_part(part: Slide) -> float:
    sizes = (fit for fit in FITS if fit <= 1 and fits(part, part.blocks, fit))
    return next(sizes, SMALLEST)


def fits(slide: Slide, blocks: list[Block], fit: float) -> bool:
    wide = any(_width(block, fit) > WIDTH for block in blocks)
    return not wide and _filled(slide, blocks, fit) <= 1


def _filled(slide: Slide, blocks: list[Block], fit: float) -> float:
    """The part of a slide's height below its title that the blocks take."""
    return sum(_height(block, fit) for block in blocks) / (HEIGHT - _head(slide))


def _head(slide: Slide) -> int:
    """The height of a slide's title, and of the part that it belongs to."""
    words = len(LINK.sub("]", slide.title))
    lines = math.ceil(words / TITLE_CHARACTERS)
    return PART * bool(slide.part) + TITLE * bool(lines) + TITLE_LINE * lines


def _height(block: Block, fit: float) -> float:
    match block:
        case Text(markdown):
            size = TEXT * min(fit, 1)
            return _text_lines(markdown, size) * size * TEXT_LINE + SPACE
        case Code(source):
            lines = source.count("\n") + 1
            return lines * CODE * CODE_LINE * fit + SPACE + PADDING * fit
        case Printed(text, varies):
            lines = sum(_folded(line, fit) for line in text.split("\n"))
            return (lines + varies) * OUTPUT * OUTPUT_LINE * fit + SPACE + PADDING * fit
        case Figure(caption=caption):
            lines = math.ceil(len(caption) / CAPTION_CHARACTERS)
            return PICTURE * min(fit, 1) + CAPTION * lines + SPACE
        case Plot():
            return PICTURE * min(fit, 1) + SPACE


def _text_lines(markdown: str, size: float) -> float:
    room = WIDTH / (size * TEXT_CHARACTER)
    if markdown.startswith("$$"):
        return EQUATION / (TEXT * TEXT_LINE)
    # Lines of a paragraph belong together, those of a list or a table do not.
    items = re.split(r"\n(?=\s*(?:[-*+|]|\d+\.)\s)", markdown)
    return sum(math.ceil(len(" ".join(i.split())) / room) + 0.2 for i in items)


def _folded(line: str, fit: float) -> int:
    room = int(WIDTH / (OUTPUT * CODE_CHARACTER * fit)) - 2
    return math.ceil(max(len(line), 1) / room) if len(line) > WIDEST_TABLE else 1


def _width(block: Block, fit: float) -> float:
    match block:
        case Code(source):
            longest, size = max(map(len, source.split("\n"))), CODE
        case Printed(text):
            lines = [len(line) for line in text.split("\n")]
            longest, size = max(n for n in [0, *lines] if n <= WIDEST_TABLE), OUTPUT
        case _:
            return 0
    return longest * size * CODE_CHARACTER * fit + PADDING * fit


# Cutting

# What a cut costs; a slide more costs NEW, and one that is nearly empty up to EMPTY.
NEW, EMPTY = 10.0, 4.0
IN_CELL, IN_CLASS, BEFORE_OUTPUT, BETWEEN_LINES = 0.5, 2.0, 5.0, 9.0
AFTER_HEAD = 4.0  # of a class
AFTER_TEXT = 3.0  # that stands above code


@dataclass
class Unit:
    """What is not cut: a paragraph of code or text, a line of a long one, a picture.

    `bond` is the cost of a cut before it, `seam` what joins it to the unit before if
    both are of one block.
    """

    block: Block
    bond: float = 0.0
    seam: str = ""


def _cut(slide: Slide) -> list[list[Block]]:
    """The blocks of a slide in parts that fit, cut where it costs least."""
    units = list(_units(slide))
    # best[n]: the least cost of the first n units, and where their last part starts.
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(units) + 1):
        costs = []
        for start in reversed(range(end)):
            blocks = _joined(units[start:end])
            if start < end - 1 and not fits(slide, blocks, FITS[-1]):
                break
            free = 1 - min(_filled(slide, blocks, FITS[-1]), 1)
            cost = best[start][0] + NEW + EMPTY * free**2 + units[start].bond
            costs.append((cost, start))
        best.append(min(costs))
    parts: list[list[Block]] = []
    end = len(units)
    while end:
        start = best[end][1]
        parts.insert(0, _joined(units[start:end]))
        end = start
    return parts


def _units(slide: Slide) -> Iterator[Unit]:
    above: Block | None = None
    for block in slide.blocks:
        match block:
            case Code(source):
                bond = AFTER_TEXT if isinstance(above, Text) else 0.0
                yield from _units_of_code(slide, source, bond)
            case Printed():
                yield from _by_lines(slide, Unit(block, BEFORE_OUTPUT))
            case Text(markdown):
                first, *rest = re.split(r"\n(?=[-*+] )", markdown)
                yield Unit(Text(first))
                yield from (Unit(Text(item), seam="\n") for item in rest)
            case Plot():
                yield Unit(block, BEFORE_OUTPUT)
            case _:
                yield Unit(block)
        above = block


def _units_of_code(slide: Slide, source: str, bond: float) -> Iterator[Unit]:
    first, *rest = re.split(r"\n\s*?\n(?=\s*\S)", source)
    yield from _by_lines(slide, Unit(Code(first), bond))
    for above, paragraph in pairwise([first, *rest]):
        within = AFTER_HEAD if above.startswith("class ") else IN_CLASS
        bond = within if paragraph.startswith(" ") else IN_CELL
        yield from _by_lines(slide, Unit(Code(paragraph), bond, "\n\n"))


def _by_lines(slide: Slide, unit: Unit) -> Iterator[Unit]:
    """A unit, or if it is too long for any slide, a unit a line."""
    if fits(slide, [unit.block], FITS[-1]):
        yield unit
        return
    first, *rest = _text(unit.block).split("\n")
    yield replace(unit, block=_with(unit.block, first))
    for line in rest:
        # Lines of a statement that goes on belong together.
        bond = BETWEEN_LINES + len(line) - len(line.lstrip())
        yield Unit(_with(unit.block, line), bond, "\n")


def _joined(units: list[Unit]) -> list[Block]:
    blocks: list[Block] = []
    for unit in units:
        if blocks and unit.seam:
            last = blocks.pop()
            blocks.append(_with(last, _text(last) + unit.seam + _text(unit.block)))
        else:
            blocks.append(unit.block)
    return blocks


def _text(block: Block) -> str:
    match block:
        case Text(text) | Code(text) | Printed(text):
            return text
    raise TypeError(block)


def _with(block: Block, text: str) -> Block:
    """A block of the same kind with another text."""
    match block:
        case Text():
            return Text(text)
        case Code():
            return Code(text)
        case Printed():
            return replace(block, text=text)
    raise TypeError(block)
