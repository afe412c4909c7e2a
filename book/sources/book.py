"""The text of the book: its sections in order, and what each tab shows of them.

d2lbook reads the settings and replaces aliases such as `d2l.zeros`; the text is parsed
in `book.sources.parsing`.
"""

import configparser
import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from d2lbook.config import Config

from book.base.errors import BookError
from book.sources import aliases, checks
from book.sources.blocks import Block, Cell
from book.sources.section import Section
from book.sources.tabs import TAB_NAMES


class Book:
    """The book in the folder `root`, which holds config.ini and index.md."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        config = self.root / "config.ini"
        if not config.exists():
            raise BookError("no such file; run this from the book's folder", config)
        self.config = _read_config(config)
        self.tabs: list[str] = self.config.tabs
        self._blocks: dict[tuple[Section, str], list[Block]] = {}

    # Sections

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
        """Put a section and those of its contents into `found`; yield each problem."""
        found[section.name] = section
        try:
            entries = list(section.contents)
        except BookError as error:
            yield str(error)
            return
        for entry, line in entries:
            where = section.at(line)
            path = self.path_of_entry(section, entry)
            if not path.is_file() or not path.is_relative_to(self.root):
                yield f"{where}: no file '{entry}.md'; write it, or correct the name"
                continue
            name = str(path.relative_to(self.root).with_suffix(""))
            if name in found:
                yield f"{where}: '{entry}' is in the contents already; name it once"
            else:
                yield from self._gather(Section(name, path), found)

    def path_of_entry(self, section: Section, entry: str) -> Path:
        """Return the file that an entry of a section's table of contents names."""
        return (section.path.parent / f"{entry}.md").resolve()

    def section(self, name: str) -> Section:
        """Return the section called `name`: its path, or the path's last part.

        Raises a `BookError` if there is none, or if the last part is ambiguous.
        """
        name = name.removesuffix(".md")
        last = [s for s in self.sections if Path(s.name).name == name]
        named = [s for s in self.sections if s.name == name] or last
        if len(named) == 1:
            return named[0]
        if named:
            names = " or ".join(section.name for section in named)
            raise BookError(f"'{name}' may be {names}; write one of these", "SECTION")
        known = ", ".join(self._shortest_name(section) for section in self.sections)
        raise BookError(f"no section '{name}'; there are {known}", "SECTION")

    def _shortest_name(self, section: Section) -> str:
        last = Path(section.name).name
        return last if self._last_parts[last] == 1 else section.name

    @cached_property
    def _last_parts(self) -> Counter[str]:
        return Counter(Path(section.name).name for section in self.sections)

    def check_tab(self, tab: str) -> str:
        """Return `tab`; a `BookError` if the book has no such tab."""
        if tab not in self.tabs:
            raise BookError(f"no tab '{tab}'; there are {', '.join(self.tabs)}", "TAB")
        return tab

    # What a tab shows

    def blocks(self, section: Section, tab: str) -> list[Block]:
        """Return what `tab` shows of a section, to read and not to change.

        Cells hold the code that the tab runs. The list is empty if the section has
        code but none for this tab.
        """
        key = (section, tab)
        if key not in self._blocks:
            self._blocks[key] = self._blocks_of_tab(section, tab)
        return self._blocks[key]

    def _blocks_of_tab(self, section: Section, tab: str) -> list[Block]:
        has_code = any(cell.is_for(tab) for cell in section.cells)
        if not has_code and any(True for _ in section.cells):
            return []
        return [
            self._cell_of_tab(block, section, tab) if isinstance(block, Cell) else block
            for block in section.blocks
            if block.is_for(tab)
        ]

    def _cell_of_tab(self, cell: Cell, section: Section, tab: str) -> Cell:
        """Return a cell with its branches decided and its aliases replaced."""
        if "tab.selected" in cell.code:
            # Few books branch within a cell; only those load what decides it.
            from book.sources.branches import select_branches

            code, rows = select_branches(cell.code, tab, section.at(cell.rows[0]))
            cell = replace(cell, code=code, rows=tuple(map(cell.line_of, rows)))
        settings = self.config.library.get(tab, {})
        try:
            code, rows = aliases.replaced(cell.code, settings)
        except SyntaxError as error:
            where = section.at(cell.line_of(error.lineno or 1))
            what = f"not Python ({error.msg}); correct it, or give a magic its own cell"
            raise BookError(what, where) from None
        if code == cell.code:
            return cell
        return replace(cell, code=code, rows=tuple(map(cell.line_of, rows)))

    def cells(self, section: Section, tab: str) -> list[Cell]:
        """Return the code cells of a section in one tab."""
        return [b for b in self.blocks(section, tab) if isinstance(b, Cell)]

    def code_tabs(self, section: Section) -> list[str]:
        """Return the tabs in which a section has code to run."""
        return [tab for tab in self.tabs if self.cells(section, tab)]

    def check(self) -> None:
        """Raise a `BookError` that lists everything that is wrong with the sources."""
        problems = list(checks.problems(self))
        if problems:
            raise BookError("\n".join(problems))


def _read_config(path: Path) -> Config:
    """Return the settings, read by d2lbook, which looks for the index beside them."""
    try:
        index = _index(path)
        if not (path.parent / f"{index}.md").is_file():
            message = "the index page is missing; write it, or correct `index`"
            raise BookError(f"{message} in {path.name}", f"{index}.md")
        with contextlib.chdir(path.parent):
            config = Config(config_fname=str(path))
        for part in (config.build, config.project, config.html, config.pdf):
            dict(part)  # a mistake in a value shows when that is read
        config.build["index"] = index
    except UnicodeDecodeError:
        raise BookError("not UTF-8; save it as UTF-8", path) from None
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
    """Return the index page that the settings name, without `.md`."""
    settings = configparser.ConfigParser()
    settings.read(path, encoding="utf-8")
    return settings.get("build", "index", fallback="index").removesuffix(".md")
