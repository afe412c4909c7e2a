"""The parts of a section: text, headings, figures, cells and so on, with their lines.

`book.sources.parsing` makes them. Everything else reads them and never the Markdown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ALL_TABS: tuple[str, ...] = ()
# A cell that begins with one of these magics, and with no other `%%`, holds Python.
OTHER_LANGUAGE = re.compile(r"%%(?!time\b|timeit\b|capture\b|prun\b)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a section.

    `line` is the line of the file on which it starts, counted from 1, and `source` is
    its Markdown. `tabs` names the frameworks that it is for; empty means all of them.
    `sign` is the slide mark that encloses the whole block, such as `(**`, if one does.
    """

    line: int
    source: str
    tabs: tuple[str, ...] = ALL_TABS
    sign: str = ""

    @property
    def text(self) -> str:
        """The Markdown without the lines of labels and sizes below it."""
        return self.source

    def line_at(self, offset: int) -> int:
        """Return the line of the file that the character `offset` of `source` is on."""
        return self.line + self.source.count("\n", 0, offset)

    def is_for(self, tab: str) -> bool:
        """Return whether readers of `tab` see this block."""
        return not self.tabs or tab in self.tabs


@dataclass(frozen=True, kw_only=True)
class Prose(Block):
    """A paragraph, a list, a quotation or a code listing that is not run."""


@dataclass(frozen=True, kw_only=True)
class Labelled(Block):
    """A block that references can name; `label` is empty if it has none."""

    body: str
    label: str = ""

    @property
    def text(self) -> str:
        return self.body


@dataclass(frozen=True, kw_only=True)
class Heading(Labelled):
    level: int
    title: str


@dataclass(frozen=True, kw_only=True)
class Figure(Labelled):
    """A picture of the text; `path` is relative to the section's file."""

    path: str
    caption: str
    alt: str = ""
    width: str = ""
    height: str = ""


@dataclass(frozen=True, kw_only=True)
class Table(Labelled):
    """A table; `rows` is its Markdown without the caption."""

    rows: str
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Equation(Labelled):
    """A displayed equation; `tex` is without its dollar signs."""

    tex: str


@dataclass(frozen=True, kw_only=True)
class Contents(Block):
    """A table of contents: each entry with the line that it is on."""

    entries: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Directive(Block):
    """reStructuredText for Sphinx; other formats cannot show it."""


@dataclass(frozen=True, kw_only=True)
class Cell(Block):
    """A code cell, without the line that names its tabs.

    `rows` holds the line of the file that each line of `code` comes from. `has_tabs`
    is false if the cell does not say which tabs it is for.
    """

    code: str
    rows: tuple[int, ...]
    classes: frozenset[str] = frozenset()
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    has_tabs: bool = True

    def line_of(self, row: int) -> int:
        """Return the line of the file that line `row` of `code`, from 1, comes from."""
        return self.rows[min(max(row, 1), len(self.rows)) - 1]

    @property
    def is_python(self) -> bool:
        return not OTHER_LANGUAGE.match(self.code)

    @property
    def varies(self) -> bool:
        """Whether the output differs from run to run, as that of a timing does."""
        return "varies" in self.classes

    @property
    def only_in_notebooks(self) -> bool:
        """Whether the cell is run and recorded but is on no page."""
        return "notebook" in self.classes

    @property
    def on_slides(self) -> bool:
        return not self.classes & {"off-slides", "notebook"}
