"""What is wrong with the sources: each in one line, with the file and the line.

`book.sources.Book.check` asks for it before anything is made of the book.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from d2lbook import common
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.base.errors import BookError
from book.sources.branches import parse_cell, select_branches

if TYPE_CHECKING:
    from book.sources.book import Book, Section

LABEL = re.compile(r":(?:eq)?label:`([^`]+)`")
REFERENCE = re.compile(r":(?:num|eq)?ref:`([^`]+)`")
HEADING = re.compile(r"#{1,6} ")
TAB_BEGIN = re.compile(r":begin_tab:`[^`]+`\s*$")
# A cell for another program; the line of its tabs may stand above.
CELL_MAGIC = re.compile(r"(?:%%tab[^\n]*\n)?\s*%%(?!tab\b)")
SELECTED = re.compile(r"\btab\.selected\(([^()]*)\)")
QUOTED = re.compile(r"""["']([^"']*)["']""")
ROLE = re.compile(r":([-/\\.\w]+):``?[^`]+`")
ROLES = (
    *("label", "eqlabel", "ref", "numref", "eqref", "cite", "citet", "citep"),
    *("width", "height", "bibliography", "class", "func", "mod"),
    *("begin_tab", "end_tab"),
)
LITERAL = re.compile(r"(?<!:)``.+?``", re.DOTALL)
CODE = re.compile(r"`(?:[^`\n]|\n(?!\s*\n))*`")
ESCAPED = re.compile(r"\\[$`]")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
# Bold text: neither the signs of a slide mark nor what stands between two marks.
BOLD = re.compile(
    r"(?<![\[(*])\*\*(?![\s*\])])((?:(?!\*\*|\n[ \t]*\n).)+)(?<![\s\[(])\*\*(?![\])*])",
    re.DOTALL,
)
LINK = re.compile(r"(!\[[^\]]*)?\]\(([^()<>\s]+)")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.IGNORECASE)


def problems(book: Book) -> Iterator[str]:
    yield from _missing_bibliographies(book)
    for section in book.sections:
        yield from _section_problems(book, section)
    yield from _label_problems(book)


def _missing_bibliographies(book: Book) -> Iterator[str]:
    for name in book.config.pdf["bibfile"].replace(",", " ").split():
        if not (book.root / name).is_file():
            yield f"{name} is missing; restore it, or mend `bibfile` in config.ini"


def _section_problems(book: Book, section: Section) -> Iterator[str]:
    if not section.text.strip():
        yield f"{section.at(1)}: the page is empty; write something"
        return
    marks = list(_mark_problems(section))
    yield from marks
    if not marks:
        # Cells cannot be told apart before.
        for cell in book.notebook(section).cells:
            yield from _cell_problems(book, section, cell)
        yield from _text_problems(section)


def _label_problems(book: Book) -> Iterator[str]:
    seen: dict[str, str] = {}
    for section in book.sections:
        for label, where in section.found(LABEL):
            if label in seen:
                first = seen[label]
                yield f"{where}: label '{label}' stands already at {first}; rename one"
            seen.setdefault(label, where)
    for section in book.sections:
        for label, where in section.found(REFERENCE):
            if label not in seen:
                yield f"{where}: no label '{label}'; add it or mend the name"


# Tabs and code


def _mark_problems(section: Section) -> Iterator[str]:
    """What does not begin and end in turn, and headings inside a tab."""
    open_at = 0
    for number, line in enumerate(section.prose.split("\n"), start=1):
        where = section.at(number)
        if line.startswith(":begin_tab:"):
            if open_at:
                yield f"{where}: a tab inside that of line {open_at}; close that first"
            if not TAB_BEGIN.match(line):
                yield f"{where}: a tab without a name; write :begin_tab:`TAB`"
            open_at = number
        elif line.startswith(":end_tab:"):
            if not open_at:
                yield f"{where}: :end_tab: without :begin_tab:; take it out"
            open_at = 0
        elif open_at and HEADING.match(line):
            yield f"{where}: a heading inside a tab; move it out of :begin_tab:"
    for number in section.unclosed:
        yield f"{section.at(number)}: a code block that does not end; close its fence"
    if open_at and not section.unclosed:
        yield f"{section.at(open_at)}: a tab that does not end; add :end_tab:"


def _cell_problems(book: Book, section: Section, cell: NotebookNode) -> Iterator[str]:
    known = [*book.tabs, "all"]
    where = section.at(cell.metadata["line"])
    for tab in d2l_notebook.get_cell_tab(cell):
        if tab and tab not in known:
            yield f"{where}: no tab '{tab}'; there are {', '.join(known)}"
    if cell.cell_type != "code":
        return
    if not common.source_tab_pattern_2.search(cell.source):
        yield f"{where}: code without a tab; start the cell with %%tab and its tabs"
    if not CELL_MAGIC.match(cell.source):
        yield from _code_problems(book, section, cell)


def _code_problems(book: Book, section: Section, cell: NotebookNode) -> Iterator[str]:
    """What is no Python, or asks for a tab in a way that cannot be decided."""
    first = cell.metadata["line"]
    try:
        parse_cell(cell.source)
    except SyntaxError as error:
        where = section.at(first + (error.lineno or 1) - 1)
        yield f"{where}: not valid Python ({error.msg}); mend it"
        return
    for call in SELECTED.finditer(cell.source):
        where = section.at(first + cell.source.count("\n", 0, call.start()))
        for tab in QUOTED.findall(call[1]):
            if tab not in book.tabs:
                yield f"{where}: no tab '{tab}'; there are {', '.join(book.tabs)}"
    if "tab.selected" in cell.source:
        try:
            select_branches(cell.source, book.tabs[0], section.at(first))
        except BookError as error:
            yield str(error)


# Text


def _text_problems(section: Section) -> Iterator[str]:
    text = _blank(LITERAL, _blank(ESCAPED, section.prose))
    for role in ROLE.finditer(text):
        if role[1] not in ROLES:
            where = _at(section, text, role)
            yield f"{where}: no role '{role[1]}'; there are {', '.join(ROLES[:8])}"
    yield from _markup_in_bold(section, text)
    text = _blank(CODE, text)
    yield from _unclosed_equations(section, text)
    yield from _lost_links(section, _blank(MATH, text))


def _markup_in_bold(section: Section, text: str) -> Iterator[str]:
    """Code, equations and references within bold text, which would show their signs."""
    text = CODE.sub(lambda code: re.sub(r"[^`\n]", "_", code[0]), text)
    for bold in BOLD.finditer(text):
        if signs := re.search(r"[`$]", bold[1]):
            where = _at(section, text, bold)
            yield f"{where}: a '{signs[0]}' within bold text; end the bold text before"


def _lost_links(section: Section, text: str) -> Iterator[str]:
    for link in LINK.finditer(text):
        target = unquote(link[2].partition("#")[0])
        where = _at(section, text, link)
        if ADDRESS.match(link[2]):
            continue
        if not (section.path.parent / target).exists():
            yield f"{where}: no file '{target}'; add it or mend the link"
        elif target.endswith(".md"):
            yield f"{where}: the site has no '{target}'; link its label with :numref:"


def _unclosed_equations(section: Section, text: str) -> Iterator[str]:
    """Each `$$` without a second one in its paragraph."""
    open_at = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if open_at and not line.strip():
            yield f"{section.at(open_at)}: an equation that does not end; add $$"
            open_at = 0
        if line.count("$$") % 2:
            open_at = 0 if open_at else number


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """`text` with spaces for what `pattern` finds, so that places stay the same."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _at(section: Section, text: str, found: re.Match[str]) -> str:
    return section.at(text.count("\n", 0, found.start()) + 1)
