"""Divides a slide with more items than fit into several slides, by counting lines.

The browser scales each slide to its size (`static/slides.js`), and reports a slide on
which text would be too small to read. So nothing is measured here: a slide has the room
of LINES lines of code in the smallest size, below a title of two lines.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from book.slides.marks import Code, Output, Plot, Slide, SlideFigure, SlideItem, Text

LINES = 22
FRAME = 2  # lines around code and around printed text
TEXT_LINE, CHARACTERS = 1.4, 95  # the height of a line of text, and its characters
PICTURE = 15

ITEM = re.compile(r"\n(?=[-*+] |\d+\. )")  # of a list
ROW = re.compile(r"\n(?=\|)")
PARAGRAPH = re.compile(r"\n\s*?\n(?=\s*\S)")  # of code
LINE = re.compile(r"\n")
QUOTES = re.compile(r'"""|\'\'\'')


def divide(slide: Slide) -> list[Slide]:
    """Return the slides that show the items of a slide, in order; the first has notes.

    Only an item that is too long for any slide continues on the next one.
    """
    shown: list[list[SlideItem]] = [[]]
    for unit in _units(slide.blocks):
        _add(shown, unit)
    parts = [
        replace(slide, blocks=blocks, number=number, total=len(shown))
        for number, blocks in enumerate(shown, start=1)
    ]
    return [parts[0], *(replace(part, notes=[]) for part in parts[1:])]


def _units(items: list[SlideItem]) -> Iterator[list[SlideItem]]:
    """Yield the items that stay on one slide if they fit: a text, its cell, its outputs."""
    unit: list[SlideItem] = []
    for item in items:
        above = unit[-1] if unit else None
        follows = isinstance(item, Output | Plot) or (
            isinstance(item, Code) and isinstance(above, Text)
        )
        if above and follows and _lines([*unit, item]) <= LINES:
            unit.append(item)
            continue
        if unit:
            yield unit
        unit = [item]
    yield unit


def _add(shown: list[list[SlideItem]], unit: list[SlideItem]) -> None:
    """Add items to the last of the slides `shown`, or to further slides."""
    room = LINES - _lines(shown[-1])
    needed = _lines(unit)
    cut = _cut(unit[0], room) if needed > LINES else None
    if cut:
        shown[-1].append(cut[0])
        shown.append([])
        _add(shown, [cut[1]])
    elif needed > room and shown[-1]:
        shown.append([])
        _add(shown, unit)
    else:
        shown[-1] += unit


def _lines(items: list[SlideItem]) -> float:
    """Return the number of lines of code that have the height of the items."""
    return sum(map(_height, items))


def _height(item: SlideItem) -> float:
    match item:
        case Code(text) | Output(text):
            return text.count("\n") + 1 + FRAME
        case Text(text):
            parts = re.split(f"{ITEM.pattern}|{ROW.pattern}", text)
            return TEXT_LINE * sum(math.ceil(len(p) / CHARACTERS) for p in parts) + 0.6
    return PICTURE


# Items that are too long


def _cut(item: SlideItem, room: float) -> tuple[SlideItem, SlideItem] | None:
    """Return the longest start of an item that has room, and the rest of the item."""
    fitting = [cut for cut in _cuts(item) if _height(cut[0]) <= room]
    return fitting[-1] if fitting else None


def _cuts(item: SlideItem) -> Iterator[tuple[SlideItem, SlideItem]]:
    """Yield each start of an item at which it may be cut, and the rest of the item.

    The rest of a table has the head of the table, and the rest of a definition has its
    first line.
    """
    if isinstance(item, Plot | SlideFigure):
        return
    text, head = item.text, ""
    gaps = PARAGRAPH if isinstance(item, Code) else LINE
    if isinstance(item, Text):
        gaps = ITEM
        if text.startswith("|"):
            gaps, head = ROW, "".join(text.splitlines(keepends=True)[:2])
    for gap in gaps.finditer(text, len(head)):
        before, after = text[: gap.start()], text[gap.end() :]
        if isinstance(item, Code):
            if _is_open(before):
                continue
            head = _context(before, after)
        yield replace(item, text=before), replace(item, text=head + after)


def _is_open(code: str) -> bool:
    """Return True if code ends within a long string."""
    opening = ""
    for quotes in QUOTES.findall(code):
        opening = "" if quotes == opening else opening or quotes
    return bool(opening)


def _context(code: str, following: str) -> str:
    """Return the first lines of the blocks in `code` that `following` continues."""
    context: list[str] = []
    indent = first = _indent(following)
    for line in reversed(code.split("\n")):
        is_outside = line.strip() and _indent(line) < indent
        if is_outside and not line.lstrip().startswith((")", "]", "}")):
            indent = _indent(line)
            context.insert(0, f"{line}\n")
    return "".join([*context, f"{' ' * first}...\n"]) if context else ""


def _indent(text: str) -> int:
    """Return the number of spaces at the start of a text."""
    return len(text) - len(text.lstrip(" "))
