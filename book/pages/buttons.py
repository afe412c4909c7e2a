"""The buttons of each page: the section in a hosted notebook, or as a file to take.

A button is there only if what it opens is. `make` writes pages alone, so theirs open
what the branch of notebooks has; the pages of `make publish` have files beside them.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from book.notebooks import editions
from book.slides import decks
from book.sources.book import Book, Section
from book.sources.hosting import Hosting
from book.sources.tabs import tab_name

# What opens a notebook of GitHub, by the kind of notebook that it takes.
HOSTS = (
    ("Colab", editions.COLAB, "https://colab.research.google.com/github/{}"),
    (
        *("Studio Lab", editions.SAGEMAKER),
        "https://studiolab.sagemaker.aws/import/github/{}",
    ),
    (
        *("Kaggle", editions.COLAB),
        "https://kaggle.com/kernels/welcome?src=https://github.com/{}",
    ),
)
ALWAYS = ""  # in the place of a tab's name

Button = dict[str, Any]
# The buttons of a page by the tab whose readers see them.
Buttons = dict[str, dict[str, list[Button]]]


def of(book: Book, hosting: Hosting, beside: Collection[str] = ()) -> Buttons:
    """The buttons of all pages; `beside` names the files that the site has beside them.

    Addresses without a scheme begin at the folder of the site.
    """
    edition = editions.Edition(book)
    made = {
        section.name: {
            tab: list(_of_tab(edition, section, tab, hosting, beside))
            for tab in book.tabs
        }
        for section in book.sections
    }
    front = book.config.build["index"]
    made[front] = {ALWAYS: list(_of_book(edition, beside))} | made.get(front, {})
    shown = {
        page: {tab: buttons for tab, buttons in tabs.items() if buttons}
        for page, tabs in made.items()
    }
    return {page: tabs for page, tabs in shown.items() if tabs}


def _of_tab(
    edition: editions.Edition,
    section: Section,
    tab: str,
    hosting: Hosting,
    beside: Collection[str],
) -> Iterator[Button]:
    name = edition.file_name(section)
    if hosting.repository and tab in edition.book.code_tabs(section):
        for label, kind, address in HOSTS:
            blob = hosting.blob(f"notebooks/{kind}/{tab}/{name}")
            yield _button(label, address.format(blob), "open")
    name_of_book = edition.book.config.project["name"]
    is_front = section.name == edition.book.config.build["index"]
    of_book = f"PDF in {tab_name(tab)}" if is_front else "Book as PDF"
    files = {
        "Notebook": f"notebooks/{editions.SAGEMAKER}/{tab}/{name}",
        "Slides": f"slides/{decks.file(section, tab).as_posix()}.html",
        of_book: f"pdf/{name_of_book}-{tab}.pdf",
    }
    for label, file in files.items():
        if file in beside:
            yield _button(label, file, "take" if label == "Notebook" else "show")


def _of_book(edition: editions.Edition, beside: Collection[str]) -> Iterator[Button]:
    files = {
        "All notebooks": f"notebooks/{edition.title}.zip",
        "All slides": "slides/index.html",
        "PDF in all frameworks": f"pdf/{edition.book.config.project['name']}.pdf",
    }
    for label, file in files.items():
        if file in beside:
            yield _button(label, file, "take" if file.endswith(".zip") else "show")


def _button(label: str, address: str, kind: str) -> Button:
    return {"label": label, "address": address, "kind": kind}


def files_in(folder: Path) -> list[str]:
    """The names of all files in a folder, from there."""
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file()
    )
