"""Replaces references and citations with words, since slides have no other pages.

Decks share the figures, tables and equations of the book.
"""

from collections.abc import Iterable

from book.refs.bibliography import Bibliography
from book.refs.numbers import Numbers
from book.render import math
from book.slides import marks
from book.slides.marks import Slide, SlideFigure
from book.text.blocks import Figure
from book.text.book import Book
from book.text.inline import CITATIONS, Role, replace_roles, roles
from book.text.section import Section

NEAR = 2  # slides


class Words:
    """Replaces the references and citations of a book with words."""

    def __init__(self, book: Book):
        self.book = book
        self._mathml: dict[math.Equation, str] = {}
        self._bibliography = Bibliography(book)
        self._places = Numbers(book).places
        self._figures = {
            block.label: marks.to_figure(block, section.path.parent)
            for section in book.sections
            for block in section.blocks
            if isinstance(block, Figure) and block.label
        }

    def add_figures(self, slides: list[Slide]) -> None:
        """Add figures of the book to the slides whose text names them.

        A figure that a slide near this one shows is not added.
        """
        for number, slide in enumerate(slides):
            near = slides[max(number - NEAR, 0) : number + NEAR + 1]
            shown = {
                b.alt for s in near for b in s.blocks if isinstance(b, SlideFigure)
            }
            for role in roles("\n".join([*slide.lines, *slide.texts])):
                figure = self._figures.get(role.value)
                if figure and figure.alt not in shown:
                    slide.blocks.append(figure)

    def mathml(
        self, equations: Iterable[math.Equation], section: Section
    ) -> dict[math.Equation, str]:
        """Return the MathML of the equations of a section, and perhaps of others.

        Raises a `BookError` for an equation that is not valid.
        """
        new = (equation for equation in equations if equation not in self._mathml)
        places = {equation: self._place(equation[0], section) for equation in new}
        self._mathml |= math.mathml(places)
        return self._mathml

    def _place(self, tex: str, section: Section) -> str:
        """Return the file and the line of an equation on the slides of a section.

        A figure or a table of another section may contain it.
        """
        for home in [section, *self.book.sections]:
            if tex in home.text:
                return home.at(home.text.partition(tex)[0].count("\n") + 1)
        return f"{section.name}.md"

    def without_roles(self, text: str, section: Section) -> str:
        """Return a text of a section with words in place of its roles."""

        def words(role: Role) -> str:
            if role.name in CITATIONS:
                return self._citation(role, section)
            return self._reference(role, text)

        return replace_roles(text, words)

    def _reference(self, role: Role, text: str) -> str:
        """Return the title of a section, or words such as "the figure"."""
        place = self._places[role.value]
        if place.title:
            return f"*{place.title}*"
        words = f"the {place.kind}"
        before = text[: role.start].rstrip()
        at_start = not before or before[-1] in ".!?:"
        return words.capitalize() if at_start else words

    def _citation(self, role: Role, section: Section) -> str:
        """Return the authors and years of the works that a role cites."""
        works = [self._bibliography.label(key) for key in role.keys]
        if role.name == "citet":
            return "; ".join(f"{authors} ({year})" for authors, year in works)
        return f"({'; '.join(', '.join(work) for work in works)})"
