"""The numbers of sections, figures, tables and equations, as Sphinx counts them.

A notebook is made without Sphinx, and refers to the same numbers as the site.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from book.sources.blocks import Block, Equation, Figure, Heading, Table
from book.sources.book import Book
from book.sources.section import Section

Kind = Literal["section", "figure", "table", "equation"]

# A figure's number begins with so many parts of its section's (d2lbook's setting).
DEPTH = 2


@dataclass(frozen=True)
class Place:
    """A part of the book that a label names."""

    label: str
    kind: Kind
    number: str  # such as "1.2.3"; empty where the book numbers nothing
    title: str  # of a section; empty for the rest
    page: str  # the name of the section whose file it is in


@dataclass
class Numbers:
    """All places of the book that have a label, and the numbers of all headings."""

    book: Book
    places: dict[str, Place] = field(init=False, default_factory=dict)
    headings: dict[str, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for section in self.book.sections:
            page = _Page(section.name, self._of_pages.get(section.name, ""))
            for place in page.read(section.blocks):
                self.places[place.label] = place
            self.headings[section.name] = page.headings

    @cached_property
    def _of_pages(self) -> dict[str, str]:
        """The number of each page that the table of contents numbers."""
        return dict(self._below(self.book.sections[0], ""))

    def _below(self, section: Section, number: str) -> Iterator[tuple[str, str]]:
        pages = {page.path: page for page in self.book.sections}
        for position, (entry, _) in enumerate(section.contents, start=1):
            page = pages[self.book.path_of_entry(section, entry)]
            own = f"{number}.{position}".lstrip(".")
            yield page.name, own
            yield from self._below(page, own)


@dataclass
class _Page:
    """Counts the numbered parts of one page."""

    name: str
    number: str
    headings: list[str] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    levels: list[int] = field(default_factory=list)

    def read(self, blocks: list[Block]) -> Iterator[Place]:
        """Yield the places on the page, in order."""
        for block in blocks:
            match block:
                case Heading():
                    self._count_heading(block.level)
                    yield from self._place(block, "section", self._within, block.title)
                # Sphinx numbers a figure or table for its caption, with a label or not.
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
        if block.label:
            yield Place(block.label, kind, number, title, self.name)

    @property
    def _within(self) -> str:
        """The number of the section that is being read."""
        return self.headings[-1] if self.headings else self.number

    def _count_heading(self, level: int) -> None:
        # The first heading is the page's title.
        self.levels = [*self.levels[: level - 1], *[0] * (level - 1)][: level - 1]
        if self.levels:
            self.levels[-1] += 1
        below = "".join(f".{count}" for count in self.levels)
        self.headings.append(f"{self.number}{below}" if self.number else "")

    def _count(self, kind: Kind) -> str:
        """Return the number of the next part of a kind."""
        prefix = ".".join(self._within.split(".")[:DEPTH])
        self.counts[kind, prefix] += 1
        return f"{prefix}.{self.counts[kind, prefix]}".lstrip(".")
