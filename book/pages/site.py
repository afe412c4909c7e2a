"""Data that all articles share: the targets of references, terms and addresses."""

from __future__ import annotations

import posixpath
from functools import cached_property
from pathlib import Path

from book.facts.exercises import Question, questions
from book.facts.map import Map
from book.merge import Views
from book.pages.term_links import Glossary
from book.refs.targets import Targets
from book.render.math import Equation
from book.text.blocks import Figure, Heading
from book.text.book import Book
from book.text.section import Section
from book.text.tokens import equations, parse_line


class Site(Targets):
    """A book, its glossary and the targets of its references."""

    def __init__(self, book: Book, views: Views):
        super().__init__(book)
        self.views = views
        self.front, *_ = book.sections
        self.glossary = Glossary(book)
        self.map = Map(book)
        # The reading time of each page in minutes; none if it has pages of its own.
        self.minutes: dict[str, int] = {}

    @cached_property
    def figure_labels(self) -> dict[str, str]:
        """The label of the figure that shows each picture, under the picture's name."""
        return {
            Path(block.path).stem: block.label
            for section in self.book.sections
            for block in section.blocks
            if isinstance(block, Figure) and block.label
        }

    @cached_property
    def questions(self) -> dict[str, list[Question]]:
        """The questions of each exercise, under the label of its solution."""
        found: dict[str, list[Question]] = {}
        for section in self.book.sections:
            for question in questions(section):
                found.setdefault(question.solution, []).append(question)
        return found

    def questions_for(self, section: Section) -> list[Question]:
        """Return the questions whose solutions are in a section."""
        labels = [b.label for b in section.blocks if isinstance(b, Heading)]
        return [q for label in labels for q in self.questions.get(label, [])]

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


def address(page: str, name: str, here: str) -> str:
    """Return the address of an id on a page, relative to the page `here`."""
    if page == here:
        return f"#{name}"
    path = posixpath.relpath(f"{page}.html", posixpath.dirname(here) or ".")
    return f"{path}#{name}" if name else path
