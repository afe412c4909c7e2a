"""The text of the book: its sections in order, each as one notebook a tab.

Reading is d2lbook's; what it gets wrong or dies of (a `tab.selected` with an
`else`, an unknown tab, a heading inside a tab) is put right or refused here,
with the file and the line.
"""

import configparser
import contextlib
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from d2lbook import common, library
from d2lbook import notebook as d2l_notebook
from d2lbook.config import Config
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from book.branches import select_branches
from book.errors import BookError

LABEL = re.compile(r":(?:eq)?label:`([^`]+)`")
REFERENCE = re.compile(r":(?:num|eq)?ref:`([^`]+)`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
EMPTY = new_notebook()
HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """One Markdown file of the book; `name` is its path without `.md`."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def line_of(self, snippet: str) -> int:
        """The number of the line on which `snippet` starts, 1 if it is not there."""
        return self.text.count("\n", 0, max(self.text.find(snippet), 0)) + 1

    def where(self, snippet: str) -> str:
        return f"{self.name}.md:{self.line_of(snippet)}"

    @property
    def labels(self) -> list[str]:
        return [label for label, _ in self.found(LABEL)]

    def found(self, pattern: re.Pattern) -> Iterator[tuple[str, str]]:
        """What a pattern's group matches, and where."""
        for match in pattern.finditer(self.text):
            line = self.text.count("\n", 0, match.start()) + 1
            yield match[1], f"{self.name}.md:{line}"


class Book:
    """The book in the folder `root`, which holds config.ini and index.md."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        config = self.root / "config.ini"
        if not config.exists():
            raise BookError("no such file; run this from the book's folder", config)
        self.config = _read_config(config)
        self.tabs: list[str] = self.config.tabs
        self._notebooks: dict[Section, NotebookNode] = {}

    @cached_property
    def sections(self) -> list[Section]:
        """All sections in the order of the tables of contents, the index first."""
        index = self.root / f"{self.config.build['index']}.md"
        if not index.exists():
            raise BookError("the index page is missing", index)
        names = [Path(f).resolve() for f in d2l_notebook.get_toc(str(index))]
        return [
            Section(str(p.relative_to(self.root).with_suffix("")), p) for p in names
        ]

    def section(self, name: str) -> Section:
        """The section that `name` names: its path, or the last part of it."""
        name = name.removesuffix(".md")
        for section in self.sections:
            if name in (section.name, Path(section.name).name):
                return section
        known = ", ".join(Path(s.name).name for s in self.sections)
        raise BookError(f"no section '{name}'; there are {known}", "SECTION")

    def check_tab(self, tab: str) -> str:
        if tab not in self.tabs:
            raise BookError(f"no tab '{tab}'; there are {', '.join(self.tabs)}", "TAB")
        return tab

    def notebook(self, section: Section) -> NotebookNode:
        """All tabs of a section as one notebook, its text cells split by tab."""
        if section not in self._notebooks:
            whole = d2l_notebook.read_markdown(section.text)
            self._notebooks[section] = d2l_notebook.split_markdown_cell(whole)
        return copy.deepcopy(self._notebooks[section])

    def tab_notebook(self, section: Section, tab: str) -> NotebookNode | None:
        """What `tab` shows of a section, aliases replaced; None if all code is others'.

        Each cell's metadata holds `origin_pos`, its place in `notebook(section)`.
        """
        nb = self.notebook(section)
        for cell in nb.cells:
            if cell.cell_type == "code" and "tab.selected" in cell.source:
                cell.source = _choose(cell, tab, section)
        # Named as the default, a tab with nothing but cells for all is not left out.
        nb = d2l_notebook.get_tab_notebook(nb, tab, default_tab=tab)
        if nb is None:
            return None
        for cell in nb.cells:
            if cell.cell_type == "code":
                self._replace_aliases(cell, tab, section)
        return nb

    def _replace_aliases(self, cell: NotebookNode, tab: str, section: Section) -> None:
        """Write `d2l.zeros` and the like, set in config.ini, as the framework does.

        d2lbook does the simple ones as text, so `d2l.exp` hits `d2l.expand_dims` too.
        """
        settings = dict(self.config.library.get(tab, {}))
        simple = library._parse_mapping_config(settings.pop("simple_alias", ""))
        source = cell.source
        for alias, name in simple:
            whole = rf"\bd2l\.{re.escape(alias.rstrip('('))}(?!\w)"
            name = f"{settings['lib_name']}.{name.rstrip('(')}"
            source = re.sub(whole, name, source)
        single = d2l_notebook.create_new_notebook(EMPTY, [cell])
        cell.source = source
        try:
            cell.source = library.replace_alias(single, settings).cells[0].source
        except SyntaxError as error:
            line = section.line_of(source.strip()) + (error.lineno or 1)
            where = f"{section.name}.md:{line}"
            what = f"not Python ({error.msg}); mend it, or give a magic its own cell"
            raise BookError(what, where) from None

    def code_tabs(self, section: Section) -> list[str]:
        """The tabs in which a section has code to run."""
        return [tab for tab in self.tabs if self.code_cells(section, tab)]

    def code_cells(self, section: Section, tab: str) -> list[NotebookNode]:
        nb = self.tab_notebook(section, tab)
        return [c for c in nb.cells if c.cell_type == "code"] if nb else []

    def check(self) -> None:
        """Raise a `BookError` that lists all that is wrong with the sources."""
        problems = list(_problems(self))
        if problems:
            raise BookError("\n".join(problems))


def _read_config(path: Path) -> Config:
    """The settings, read by d2lbook, which looks for the index from their folder."""
    try:
        with contextlib.chdir(path.parent):
            return Config(config_fname=str(path))
    except SystemExit:
        message = "it names an index page that is missing"
    except (configparser.Error, AssertionError, KeyError) as error:
        message = " ".join(str(error).split())
    raise BookError(message, path)


def _choose(cell: NotebookNode, tab: str, section: Section) -> str:
    """A cell's source with `tab.selected(...)` decided for `tab`, its tab line kept."""
    head = re.match(r"(?:%%tab|# *@tab)[^\n]*\n", cell.source)
    start = head.end() if head else 0
    where = section.where(cell.source)
    return cell.source[:start] + select_branches(cell.source[start:], tab, where)


def _problems(book: Book) -> Iterator[str]:
    seen: dict[str, str] = {}
    for section in book.sections:
        yield from _tab_problems(book, section)
        for label, where in section.found(LABEL):
            if label in seen:
                first = seen[label]
                yield f"{where}: label '{label}' stands already at {first}; rename one"
            seen.setdefault(label, where)
    for section in book.sections:
        for label, where in section.found(REFERENCE):
            if label not in seen:
                yield f"{where}: no label '{label}'; add it or mend the name"


def _tab_problems(book: Book, section: Section) -> Iterator[str]:
    begins = re.findall(r"^:begin_tab:", section.text, re.MULTILINE)
    ends = re.findall(r"^:end_tab:", section.text, re.MULTILINE)
    if len(begins) != len(ends):
        yield (
            f"{section.name}.md: {len(begins)} :begin_tab: but {len(ends)} :end_tab:;"
            " close each tab"
        )
        return
    for cell in book.notebook(section).cells:
        where = section.where(cell.source.strip().split("\n:end_tab:")[0])
        known = [*book.tabs, "all"]
        for tab in d2l_notebook.get_cell_tab(cell):
            if tab and tab not in known:
                yield f"{where}: no tab '{tab}'; there are {', '.join(known)}"
        if cell.cell_type == "code" and not common.source_tab_pattern_2.search(
            cell.source
        ):
            yield f"{where}: code without a tab; start the cell with %%tab and its tabs"
        if cell.cell_type == "markdown" and "tab" in cell.metadata:
            if HEADING.search(FENCED.sub("", cell.source)):
                yield f"{where}: a heading inside a tab; move it out of :begin_tab:"
