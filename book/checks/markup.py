"""Checks the markup of the sources: tabs, code, labels, roles, links, marks, tables.

A book with such problems cannot be built.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from pygments.lexers import get_all_lexers

from book.base import build_paths
from book.base.progress import counted
from book.checks import quotations
from book.library.figures import is_interactive
from book.text.blocks import Block, Cell, Contents, Figure, Heading, References
from book.text.book import Book
from book.text.inline import (
    CITATIONS,
    MARKS,
    MEDIA,
    PLAY,
    REFERENCES,
    MarkupError,
    Span,
    roles,
    slide_marks,
    spans,
    without_code,
)
from book.text.section import Section

# Each problem in a section: its line, or its offset in a text, and the message.
Problems = Iterator[tuple[int, str]]

SELECTED = re.compile(r"\btab\.selected\(([^()]*)\)")
QUOTED = re.compile(r"""["']([^"']*)["']""")
ROLES = (*REFERENCES, *CITATIONS)
# A role with two backticks on each side, which is always a mistake.
DOUBLE_ROLE = re.compile(r":([-\w]+):``[^`]+``")
# Bold text, but not a slide mark, nor the text between two slide marks.
BOLD = re.compile(
    r"(?<![\[(*])\*\*(?![\s*\])])((?:(?!\*\*|\n[ \t]*\n).)+)(?<![\s\[(])\*\*(?![\])*])",
    re.DOTALL,
)
CODE = re.compile(r"`(?:[^`\n]|\n(?!\s*\n))*`")
LISTING = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n]*?)[ \t]*\n.*?^[ \t]*\1[ \t]*$", re.M | re.S
)
# The names of languages of which pages color the code.
LANGUAGES = {
    name for _, names, *_ in get_all_lexers(plugins=False) for name in names
} | {""}
LINK = re.compile(r"\]\(([^()<>\s]+)")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.IGNORECASE)
LONG_ROW = re.compile(r"^\|.{72,}$", re.MULTILINE)
KEY = re.compile(r"^[ \t]*@\w+[ \t]*\{[ \t]*([^\s,]+)", re.MULTILINE)


def problems(book: Book) -> Iterator[str]:
    """Yield each problem in the sources of a book, in the order of its pages."""
    bib_keys = bibliography_keys(book)
    if bib_keys is None:
        names = book.config.pdf["bibfile"]
        yield f"{names} is missing; restore it, or correct `bibfile` in config.ini"
    for section in counted(book.sections, "reading sections"):
        if not section.text.strip():
            yield f"{section.at(1)}: the page is empty; write something"
            continue
        if section.title is None:
            yield f"{section.at(1)}: the page has no title; begin it with a heading"
        for line, message in _kept_problems(book, section, bib_keys):
            yield f"{section.at(line)}: {message}"
    yield from _label_problems(book)


def bibliography_keys(book: Book) -> set[str] | None:
    """Return the keys of the bibliography, or None if one of its files is missing."""
    keys: set[str] = set()
    for name in book.config.pdf["bibfile"].replace(",", " ").split():
        file = book.root / name
        if not file.is_file():
            return None
        keys |= set(KEY.findall(file.read_text("utf-8", errors="replace")))
    return keys


def _kept_problems(
    book: Book, section: Section, bib_keys: set[str] | None
) -> list[tuple[int, str]]:
    """Return each problem of a section with its line, found again if inputs changed."""
    targets = sorted({_target(link) for link in LINK.finditer(section.text)})
    links = [(target, (section.path.parent / target).exists()) for target in targets]
    libraries = [sorted(book.config.library.get(tab, {}).items()) for tab in book.tabs]
    keys, figures = bib_keys and sorted(bib_keys), _interactive(section)
    parts = [section.text, links, book.tabs, libraries, keys, figures, sys.version]
    return build_paths.cache(book.root, "sources").value(
        ["problems", repr(parts)],
        lambda: sorted(set(_section_problems(book, section, bib_keys))),
    )


def _section_problems(
    book: Book, section: Section, bib_keys: set[str] | None
) -> Problems:
    """Yield each problem of a section with its line."""
    yield from section.problems
    yield from _heading_problems(section)
    known = [*book.tabs, "all"]
    for block in section.blocks:
        for tab in block.tabs:
            if tab not in known:
                yield block.line, f"unknown tab '{tab}'; choose from {', '.join(known)}"
        if isinstance(block, Cell):
            yield from _cell_problems(book, block)
        elif not isinstance(block, Contents | References):
            yield from _text_problems(section, block, bib_keys)
    yield from quotations.mistakes_in_predictions(book, section)
    yield from _conversion_problems(book, section)


def _heading_problems(section: Section) -> Problems:
    """Yield headings that skip a level, which screen readers announce as a gap."""
    above = 0
    for block in section.blocks:
        if isinstance(block, Heading):
            if block.level > above + 1:
                message = f"level {block.level} below level {above}; remove a '#'"
                yield block.line, f"a heading of {message}"
            above = block.level


def _label_problems(book: Book) -> Iterator[str]:
    """Yield each label that is not unique, and each reference to a missing label."""
    places: dict[str, str] = {}
    for section in book.sections:
        for label, line in section.labels:
            where = section.at(line)
            if label in places:
                first = places[label]
                yield f"{where}: label '{label}' is already used at {first}; rename one"
            places.setdefault(label, where)
    cache = build_paths.cache(book.root, "sources")
    for section in book.sections:
        parts = ["references", section.text]
        for label, line in cache.value(parts, partial(list, _references(section))):
            if label not in places:
                message = f"no label '{label}'; add it or correct the name"
                yield f"{section.at(line)}: {message}"


def _references(section: Section) -> Iterator[tuple[str, int]]:
    """Yield each label that the text of a section refers to, with its line."""
    for block in section.blocks:
        for role in roles(block.text) if not isinstance(block, Cell) else ():
            if role.name in REFERENCES:
                yield role.value, block.line_at(role.start)


# Code


def _cell_problems(book: Book, cell: Cell) -> Problems:
    """Yield a missing tab, code that is not Python, and unknown tabs in branches."""
    if not cell.has_tabs:
        yield cell.rows[0], "cell without a tab; start it with %%tab and its tabs"
    try:
        ast.parse(cell.python)
    except SyntaxError as error:
        line = cell.line_of(error.lineno or 1)
        yield line, f"not valid Python ({error.msg}); correct it"
    for call in SELECTED.finditer(cell.code):
        line = cell.line_of(cell.code.count("\n", 0, call.start()) + 1)
        for tab in QUOTED.findall(call[1]):
            if tab not in book.tabs:
                yield line, f"unknown tab '{tab}'; choose from {', '.join(book.tabs)}"


def _conversion_problems(book: Book, section: Section) -> Problems:
    """Yield what d2lbook cannot convert to a tab, or would convert wrongly."""
    for tab in book.tabs:
        codes = book.converted(section, tab)
        for cell in section.cells:
            if cell.number in codes:
                for row, message in codes[cell.number].problems:
                    yield cell.line_of(row), message


# Text


def _text_problems(
    section: Section, block: Block, bib_keys: set[str] | None
) -> Problems:
    """Yield the problems in the text of a block, each with its line."""
    for listing in LISTING.finditer(block.text):
        if listing[2] not in LANGUAGES:
            message = f"unknown language '{listing[2]}'; write one such as bash or text"
            yield block.line_at(listing.start()), message
    source = LISTING.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), block.text)
    for offset, message in chain(
        _markup_problems(section, source),
        _role_problems(source, bib_keys),
        _bold_problems(source),
        _link_problems(section, source),
    ):
        yield block.line_at(offset), message


def _markup_problems(section: Section, source: str) -> Problems:
    """Yield unclosed slide marks, bad texts for one medium, and bad settings."""
    try:
        marks = slide_marks(source)
        texts = list(spans(source))
    except MarkupError as error:
        yield error.offset, str(error)
        return
    for text in texts:
        for name in text.media:
            if name not in MEDIA:
                known = ", ".join((*MEDIA, *MARKS, PLAY))
                yield text.start, f"unknown mark '{name}'; choose from {known}"
        for message in _mark_mistakes(section, text):
            yield text.start, message
        if any(text.start < mark.start < text.end for mark in marks):
            yield text.start, "slide mark within a marked text; move it outside"


def _mark_mistakes(section: Section, text: Span) -> Iterator[str]:
    """Yield the mistakes in the settings of a mark.

    The values of a figure's settings are checked by `make test-static`.
    """
    if PLAY not in text.classes:
        yield from quotations.mistakes_in_mark(text)
        return
    known = _interactive(section)
    names = {name.partition(".")[0] for name in text.attributes}
    if len(names) != 1 or not all("." in name for name in text.attributes):
        yield f"'{text.text}' sets no figure; write it as {{.play queue.every=1}}"
    elif (name := names.pop()) not in known:
        there = ", ".join(known) or "none"
        yield f"no figure '{name}' in this section; its interactive figures: {there}"


def _interactive(section: Section) -> list[str]:
    """Return the names of the interactive figures of a section."""
    figures = [b for b in section.blocks if isinstance(b, Figure)]
    return [n for n in (Path(f.path).stem for f in figures) if is_interactive(n)]


def _role_problems(source: str, bib_keys: set[str] | None) -> Problems:
    """Yield unknown and misplaced roles, and keys that are not in the bibliography."""
    for double in DOUBLE_ROLE.finditer(source):
        message = f"role '{double[1]}' with two backticks; write one on each side"
        yield double.start(), message
    for role in roles(source):
        if role.name in ("label", "eqlabel"):
            yield role.start, f"{role.name} within text; put it on a line of its own"
        elif role.name not in ROLES:
            yield role.start, f"unknown role '{role.name}'; use {', '.join(ROLES)}"
        elif role.name in CITATIONS and bib_keys is not None:
            for key in role.keys:
                if key not in bib_keys:
                    message = f"'{key}' is not in the bibliography; add it"
                    yield role.start, f"{message} or correct the key"
    for row in LONG_ROW.finditer(source):
        if any(roles(row[0])):
            message = "a row with a reference has over 72 characters, so stock d2lbook"
            yield row.start(), f"{message} would break the table; shorten the row"


def _bold_problems(source: str) -> Problems:
    """Yield code and equations in bold text, whose signs stock d2lbook would show."""
    text = CODE.sub(lambda code: re.sub(r"[^`\n]", "_", code[0]), source)
    for bold in BOLD.finditer(text):
        if sign := re.search(r"[`$]", bold[1]):
            message = f"'{sign[0]}' within bold text; end the bold text before it"
            yield bold.start(), message


def _target(link: re.Match[str]) -> str:
    """Return the file that a link leads to."""
    return unquote(link[1].partition("#")[0])


def _link_problems(section: Section, source: str) -> Problems:
    """Yield links to missing files, links to sources, and unclosed equations."""
    text = without_code(source)
    if text.count("$$") % 2:
        yield text.index("$$"), "unclosed equation; add $$"
    for link in LINK.finditer(text):
        target = _target(link)
        if ADDRESS.match(link[1]):
            continue
        if not (section.path.parent / target).exists():
            yield link.start(), f"no file '{target}'; add it or correct the link"
        elif target.endswith(".md"):
            message = f"link to a source, '{target}'; refer to its label with :numref:"
            yield link.start(), message
