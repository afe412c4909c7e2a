"""References and equations, for the decks of a book."""

from collections.abc import Iterable

from book.facts.marked_numbers import published_measurements
from book.refs.targets import Targets
from book.render import math
from book.text.book import Book
from book.text.section import Section


class Words:
    """The words and equations of a book; slides have no numbers and links."""

    def __init__(self, book: Book):
        self.book = book
        self.targets = Targets(book, numbered=False)
        self.measurements = published_measurements(book)
        self._mathml: dict[math.Equation, str] = {}

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
