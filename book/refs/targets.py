"""The targets of references and citations, and the words that name them.

A reference or a citation is a `role` token. In every format it says what `Targets.word`
puts within it: tokens of text, and tokens of the type `reference`, which lead to a
place or a work. The `info` of a `reference` is "number", "title", "kind" or "work", and
its `meta["to"]` is the label of the place or the key of the work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from markdown_it.token import Token

from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.text.blocks import References
from book.text.book import Book
from book.text.inline import CITATIONS, names_in
from book.text.tokens import parse_line, walk

OTHERS = "et al."  # the end of the authors of a work, which is emphasized


class Targets:
    """The labelled places and cited works of a book.

    `references` is the name of the page that lists the works. If a format is not
    `numbered`, as slides are not, a reference names a section by its title, and another
    place by its kind, such as "the figure". `cited` holds the keys of the works that an
    edition cites.
    """

    def __init__(
        self, book: Book, numbered: bool = True, cited: Set[str] | None = None
    ):
        self.book = book
        self.numbered = numbered
        self.numbers = Numbers(book)
        self.bibliography = Bibliography(book, cited)
        blocks = ((s.name, block) for s in book.sections for block in s.blocks)
        lists = (name for name, block in blocks if isinstance(block, References))
        self.references = next(lists, "")

    def target(self, reference: Token) -> tuple[str, str]:
        """Return the page and the id to which a reference leads."""
        name = reference.meta["to"]
        if reference.info == "work":
            return self.references, id_of_work(name)
        place = self.numbers.places[name]
        return place.page, place.anchor

    def word(self, tokens: list[Token]) -> list[Token]:
        """Put the words of each reference and citation within it; return `tokens`."""
        before = ""  # the text in front of a token, in its paragraph
        for token in walk(tokens):
            if token.type == "role":
                begins = not before or before[-1] in ".!?:"
                token.children = self.words(token.info, token.content, begins)
            before = "" if token.type == "inline" else token.content.rstrip() or before
        return tokens

    def words(self, role: str, value: str, begins: bool = False) -> list[Token]:
        """Return the words of a role, which perhaps begins a sentence."""
        if role in CITATIONS:
            return self._citation(names_in(value), role == "citet")
        place = self.numbers.places[value]
        number = place.shown_number(role)
        if number and self.numbered:
            return [_reference("number", value, [_text(number)])]
        if place.title:
            title = parse_line(place.title)[0].children or []
            words = title if self.numbered else _emphasized(title)
            return [_reference("title", value, words)]
        kind = f"{'The' if begins else 'the'} {place.kind}"
        return [_reference("kind", value, [_text(kind)])]

    def _citation(self, keys: Sequence[str], textual: bool) -> list[Token]:
        """Return the authors and years of works, in the order of the list of works."""
        words: list[Token] = []
        works = sorted((*self.bibliography.label(key), key) for key in keys)
        for authors, year, key in works:
            who = [_text(authors.removesuffix(OTHERS))]
            who += _emphasized([_text(OTHERS)]) if authors.endswith(OTHERS) else []
            if textual:
                link = _reference("work", key, [_text(year)])
                words += [_text(", "), *who, _text(" ("), link, _text(")")]
            else:
                link = _reference("work", key, [*who, _text(f", {year}")])
                words += [_text("; "), link]
        return words[1:] if textual else [_text("("), *words[1:], _text(")")]


def id_of_work(key: str) -> str:
    """Return the id of the entry of a work."""
    return re.sub(r"[^\w-]+", "-", key)


def _reference(kind: str, to: str, words: list[Token]) -> Token:
    return Token("reference", "", 0, info=kind, meta={"to": to}, children=words)


def _emphasized(words: list[Token]) -> list[Token]:
    start = Token("em_open", "em", 1, markup="*")
    return [start, *words, Token("em_close", "em", -1, markup="*")]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
