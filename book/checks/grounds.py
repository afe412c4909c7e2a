"""Checks that each quantity in the text has a ground: a number of a kind with a unit.

A paragraph that states a time, a rate, a size, a share or a speed-up

- cites a work, or repeats what was cited: the same quantity is in a paragraph with a
  citation before it on the page, or on a page or in a figure that it refers to;
- or derives it: it has an equation, or says what it assumes or predicts;
- or is next to a cell that measures, one whose output varies;
- or marks the quantity as one of an output (`.measured`) or of a published measurement
  (`.cited`), with which other rules compare it.

Exercises may ask about any number. The size of one number of a type is known.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from book.facts.derivations import derives
from book.facts.marked_numbers import marked
from book.facts.quantities import Quantity, quantities
from book.text.blocks import Block, Cell, Figure, Heading, Labelled
from book.text.book import Book
from book.text.inline import CITATIONS, REFERENCES, Role, roles, without_code
from book.text.section import Section

TYPE_SIZES = {"1 byte", *(f"{size} bytes" for size in (1, 2, 4, 8))}
COMPARED = "measured", "cited"
EXERCISE = re.compile(r"Exercise \d+ of ")  # so a solution restates it
# A ratio is a quantity if its sentence compares something.
COMPARISON = re.compile(
    r"\s(?:as|faster|slower|more|less|the|that|longer|higher)\b", re.IGNORECASE
)


def unfounded(book: Book) -> Iterator[str]:
    """Yield a line for each quantity that nothing backs."""
    elsewhere = _cited(book)
    for section in book.sections:
        page: list[_Part] = _parts(section)
        known: set[str] = set()
        for place, part in enumerate(page):
            if part.cites:
                known |= part.texts
            elif not (derives(part.text) or _asks_or_measures(page, place)):
                there = [elsewhere.get(label, set()) for label in part.references]
                founded = known.union(part.compared, *there)
                for quantity in part.quantities:
                    if _text(quantity) not in founded:
                        where = section.at(part.block.line_at(quantity.start))
                        yield f"{where}: nothing backs '{_text(quantity)}'; {REMEDY}"


REMEDY = "cite its source, derive it, or mark it {.measured} or {.cited id=ID}"


@dataclass(frozen=True)
class _Part:
    """A block of a page, and the heading above it."""

    block: Block
    heading: str

    @property
    def is_code(self) -> bool:
        return isinstance(self.block, Cell)

    @property
    def measures(self) -> bool:
        return isinstance(self.block, Cell) and self.block.varies

    @property
    def text(self) -> str:
        """The words that a reader sees; of a figure, its caption."""
        return self.block.caption if isinstance(self.block, Figure) else self.block.text

    @property
    def quantities(self) -> list[Quantity]:
        """The quantities that it states."""
        return [] if self.is_code else list(_quantities(self.text))

    @property
    def texts(self) -> set[str]:
        """The texts of its quantities."""
        return set(map(_text, self.quantities))

    @property
    def compared(self) -> set[str]:
        """The quantities that other rules compare with outputs or measurements."""
        spans = [span for mark in COMPARED for _, span in marked([self.block], mark)]
        return {_text(quantity) for s in spans for quantity in _quantities(s.text)}

    @property
    def cites(self) -> bool:
        return any(role.name in CITATIONS for role in self._roles)

    @property
    def references(self) -> list[str]:
        return [role.value for role in self._roles if role.name in REFERENCES]

    @property
    def _roles(self) -> list[Role]:
        return [] if self.is_code else list(roles(self.block.text))


def _text(quantity: Quantity) -> str:
    """Return a quantity as text, written in one way."""
    return f"{quantity.value:g} {quantity.unit}"


def _quantities(text: str) -> Iterator[Quantity]:
    """Yield the numbers with a unit in a text, but not the sizes of types."""
    plain = without_code(text)
    for quantity in quantities(plain):
        is_ratio = quantity.kind == "ratio"
        if is_ratio and not COMPARISON.match(plain, quantity.end):
            continue
        if quantity.unit and " ".join(quantity.text.split()) not in TYPE_SIZES:
            yield quantity


def _parts(section: Section) -> list[_Part]:
    """Return the blocks of a page with the headings above them, in order."""
    heading, found = "", []
    for block in section.blocks:
        if isinstance(block, Heading):
            heading = block.title
        found.append(_Part(block, heading))
    return found


def _cited(book: Book) -> dict[str, set[str]]:
    """Return the quantities with a citation, by the labels of their places."""
    known: dict[str, set[str]] = {}
    for section in book.sections:
        page = _parts(section)
        sourced = [part for part in page if part.cites]
        whole: set[str] = set().union(*(part.texts for part in sourced))
        for part in page:
            if isinstance(part.block, Labelled) and part.block.label:
                known[part.block.label] = part.texts if part in sourced else whole
    return known


def _asks_or_measures(page: list[_Part], place: int) -> bool:
    """Return True if a part is an exercise, or is next to a cell that measures."""
    here = page[place].heading
    if here == "Exercises" or EXERCISE.match(page[place].text):
        return True
    before = (p for p in reversed(page[:place]) if p.is_code or p.heading != here)
    behind = (p for p in page[place + 1 :] if p.is_code or p.heading != here)
    nearest = [next(before, None), next(behind, None)]
    return any(p.measures and p.heading == here for p in nearest if p)
