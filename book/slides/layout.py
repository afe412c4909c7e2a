"""Fits the contents of slides: scales each slide, and splits slides that are too long.

A slide has a fixed size, which the browser scales to the screen, so heights follow
from the number of lines. `static/slides.css` uses the same sizes, and a test in a
browser measures every slide of the book.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from book.render import plots
from book.slides.marks import (
    Code,
    Output,
    Plot,
    Slide,
    SlideFigure,
    SlideItem,
    Text,
    texts,
)

# All sizes are in pixels of a slide of 1280 by 720. No text is smaller than SMALLEST.
SMALLEST = 18
WIDTH, HEIGHT = 1152, 646
TITLE, TITLE_LINE, TITLE_CHARACTERS = 14, 46, 53
CONTINUED_LINE, CONTINUED_CHARACTERS = 36, 72
PART = 30
TEXT, TEXT_LINE, TEXT_CHARACTER = 30, 1.4, 0.5
TABLE, TABLE_LINE, TABLE_PADDING = 22, 1.35, 0.5
CODE, CODE_LINE, CODE_CHARACTER, PADDING = 24, 1.25, 0.605, 32
OUTPUT, OUTPUT_LINE, NOTE = 22, 1.25, 25
EQUATION, SPACE, PICTURE = 84, 14, 370
PLOT_TEXT = 10  # in the unit of a plot; slides.css has a bit more
CAPTION, CAPTION_CHARACTERS = 34, 110
# The highest figure below a title of one line.
HIGHEST = HEIGHT - TITLE - TITLE_LINE - PART - SPACE
# The slide of a figure that is alone has smaller margins, by this.
SAVED_MARGIN = 14
NEAR = 2  # slides
# The front slide with a picture: its text, and the room for all but text and picture.
FRONT_TEXT, FRONT, FRONT_TITLE, FRONT_CHARACTERS = 26, 160, 66, 35

# The scales of the contents, of which the largest that fits is used. Only code is
# scaled above 1. A slide that does not fit at the smallest of these scales is split.
SCALES = (1.2, 1.1, 1.0, 0.95, 0.9, 0.85, 0.8, 0.75)
WIDEST_TABLE = 92  # characters; longer printed lines are wrapped, as on the pages
REFERENCE = re.compile(r":numref:`(\w+)`")
LONG_QUOTES = re.compile(r'"""|\'\'\'')
LINK = re.compile(r"\]\([^)]*\)")


@dataclass
class LaidOutSlide:
    """A slide that fits at `scale`: part `number` of `total` parts of a slide."""

    slide: Slide
    scale: float
    number: int = 1
    total: int = 1


def pages(slide: Slide) -> list[LaidOutSlide]:
    """Return a slide at a scale at which it fits, or several parts of it."""
    for scale in SCALES:
        if fits(slide, slide.blocks, scale):
            return [LaidOutSlide(slide, scale)]
    parts = _split(slide)
    return [
        LaidOutSlide(part, _scale_of_part(part), number, len(parts))
        for number, part in enumerate(parts, start=1)
    ]


def add_figures(slides: list[Slide], figures: dict[str, SlideFigure]) -> None:
    """Add figures to the slides without pictures whose text or notes refer to them.

    `figures` holds the figures of the book by label. A figure that one of the next
    slides shows is not added. The first slide has no room for one.
    """
    for number, slide in enumerate(slides[1:], start=1):
        near = slides[max(number - NEAR, 0) : number + NEAR + 1]
        shown = {b.alt for s in near for b in s.blocks if isinstance(b, SlideFigure)}
        labels = REFERENCE.findall("\n".join([*texts(slide), *slide.notes]))
        named = [figures[label] for label in labels if label in figures]
        new = [figure for figure in named if figure.alt not in shown]
        if new and not any(isinstance(b, SlideFigure | Plot) for b in slide.blocks):
            slide.blocks.append(new[0])


def add_tables(slides: list[Slide], tables: dict[str, Text]) -> None:
    """Add the tables to which slides refer, once each, but none to the first slide.

    `tables` holds the tables of the book by label. A table that only the notes name is
    added if the slide consists of text.
    """
    shown = [b.markdown for s in slides for b in s.blocks if isinstance(b, Text)]
    for slide in slides[1:]:
        is_text = all(isinstance(block, Text) for block in slide.blocks)
        named = [*texts(slide), *(slide.notes if is_text else [])]
        for label in REFERENCE.findall("\n".join(named)):
            if label in tables and tables[label].markdown not in shown:
                slide.blocks.append(tables[label])
                shown.append(tables[label].markdown)


