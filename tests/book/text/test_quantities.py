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

from book.sources.book import Book
from book.sources.section import Section
from book.sources.checks import LABEL

BOOK = Book(Path(__file__).resolve().parents[3])

BLOCK = re.compile(
    r"^(```+)[^\n]*\n.*?^\1[ ]*$ | (?:^(?!```)[^\n]*\S[^\n]*(?:\n|\Z))+",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
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
TYPE_SIZE = re.compile(r"[1248] bytes?")
ALT_TEXT = re.compile(r'(!\[[^\n]*\]\([^ )]+) "[^\n]*"\)')
CITED = re.compile(r":cite[tp]?:`")
DERIVED = re.compile(
    r"\$[^$]*(?:=|\\cdot|\\times|/|\+)[^$]*\$|\b(?:[Aa]ssum|[Pp]redict|[Ss]uppose)"
)
EXERCISE = re.compile(r"Exercise \d+ of ")  # so a solution restates it
REFERENCE = re.compile(r":(?:num|eq)?ref:`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A paragraph of the prose, or a code cell, and the heading above it."""

    text: str
    line: int
    heading: str

    @property
    def code(self) -> bool:
        return self.text.startswith("```")

    @property
    def measures(self) -> bool:
        return self.code and ".varies" in self.text.split("\n")[0]

    @property
    def quantities(self) -> set[str]:
        """The numbers with a unit that it states."""
        if self.code:
            return set()
        found = QUANTITY.finditer(ALT_TEXT.sub(r"\1)", self.text))
        plain = {" ".join(f"{m[1]} {m[2]}".split()) for m in found}
        return {quantity for quantity in plain if not TYPE_SIZE.fullmatch(quantity)}


def blocks(section: Section) -> list[Block]:
    """The paragraphs and cells of a page, in order."""
    heading, found = "", []
    for match in BLOCK.finditer(section.text):
        if match[0].startswith("#"):
            heading = match[0].split("\n")[0]
        line = section.text.count("\n", 0, match.start()) + 1
        found.append(Block(match[0], line, heading))
    return found


def cited(book: Book) -> dict[str, set[str]]:
    """The quantities with a citation, by the labels of pages, parts and figures."""
    known: dict[str, set[str]] = {}
    for section in book.sections:
        page = blocks(section)
        sourced = [b for b in page if CITED.search(b.text)]
        whole = set().union(*(b.quantities for b in sourced))
        for block in page:
            for label in LABEL.findall("" if block.code else block.text):
                known[label] = block.quantities if block in sourced else whole
    return known


def unfounded(book: Book) -> Iterator[str]:
    """Where a quantity stands that nothing backs."""
    elsewhere = cited(book)
    for section in book.sections:
        page, known = blocks(section), set()
        for place, block in enumerate(page):
            if CITED.search(block.text):
                known |= block.quantities
            elif not (DERIVED.search(block.text) or _asks_or_measures(page, place)):
                labels = REFERENCE.findall(block.text)
                there = known.union(*(elsewhere.get(name, set()) for name in labels))
                for quantity in sorted(block.quantities - there):
                    yield f"{section.at(block.line)}: {quantity}"


def _asks_or_measures(page: list[Block], place: int) -> bool:
    """Whether a paragraph is an exercise, or the cell before or behind it measures."""
    here = page[place].heading
    if here == "## Exercises" or EXERCISE.match(page[place].text):
        return True
    before = (b for b in reversed(page[:place]) if b.code or b.heading != here)
    behind = (b for b in page[place + 1 :] if b.code or b.heading != here)
    nearest = [next(before, None), next(behind, None)]
    return any(b.measures and b.heading == here for b in nearest if b)


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
