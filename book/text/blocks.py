"""The parts of a section, such as headings, figures and cells, with their lines.

`book.text.parsing` makes these blocks, and `book.text.tokens` parses their texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

ALL_TABS: tuple[str, ...] = ()
COMMAND_LINE = re.compile(r"^!.*", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a section.

    `line` is the line of the file on which the block starts, counted from 1, and
    `source` is its Markdown, without a label below it. `tabs` names the tabs that show
    the block; empty means all of them. `sign` is the sign of the slide mark around the
    block, such as `(**`, or empty.
    """

    line: int
    source: str
    tabs: tuple[str, ...] = ALL_TABS
    sign: str = ""

    @property
    def text(self) -> str:
        """The Markdown of the block, without the label below it."""
        return self.source

    def line_at(self, offset: int) -> int:
        """Return the line of the file on which character `offset` of `source` is."""
        return self.line + self.source.count("\n", 0, offset)

    def is_for(self, tab: str) -> bool:
        """Return True if readers of `tab` see this block."""
        return not self.tabs or tab in self.tabs


@dataclass(frozen=True, kw_only=True)
class Prose(Block):
    """A paragraph, a list, a quotation, or a listing of code that is never run."""


@dataclass(frozen=True, kw_only=True)
class Labelled(Block):
    """A block that can have a label for references, on a line below it.

    `label` is empty without one.
    """

    label: str = ""
    label_line: int = 0


@dataclass(frozen=True, kw_only=True)
class Heading(Labelled):
    """A heading; `level` is 1 for the title of the page."""

    level: int
    title: str


@dataclass(frozen=True, kw_only=True)
class Figure(Labelled):
    """A picture with a caption; `path` is relative to the section's file."""

    path: str
    caption: str
    alt: str = ""


@dataclass(frozen=True, kw_only=True)
class Table(Labelled):
    """A table; `rows` is its Markdown without the caption."""

    rows: str
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Equation(Labelled):
    """A displayed equation; `tex` is its TeX without the dollar signs."""

    tex: str


@dataclass(frozen=True, kw_only=True)
class Contents(Block):
    """A table of contents; `entries` pairs each entry with its line."""

    entries: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class References(Block):
    """The place of the list of cited works, ``:bibliography:`FILE` ``."""


@dataclass(frozen=True, kw_only=True)
class Cell(Block):
    """A code cell; `code` does not include the line that names its tabs.

    `number` says which cell of the file it is, counted from 1; no other cell has it, in
    any tab. `rows` holds, for each line of `code`, the line of the file that it comes
    from. `has_tabs` is False if the cell does not name its tabs. `outputs` and the
    execution `count` are those of a record, if there is a fresh one.
    """

    number: int
    code: str
    rows: tuple[int, ...]
    classes: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    has_tabs: bool = True
    outputs: tuple[Any, ...] = field(default=(), hash=False)
    count: int | None = None

    @property
    def python(self) -> str:
        """The code with `pass` for each line that is a command, as `!nvidia-smi` is."""
        return COMMAND_LINE.sub("pass", self.code)

    def line_of(self, row: int) -> int:
        """Return the line of the file for line `row` of `code`, counted from 1."""
        return self.rows[min(max(row, 1), len(self.rows)) - 1]

    @property
    def varies(self) -> bool:
        """True if the output differs from run to run, as a timing does."""
        return "varies" in self.classes

    @property
    def predicts(self) -> bool:
        """True if pages cover the output until readers have predicted it."""
        return "predict" in self.classes

    @property
    def only_in_notebooks(self) -> bool:
        """True if the cell is run and recorded but appears on no page."""
        return "notebook" in self.classes