def fit_figures(
    slides: list[Slide], height_of: Callable[[SlideFigure], float]
) -> list[Slide]:
    """Return the slides with figures at the height at which their text can be read.

    `height_of` returns it. A figure without room for its caption loses the caption. One
    that is too high for the room below a title gets a slide of its own, with a small
    title, and is removed if it is too high for that, too.
    """
    fitted: list[Slide] = []
    for slide in slides:
        blocks: list[SlideItem] = []
        alone: list[Slide] = []
        for block in slide.blocks:
            if not isinstance(block, SlideFigure):
                blocks.append(block)
                continue
            figure = replace(block, height=height_of(block), caption="")
            room = HEIGHT - _title_height(slide) - SPACE - figure.height
            if room >= _caption_height(block):
                blocks.append(replace(figure, caption=block.caption))
            elif room >= 0:
                blocks.append(figure)
            elif figure.height <= _room_alone(slide):
                figure = replace(figure, is_alone=True)
                alone.append(replace(slide, part="", blocks=[figure], continued=True))
        if blocks or not alone:
            fitted.append(replace(slide, blocks=blocks))
            alone = [replace(figure, notes=[]) for figure in alone]
        fitted += alone
    return fitted


def _caption_height(figure: SlideFigure) -> float:
    """Return the height of a figure's caption in pixels."""
    return CAPTION * math.ceil(len(figure.caption) / CAPTION_CHARACTERS)


def _room_alone(slide: Slide) -> float:
    """Return the room for a figure that is alone on a slide with this title."""
    title = replace(slide, part="", continued=True)
    return HEIGHT + SAVED_MARGIN - _title_height(title)


def cover_scale(front: Slide, width: float, height: float) -> float:
    """Return the scale at which a picture of this size fits on the front slide."""
    title = math.ceil(len(front.title) / FRONT_CHARACTERS) * FRONT_TITLE
    text = sum(_height(block, FRONT_TEXT / TEXT) for block in front.blocks)
    return min(WIDTH / width, (HEIGHT - FRONT - title - text) / height)


def _scale_of_part(part: Slide) -> float:
    """Return the largest scale up to 1 at which a part fits."""
    scales = (scale for scale in SCALES if scale <= 1)
    return next((s for s in scales if fits(part, part.blocks, s)), SCALES[-1])


def fits(slide: Slide, blocks: list[SlideItem], scale: float) -> bool:
    """Return True if the blocks fit below the title of a slide at this scale."""
    too_wide = any(_width(block, scale) > WIDTH for block in blocks)
    return not too_wide and _filled_share(slide, blocks, scale) <= 1


def _filled_share(slide: Slide, blocks: list[SlideItem], scale: float) -> float:
    """Return the height of the blocks, relative to the room below the title."""
    room = HEIGHT - _title_height(slide)
    return sum(_height(block, scale) for block in blocks) / room


def _title_height(slide: Slide) -> int:
    """Return the height of a slide's title and of the line above it, in pixels."""
    length, line = len(LINK.sub("]", slide.title)), TITLE_LINE
    lines = math.ceil(length / TITLE_CHARACTERS)
    if slide.continued:
        line, lines = CONTINUED_LINE, math.ceil((length + 7) / CONTINUED_CHARACTERS)
    return PART * bool(slide.part) + TITLE * bool(lines) + line * lines


def _height(block: SlideItem, scale: float) -> float:
    """Return the height of a block in pixels."""
    match block:
        case Text(markdown) if markdown.startswith("|"):
            return _table_height(markdown, _size(TABLE, min(scale, 1))) + SPACE
        case Text(markdown):
            size = TEXT * min(scale, 1)
            return _text_lines(markdown, size) * size * TEXT_LINE + SPACE
        case Code(source):
            lines = source.count("\n") + 1
            return lines * _size(CODE, scale) * CODE_LINE + SPACE + PADDING * scale
        case Output(text, varies):
            size = _size(OUTPUT, scale)
            lines = sum(_wrapped_lines(line, size) for line in text.split("\n"))
            note = NOTE * varies
            return lines * size * OUTPUT_LINE + note + SPACE + PADDING * scale
        case SlideFigure(height=readable):
            height = max(PICTURE * min(scale, 1), min(readable, HIGHEST))
            return height + _caption_height(block) + SPACE
        case Plot(data=data):
            readable = plots.height_of(data) * SMALLEST / PLOT_TEXT
            return max(PICTURE * min(scale, 1), readable) + SPACE


