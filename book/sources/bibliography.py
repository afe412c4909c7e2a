"""The works that the book cites, with the same letters in every format.

Two works of the same author and year have letters, as in "PyTorch, 2026a". They are
part of the `year` of a work here, so that whatever formats it shows them.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from formatting.apa import APAStyle  # of pybtex-apa-style
from pybtex.database import BibliographyData, Entry, Person, PybtexError, parse_file
from pybtex.plugin import find_plugin, register_plugin
from pybtex.style.sorting.author_year_title import SortingStyle

from book.base.errors import BookError
from book.sources.blocks import Cell
from book.sources.book import Book
from book.sources.checks import CITATIONS, KEY
from book.sources.inline import roles

STYLE = "book"
YEAR = re.compile(r"(\byear\s*=\s*[{\"]?\s*)\d+\b", re.IGNORECASE)
# The backend escapes more than Markdown needs.
NEEDLESS = re.compile(r"\\([-.,:;()&'!])")


class BookSorting(SortingStyle):
    """By author, year and title; the braces and capitals do not count."""

    def sorting_key(self, entry: Entry) -> tuple[str, ...]:
        keys = super().sorting_key(entry)
        return tuple(re.sub(r"[{}]", "", key).lower() for key in keys)


class BookStyle(APAStyle):
    """The style of the American Psychological Association, in that order."""

    default_sorting_style = STYLE


register_plugin("pybtex.style.sorting", STYLE, BookSorting)
register_plugin("pybtex.style.formatting", STYLE, BookStyle)


class Bibliography:
    """The works that the book cites; `anchor` names a work's place in a notebook."""

    def __init__(self, book: Book):
        read = BibliographyData()
        try:
            for name in book.config.pdf["bibfile"].replace(",", " ").split():
                read.add_entries(parse_file(str(book.root / name)).entries.items())
        except PybtexError as error:
            raise BookError(" ".join(str(error).split()), "bibfile") from None
        cited = _cited(book)
        works = [entry for key, entry in read.entries.items() if key in cited]
        self.works = {entry.key: entry for entry in _with_letters(works)}

    def with_letters(self, bibtex: str) -> str:
        """Return the text of a .bib file whose years have the letters of the works."""
        entries = re.split(r"^(?=[ \t]*@)", bibtex, flags=re.MULTILINE)
        return "".join(map(self._with_letter, entries))

    def _with_letter(self, entry: str) -> str:
        key = KEY.match(entry)
        work = self.works.get(key[1]) if key else None
        if work is None or "year" not in work.fields:
            return entry
        return YEAR.sub(lambda found: found[1] + work.fields["year"], entry, count=1)

    @functools.cached_property
    def _entries(self) -> dict[str, str]:
        """The entry of each work in Markdown, sorted by author, year and title."""
        style = find_plugin("pybtex.style.formatting", STYLE)()
        markdown = find_plugin("pybtex.backends", "markdown")()
        return {
            entry.key: _tidy(entry.text.render(markdown))
            for entry in style.format_entries(self.works.values())
        }

    def cited(self, keys: Iterable[str], where: str, textual: bool = False) -> str:
        """Return `([Author, year](#anchor))`, or `Author ([year](#anchor))`."""
        links = []
        for key in keys:
            authors, year = self.label(key, where)
            if textual:
                links.append(f"{authors} ([{year}](#{anchor(key)}))")
            else:
                links.append(f"[{authors}, {year}](#{anchor(key)})")
        return ", ".join(links) if textual else f"({'; '.join(links)})"

    def label(self, key: str, where: str) -> tuple[str, str]:
        """Return the authors and the year by which text cites a work."""
        if key not in self.works:
            known = ", ".join(sorted(self.works)) or "none"
            raise BookError(
                f"no work '{key}' in the bibliography; there are {known}", where
            )
        return _authors(self.works[key]), self.works[key].fields.get("year", "n.d.")

    def entries(self, keys: Iterable[str]) -> str:
        """Return the entries of `keys`, a paragraph each, in the order of the site."""
        wanted = set(keys)
        return "\n\n".join(
            f'<a id="{anchor(key)}"></a>{text}{self._source(key)}'
            for key, text in self._entries.items()
            if key in wanted
        )

    def _source(self, key: str) -> str:
        address = self.works[key].fields.get("url")
        if not address:
            return ""
        return f" [{urlsplit(address).hostname or address}]({address})"


def anchor(key: str) -> str:
    return f"ref_{re.sub(r'[^A-Za-z0-9]+', '_', key)}"


def _cited(book: Book) -> set[str]:
    """Return the keys of the works that the text of a book cites."""
    return {
        key.strip()
        for section in book.sections
        for block in section.blocks
        if not isinstance(block, Cell)
        for role in roles(block.text)
        if role.name in CITATIONS
        for key in role.value.split(",")
    }


def _with_letters(works: list[Entry]) -> list[Entry]:
    """Return the works in their order; those that are cited alike have letters."""
    sorting = BookSorting()
    ordered = sorting.sort(works)
    labels = [(_authors(work), work.fields.get("year", "n.d.")) for work in ordered]
    shared, used = Counter(labels), Counter[tuple[str, str]]()
    for work, label in zip(ordered, labels, strict=True):
        if shared[label] > 1:
            work.fields["year"] = f"{label[1]}{chr(ord('a') + used[label])}"
            used[label] += 1
    return list(ordered)


def _authors(work: Entry) -> str:
    """Return the authors of a work as text names them."""
    people = work.persons.get("author") or work.persons.get("editor") or []
    names = [_last_name(person) for person in people]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names) or work.key


def _last_name(person: Person) -> str:
    return re.sub(r"[{}]", "", " ".join([*person.prelast_names, *person.last_names]))


def _tidy(text: str) -> str:
    return NEEDLESS.sub(r"\1", " ".join(text.split()))
