"""The targets of references and citations: labelled places, and cited works."""

from __future__ import annotations

from functools import cached_property

from markdown_it.token import Token

from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.text.blocks import References
from book.text.book import Book
from book.text.inline import names_in
from book.text.tokens import parse_line


class Targets:
    """The labelled places and cited works of a book.

    `references` is the name of the page that lists the works.
    """

    def __init__(self, book: Book):
        self.book = book
        self.numbers = Numbers(book)
        self.bibliography = Bibliography(book)
        blocks = ((s.name, block) for s in book.sections for block in s.blocks)
        lists = (name for name, block in blocks if isinstance(block, References))
        self.references = next(lists, "")

    @cached_property
    def titles(self) -> dict[str, list[Token]]:
        """The tokens of the title of each section that has a label."""
        places = self.numbers.places.values()
        return {place.label: parse_line(place.title) for place in places if place.title}

    def cited(self, value: str) -> list[tuple[str, str, str]]:
        """Return the authors, the year and the key of each work of a citation."""
        keys = names_in(value)
        return sorted((*self.bibliography.label(key), key) for key in keys)
