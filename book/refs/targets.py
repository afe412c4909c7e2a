"""The targets of references and citations: labelled places, and cited works."""

from __future__ import annotations

from functools import cached_property

from markdown_it.token import Token

from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.text.blocks import References
from book.text.book import Book
from book.text.inline import CITATIONS, names_in
from book.text.section import Section
from book.text.tokens import parse_line

NO_LIST = "no page lists the works that are cited; write :bibliography:`{}` on one"


class Targets:
    """The labelled places and cited works of a book.

    `references` is the name of the page that lists the works.
    """

    def __init__(self, book: Book):
        self.book = book
        self.numbers = Numbers(book)
        self.bibliography = Bibliography(book)
        self.references = next((s.name for s in book.sections if _lists_works(s)), "")

    @cached_property
    def titles(self) -> dict[str, list[Token]]:
        """The tokens of the title of each section that has a label."""
        places = self.numbers.places.values()
        return {place.label: parse_line(place.title) for place in places if place.title}

    def problem_with(self, role: str, name: str) -> str:
        """Return the problem with a reference or citation; empty if there is none."""
        if role not in CITATIONS:
            known = name in self.numbers.places
            return "" if known else f"no label '{name}'; correct the reference"
        if not self.references:
            return NO_LIST.format(self.book.config.pdf["bibfile"])
        return self.bibliography.problem_with(name)

    def number(self, role: str, label: str) -> str:
        """Return the number that a reference shows; empty if it shows the title."""
        return self.numbers.places[label].shown_number(role)

    def cited(self, value: str, where: str) -> list[tuple[str, str, str]]:
        """Return the authors, the year and the key of each work of a citation."""
        label = self.bibliography.label
        return sorted((*label(key, where), key) for key in names_in(value))


def _lists_works(section: Section) -> bool:
    return any(isinstance(block, References) for block in section.blocks)