def _table_height(markdown: str, size: float) -> float:
    """Return the height of a table in a font of `size` pixels."""
    rows = [row.strip("| ").split("|") for row in markdown.split("\n")]
    del rows[1]  # the line below the head
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    room = WIDTH / (size * TEXT_CHARACTER) - 3 * len(widths)
    # Each column gets a share of the room, unless there is room for all.
    share = min(room / sum(widths), 1)
    lines = 0
    for row in rows:
        cells = zip(row, widths, strict=False)
        lines += max(math.ceil(len(c.strip()) / (w * share)) for c, w in cells)
    return (lines * TABLE_LINE + len(rows) * TABLE_PADDING) * size


def _size(size: float, scale: float) -> float:
    """Return the size of code or output at this scale."""
    return max(size * scale, SMALLEST)


def _text_lines(markdown: str, size: float) -> float:
    """Return the number of lines of a text in a font of `size` pixels."""
    characters = WIDTH / (size * TEXT_CHARACTER)
    if markdown.startswith("$$"):
        return EQUATION / (TEXT * TEXT_LINE)
    # Items of a list and rows of a table begin on new lines; lines of a paragraph
    # are joined.
    items = re.split(r"\n(?=\s*(?:[-*+|]|\d+\.)\s)", markdown)
    return sum(math.ceil(len(" ".join(i.split())) / characters) + 0.2 for i in items)


def _wrapped_lines(line: str, size: float) -> int:
    """Return the number of lines that a printed line takes in a font of this size."""
    characters = int(WIDTH / (size * CODE_CHARACTER)) - 3
    return math.ceil(max(len(line), 1) / characters) if len(line) > WIDEST_TABLE else 1


def _width(block: SlideItem, scale: float) -> float:
    """Return the width in pixels of code or output, or 0 for blocks that adapt."""
    match block:
        case Code(source):
            longest, size = max(map(len, source.split("\n"))), CODE
        case Output(text):
            lines = [len(line) for line in text.split("\n")]
            longest, size = max(n for n in [0, *lines] if n <= WIDEST_TABLE), OUTPUT
        case _:
            return 0
    return longest * _size(size, scale) * CODE_CHARACTER + PADDING * scale


# Splitting

# The cost of each additional slide, and of the empty room on a slide, up to EMPTY.
NEW, EMPTY = 10.0, 4.0
# The cost of a split in each of these places.
IN_CELL, IN_CLASS, BEFORE_OUTPUT, BETWEEN_LINES = 0.5, 2.0, 5.0, 9.0
AFTER_HEAD = 4.0  # after the first paragraph of a class
IN_STRING = 6.0
AFTER_TEXT = 3.0  # between a text and the code below it


@dataclass
class Unit:
    """A piece that is not split, such as a paragraph of code, an item, or a picture.

    `cost` is that of a split before the unit. If the unit continues the block of the
    unit before it, `separator` is the text between the two; otherwise it is empty.
    `context` is the text above the unit if a part begins with it.
    """

    block: SlideItem
    cost: float = 0.0
    separator: str = ""
    context: str = ""


def _split(slide: Slide) -> list[Slide]:
    """Return the parts of a slide, which fit, split at the lowest cost."""
    units = list(_units(slide))
    # best[n] is the lowest cost of the first n units and the start of their last part.
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(units) + 1):
        costs = []
        for start in reversed(range(end)):
            part = _part(slide, units, start, end)
            if start < end - 1 and not fits(part, part.blocks, SCALES[-1]):
                break
            free = 1 - min(_filled_share(part, part.blocks, SCALES[-1]), 1)
            cost = best[start][0] + NEW + EMPTY * free**2 + units[start].cost
            costs.append((cost, start))
        best.append(min(costs))
    parts: list[Slide] = []
    end = len(units)
    while end:
        start = best[end][1]
        parts.insert(0, _part(slide, units, start, end))
        end = start
    return parts


