"""References, figures and equations, for the decks of a book."""

from collections.abc import Iterable

from book.refs.targets import Targets
from book.render import math
from book.slides import slide_marks
from book.slides.slide_marks import Slide, SlideFigure
from book.text.blocks import Figure
from book.text.book import Book
from book.text.inline import roles
from book.text.section import Section

NEAR = 2  # slides


class Words:
    """The words, figures and equations of a book; slides have no numbers and links."""

    def __init__(self, book: Book):
        self.book = book
        self.targets = Targets(book, numbered=False)
        self._mathml: dict[math.Equation, str] = {}
        self._figures = {
            block.label: slide_marks.to_figure(block, section.path.parent)
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
