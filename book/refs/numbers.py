"""The numbers of sections, figures, tables and equations, the same in all formats."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from book.text.blocks import Block, Equation, Figure, Heading, Table
from book.text.book import Book
from book.text.section import Section, appendix_letter

Kind = Literal["section", "figure", "table", "equation"]

# The number of a figure begins with this many parts of its section's number, which is
# the setting that d2lbook gives Sphinx; config.ini may give another.
DEPTH = 2
NAMES = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}
SETTING = re.compile(r"^\s*numfig_secnum_depth *= *(\d)$", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A part of the book that a label names."""

    label: str
    kind: Kind
    number: str  # such as "1.2.3"; empty on pages that have no number
    title: str  # the title of a section; empty for other kinds
    page: str  # the name of the section whose file holds the label

    def shown_number(self, role: str) -> str:
        """Return the number that a reference shows; empty if it shows the title."""
        if self.kind == "equation":
            return f"({self.number})"
        if not self.number or (role == "ref" and self.title):
            return ""
        return f"{NAMES[self.kind]}{self.number}"


@dataclass
class Numbers:
    """All places of the book that have a label, and the numbers of all headings.

    `places` holds each place under its label, `headings` the numbers of each page's
    headings under the name of its section, and `captions` the number of each heading,
    figure, table and equation under the name of its section and its line.
    """

    book: Book
    places: dict[str, Place] = field(init=False, default_factory=dict)
    captions: dict[tuple[str, int], str] = field(init=False, default_factory=dict)
    headings: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        setting = SETTING.search(self.book.config.build["sphinx_configs"])
        depth = int(setting[1]) if setting else DEPTH
        counts: Counter[tuple[Kind, str]] = Counter()  # by the start of their numbers
        for section in self.book.sections:
            number = self._page_numbers.get(section.name, "")
            page = _Page(section.name, number, depth, counts)
            for place in page.read(section.blocks):
                self.places[place.label] = place
            self.headings[section.name] = page.headings
            self.captions |= {(section.name, n): c for n, c in page.captions.items()}

    @cached_property
    def _page_numbers(self) -> dict[str, str]:
        """The number of each page that is in a table of contents."""
        return dict(self._pages_below(self.book.sections[0], ""))

    def _pages_below(self, section: Section, number: str) -> Iterator[tuple[str, str]]:
        """Yield the name and the number of each page in the contents of a section."""
        pages = {page.path: page for page in self.book.sections}
        appendix = self.book.setting("pages", "appendix")
        first = 0  # the position of the first appendix
        for position, (entry, _) in enumerate(section.contents, start=1):
            page = pages[self.book.path_of_entry(section, entry)]
            if page.name == appendix:
                first = position
            last = appendix_letter(position - first) if first else position
            page_number = f"{number}.{last}".lstrip(".")
            yield page.name, page_number
            yield from self._pages_below(page, page_number)


@dataclass
class _Page:
    """Counts the headings, figures, tables and equations of one page."""

    name: str
    number: str
    depth: int
    counts: Counter[tuple[Kind, str]]
    headings: list[str] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    captions: dict[int, str] = field(default_factory=dict)  # by line

    def read(self, blocks: list[Block]) -> Iterator[Place]:
        """Yield the places on the page, in order."""
        for block in blocks:
            match block:
                case Heading():
                    self._count_heading(block.level)
                    number = self._section_number
                    yield from self._place(block, "section", number, block.title)
                # A figure or table with a caption has a number even without a label.
                case Figure() if block.caption or block.label:
                    yield from self._place(block, "figure", self._count("figure"))
                case Table() if block.caption:
                    yield from self._place(block, "table", self._count("table"))
                case Equation() if block.label:
                    yield from self._place(block, "equation", self._count("equation"))

    def _place(
        self,
        block: Heading | Figure | Table | Equation,
        kind: Kind,
        number: str,
        title: str = "",
    ) -> Iterator[Place]:
        """Yield the place of a block if it has a label."""
        self.captions[block.line] = number
        if block.label:
            yield Place(block.label, kind, number, title, self.name)

    @property
    def _section_number(self) -> str:
        """The number of the section that is being read."""
        return self.headings[-1] if self.headings else self.number

    def _count_heading(self, level: int) -> None:
        """Add the number of the next heading of a level to `headings`."""
        # A heading of level 1 is the title of the page, whose number is given.
        self.levels = [*self.levels[: level - 1], *[0] * (level - 1)][: level - 1]
        if self.levels:
            self.levels[-1] += 1
        below = "".join(f".{count}" for count in self.levels)
        self.headings.append(f"{self.number}{below}" if self.number else "")

    def _count(self, kind: Kind) -> str:
        """Return the number of the next figure, table or equation."""
        prefix = ".".join(self._section_number.split(".")[: self.depth])
        self.counts[kind, prefix] += 1
        return f"{prefix}.{self.counts[kind, prefix]}".lstrip(".")
