"""The buttons of each page, which open hosted notebooks or files to download.

A page has only buttons whose target exists: notebooks on the branch on GitHub, and
files beside the pages. `make` puts there what `make notebooks` has made, if that is up
to date; `make publish` adds slides and PDFs.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from book.pages import addresses
from book.pages.hosting import Hosting
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

# The services that open notebooks on GitHub, and the kind of notebook for each.
HOSTS = (
    ("Colab", addresses.COLAB, "https://colab.research.google.com/github/{}"),
    (
        "Studio Lab",
        addresses.SAGEMAKER,
        "https://studiolab.sagemaker.aws/import/github/{}",
    ),
    (
        *("Kaggle", addresses.COLAB),
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
    buttons: Buttons = {}
    for section in book.sections:
        is_front = section is book.sections[0]
        found = {ALL_TABS: _existing(_of_book(book) if is_front else {}, files)}
        for tab in book.tabs:
            own = _existing(_of_section(book, section, tab), files) if files else []
            found[tab] = [*_hosted(book, section, tab, hosting), *own]
        if shown := {tab: each for tab, each in found.items() if each}:
            buttons[section.name] = shown
    return buttons


def _hosted(
    book: Book, section: Section, tab: str, hosting: Hosting
) -> Iterator[Button]:
    """Yield the buttons that open the notebook of a section in a hosted service."""
    if hosting.repository and tab in book.code_tabs(section):
        for label, kind, address in HOSTS:
            if tab != "mxnet" or label not in WITHOUT_MXNET:
                path = f"notebooks/{addresses.notebook(book, section, tab, kind)}"
                yield _button(label, address.format(hosting.blob(path)), "open")


def _of_section(book: Book, section: Section, tab: str) -> dict[str, str]:
    """Return the files for readers of one tab, each under the label of its button."""
    is_front = section is book.sections[0]
    pdf_label = f"PDF in {tab_name(tab)}" if is_front else "Book as PDF"
    hosted = addresses.notebook(book, section, tab, addresses.SAGEMAKER)
    return {
        "Notebook": f"notebooks/{hosted}",
        "Slides": f"slides/{addresses.deck(book, section, tab)}",
        pdf_label: f"pdf/{addresses.pdf(book, tab)}",
    }


def _of_book(book: Book) -> dict[str, str]:
    """Return the files of the front page, each under the label of its button."""
    return {
        "All notebooks": f"notebooks/{addresses.archive(book)}.zip",
        "All slides": "slides/index.html",
    }


def _existing(targets: dict[str, str], files: Collection[str]) -> list[Button]:
    """Return the buttons for those of some files that there are."""
    return [
        _button(label, file, "take" if file.endswith((".ipynb", ".zip")) else "show")
        for label, file in targets.items()
        if file in files
    ]


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
