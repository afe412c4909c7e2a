"""The names of what is made of the book: notebooks, decks, PDFs and the archive.

Pages link to these files and other stages write them, so that both ask here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from book.sources.book import Book
from book.sources.section import Section

# The kinds of notebooks; the name is their folder.
PLAIN, COLAB, SAGEMAKER = "", "colab", "sagemaker"


def short(book: Book, section: Section) -> str:
    """Return the last part of a section's name; all of it if two share that part."""
    last = Path(section.name).name
    shared = Counter(Path(other.name).name for other in book.sections)
    return last if shared[last] == 1 else section.name.replace("/", "-")


def notebook(book: Book, section: Section, tab: str, kind: str = PLAIN) -> str:
    """Return the path of a notebook within the folder of notebooks."""
    return Path(kind, tab, f"{short(book, section)}.ipynb").as_posix()


def archive(book: Book) -> str:
    """Return the name of the archive of all notebooks, and of the folder in it."""
    return f"{book.config.project['name']}-notebooks"


def deck(book: Book, section: Section, tab: str) -> str:
    """Return the path of a deck of slides within the folder of decks."""
    return f"{tab}/{short(book, section)}.html"


def pdf(book: Book, tab: str | None = None) -> str:
    """Return the file name of the PDF of one tab, or of the one with all tabs."""
    return book.config.project["name"] + (f"-{tab}" if tab else "") + ".pdf"
