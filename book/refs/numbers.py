"""The numbers of sections, figures, tables and equations, the same in all formats."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from string import ascii_uppercase
from typing import Literal

from book.text.blocks import Equation, Figure, Heading, Table
from book.text.book import Book
from book.text.section import Section

Kind = Literal["section", "figure", "table", "equation"]

EQUATIONS = "equation-"  # in front of the label of an equation, in its id
NAMES = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}


@dataclass(frozen=True)
class Place:
    """A part of the book that a label names."""

    label: str
    kind: Kind
    number: str  # such as "1.2.3"; empty on pages that have no number
    title: str  # the title of a section; empty for other kinds
    page: str  # the name of the section whose file holds the label

    @property
    def anchor(self) -> str:
        """The id of the place, on its page and in its notebook."""
        return anchor(self.label, self.kind == "equation")

    def shown_number(self, role: str) -> str:
        """Return the number that a reference shows; empty if it shows the title."""
        if self.kind == "equation":
            return f"({self.number})"
        if not self.number or (role == "ref" and self.title):
            return ""
        return f"{NAMES[self.kind]}{self.number}"


def anchor(label: str, is_equation: bool) -> str:
    """Return the id of the element that a label names; empty without a label."""
    name = label.replace("_", "-")
    return f"{EQUATIONS}{name}" if name and is_equation else name


class Numbers:
    """The numbers of all that a book counts, and its places that have a label.

    `pages` holds the number of each page under the name of its section, `captions` that
    of each heading, figure, table and equation under this name and its line, and
    `places` each place under its label. Tables that take each other's place in the tabs
    share a number, so that each tab has all numbers.
    """

    def __init__(self, book: Book):
        self.book = book
        self.pages: dict[str, str] = {}
        self.captions: dict[tuple[str, int], str] = {}
        self.places: dict[str, Place] = {}
        # Figures, tables and equations count by the first part of the number of a page,
        # in each tab.
        self._counts: Counter[tuple[Kind, str, str]] = Counter()
        self._read(book.sections[0], "")

    def _read(self, section: Section, number: str) -> None:
        """Read a page, whose number is given, and those in its contents."""
        self.pages[section.name] = number
        self._count(section, number)
        appendix = self.book.setting("pages", "appendix")
        names: Iterator[int | str] = count(1)
        for page in self.book.below(section):
            if page.name == appendix:
                names = iter(ascii_uppercase)
            self._read(page, f"{number}.{next(names)}".lstrip("."))

    def _count(self, section: Section, page_number: str) -> None:
        """Count the headings, figures, tables and equations of a page."""
        levels: list[int] = []
        tabs = self.book.config.tabs  # an edition, which has one, counts them all
        chapter = page_number.partition(".")[0]
        for block in section.blocks:
            kind: Kind
            title = ""
            match block:
                case Heading():
                    kind, title = "section", block.title
                # A figure or table with a caption has a number even without a label.
                case Figure() if block.caption or block.label:
                    kind = "figure"
                case Table() if block.caption:
                    kind = "table"
                case Equation() if block.label:
                    kind = "equation"
                case _:
                    continue
            if isinstance(block, Heading):
                number = _heading_number(page_number, levels, block.level)
            else:
                keys = [(kind, chapter, tab) for tab in block.tabs or tabs]
                last = max(self._counts[key] for key in keys)
                self._counts |= Counter(dict.fromkeys(keys, last + 1))
                number = f"{chapter}.{last + 1}".lstrip(".")
            self.captions[section.name, block.line] = number
            if block.label:
                place = Place(block.label, kind, number, title, section.name)
                self.places[place.label] = place


def _heading_number(page_number: str, levels: list[int], level: int) -> str:
    """Return the number of the next heading; `levels` counts those before it."""
    # A heading of level 1 is the title of the page, whose number is given.
    levels[:] = [*levels, *[0] * (level - 1)][: level - 1]
    if levels:
        levels[-1] += 1
    below = "".join(f".{count}" for count in levels)
    return f"{page_number}{below}" if page_number else ""
