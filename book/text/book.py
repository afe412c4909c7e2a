"""The book: its settings, its sections in order, and the blocks that each tab shows.

d2lbook reads the settings and converts the cells to each tab; `book.text.parsing`
parses the text.
"""

import configparser
import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import d2lbook
from d2lbook.config import Config

from book.base import build_paths
from book.base.choices import choices
from book.runner.errors import BookError
from book.text.blocks import Block, Cell, Heading
from book.text.section import Section
from book.text.tabs import TAB_NAMES

if TYPE_CHECKING:
    from book.text.conversion import TabCode

# An item of a list that begins with a reference to a section.
LISTED = re.compile(r"[*-] +:ref:`([^`]+)`")


class Book:
    """The book in the folder `root`, which holds config.ini and the index page.

    Raises a `BookError` if the settings are missing or damaged.
    """

    def __init__(self, root: Path):
        self.root = root.resolve()
        config = self.root / "config.ini"
        if not config.exists():
            raise BookError("no such file; run this from the book's folder", config)
        self.config = _read_config(config)
        self.tabs: list[str] = self.config.tabs
        self._blocks: dict[tuple[Section, str], list[Block]] = {}
        self._below: dict[Section, list[Section]] = {}
        self._kept = build_paths.cache(self.root, "sources")

    def setting(self, group: str, name: str) -> str:
        """Return one of the book's own settings; empty if config.ini lacks it."""
        text: str = self.config.build.parser.get(group, name, raw=True, fallback="")
        return " ".join(text.split())

    # Sections

    @cached_property
    def sections(self) -> list[Section]:
        """All sections in the order of the tables of contents, the index first.

        Raises a `BookError` if a table of contents is wrong.
        """
        name = self.config.build["index"]
        sections: dict[str, Section] = {}
        index = Section(name, self.root / f"{name}.md", self._kept)
        problems = list(self._collect_sections(index, sections))
        if problems:
            raise BookError("\n".join(problems))
        return list(sections.values())

    def _collect_sections(
        self, section: Section, sections: dict[str, Section]
    ) -> Iterator[str]:
        """Add a section and those below it to `sections`; yield each problem."""
        sections[section.name] = section
        below = self._below[section] = []
        try:
            entries = list(section.contents)
        except BookError as error:
            yield str(error)
            return
        for entry, line in entries:
            where = section.at(line)
            path = (section.path.parent / f"{entry}.md").resolve()
            if not path.is_file() or not path.is_relative_to(self.root):
                yield f"{where}: no file '{entry}.md'; write it, or correct the name"
                continue
            name = str(path.relative_to(self.root).with_suffix(""))
            if name in sections:
                yield f"{where}: '{entry}' is already in the contents; list it once"
            else:
                below.append(Section(name, path, self._kept))
                yield from self._collect_sections(below[-1], sections)

    def below(self, section: Section) -> list[Section]:
        """Return the sections in the table of contents of a section of the book."""
        return self._below[section]

    def section(self, name: str) -> Section:
        """Return the section whose path, or the last part of whose path, is `name`.

        Raises a `BookError` if there is no such section or the last part is ambiguous.
        """
        name = name.removesuffix(".md")
        last = [s for s in self.sections if Path(s.name).name == name]
        matches = [s for s in self.sections if s.name == name] or last
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = " or ".join(section.name for section in matches)
            raise BookError(f"'{name}' is ambiguous; write {names}", "SECTION")
        short_names = [self.short_name(section) for section in self.sections]
        folder = self.sections[-1].path.parent.relative_to(self.root)
        known = choices(name, short_names, f"ls {folder} lists all")
        raise BookError(f"unknown section '{name}'; {known}", "SECTION")

    def short_name(self, section: Section) -> str:
        """Return the last part of a section's name, or all if two share that part."""
        last = Path(section.name).name
        same = [s for s in self.sections if Path(s.name).name == last]
        return last if len(same) == 1 else section.name

    @cached_property
    def parts(self) -> list[tuple[str, list[Section]]]:
        """The parts of the book, each with its title and its sections in order.

        The index names them: a list below a heading begins with the first section of a
        part, which goes on up to the next one. What is before has the title "".
        """
        index, *pages = self.sections
        firsts = _listed_below_headings(index)
        parts: list[tuple[str, list[Section]]] = [("", [])]
        for page in pages:
            titles = [firsts[label] for label, _ in page.labels if label in firsts]
            parts += [(title, []) for title in titles]
            parts[-1][1].append(page)
        return [(title, sections) for title, sections in parts if sections]

    def check_tab(self, tab: str) -> str:
        """Return `tab`; raise a `BookError` if the book has no such tab."""
        if tab not in self.tabs:
            known = ", ".join(self.tabs)
            raise BookError(f"unknown tab '{tab}'; choose from {known}", "TAB")
        return tab

    # Sections in one tab

    def blocks(self, section: Section, tab: str) -> list[Block]:
        """Return the blocks of a section that `tab` shows; do not change them.

        Cells hold the code that the tab runs. The list is empty if the section has
        code but none for this tab.
        """
        key = (section, tab)
        if key not in self._blocks:
            self._blocks[key] = self._blocks_of_tab(section, tab)
        return self._blocks[key]

    def _blocks_of_tab(self, section: Section, tab: str) -> list[Block]:
        codes = self.converted(section, tab)
        if not codes and any(True for _ in section.cells):
            return []
        blocks: list[Block] = []
        for block in section.blocks:
            if isinstance(block, Cell) and block.number in codes:
                blocks.append(_cell_of_tab(block, codes[block.number], section))
            elif not isinstance(block, Cell) and block.is_for(tab):
                blocks.append(block)
        return blocks

    def converted(self, section: Section, tab: str) -> "dict[int, TabCode]":
        """Return the code of each cell that a tab has; see `conversion.convert`."""
        cells, settings = list(section.cells), self.config.library.get(tab, {})

        def convert() -> "dict[int, TabCode]":
            from book.text import conversion  # takes long to import

            return conversion.convert(cells, tab, settings)

        sources = repr([tab, settings, [(cell.tabs, cell.code) for cell in cells]])
        made_by = [d2lbook.__version__, sys.version]
        return self._kept.value([*made_by, sources], convert) if cells else {}

    def cells(self, section: Section, tab: str) -> list[Cell]:
        """Return the code cells of a section in one tab."""
        return [b for b in self.blocks(section, tab) if isinstance(b, Cell)]

    def code_tabs(self, section: Section) -> list[str]:
        """Return the tabs for which a section has code to run."""
        return [tab for tab in self.tabs if self.cells(section, tab)]


