"""References and citations as words, for what is read apart from the book's pages."""

import re
from collections.abc import Callable
from functools import cached_property

from pybtex.database import Entry, Person, parse_file

from book.base.errors import BookError
from book.sources.book import Book, Section

REFERENCE = re.compile(r":(?:num|eq)?ref:`([^`]+)`")
CITATION = re.compile(r":cite(?P<kind>[tp]?):`(?P<keys>[^`]+)`")
TITLE = re.compile(r"^#+[ \t]+(.+?)[ \t]*\n:label:`([^`]+)`", re.MULTILINE)
Worded = Callable[[str], str]
KINDS = {"fig": "the figure", "eq": "the equation", "tab": "the table"}
AT_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*\n)\Z")


class Words:
    """What stands in the place of the references and citations of a book."""

    def __init__(self, book: Book):
        self.book = book

    def of(self, section: Section) -> Worded:
        """A function that replaces all of them in a text of `section`."""

        def worded(text: str) -> str:
            text = REFERENCE.sub(lambda m: self._reference(m, text), text)
            return CITATION.sub(lambda m: self._citation(m, section), text)

        return worded

    @cached_property
    def _titles(self) -> dict[str, str]:
        """The heading above each label that stands under one."""
        found = (match for s in self.book.sections for match in TITLE.finditer(s.text))
        return {match[2]: match[1] for match in found}

    def _reference(self, found: re.Match[str], text: str) -> str:
        if title := self._titles.get(found[1]):
            return f"*{title}*"
        words = KINDS.get(found[1].partition("_")[0], "the place")
        at_start = AT_START.search(text, 0, found.start())
        return words.capitalize() if at_start else words

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        names = self.book.config.pdf["bibfile"].replace(",", " ").split()
        files = [parse_file(str(self.book.root / name), "bibtex") for name in names]
        return {key: entry for file in files for key, entry in file.entries.items()}

    def _citation(self, found: re.Match[str], section: Section) -> str:
        works = [self._work(key.strip(), section) for key in found["keys"].split(",")]
        if found["kind"] == "t":
            return "; ".join(f"{authors} ({year})" for authors, year in works)
        return f"({'; '.join(', '.join(filter(None, work)) for work in works)})"

    def _work(self, key: str, section: Section) -> tuple[str, str]:
        """The authors and the year of what is cited."""
        if key not in self._entries:
            message = f"no work '{key}' in the bibliography; add it, or mend the key"
            raise BookError(message, section.where(key))
        entry = self._entries[key]
        people = entry.persons.get("author") or entry.persons.get("editor") or []
        return _names(people) or key, entry.fields.get("year", "")


def _names(people: list[Person]) -> str:
    names = [" ".join([*p.prelast_names, *p.last_names]) for p in people]
    names = [re.sub(r"[{}]", "", name) for name in names]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)
