"""Reads what an edition prints: its pages in order, with the tokens of all texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from markdown_it.token import Token

from book import merge
from book.base.cache import Cache
from book.merge import Part, TabView, Views
from book.pages.term_links import Glossary
from book.paper import terms
from book.refs.targets import Targets
from book.render import math
from book.render.texts import frameworks
from book.text.blocks import Block, Cell, Equation, Heading, Prose, Table
from book.text.book import Book
from book.text.inline import CITATIONS, roles, text_for
from book.text.section import Section
from book.text.tabs import tab_name
from book.text.tokens import body, caption, equations, plain

CELL_LEVEL = 3  # of the tokens of a table


class Page(NamedTuple):
    """A section in print; `depth` is 1 for a chapter, and 0 for the front page."""

    section: Section
    view: TabView | None
    parts: list[Part]
    depth: int


class Edition:
    """The pages of a book in the only tab of `book`, and what their texts need.

    `texts` holds the tokens of a block's caption and of its body under the `id` of the
    block, `math` the Typst of each equation under its TeX, `mentions` the names of the
    pages that mention a name in code, `abbreviations` the term of each, and `terms` the
    entries of the index for terms of the glossary, under their ids.
    """

    def __init__(self, book: Book, views: Views, cache: Cache):
        self.book, self.views = book, views
        self.pages = list(self._pages(book.sections[0], 0))
        self.targets = Targets(book, cited=set(self._cited()))
        self.texts: dict[int, tuple[list[Token], list[Token]]] = {}
        self.mentions: defaultdict[str, set[str]] = defaultdict(set)
        found: dict[str, str] = {}
        for page in self.pages:
            for part in page.parts:
                self._read(part.block, page.section, found)
        self.math = math.typst(found, cache)
        self._mark_entries()

    def _pages(self, section: Section, depth: int) -> Iterator[Page]:
        """Yield the page of a section and those of all sections below it."""
        [tab] = self.book.tabs
        view = self.views(section, tab)
        items = merge.merge(section, [view or _empty_view(section, tab)])
        parts = [item for item in items if isinstance(item, Part)]
        yield Page(section, view, parts, depth)
        for below in self.book.below(section):
            yield from self._pages(below, depth + 1)

    def _cited(self) -> Iterator[str]:
        """Yield the keys of the works that the texts of the pages cite."""
        blocks = (part.block for page in self.pages for part in page.parts)
        for block in blocks:
            text = block.text
            if isinstance(block, Cell):
                text = block.attributes.get("question", "")
            for role in roles(text_for(text, "print")):
                yield from role.keys if role.name in CITATIONS else ()

    def _read(self, block: Block, section: Section, found: dict[str, str]) -> None:
        """Parse the texts of a block; add its equations to `found`, with its place."""
        words, [tab] = self.targets.word, self.book.tabs
        text = words(caption(block, "print")), words(body(block, "print"))
        if isinstance(block, Table):
            text = text[0], _columns_of(tab, text[1])
        self.texts[id(block)] = text
        for tex, _ in equations(chain(*text)):
            found.setdefault(tex, section.at(block.line))
        if isinstance(block, Equation):
            found.setdefault(block.tex, section.at(block.line))
        for name in terms.mentions(chain(*text)):
            self.mentions[name].add(section.name)

    def _mark_entries(self) -> None:
        """Add the entries of the index to the tokens that have some.

        The front page mentions everything and explains nothing.
        """
        appendix = self.book.setting("pages", "appendix")
        pages = [
            page
            for page in self.pages
            if page.depth and not page.section.name.startswith(appendix or "\n")
        ]
        blocks = [part.block for page in pages for part in page.parts]
        lines = (token for b in blocks for token in self.texts[id(b)][1])
        titles = [plain(title) for title, _ in self.texts.values()]
        stressed = re.split(r",\s*", self.book.setting("pdf", "stressed"))
        programs = self.book.setting("pdf", "programs").split()
        [tab] = self.book.tabs
        terms.mark_entries(lines, tab, [*titles, *stressed], programs)
        glossary = Glossary(self.book)
        pages = [page for page in pages if page.section.name != glossary.page]
        names = [*filter(None, re.split(r",\s*", self.book.setting("pdf", "indexed")))]
        groups = [group for page in pages for group in self._groups(page)]
        self.abbreviations, self.terms = terms.mark_terms(groups, glossary, names)
        terms.mark_names(map(self._tokens, pages), names)
        self._place_terms(glossary)

    def _place_terms(self, glossary: Glossary) -> None:
        """Lead each entry of the glossary to the page of its term.

        An entry is left out if no text of the edition has its term.
        """
        others = [page for page in self.pages if page.section.name != glossary.page]
        blocks = [part.block for page in others for part in page.parts]
        tokens = chain(*(chain(*self.texts[id(block)]) for block in blocks))
        cells = (block.code for block in blocks if isinstance(block, Cell))
        text = "\n".join([*(plain([token]) for token in tokens), *cells])
        for page in self.pages:
            for block in (part.block for part in page.parts):
                if page.section.name == glossary.page and isinstance(block, Prose):
                    title, entries = self.texts[id(block)]
                    kept = terms.placed(entries, glossary, self.terms, text)
                    self.texts[id(block)] = title, kept

    def _tokens(self, page: Page) -> list[Token]:
        """Return the tokens of all texts of a page, without captions."""
        return [t for part in page.parts for t in self.texts[id(part.block)][1]]

    def _groups(self, page: Page) -> list[tuple[str, list[Token]]]:
        """Return the tokens of each part of a page, behind the label of the page."""
        label = next((label for label, _ in page.section.labels), "")
        groups: list[tuple[str, list[Token]]] = [(label, [])]
        for part in page.parts:
            if isinstance(part.block, Heading) and part.block.level == 2:
                groups.append((label, []))
            groups[-1][1].extend(self.texts[id(part.block)][1])
        return groups


def _columns_of(tab: str, table: list[Token]) -> list[Token]:
    """Return a table without the columns of other tabs."""
    shown = [name in (None, tab) for name in frameworks(table)]
    kept, place = [], -1
    for token in table:
        if token.type == "tr_open":
            place = -1
        elif token.type in ("th_open", "td_open"):
            place += 1
        # A cell is below the table, its head or body, and a row.
        if token.level < CELL_LEVEL or shown[place]:
            kept.append(token)
    return kept


def _empty_view(section: Section, tab: str) -> TabView:
    """Return a view with only the title of a section, so that it keeps its number."""
    title = [section.title] if section.title else []
    text = f"This section does not apply to {tab_name(tab)}."
    return TabView(tab, [*title, Prose(line=1, source=text)], {}, [])
