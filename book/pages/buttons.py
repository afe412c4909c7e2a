"""The buttons of each page, which open hosted notebooks or files to download.

A page has only buttons whose target exists. `make` builds only pages, so their buttons
open notebooks on the branch on GitHub; `make publish` adds files beside the pages.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from book.pages import names
from book.pages.hosting import Hosting
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

# The services that open notebooks on GitHub, and the kind of notebook for each.
HOSTS = (
    ("Colab", names.COLAB, "https://colab.research.google.com/github/{}"),
    ("Studio Lab", names.SAGEMAKER, "https://studiolab.sagemaker.aws/import/github/{}"),
    (
        *("Kaggle", names.COLAB),
        "https://kaggle.com/kernels/welcome?src=https://github.com/{}",
    ),
)
# These have Python 3.12 or newer, and MXNet's last release needs Python 3.11.
WITHOUT_MXNET = ("Colab", "Kaggle")
ALL_TABS = ""  # instead of the name of a tab

Button = dict[str, Any]
# The buttons of each page, under the tab whose readers see them.
Buttons = dict[str, dict[str, list[Button]]]


def for_book(book: Book, hosting: Hosting, files: Collection[str] = ()) -> Buttons:
    """Return the buttons of all pages; `files` names the files beside the pages.

    Addresses without a scheme are relative to the folder of the site.
    """
    buttons = {
        section.name: {
            tab: list(_for_tab(book, section, tab, hosting, files)) for tab in book.tabs
        }
        for section in book.sections
    }
    front = book.config.build["index"]
    buttons[front] = {ALL_TABS: list(_for_front_page(book, files))} | buttons.get(
        front, {}
    )
    shown = {
        page: {tab: tab_buttons for tab, tab_buttons in tabs.items() if tab_buttons}
        for page, tabs in buttons.items()
    }
    return {page: tabs for page, tabs in shown.items() if tabs}


def _for_tab(
    book: Book, section: Section, tab: str, hosting: Hosting, files: Collection[str]
) -> Iterator[Button]:
    """Yield the buttons of a page that readers of one tab see."""
    if hosting.repository and tab in book.code_tabs(section):
        for label, kind, address in HOSTS:
            if tab == "mxnet" and label in WITHOUT_MXNET:
                continue
            path = f"notebooks/{names.notebook(book, section, tab, kind)}"
            yield _button(label, address.format(hosting.blob(path)), "open")
    is_front = section.name == book.config.build["index"]
    pdf_label = f"PDF in {tab_name(tab)}" if is_front else "Book as PDF"
    targets = {
        "Notebook": f"notebooks/{names.notebook(book, section, tab, names.SAGEMAKER)}",
        "Slides": f"slides/{names.deck(book, section, tab)}",
        pdf_label: f"pdf/{names.pdf(book, tab)}",
    }
    for label, file in targets.items():
        if file in files:
            yield _button(label, file, "take" if label == "Notebook" else "show")


def _for_front_page(book: Book, files: Collection[str]) -> Iterator[Button]:
    """Yield the buttons of the front page that readers of all tabs see."""
    targets = {
        "All notebooks": f"notebooks/{names.archive(book)}.zip",
        "All slides": "slides/index.html",
        "PDF in all frameworks": f"pdf/{names.pdf(book)}",
    }
    for label, file in targets.items():
        if file in files:
            yield _button(label, file, "take" if file.endswith(".zip") else "show")


def _button(label: str, address: str, kind: str) -> Button:
    """Return a button, whose kind is "open", "show" or "take" (download)."""
    return {"label": label, "address": address, "kind": kind}


def files_in(folder: Path) -> list[str]:
    """Return the names of all files in a folder, relative to it."""
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file()
    )
