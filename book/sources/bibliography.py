"""The bibliography in the words of a notebook: author, year, and a list at its end."""

import functools
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from pybtex.database import BibliographyData, PybtexError, parse_file
from pybtex.plugin import find_plugin

from book.base.errors import BookError
from book.sources.book import Book

STYLE = "apa"  # as on the site
# The backend escapes more than Markdown needs.
NEEDLESS = re.compile(r"\\([-.,:;()&'!])")
LABEL = re.compile(r"(.*), ([^,]*)", re.DOTALL)


class Bibliography:
    """The works that the book may cite; `anchor` names a work's place in a notebook."""

    def __init__(self, book: Book):
        names = book.config.pdf["bibfile"].replace(",", " ").split()
        works = BibliographyData()
        try:
            for name in names:
                works.add_entries(parse_file(str(book.root / name)).entries.items())
        except PybtexError as error:
            raise BookError(" ".join(str(error).split()), "bibfile") from None
        self.works = works.entries

    @functools.cached_property
    def _written(self) -> dict[str, tuple[str, str]]:
        """The label and the entry of each work, sorted by author."""
        style = find_plugin("pybtex.style.formatting", STYLE)()
        markdown = find_plugin("pybtex.backends", "markdown")()
        return {
            entry.key: (entry.label, _tidy(entry.text.render(markdown)))
            for entry in style.format_entries(self.works.values())
        }

    def cited(self, keys: Iterable[str], where: str, textual: bool = False) -> str:
        """`([Author, year](#anchor))`, or `Author ([year](#anchor))`."""
        links = [self._link(key, where, textual) for key in keys]
        return ", ".join(links) if textual else f"({'; '.join(links)})"

    def _link(self, key: str, where: str, textual: bool) -> str:
        if key not in self._written:
            known = ", ".join(sorted(self.works)) or "none"
            raise BookError(
                f"no work '{key}' in the bibliography; there are {known}", where
            )
        label = self._written[key][0]
        parts = LABEL.fullmatch(label)
        if textual and parts:
            return f"{parts[1]} ([{parts[2]}](#{anchor(key)}))"
        return f"[{label}](#{anchor(key)})"

    def entries(self, keys: Iterable[str]) -> str:
        """The entries of `keys`, a paragraph each, as sorted as on the site."""
        wanted = set(keys)
        return "\n\n".join(
            f'<a id="{anchor(key)}"></a>{text}{self._source(key)}'
            for key, (_, text) in self._written.items()
            if key in wanted
        )

    def _source(self, key: str) -> str:
        address = self.works[key].fields.get("url")
        return (
            f" [{urlsplit(address).hostname or address}]({address})" if address else ""
        )


def anchor(key: str) -> str:
    return f"ref_{re.sub(r'[^A-Za-z0-9]+', '_', key)}"


def _tidy(text: str) -> str:
    return NEEDLESS.sub(r"\1", " ".join(text.split()))
