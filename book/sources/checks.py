"""Checks of the sources: each problem in one line, with the file and the line.

`book.sources.book.Book.check` raises what these checks find, before anything is made
of the book.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from book.base.errors import BookError
from book.sources.blocks import Block, Cell, Contents, Directive, Figure, Table
from book.sources.inline import (
    MEDIA,
    MarkupError,
    roles,
    slide_marks,
    spans,
    without_code,
)
from book.sources.magics import hide_magics
from book.sources.section import Section

if TYPE_CHECKING:
    from book.sources.book import Book

SELECTED = re.compile(r"\btab\.selected\(([^()]*)\)")
QUOTED = re.compile(r"""["']([^"']*)["']""")
REFERENCES = ("ref", "numref", "eqref")
CITATIONS = ("cite", "citet", "citep")
ROLES = (*REFERENCES, *CITATIONS, "class", "func", "mod")
# A role with two backticks, which none of the book's has.
DOUBLE_ROLE = re.compile(r":([-\w]+):``[^`]+``")
# Bold text: neither the signs of a slide mark nor what stands between two marks.
BOLD = re.compile(
    r"(?<![\[(*])\*\*(?![\s*\])])((?:(?!\*\*|\n[ \t]*\n).)+)(?<![\s\[(])\*\*(?![\])*])",
    re.DOTALL,
)
CODE = re.compile(r"`(?:[^`\n]|\n(?!\s*\n))*`")
LISTING = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?^[ \t]*\1[ \t]*$", re.M | re.S)
LINK = re.compile(r"\]\(([^()<>\s]+)")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.IGNORECASE)
# docutils takes about two milliseconds for each cell of a table.
MOST_CELLS = 2000
KEY = re.compile(r"^[ \t]*@\w+[ \t]*\{[ \t]*([^\s,]+)", re.MULTILINE)


def problems(book: Book) -> Iterator[str]:
    """Yield what is wrong with the sources of a book, in the order of its pages."""
    works = _works(book)
    if works is None:
        names = book.config.pdf["bibfile"]
        yield f"{names} is missing; restore it, or correct `bibfile` in config.ini"
    for section in book.sections:
        if not section.text.strip():
            yield f"{section.at(1)}: the page is empty; write something"
            continue
        found = _section_problems(book, section, works)
        for line, message in sorted(set(found)):
            yield f"{section.at(line)}: {message}"
    yield from _label_problems(book)


def _works(book: Book) -> set[str] | None:
    """Return the keys of the bibliography, None if a file of it is missing."""
    works: set[str] = set()
    for name in book.config.pdf["bibfile"].replace(",", " ").split():
        file = book.root / name
        if not file.is_file():
            return None
        works |= set(KEY.findall(file.read_text("utf-8", errors="replace")))
    return works


Problems = Iterator[tuple[int, str]]


def _section_problems(book: Book, section: Section, works: set[str] | None) -> Problems:
    yield from section.problems
    for block in section.blocks:
        yield from _tab_problems(book, block)
        if isinstance(block, Cell):
            yield from _cell_problems(book, section, block)
        elif not isinstance(block, Contents | Directive):
            yield from _text_problems(section, block, works)


def _tab_problems(book: Book, block: Block) -> Problems:
    known = [*book.tabs, "all"]
    for tab in block.tabs:
        if tab not in known:
            yield block.line, f"no tab '{tab}'; there are {', '.join(known)}"


def _label_problems(book: Book) -> Iterator[str]:
    seen: dict[str, str] = {}
    for section in book.sections:
        for label, line in section.labels:
            where = section.at(line)
            if label in seen:
                first = seen[label]
                yield f"{where}: label '{label}' is already at {first}; rename one"
            seen.setdefault(label, where)
    for section in book.sections:
        for block in section.blocks:
            for role in roles(block.text) if not isinstance(block, Cell) else ():
                if role.name in REFERENCES and role.value not in seen:
                    where = section.at(block.line_at(role.start))
                    message = f"no label '{role.value}'; add it or correct the name"
                    yield f"{where}: {message}"


# Code


def _cell_problems(book: Book, section: Section, cell: Cell) -> Problems:
    if not cell.has_tabs:
        yield cell.rows[0], "code without a tab; start the cell with %%tab and its tabs"
    if not cell.is_python:
        return
    try:
        hide_magics(cell.code)
    except SyntaxError as error:
        line = cell.line_of(error.lineno or 1)
        yield line, f"not valid Python ({error.msg}); correct it"
        return
    yield from _branch_problems(book, section, cell)


def _branch_problems(book: Book, section: Section, cell: Cell) -> Problems:
    """Yield what is wrong with the branches of a cell for one tab or another."""
    for call in SELECTED.finditer(cell.code):
        line = cell.line_of(cell.code.count("\n", 0, call.start()) + 1)
        for tab in QUOTED.findall(call[1]):
            if tab not in book.tabs:
                yield line, f"no tab '{tab}'; there are {', '.join(book.tabs)}"
    if "tab.selected" in cell.code:
        from book.sources.branches import select_branches

        row = cell.code.count("\n", 0, cell.code.index("tab.selected")) + 1
        try:
            select_branches(cell.code, book.tabs[0], "")
        except BookError as error:
            yield cell.line_of(row), str(error)


# Text


def _text_problems(section: Section, block: Block, works: set[str] | None) -> Problems:
    source = LISTING.sub(_blanked, block.text)
    yield from ((block.line_at(at), why) for at, why in _markup_problems(source))
    yield from ((block.line_at(at), why) for at, why in _role_problems(source, works))
    yield from ((block.line_at(at), why) for at, why in _bold_problems(source))
    yield from ((block.line_at(at), why) for at, why in _link_problems(section, source))
    if isinstance(block, Figure):
        yield from _figure_problems(section, block)
    if isinstance(block, Table):
        yield from _table_problems(block)


def _markup_problems(source: str) -> Problems:
    """Yield slide marks and texts for one medium that are not closed."""
    try:
        marks = slide_marks(source)
        found = list(spans(source))
    except MarkupError as error:
        yield error.offset, str(error)
        return
    for span in found:
        for medium in span.media:
            if medium not in MEDIA:
                yield span.start, f"no medium '{medium}'; there are {', '.join(MEDIA)}"
        if any(span.start < mark.start < span.end for mark in marks):
            yield span.start, "a slide mark in a text for one medium; put it outside"


def _role_problems(source: str, works: set[str] | None) -> Problems:
    for double in DOUBLE_ROLE.finditer(source):
        yield double.start(), f"no role '{double[1]}' with two backticks; write one"
    for role in roles(source):
        if role.name in ("label", "eqlabel", "width", "height"):
            yield role.start, f"a {role.name} within text; put it on a line of its own"
        elif role.name not in ROLES:
            yield role.start, f"no role '{role.name}'; there are {', '.join(ROLES)}"
        elif role.name in CITATIONS and works is not None:
            for key in filter(None, map(str.strip, role.value.split(","))):
                if key not in works:
                    message = f"no work '{key}' in the bibliography; add it"
                    yield role.start, f"{message}, or correct the key"


def _bold_problems(source: str) -> Problems:
    """Yield code, equations and references within bold text: their signs would show."""
    text = CODE.sub(lambda code: re.sub(r"[^`\n]", "_", code[0]), source)
    for bold in BOLD.finditer(text):
        if sign := re.search(r"[`$]", bold[1]):
            message = f"a '{sign[0]}' within bold text; end the bold text before"
            yield bold.start(), message


def _link_problems(section: Section, source: str) -> Problems:
    text = without_code(source)
    if text.count("$$") % 2:
        yield text.index("$$"), "an equation that does not end; add $$"
    for link in LINK.finditer(text):
        target = unquote(link[1].partition("#")[0])
        if ADDRESS.match(link[1]):
            continue
        if not (section.path.parent / target).exists():
            yield link.start(), f"no file '{target}'; add it or correct the link"
        elif target.endswith(".md"):
            message = f"the site has no '{target}'; link its label with :numref:"
            yield link.start(), message


def _figure_problems(section: Section, figure: Figure) -> Problems:
    for name in ("width", "height"):
        value = getattr(figure, name)
        if value and not re.fullmatch(r"\d+(?:px)?", value):
            line = figure.line_at(figure.source.rindex(f":{name}:"))
            yield line, f"no {name} '{value}'; write one such as 400px"


def _table_problems(table: Table) -> Problems:
    """Yield a problem for a table with which a build would take minutes."""
    cells = sum(row.strip(" \t|").count("|") + 1 for row in table.rows.splitlines())
    if cells > MOST_CELLS:
        message = f"a table of {cells:,} cells; show at most {MOST_CELLS:,}"
        yield table.line, f"{message}, or draw them"


def _blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
