"""A number with a unit, in the text, tells where it comes from.

The rule: a paragraph that states a time, a rate, a size, a share or a speed-up

- cites a work, or repeats what was cited: the same quantity stands in a cited paragraph
  before it on the page, or on a page or in a figure that it refers to;
- or derives it: it has an equation, or says what it assumes or predicts;
- or stands next to a cell that measures, one whose output varies.

Exercises may ask about any number, and what one number of a type takes is known.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from book.sources.blocks import Block, Cell, Figure, Heading, Labelled
from book.sources.book import Book
from book.sources.checks import CITATIONS, REFERENCES
from book.sources.inline import Role, roles
from book.sources.section import Section

BOOK = Book(Path(__file__).resolve().parents[3])

QUANTITY = re.compile(
    r"""
    (?<![\w.`\\{-]) (\d[\d .,]*\d|\d) \s*
    ( (?:[nµm]?s|(?:nano|micro|milli)?seconds?|minutes?|hours?)(?![\w(])
    | (?:[kMGTP]i?)?B(?:/s)?(?!\w)
    | (?:(?:kilo|mega|giga|tera)?bytes?)(?!\w)
    | [kMGTP]?FLOP(?:/s|s)?(?!\w)
    | %(?![\w(]) | percent\b
    | times\s(?:as|faster|slower|more|less|the|that|longer|higher)\b )
    """,
    re.VERBOSE,
)
BYTES = re.compile(r"(?:[kMGT]i?)?B|bytes?")  # without time, so any cell counts them
TYPE_SIZE = re.compile(r"[1248] bytes?")
DERIVED = re.compile(
    r"\$[^$]*(?:=|\\cdot|\\times|/|\+)[^$]*\$|\b(?:[Aa]ssum|[Pp]redict|[Ss]uppose)"
)
EXERCISE = re.compile(r"Exercise \d+ of ")  # so a solution restates it


@dataclass(frozen=True)
class Part:
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
    def quantities(self) -> set[str]:
        """The numbers with a unit that it states."""
        if self.is_code:
            return set()
        found = QUANTITY.finditer(self.text)
        plain = {" ".join(f"{m[1]} {m[2]}".split()) for m in found}
        return {quantity for quantity in plain if not TYPE_SIZE.fullmatch(quantity)}

    @property
    def cites(self) -> bool:
        return any(role.name in CITATIONS for role in self._roles)

    @property
    def references(self) -> list[str]:
        return [role.value for role in self._roles if role.name in REFERENCES]

    @property
    def _roles(self) -> list[Role]:
        return [] if self.is_code else list(roles(self.block.text))


def parts(section: Section) -> list[Part]:
    """Return the blocks of a page with the headings above them, in order."""
    heading, found = "", []
    for block in section.blocks:
        if isinstance(block, Heading):
            heading = block.title
        found.append(Part(block, heading))
    return found


def cited(book: Book) -> dict[str, set[str]]:
    """Return the quantities with a citation, by the labels of their places."""
    known: dict[str, set[str]] = {}
    for section in book.sections:
        page = parts(section)
        sourced = [part for part in page if part.cites]
        whole = set().union(*(part.quantities for part in sourced))
        for part in page:
            if isinstance(part.block, Labelled) and part.block.label:
                own = part.quantities if part in sourced else whole
                known[part.block.label] = own
    return known


def unfounded(book: Book) -> Iterator[str]:
    """Yield the place of each quantity that nothing backs."""
    elsewhere = cited(book)
    for section in book.sections:
        page, known = parts(section), set()
        for place, part in enumerate(page):
            if part.cites:
                known |= part.quantities
            elif not (DERIVED.search(part.text) or _asks_or_measures(page, place)):
                there = [elsewhere.get(label, set()) for label in part.references]
                counted = _counted(page, place)
                for quantity in sorted(part.quantities - known.union(counted, *there)):
                    yield f"{section.at(part.block.line)}: {quantity}"


def _counted(page: list[Part], place: int) -> set[str]:
    """Return the quantities of a part, in bytes, if a cell next to it may count them.

    Bytes are the same on each run, so such a cell does not vary.
    """
    quantities = {q for q in page[place].quantities if BYTES.fullmatch(q.split()[-1])}
    return quantities if any(_nearest_cells(page, place)) else set()


def _asks_or_measures(page: list[Part], place: int) -> bool:
    """Return whether a part is an exercise, or is next to a cell that measures."""
    here = page[place].heading
    if here == "Exercises" or EXERCISE.match(page[place].text):
        return True
    return any(p.measures for p in _nearest_cells(page, place))


def _nearest_cells(page: list[Part], place: int) -> list[Part]:
    """Return the cells before and behind a part, below the same heading."""
    here = page[place].heading
    before = (p for p in reversed(page[:place]) if p.is_code or p.heading != here)
    behind = (p for p in page[place + 1 :] if p.is_code or p.heading != here)
    nearest = [next(before, None), next(behind, None)]
    return [p for p in nearest if p and p.heading == here]


def test_each_quantity_in_the_book_is_cited_derived_or_measured():
    assert "\n".join(unfounded(BOOK)) == ""


VARYING = "```{.python .input .varies}\n%%tab all\nprint(time())\n```\n"
FIXED = VARYING.replace(" .varies", "")


@pytest.mark.parametrize(
    "text",
    [
        "A copy takes 20 µs.",
        "It runs at 83 TFLOP/s.",
        "This is 12 times faster.",
        "Of the memory, 40 % is\nin use.",
        f"A fetch takes 20 microseconds.\n\n{FIXED}",
        f"A fetch takes 20 ms.\n\n## Other\n\n{VARYING}",
        "A link carries 64 GB/s.\n\nThe link of 64 GB/s is new :cite:`a`.",
        'It has 80 GB.\n\n![A link](img.svg "It has 80 GB, see :cite:`a`.")',
    ],
)
def test_a_bare_quantity_is_found(make_book: Callable[..., Book], text: str):
    found = list(unfounded(make_book(one=f"# One\n\n{text}\n")))
    assert len(found) == 1
    assert found[0].startswith("chapter/one.md:3: ")


@pytest.mark.parametrize(
    "text",
    [
        "A link carries 64 GB/s :cite:`a`.",
        "A link carries 64 GB/s :cite:`a`.\n\nOver 64 GB/s, it is slow.",
        "Assume a latency of 20 µs.",
        "A thousand of them take $10^3 \\cdot 20 / 2$ = 10 ms.",
        f"{VARYING}\nA fetch takes about 20 µs.",
        f"{FIXED}\nThe model takes 20 MiB, and its gradients 4 kB.",
        "A number takes 4 bytes, and 3 steps are done in 2 turns.",
        "## Exercises\n\n1. A link carries 25 GB/s. How long do 1 GB take?",
        "Exercise 1 of :numref:`sec_ex_one` copies 1 GB over a link of 25 GB/s.",
    ],
)
def test_a_quantity_with_a_ground_is_not(make_book: Callable[..., Book], text: str):
    assert list(unfounded(make_book(one=f"# One\n\n{text}\n"))) == []


def test_a_reference_to_where_it_is_cited_is_a_ground(make_book: Callable[..., Book]):
    two = "# Two\n:label:`sec_two`\n\nA link carries 64 GB/s :cite:`a`.\n"
    one = "# One\n\nOf the 64 GB/s in :numref:`sec_two`, not 65 GB/s, half is used.\n"
    found = list(unfounded(make_book(one=one, two=two)))
    assert found == ["chapter/one.md:3: 65 GB/s"]
