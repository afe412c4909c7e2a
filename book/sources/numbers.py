"""The numbers of sections, figures, tables and equations, as Sphinx gives them.

A notebook is made without Sphinx, and refers to the same numbers as the site.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from book.sources.book import Book, Section

Kind = Literal["section", "figure", "table", "equation"]

HEADING = re.compile(r"(#{1,6}) +(.*\S)")
LABEL = re.compile(r"[ \t]*:(eq)?label:`([^`]+)`")
OPTION = re.compile(r":(?:width|height):`")
# So many parts of a section's number come before that of a figure (d2lbook's setting).
DEPTH = 2


@dataclass(frozen=True)
class Place:
    """What a label names."""

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
            for place in page.read(section.prose):
                self.places[place.label] = place
            self.headings[section.name] = page.headings

    @cached_property
    def _of_pages(self) -> dict[str, str]:
        """The number of each page that the table of contents numbers."""
        return dict(self._below(self.book.sections[0], ""))

    def _below(self, section: Section, number: str) -> Iterator[tuple[str, str]]:
        pages = {page.name: page for page in self.book.sections}
        for position, (entry, _) in enumerate(section.contents, start=1):
            path = (section.path.parent / f"{entry}.md").resolve()
            name = str(Path(path.relative_to(self.book.root)).with_suffix(""))
            own = f"{number}.{position}".lstrip(".")
            yield name, own
            yield from self._below(pages[name], own)


@dataclass
class _Page:
    """Counts what there is on one page."""

    name: str
    number: str
    headings: list[str] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    levels: list[int] = field(default_factory=list)

    def read(self, prose: str) -> Iterator[Place]:
        """The places on the page, in order."""
        kind: Kind = "section"
        title = ""
        for line in prose.split("\n"):
            if heading := HEADING.match(line):
                self._count_heading(len(heading[1]))
                kind, title = "section", heading[2]
            elif label := LABEL.match(line):
                kind = "equation" if label[1] else kind
                number = self._number(kind)
                named = title if kind == "section" else ""
                yield Place(label[2], kind, number, named, self.name)
            elif line.strip() and not OPTION.match(line):
                kind = "figure" if line.startswith("![") else "table"

    def _count_heading(self, level: int) -> None:
        # The first heading is the page's title.
        self.levels = [*self.levels[: level - 1], *[0] * (level - 1)][: level - 1]
        if self.levels:
            self.levels[-1] += 1
        below = "".join(f".{count}" for count in self.levels)
        self.headings.append(f"{self.number}{below}" if self.number else "")

    def _number(self, kind: Kind) -> str:
        within = self.headings[-1] if self.headings else self.number
        if kind == "section":
            return within
        prefix = ".".join(within.split(".")[:DEPTH])
        self.counts[kind, prefix] += 1
        return f"{prefix}.{self.counts[kind, prefix]}".lstrip(".")