def _part(slide: Slide, units: list[Unit], start: int, end: int) -> Slide:
    """Return the part of a slide with these units; the first part has the notes."""
    first, *others = units[start:end]
    if first.context:
        block = _with_text(first.block, f"{first.context}\n{_text(first.block)}")
        first = replace(first, block=block)
    notes = [] if start else slide.notes
    blocks = _join([first, *others])
    return replace(slide, blocks=blocks, notes=notes, continued=start > 0)


def _units(slide: Slide) -> Iterator[Unit]:
    """Yield the units of a slide in order."""
    above: SlideItem | None = None
    for block in slide.blocks:
        match block:
            case Code(source):
                cost = AFTER_TEXT if isinstance(above, Text) else 0.0
                yield from _units_of_code(slide, source, cost)
            case Output():
                yield from _split_long_unit(slide, Unit(block, BEFORE_OUTPUT))
            case Text(markdown) if markdown.startswith("|"):
                head, line, first, *rest = markdown.split("\n")
                context = f"{head}\n{line}"
                yield Unit(Text(f"{context}\n{first}"))
                yield from (Unit(Text(row), 0, "\n", context) for row in rest)
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
    code = first
    for above, paragraph in pairwise([first, *rest]):
        in_class = AFTER_HEAD if above.startswith("class ") else IN_CLASS
        cost = in_class if paragraph.startswith(" ") else IN_CELL
        cost = IN_STRING if _open_string(code) else cost
        context = _context(code, paragraph)
        unit = Unit(Code(paragraph), cost, "\n\n", context)
        yield from _split_long_unit(slide, unit, code)
        code += f"\n\n{paragraph}"


def _context(code: str, following: str) -> str:
    """Return the first lines of the blocks in `code` that `following` continues.

    The context is for a slide that begins with `following`; it may be empty. Within a
    string, it is the line that begins the string.
    """
    if opening := _open_string(code):
        return f"{opening}\n..."
    context: list[str] = []
    indent = _indent(following)
    for line in reversed(code.split("\n")):
        is_outside = line.strip() and _indent(line) < indent
        if is_outside and not line.lstrip().startswith((")", "]", "}")):
            indent = _indent(line)
            context.insert(0, line)
    if context:
        context.append(" " * _indent(following) + "...")
    return "\n".join(context)


def _open_string(code: str) -> str:
    """Return the line up to the quotes of a long string that has no end in `code`."""
    opening: re.Match[str] | None = None
    for quotes in LONG_QUOTES.finditer(code):
        if opening is None:
            opening = quotes
        elif quotes[0] == opening[0]:
            opening = None
    return code[: opening.end()].rpartition("\n")[2] if opening else ""


def _indent(text: str) -> int:
    """Return the number of spaces at the start of a text."""
    return len(text) - len(text.lstrip(" "))


def _split_long_unit(slide: Slide, unit: Unit, above: str = "") -> Iterator[Unit]:
    """Yield a unit, or a unit for each of its lines if it is too long for a slide.

    The unit continues the code `above`.
    """
    if fits(slide, [unit.block], SCALES[-1]):
        yield unit
        return
    first, *rest = _text(unit.block).split("\n")
    yield replace(unit, block=_with_text(unit.block, first))
    above += f"\n{first}"
    for line in rest:
        # An indented line probably continues a statement, so a split costs more.
        cost = BETWEEN_LINES + _indent(line)
        context = _context(above, line) if isinstance(unit.block, Code) else ""
        yield Unit(_with_text(unit.block, line), cost, "\n", context)
        above += f"\n{line}"


def _join(units: list[Unit]) -> list[SlideItem]:
    """Return the blocks that consist of these units."""
    blocks: list[SlideItem] = []
    for unit in units:
        if blocks and unit.separator:
            last = blocks.pop()
            text = _text(last) + unit.separator + _text(unit.block)
            blocks.append(_with_text(last, text))
        else:
            blocks.append(unit.block)
    return blocks


def _text(block: SlideItem) -> str:
    """Return the text of a block of text, code or output."""
    match block:
        case Text(text) | Code(text) | Output(text):
            return text
    raise TypeError(block)


def _with_text(block: SlideItem, text: str) -> SlideItem:
    """Return a block of the same kind with another text."""
    match block:
        case Text():
            return Text(text)
        case Code():
            return Code(text)
        case Output():
            return replace(block, text=text)
    raise TypeError(block)
