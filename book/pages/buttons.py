"""The buttons of each page: the section in a hosted notebook, or as a file to take.

A button is there only if what it opens is. `make` writes pages alone, so theirs open
what the branch of notebooks has; the pages of `make publish` have files beside them.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from book.sources import names
from book.sources.book import Book
from book.sources.hosting import Hosting
from book.sources.section import Section
from book.sources.tabs import tab_name

# The services that open notebooks of GitHub, and the kind of notebook for each.
HOSTS = (
    ("Colab", names.COLAB, "https://colab.research.google.com/github/{}"),
    ("Studio Lab", names.SAGEMAKER, "https://studiolab.sagemaker.aws/import/github/{}"),
    (
        *("Kaggle", names.COLAB),
        "https://kaggle.com/kernels/welcome?src=https://github.com/{}",
    ),
)
ALWAYS = ""  # in the place of a tab's name

Button = dict[str, Any]
# The buttons of a page by the tab whose readers see them.
Buttons = dict[str, dict[str, list[Button]]]


def of(book: Book, hosting: Hosting, beside: Collection[str] = ()) -> Buttons:
    """Return the buttons of all pages; `beside` names the files next to the pages.

    Addresses without a scheme begin at the folder of the site.
    """
    made = {
        section.name: {
            tab: list(_of_tab(book, section, tab, hosting, beside)) for tab in book.tabs
        }
        for section in book.sections
    }
    front = book.config.build["index"]
    made[front] = {ALWAYS: list(_of_book(book, beside))} | made.get(front, {})
    shown = {
        page: {tab: buttons for tab, buttons in tabs.items() if buttons}
        for page, tabs in made.items()
    }
    return {page: tabs for page, tabs in shown.items() if tabs}


def _of_tab(
    book: Book, section: Section, tab: str, hosting: Hosting, beside: Collection[str]
) -> Iterator[Button]:
    if hosting.repository and tab in book.code_tabs(section):
        for label, kind, address in HOSTS:
            path = f"notebooks/{names.notebook(book, section, tab, kind)}"
            yield _button(label, address.format(hosting.blob(path)), "open")
    is_front = section.name == book.config.build["index"]
    of_book = f"PDF in {tab_name(tab)}" if is_front else "Book as PDF"
    files = {
        "Notebook": f"notebooks/{names.notebook(book, section, tab, names.SAGEMAKER)}",
        "Slides": f"slides/{names.deck(book, section, tab)}",
        of_book: f"pdf/{names.pdf(book, tab)}",
    }
    for label, file in files.items():
        if file in beside:
            yield _button(label, file, "take" if label == "Notebook" else "show")


def _of_book(book: Book, beside: Collection[str]) -> Iterator[Button]:
    files = {
        "All notebooks": f"notebooks/{names.archive(book)}.zip",
        "All slides": "slides/index.html",
        "PDF in all frameworks": f"pdf/{names.pdf(book)}",
    }
    for label, file in files.items():
        if file in beside:
            yield _button(label, file, "take" if file.endswith(".zip") else "show")


def _button(label: str, address: str, kind: str) -> Button:
    return {"label": label, "address": address, "kind": kind}


def files_in(folder: Path) -> list[str]:
    """Return the names of all files in a folder, relative to it."""
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file()
    )
