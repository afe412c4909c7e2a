"""The works that the book cites, with the same letters in every format but print.

Letters tell works of the same authors and year apart, as in "PyTorch, 2026a". Each
letter is added to the `year` of its work, so that every format shows it. An edition in
print lists only the works that it cites, and has its own letters, without gaps.
"""

import functools
import re
from collections import Counter
from collections.abc import Set
from urllib.parse import urlsplit

from formatting.apa import APAStyle  # of pybtex-apa-style
from pybtex.database import BibliographyData, Entry, PybtexError, parse_file
from pybtex.plugin import find_plugin
from pybtex.style import FormattedEntry
from pybtex.style.sorting.author_year_title import SortingStyle
from pybtex.style.template import FieldIsMissing, Node, join

from book.facts.marked_numbers import published_measurements
from book.runner.errors import BookError
from book.text.blocks import Cell
from book.text.book import Book
from book.text.inline import CITATIONS, roles

# pybtex's Markdown backend escapes more characters than Markdown needs.
NEEDLESS_ESCAPE = re.compile(r"\\([-.,:;()&'!])")


class BookSorting(SortingStyle):
    """Sorts by author, year and title, without regard to braces and capitals."""

    def sorting_key(self, entry: Entry) -> tuple[str, ...]:
        """Return the texts by which pybtex sorts an entry."""
        keys = super().sorting_key(entry)
        return tuple(re.sub(r"[{}]", "", key).lower() for key in keys)


class BookStyle(APAStyle):
    """The style of the American Psychological Association."""

    def format_entry(
        self, label: str, entry: Entry, bib_data: BibliographyData | None = None
    ) -> FormattedEntry:
        """Return the text of a work without the backslashes that only TeX needs."""
        fields = {name: text.replace(r"\$", "$") for name, text in entry.fields.items()}
        work = Entry(entry.type, fields, entry.persons)
        work.key = entry.key
        return super().format_entry(label, work, bib_data)

    def format_url(self, entry: Entry) -> Node:
        """Return nothing, since each format adds a link to the work itself."""
        return join


class Bibliography:
    """The works that the book cites; `works` holds each under its key, sorted.

    `cited` holds the keys of those that an edition cites, if not all.
    """

    def __init__(self, book: Book, cited: Set[str] | None = None):
        bibliography = BibliographyData()
        try:
            for name in book.config.pdf["bibfile"].replace(",", " ").split():
                entries = parse_file(str(book.root / name)).entries
                bibliography.add_entries(entries.items())
        except PybtexError as error:
            raise BookError(" ".join(str(error).split()), "bibfile") from None
        cited = _cited_keys(book) if cited is None else cited
        works = [work for key, work in bibliography.entries.items() if key in cited]
        self.works = {work.key: work for work in _add_letters(works)}

    @functools.cached_property
    def formatted(self) -> dict[str, str]:
        """The entry of each work in Markdown, without a link, sorted as in the list."""
        style = BookStyle(sorting_style="none")
        markdown = find_plugin("pybtex.backends", "markdown")()
        try:
            entries = list(style.format_entries(self.works.values()))
        except FieldIsMissing as error:
            raise BookError(f"{error}; add it", "bibfile") from None
        return {e.key: _clean_markdown(e.text.render(markdown)) for e in entries}

    def label(self, key: str) -> tuple[str, str]:
        """Return the authors and the year by which the text cites a work."""
        return _label(self.works[key])

    def link(self, key: str) -> str:
        """Return a link to the address of a work, or an empty text if it has none."""
        address = self.works[key].fields.get("url")
        if not address:
            return ""
        return f" [{urlsplit(address).hostname or address}]({address})"


def _cited_keys(book: Book) -> set[str]:
    """Return the keys of the works that the text of a book and its predictions cite."""
    measurements = published_measurements(book)
    keys: set[str] = set()
    for section in book.sections:
        for block in section.blocks:
            if isinstance(block, Cell):
                row = measurements.get(block.attributes.get("cited", ""), {})
                keys.update(filter(None, [row.get("source")]))
            else:
                cited = (role for role in roles(block.text) if role.name in CITATIONS)
                keys.update(key for role in cited for key in role.keys)
    return keys


def _add_letters(works: list[Entry]) -> list[Entry]:
    """Return the works, sorted, with letters where they share authors and year."""
    ordered = list(BookSorting().sort(works))
    labels = [_label(work) for work in ordered]
    totals, seen = Counter(labels), Counter[tuple[str, str]]()
    for work, label in zip(ordered, labels, strict=True):
        if totals[label] > 1:
            work.fields["year"] = f"{label[1]}{chr(ord('a') + seen[label])}"
            seen[label] += 1
    return ordered


def _label(work: Entry) -> tuple[str, str]:
    """Return the authors and the year of a work as a citation names them."""
    people = work.persons.get("author") or work.persons.get("editor") or []
    parts = [" ".join([*p.prelast_names, *p.last_names]) for p in people]
    names = [re.sub(r"[{}]", "", part) for part in parts]  # such as "de la Cruz"
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return authors or work.key, work.fields.get("year", "n.d.")


def _clean_markdown(text: str) -> str:
    """Return Markdown on one line, with the escapes that it needs and no others."""
    text = NEEDLESS_ESCAPE.sub(r"\1", " ".join(text.split()))
    return text.replace("$", r"\$")
