"""Reads what an edition prints: its pages in order, with the tokens of all texts.

In print, the contents are the only list of the sections. What a list of sections says
about a section is at the beginning of that section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from markdown_it.token import Token

from book import merge
from book.base.cache import Cache
from book.base.errors import BookError
from book.facts.marked_numbers import published_measurements
from book.merge import Panel, Part, TabSet, TabView
from book.paper.terms import Terms
from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.render import math
from book.text.blocks import (
    Block,
    Equation,
    Heading,
    Labelled,
    Prose,
    References,
)
from book.text.book import Book
from book.text.inline import CITATIONS
from book.text.section import Section
from book.text.tabs import tab_name
from book.text.tokens import body, caption, equations, parse_line, walk

Views = Callable[[Section, str], TabView | None]
Item = Part | TabSet


class Text(NamedTuple):
    """The tokens of a block: those of its title or caption, and those of its body."""

    title: list[Token]
    body: list[Token]


@dataclass
class Page:
    """A section in print; `depth` is 1 for a chapter, and 0 for the front page.

    `about` is what the list of sections above says about it.
    """

    section: Section
    views: list[TabView]
    items: list[Item]
    depth: int
    about: list[Token] = field(default_factory=list)

    @property
    def blocks(self) -> Iterator[Block]:
        """The blocks that the page shows in order, those in panels too."""
        for item in self.items:
            panels = item.panels if isinstance(item, TabSet) else [Panel((), [item])]
            blocks = (part.block for panel in panels for part in panel.parts)
            yield from (block for block in blocks if not is_hidden(block))

    @property
    def has_number(self) -> bool:
        """False for the front page and for one that holds only the bibliography."""
        kinds = {type(block) for block in self.blocks}
        return self.depth > 0 and kinds != {Heading, References}


class Edition:
    """The pages of a book in the tabs of `book`, and what their texts need.

    `texts` holds the tokens of each block under its `id`, `math` the Typst of each
    equation, and `labels` the places that references can lead to.
    """

    def __init__(self, book: Book, views: Views, cache: Cache):
        self.book, self.views = book, views
        self.numbers, self.bibliography = Numbers(book), Bibliography(book)
        self.measurements = published_measurements(book)
        self.pages = list(self._pages(book.sections[0], 0))
        blocks = [block for page in self.pages for block in page.blocks]
        self.labels = {b.label for b in blocks if isinstance(b, Labelled)}
        self.texts = {
            id(b): Text(caption(b, "print"), body(b, "print")) for b in blocks
        }
        self.terms = Terms(
            book.setting("pdf", "stressed").split(),
            book.setting("pdf", "programs").split(),
        )
        self._read_terms()
        tokens = [*chain.from_iterable(chain.from_iterable(self.texts.values()))]
        cited = {key for token in walk(tokens) for key in _cited(token)}
        formatted = self.bibliography.formatted
        keys = [key for key in self.bibliography.works if key in cited]
        self.works = {key: parse_line(formatted[key]) for key in keys}
        tokens += chain.from_iterable(self.works.values())
        tokens += (t for p in self.numbers.places.values() for t in parse_line(p.title))
        found = [
            *(tex for tex, _ in equations(tokens)),
            *(b.tex for b in blocks if isinstance(b, Equation)),
        ]
        self.math = math.typst(list(dict.fromkeys(found)), cache)
        self._remove_lists()

    # Pages

    def _pages(self, section: Section, depth: int) -> Iterator[Page]:
        """Yield the page of a section and those of all sections below it."""
        tabs = self.book.tabs
        views = [v for tab in tabs if (v := self.views(section, tab)) is not None]
        if not views and len(tabs) == 1:
            views = [_empty_view(section, tabs[0])]
        if not views:
            raise BookError("the page is empty; write something", section.at(1))
        items = merge.merge(section, views, self.measurements)
        yield Page(section, views, items, depth)
        sections = {below.path: below for below in self.book.sections}
        for entry, _ in section.contents:
            below = sections[self.book.path_of_entry(section, entry)]
            yield from self._pages(below, depth + 1)

    # Texts

    def _read_terms(self) -> None:
        for page in self.pages:
            name = page.section.name
            # The front page mentions everything and explains nothing.
            read = self.terms.read_text if page.depth else self.terms.read_mentions
            for block in page.blocks:
                text = self.texts[id(block)]
                self.terms.read_title(name, text.title)
                read(name, text.body)

    # Lists of sections

    def _remove_lists(self) -> None:
        """Move what lists say about pages to these pages, and remove the lists.

        A heading above such a list is the title of a part of the book.
        """
        titles = {title for title, _ in self.book.parts}
        pages = {page.section.name: page for page in self.pages}
        for page in self.pages:
            kept: list[Item] = []
            for item in page.items:
                about = self._about(page, item)
                for name, tokens in about.items():
                    pages[name].about = tokens
                if about and kept and _title(kept[-1]) in titles:
                    kept.pop()
                kept += [] if about else [item]
            page.items = kept

    def _about(self, page: Page, item: Item) -> dict[str, list[Token]]:
        """Return what a list says about the pages below; empty if it lists others."""
        text = self.texts.get(id(item.block)) if isinstance(item, Part) else None
        if text is None:
            return {}
        section = page.section
        below = {
            self.book.path_of_entry(section, entry) for entry, _ in section.contents
        }
        paths = {s.name: s.path for s in self.book.sections}
        found = {}
        for tokens in _items(text.body):
            first = (tokens[1].children or [])[:1]
            label = first[0].content if first and first[0].type == "role" else ""
            place = self.numbers.places.get(label)
            if place is None or paths[place.page] not in below:
                return {}
            found[place.page] = tokens[3:]  # without the paragraph that names the page
        return found


def _cited(token: Token) -> list[str]:
    """Return the keys of the works that a token cites."""
    is_citation = token.type == "role" and token.info in CITATIONS
    return [key.strip() for key in token.content.split(",")] if is_citation else []


def _empty_view(section: Section, tab: str) -> TabView:
    """Return a view with only the title of a section, so that it keeps its number."""
    title = [section.title] if section.title else []
    line = title[0].line if title else 1
    text = f"This section does not apply to {tab_name(tab)}."
    return TabView(tab, [*title, Prose(line=line, source=text)], {}, [])


def is_hidden(block: Block) -> bool:
    """Return True for what is only on slides, and for text that is only elsewhere."""
    return block.sign.endswith("~~") or (
        isinstance(block, Prose) and not body(block, "print")
    )


def _title(item: Item) -> str:
    """Return the title of a heading; empty for all else."""
    if isinstance(item, Part) and isinstance(item.block, Heading):
        return item.block.title
    return ""


def _items(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens within each item of a list with bullets; nothing for others."""
    if not tokens or tokens[0].type != "bullet_list_open":
        return
    start = 0
    for place, token in enumerate(tokens):
        if token.level == 1 and token.type == "list_item_open":
            start = place + 1
        elif token.level == 1 and token.type == "list_item_close":
            yield tokens[start:place]
