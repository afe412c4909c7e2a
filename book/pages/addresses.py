"""The ids of elements, and the file names of notebooks, decks, PDFs and the archive.

Pages link to these files and later stages write them; both get the names here.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from book.text.book import Book
from book.text.section import Section

# The kinds of notebooks; each value is the name of the folder that holds that kind.
PLAIN, COLAB, SAGEMAKER = "", "colab", "sagemaker"
ALL = "all"  # the folder of the decks that all tabs share


def identifier(text: str) -> str:
    """Return the id of an element that a text names, such as a heading."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-").lstrip("-0123456789")


def short(book: Book, section: Section) -> str:
    """Return the name of a section in the names of files."""
    return book.short_name(section).replace("/", "-")


def notebook(book: Book, section: Section, tab: str, kind: str = PLAIN) -> str:
    """Return the path of a notebook within the folder of notebooks."""
    return Path(kind, tab, f"{short(book, section)}.ipynb").as_posix()


def archive(book: Book) -> str:
    """Return the name of the archive of all notebooks and of its top folder."""
    return f"{book.config.project['name']}-notebooks"


def deck(book: Book, section: Section, tab: str) -> str:
    """Return the path of a deck of slides within the folder of decks.

    A section without code has one deck for all tabs.
    """
    folder = tab if book.code_tabs(section) else ALL
    return f"{folder}/{short(book, section)}.html"


def pdf(book: Book, tab: str) -> str:
    """Return the file name of the PDF of `tab`."""
    return f"{book.config.project['name']}-{tab}.pdf"