def _cell_of_tab(cell: Cell, code: "TabCode", section: Section) -> Cell:
    """Return a cell with its code in a tab; raise a `BookError` if it has problems."""
    for row, message in code.problems:
        raise BookError(message, section.at(cell.line_of(row)))
    return replace(cell, code=code.code, rows=tuple(map(cell.line_of, code.rows)))


def _listed_below_headings(index: Section) -> dict[str, str]:
    """Return the first label in each list of references, with the heading above it."""
    firsts: dict[str, str] = {}
    heading = ""
    for block in index.blocks:
        if isinstance(block, Heading):
            heading = block.title
        elif heading and (first := LISTED.match(block.source)):
            firsts[first[1]] = heading
            heading = ""
    return firsts


def _read_config(path: Path) -> Config:
    """Return the settings in `path` as d2lbook reads them.

    Raises a `BookError` if they are damaged or their index page is missing.
    """
    try:
        settings = configparser.ConfigParser()
        settings.read(path, encoding="utf-8")
        index = settings.get("build", "index", fallback="index").removesuffix(".md")
        if not (path.parent / f"{index}.md").is_file():
            message = "the index page is missing; write it, or correct `index`"
            raise BookError(f"{message} in {path.name}", f"{index}.md")
        # d2lbook looks for the index page in the current folder.
        with contextlib.chdir(path.parent):
            config = Config(config_fname=str(path))
        for section in (config.build, config.project, config.html, config.pdf):
            dict(section)  # each value is read only here, which reveals mistakes in it
        config.build["index"] = index
    except UnicodeDecodeError:
        raise BookError("not UTF-8; save it as UTF-8", path) from None
    except (configparser.Error, AssertionError, KeyError) as error:
        raise BookError(" ".join(str(error).split()), path) from None
    _check_tabs(config.tabs, path)
    return config


def _check_tabs(tabs: list[str], path: Path) -> None:
    """Raise a `BookError` if the settings list no tabs, an unknown one or one twice."""
    if not all(tabs or [""]):
        raise BookError("no tabs; name some under [build], as in tabs = pytorch", path)
    for tab in tabs:
        if tab not in TAB_NAMES:
            known = ", ".join(TAB_NAMES)
            raise BookError(f"unknown tab '{tab}'; choose from {known}", path)
        if tabs.count(tab) > 1:
            raise BookError(f"tab '{tab}' is listed twice; list it once", path)
