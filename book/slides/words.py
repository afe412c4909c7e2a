"""References and citations as words, for slides, which are read without the pages."""

from collections.abc import Callable
from functools import cached_property

from book.sources.bibliography import Bibliography
from book.sources.blocks import Heading
from book.sources.book import Book
from book.sources.inline import Role, replace_roles
from book.sources.section import Section

Worded = Callable[[str], str]
KINDS = {"fig": "the figure", "eq": "the equation", "tab": "the table"}


class Words:
    """Writes the references and citations of a book in words."""

    def __init__(self, book: Book):
        self.book = book

    @cached_property
    def _bibliography(self) -> Bibliography:
        return Bibliography(self.book)

    @cached_property
    def _titles(self) -> dict[str, str]:
        """The heading above each label that stands under one."""
        return {
            block.label: block.title
            for section in self.book.sections
            for block in section.blocks
            if isinstance(block, Heading) and block.label
        }

    def of(self, section: Section) -> Worded:
        """Return a function that replaces all roles in a text of `section`."""

        def worded(text: str) -> str:
            return replace_roles(text, lambda role: self._words(role, text, section))

        return worded

    def _words(self, role: Role, text: str, section: Section) -> str:
        if role.name in ("cite", "citep", "citet"):
            return self._citation(role, section)
        if role.name in ("ref", "numref", "eqref"):
            return self._reference(role, text)
        return f"`{role.value.lstrip('~')}`"

    def _reference(self, role: Role, text: str) -> str:
        if title := self._titles.get(role.value):
            return f"*{title}*"
        words = KINDS.get(role.value.partition("_")[0], "the place")
        before = text[: role.start].rstrip()
        at_start = not before or before[-1] in ".!?:"
        return words.capitalize() if at_start else words

    def _citation(self, role: Role, section: Section) -> str:
        keys = [key.strip() for key in role.value.split(",")]
        works = [self._bibliography.label(key, f"{section.name}.md") for key in keys]
        if role.name == "citet":
            return "; ".join(f"{authors} ({year})" for authors, year in works)
        return f"({'; '.join(', '.join(work) for work in works)})"
