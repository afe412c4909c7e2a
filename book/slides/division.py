"""Divides a slide with more items than fit into several slides, by counting lines.

Nothing is measured here. A slide shows LINES lines, each with as many as CHARACTERS
characters, below a title of at most two lines. The browser scales each slide until it
fits, and reports one that does not (`static/slides.js`).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from book.records.outputs import Picture
from book.slides.slide_marks import Code, Output, Slide, SlideItem, Text

LINES, CHARACTERS = 23, 88
SPACE = 2  # lines around each item
PICTURE = 16  # lines, with the space

ITEM = re.compile(r"\n(?=[-*+] |\d+\. )")  # of a list
ROW = re.compile(r"\n(?=\|)")
PARAGRAPH = re.compile(r"\n\s*?\n(?=\s*\S)")  # of code
STATEMENT = re.compile(r"\n(?=(?: {4}){0,2}(?!el|except|finally)[^\s)\]}])")
INNER_STATEMENT = re.compile(STATEMENT.pattern.replace("0,2", "0,4"))
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
    """Yield the items that share a slide if they fit: a text, its cell, its outputs."""
    unit: list[SlideItem] = []
    for item in items:
        above = unit[-1] if unit else None
        follows = isinstance(item, Output | Picture) or (
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
    needed, free = _lines(unit), LINES - _lines(shown[-1])
    cut = _cut(unit[0], free) if needed > LINES else None
    if cut:
        shown[-1].append(cut[0])
        shown.append([])
        _add(shown, [cut[1]])
    elif needed > free and shown[-1]:
        shown.append([])
        _add(shown, unit)
    else:
        shown[-1] += unit


def _lines(items: list[SlideItem]) -> int:
    """Return the number of lines that items take, with the space around them."""
    return sum(_height(item) + SPACE for item in items)


def _height(item: SlideItem) -> int:
    match item:
        case Code(text) | Output(text):
            lines = text.split("\n")
        case Text(text):
            lines = re.split(f"{ITEM.pattern}|{ROW.pattern}", text)
        case _:
            return PICTURE - SPACE
    return sum(math.ceil(len(line) / CHARACTERS) or 1 for line in lines)


# Items that are too long


def _cut(item: SlideItem, room: int) -> tuple[SlideItem, SlideItem] | None:
    """Return the longest start of an item that has room, and the rest of the item.

    The rest begins with the head of a table, or the first line of a definition.
    """
    for gaps in _gaps(item):
        assert isinstance(item, Text | Code | Output)
        text, found = item.text, None
        head = "".join(text.splitlines(keepends=True)[:2]) if gaps is ROW else ""
        for gap in gaps.finditer(text, len(head)):
            before, after = text[: gap.start()], text[gap.end() :]
            if isinstance(item, Code):
                head = _context(before, after)
            start, rest = replace(item, text=before), replace(item, text=head + after)
            if len(rest.text) < len(text) and _lines([start]) <= room:
                found = start, rest
        if found:
            return found
    return None


def _gaps(item: SlideItem) -> list[re.Pattern[str]]:
    """Return the places at which an item may be cut; the first ones are the best."""
    match item:
        case Code():
            return [PARAGRAPH, STATEMENT, INNER_STATEMENT]
        case Output():
            return [LINE]
        case Text(text):
            return [ROW if text.startswith("|") else ITEM]
    return []


def _context(code: str, following: str) -> str:
    """Return the first lines of the blocks in `code` that `following` continues.

    Within a long string, it is the line with the quotes that begin the string.
    """
    if opening := _open_string(code):
        return f"{opening}\n...\n"
    context: list[str] = []
    indent = first = _indent(following)
    for line in reversed(code.split("\n")):
        is_outside = line.strip() and _indent(line) < indent
        if is_outside and not line.lstrip().startswith((")", "]", "}")):
            indent = _indent(line)
            context.insert(0, f"{line}\n")
    return "".join([*context, f"{' ' * first}...\n"]) if context else ""


def _open_string(code: str) -> str:
    """Return the line up to the quotes of a long string that has no end in `code`."""
    opening: re.Match[str] | None = None
    for quotes in QUOTES.finditer(code):
        if opening is None:
            opening = quotes
        elif quotes[0] == opening[0]:
            opening = None
    return code[: opening.end()].rpartition("\n")[2] if opening else ""


def _indent(text: str) -> int:
    """Return the number of spaces at the start of a text."""
    return len(text) - len(text.lstrip(" "))
