"""Compares the numbers that the text quotes with recorded outputs.

A number marked `.measured` is one that the nearest cell above it with numbers in its
output has printed on a CPU. A number marked `.given`, such as a specification, quotes
no output.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from book.facts.derivations import derives
from book.facts.marked_numbers import cited_works, marked, numbers, tolerance
from book.facts.quantities import Quantity, distance, quantities
from book.records import outputs, store
from book.text.blocks import Block, Cell, Heading, Prose
from book.text.book import Book
from book.text.inline import NUMBERS, SIGN, Span, spans, without_code
from book.text.section import Section

WITHIN = 0.25
MOST_SHOWN = 8
SENTENCE_END = re.compile(r"[.!?:][)\]*~]*\s+")
# The signs of roles, links, marked texts and code.
MARKUP = re.compile(r"[`*\[]|:\w+:(?=`)|\](?:\{[^}]*\}|\([^)]*\))?")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each wrong quotation, and each number without a mark."""
    yield from map(str, wrong_quotations(book))
    yield from unmarked_numbers(book)


@dataclass(frozen=True)
class PrintedNumbers:
    """The numbers that a cell has printed; `place` is its place among the blocks."""

    place: int
    cell: Cell
    numbers: list[Quantity]


@dataclass(frozen=True)
class Quotation:
    """A quotation in the text of a section, and the output that does not have it.

    `compared` is None if no cell above prints a number.
    """

    section: Section
    block: Block
    span: Span
    tab: str
    compared: PrintedNumbers | None

    @property
    def where(self) -> str:
        """The file and the line of the number."""
        return self.section.at(self.block.line_at(self.span.start))

    def __str__(self) -> str:
        number = " ".join(self.span.text.split())
        if self.compared is None:
            problem = f"quotes no cell, because none prints a number in {self.tab}"
            return f"{self.where}: '{number}' {problem}; move or remove the mark"
        line = self.compared.cell.line
        found = list(dict.fromkeys(q.text for q in self.compared.numbers))
        has = ", ".join([*found[:MOST_SHOWN], *["..."][: len(found) - MOST_SHOWN]])
        problem = f"is not in the output of line {line} in {self.tab}, which has {has}"
        return f"{self.where}: '{number}' {problem}; correct the number"

    @property
    def sentence(self) -> str:
        """The sentence with the number, shortened, after its file and line."""
        text = self.block.text
        bounds = _bounds_of_sentence(text, self.span.start, self.span.end)
        plain = MARKUP.sub("", SIGN.sub("", text[slice(*bounds)]))
        return f"{self.where}: {textwrap.shorten(plain, 100, placeholder=' ...')}"


def wrong_quotations(book: Book) -> Iterator[Quotation]:
    """Yield the quotations that are not in the fresh record of the CPU."""
    for section in book.sections:
        for tab in book.tabs:
            yield from _wrong_quotations(book, section, tab, "cpu")


def sentences_to_reread(
    book: Book, recorded: Iterable[tuple[Section, str]], machine: str
) -> list[str]:
    """Return the sentences with numbers that new records of `machine` do not have.

    `recorded` names the section and the tab of each record. Each sentence follows its
    file and line.
    """
    found = [
        quotation
        for section, tab in recorded
        for quotation in _wrong_quotations(book, section, tab, machine)
    ]
    found.sort(key=lambda q: (q.section.name, q.block.line, q.span.start))
    return list(dict.fromkeys(quotation.sentence for quotation in found))


def _wrong_quotations(
    book: Book, section: Section, tab: str, machine: str
) -> Iterator[Quotation]:
    """Yield the quotations in a tab that a fresh record does not have."""
    chosen = [
        (place, block, span)
        for place, block in enumerate(book.blocks(section, tab))
        for _, span in marked([block], "measured")
    ]
    shown = store.shown(book, section, tab, machine) if chosen else None
    if shown is None or shown.state != "fresh":
        return
    printed = list(_printed(shown))
    for place, block, span in chosen:
        above = next((p for p in reversed(printed) if p.place < place), None)
        if not all(_is_printed(number, above, span) for number in numbers(span)):
            yield Quotation(section, block, span, tab, above)


def _printed(shown: store.Shown) -> Iterator[PrintedNumbers]:
    """Yield the cells of a tab that have printed numbers."""
    for place, cell in enumerate(shown.blocks):
        if isinstance(cell, Cell):
            if found := list(quantities(outputs.text_of(cell.outputs))):
                yield PrintedNumbers(place, cell, found)


def _is_printed(number: Quantity, printed: PrintedNumbers | None, span: Span) -> bool:
    """Return True if a cell has printed a number, within the tolerance of its mark."""
    within = tolerance(span) or WITHIN
    found = printed.numbers if printed else []
    return any(distance(number, other) <= within for other in found)


# Numbers without a mark


def unmarked_numbers(book: Book) -> Iterator[str]:
    """Yield a line for each number without a mark that seems to quote an output.

    That is a number with a unit in a paragraph below cells that printed numbers with
    such a unit. Citations, predictions and derivations are left out.
    """
    for section in book.sections:
        for tab in book.tabs:
            yield from _unmarked_numbers(book, section, tab)


def _unmarked_numbers(book: Book, section: Section, tab: str) -> Iterator[str]:
    found = list(_numbers_below_cells(book.blocks(section, tab)))
    shown = store.shown(book, section, tab) if found else None
    if shown is None or shown.state != "fresh":
        return
    printed = {p.place: {q.kind for q in p.numbers} for p in _printed(shown)}
    for cells, block, number in found:
        if any(number.kind in printed.get(place, ()) for place in cells):
            where = section.at(block.line_at(number.start))
            seems = f"'{number.text}' seems to quote the output above"
            yield f"{where}: {seems}; mark it {{.measured}}, or else {{.given}}"


def _numbers_below_cells(
    blocks: list[Block],
) -> Iterator[tuple[list[int], Block, Quantity]]:
    """Yield each number with a unit in a paragraph, and the places of the cells above.

    The cells are those that directly follow each other, below the same heading.
    """
    cells: list[int] = []
    for place, block in enumerate(blocks):
        if isinstance(block, Heading):
            cells = []
        elif isinstance(block, Cell):
            follows = place and isinstance(blocks[place - 1], Cell)
            cells = [*cells, place] if follows else [place]
        elif isinstance(block, Prose) and cells and not cited_works(block):
            for number in _plain_numbers(block):
                yield cells, block, number


def _plain_numbers(block: Block) -> Iterator[Quantity]:
    """Yield the numbers with units of a paragraph that predict nothing."""
    text = without_code(block.text)
    for span in spans(block.text):
        if set(span.classes) & set(NUMBERS):
            blank = " " * (span.end - span.start)
            text = text[: span.start] + blank + text[span.end :]
    for number in quantities(text):
        bounds = _bounds_of_sentence(text, number.start, number.end)
        if number.unit and not derives(block.text[slice(*bounds)]):
            yield number


def _bounds_of_sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of the sentence that has the part from `start` to `end`."""
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return (
        max((e for e in ends if e <= start), default=0),
        min((e for e in ends if e >= end), default=len(text)),
    )
