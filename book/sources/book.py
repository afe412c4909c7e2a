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

from d2lbook import library
from d2lbook import notebook as d2l_notebook
from d2lbook.config import Config
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from book.base.errors import BookError
from book.sources import checks
from book.sources.tabs import TAB_NAMES

FENCE = re.compile(r"(`{3,}|~{3,})[^`]*$")
CONTENTS = re.compile(r"^(```+) *toc *\n(.*?)^\1", re.MULTILINE | re.DOTALL)
EMPTY = new_notebook()


@dataclass(frozen=True)
class Section:
    """One Markdown file of the book; `name` is its path without `.md`."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        try:
            text = self.path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise BookError("not UTF-8; save it so", self.at(line)) from None
        # Without it, d2lbook would miss a code block that ends the file.
        return text if text.endswith("\n") else text + "\n"

    def at(self, line: int) -> str:
        return f"{self.name}.md:{line}"

    def line_of(self, snippet: str) -> int:
        """The number of the line on which `snippet` starts, 1 if it is not there."""
        return self.text.count("\n", 0, max(self.text.find(snippet), 0)) + 1

    def where(self, snippet: str) -> str:
        return self.at(self.line_of(snippet))

    @property
    def prose(self) -> str:
        """The text with the lines of its code blocks blank."""
        return self._without_code[0]

    @property
    def unclosed(self) -> list[int]:
        """The lines of the code blocks that do not end."""
        return self._without_code[1]

    @cached_property
    def _without_code(self) -> tuple[str, list[int]]:
        return _without_code(self.text)

    @property
    def contents(self) -> Iterator[tuple[str, str]]:
        """The names in its table of contents, and where each stands."""
        for toc in CONTENTS.finditer(self.text):
            first = self.text.count("\n", 0, toc.start(2)) + 1
            for number, line in enumerate(toc[2].split("\n"), start=first):
                if line.strip() and not line.strip().startswith(":"):
                    yield line.strip(), self.at(number)

    @property
    def labels(self) -> list[str]:
        return [label for label, _ in self.found(checks.LABEL)]

    def found(self, pattern: re.Pattern) -> Iterator[tuple[str, str]]:
        """What a pattern's group matches, and where."""
        for match in pattern.finditer(self.text):
            yield match[1], self.at(self.text.count("\n", 0, match.start()) + 1)


def _without_code(text: str) -> tuple[str, list[int]]:
    kept: list[str] = []
    unclosed: list[int] = []
    fence, start = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        mark = FENCE.match(line)
        kept.append("" if fence or mark else line)
        if fence and line.rstrip() == fence:
            fence = ""
        elif mark and fence in ("", mark[1]):
            # The start of the next block is the end of none.
            unclosed += [start] if fence else []
            fence, start = mark[1], number
    return "\n".join(kept), unclosed + ([start] if fence else [])


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
        self._tab_notebooks: dict[tuple[Section, str], NotebookNode | None] = {}

    @cached_property
    def sections(self) -> list[Section]:
        """All sections in the order of the tables of contents, the index first."""
        name = self.config.build["index"]
        found: dict[str, Section] = {}
        problems = list(self._gather(Section(name, self.root / f"{name}.md"), found))
        if problems:
            raise BookError("\n".join(problems))
        return list(found.values())

    def _gather(self, section: Section, found: dict[str, Section]) -> Iterator[str]:
        """Put a section and those of its contents into `found`; tell what is wrong."""
        found[section.name] = section
        try:
            contents = list(section.contents)
        except BookError as error:
            yield str(error)
            return
        for entry, where in contents:
            path = (section.path.parent / f"{entry}.md").resolve()
            if not path.is_file() or not path.is_relative_to(self.root):
                yield f"{where}: no file '{entry}.md'; write it, or mend the name"
                continue
            name = str(path.relative_to(self.root).with_suffix(""))
            if name in found:
                yield f"{where}: '{entry}' is in the contents already; name it once"
            else:
                yield from self._gather(Section(name, path), found)

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
        """All tabs of a section as one notebook, its text cells split by tab.

        Each cell's metadata holds the `line` of the Markdown on which it starts.
        """
        if section not in self._notebooks:
            if not section.text.strip():
                raise BookError("the page is empty; write something", section.at(1))
            whole = d2l_notebook.read_markdown(section.text)
            nb = d2l_notebook.split_markdown_cell(whole)
            _number(nb.cells, section.text)
            self._notebooks[section] = nb
        return copy.deepcopy(self._notebooks[section])

    def tab_notebook(self, section: Section, tab: str) -> NotebookNode | None:
        """What `tab` shows of a section, aliases replaced; None if all code is others'.

        Each cell's metadata holds `origin_pos`, its place in `notebook(section)`.
        """
        return copy.deepcopy(self._of_tab(section, tab))

    def _of_tab(self, section: Section, tab: str) -> NotebookNode | None:
        key = (section, tab)
        if key not in self._tab_notebooks:
            self._tab_notebooks[key] = self._made_for(section, tab)
        return self._tab_notebooks[key]

    def _made_for(self, section: Section, tab: str) -> NotebookNode | None:
        nb = self.notebook(section)
        for cell in nb.cells:
            if cell.cell_type == "code" and "tab.selected" in cell.source:
                where = section.at(cell.metadata["line"])
                cell.source = choose(cell, tab, where)
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
            # The line of the tabs is gone, so the code starts one further down.
            where = section.at(cell.metadata["line"] + (error.lineno or 1))
            what = f"not Python ({error.msg}); mend it, or give a magic its own cell"
            raise BookError(what, where) from None

    def code_tabs(self, section: Section) -> list[str]:
        """The tabs in which a section has code to run."""
        return [tab for tab in self.tabs if self.code_cells(section, tab)]

    def code_cells(self, section: Section, tab: str) -> list[NotebookNode]:
        """The code of a section in one tab, to read and not to change."""
        nb = self._of_tab(section, tab)
        return [c for c in nb.cells if c.cell_type == "code"] if nb else []

    def check(self) -> None:
        """Raise a `BookError` that lists all that is wrong with the sources."""
        problems = list(checks.problems(self))
        if problems:
            raise BookError("\n".join(problems))


