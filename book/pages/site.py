"""What the articles of all pages share: references, citations, terms, addresses."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from functools import cached_property

from markdown_it.token import Token

from book.merge import TabView
from book.pages.glossary import Glossary
from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.render.math import Equation
from book.render.texts import Texts, plain
from book.text.blocks import Heading, References
from book.text.book import Book
from book.text.inline import CITATIONS
from book.text.section import Section
from book.text.tokens import equations, parse, parse_line

Views = Callable[[Section, str], TabView | None]

NAMES = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}
NO_LIST = "no page lists the works that are cited; write :bibliography:`{}` on one"
EQUATIONS = "equation-"  # in front of the label of an equation, in its id


class Site:
    """The book, and what the pages of its sections refer to."""

    def __init__(self, book: Book, views: Views):
        self.book = book
        self.views = views
        self.front, *_ = book.sections
        self.numbers = Numbers(book)
        self.bibliography = Bibliography(book)
        self.glossary = Glossary(book)
        self.references = next((s.name for s in book.sections if _lists_works(s)), "")

    @cached_property
    def titles(self) -> dict[str, list[Token]]:
        """The tokens of the title of each section that has a label."""
        places = self.numbers.places.values()
        return {place.label: parse_line(place.title) for place in places if place.title}

    @cached_property
    def equations_of_titles(self) -> dict[Equation, str]:
        """The place of each equation in a heading."""
        return {
            equation: section.at(block.line)
            for section in self.book.sections
            for block in section.blocks
            if isinstance(block, Heading)
            for equation in equations(parse_line(block.title))
        }

    def problem_with(self, role: str, name: str) -> str:
        """Return why the book lacks what a role names; empty if it has it."""
        if role not in CITATIONS:
            known = name in self.numbers.places
            return "" if known else f"no label '{name}'; correct the reference"
        if not self.references:
            return NO_LIST.format(self.book.config.pdf["bibfile"])
        return self.bibliography.problem_with(name)

    def work(self, key: str) -> str:
        """Return the entry of a work in the list of references as plain text."""
        texts = Texts(lambda name, value: value, {})
        return plain(texts.html(parse(self.bibliography.formatted[key]))).strip()


def _lists_works(section: Section) -> bool:
    return any(isinstance(block, References) for block in section.blocks)


def anchor(label: str, is_equation: bool) -> str:
    """Return the id of the element that a label names; empty without a label."""
    name = label.replace("_", "-")
    return f"{EQUATIONS}{name}" if name and is_equation else name


def id_of_work(key: str) -> str:
    """Return the id of the entry of a work."""
    return re.sub(r"[^\w-]+", "-", key)


def address(page: str, name: str, here: str) -> str:
    """Return the address of an id on a page, relative to the page `here`."""
    if page == here:
        return f"#{name}"
    path = posixpath.relpath(f"{page}.html", posixpath.dirname(here) or ".")
    return f"{path}#{name}" if name else path