def _read_config(path: Path) -> Config:
    """The settings, read by d2lbook, which looks for the index from their folder."""
    try:
        index = _index(path)
        if not (path.parent / f"{index}.md").is_file():
            message = "the index page is missing; write it, or mend `index`"
            raise BookError(f"{message} in {path.name}", f"{index}.md")
        with contextlib.chdir(path.parent):
            config = Config(config_fname=str(path))
        for part in (config.build, config.project, config.html, config.pdf):
            dict(part)  # a mistake in a value shows when that is read
        config.build["index"] = index
    except UnicodeDecodeError:
        raise BookError("not UTF-8; save it so", path) from None
    except (configparser.Error, AssertionError, KeyError) as error:
        raise BookError(" ".join(str(error).split()), path) from None
    _check_tabs(config.tabs, path)
    return config


def _check_tabs(tabs: list[str], path: Path) -> None:
    """Raise a `BookError` if the settings list no tabs, a strange one or one twice."""
    if not all(tabs or [""]):
        raise BookError("no tabs; name some under [build], as in tabs = pytorch", path)
    for tab in tabs:
        if tab not in TAB_NAMES:
            known = ", ".join(TAB_NAMES)
            raise BookError(f"no framework '{tab}' for a tab; there are {known}", path)
        if tabs.count(tab) > 1:
            raise BookError(f"tab '{tab}' is listed twice; list it once", path)


def _index(path: Path) -> str:
    """The index page that the settings name, without `.md`."""
    settings = configparser.ConfigParser()
    settings.read(path, encoding="utf-8")
    return settings.get("build", "index", fallback="index").removesuffix(".md")


def _number(cells: list[NotebookNode], text: str) -> None:
    """Note in each cell on which line of `text` it starts; cells are in its order."""
    lines = [line.strip() for line in text.split("\n")]
    end = 0
    for cell in cells:
        start = None
        for line in filter(None, map(str.strip, cell.source.splitlines())):
            # d2lbook writes some lines otherwise, such as that of a fence.
            with contextlib.suppress(ValueError):
                place = lines.index(line, end)
                start = place if start is None else start
                end = place + 1
        cell.metadata["line"] = (end if start is None else start) + 1


def choose(cell: NotebookNode, tab: str, where: str) -> str:
    """A cell's source with `tab.selected(...)` decided for `tab`, its tab line kept."""
    head = re.match(r"(?:%%tab|# *@tab)[^\n]*\n", cell.source)
    start = head.end() if head else 0
    # Few books branch within a cell; only those have to load what decides it.
    from book.sources.branches import select_branches

    return cell.source[:start] + select_branches(cell.source[start:], tab, where)
