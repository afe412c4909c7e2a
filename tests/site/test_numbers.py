"""Each label of the book has the same kind and number wherever it is shown."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from pypdfium2 import PdfDocument

from book.__main__ import main
from book.notebooks.editions import Edition
from book.pages.names import PLAIN
from book.refs.numbers import Numbers, Place
from book.text.book import Book

pytestmark = pytest.mark.slow
PREFIX = {"figure": "Fig. ", "table": "Table ", "equation": "", "section": ""}


@pytest.fixture(scope="module")
def places(book: Book) -> list[Place]:
    found = list(Numbers(book).places.values())
    assert {place.kind for place in found} >= {"figure", "equation", "section"}
    return found


def on_page(page: BeautifulSoup, place: Place) -> str:
    """Return the number of a place as the site shows it, without its kind."""
    prefix = "equation-" if place.kind == "equation" else ""
    found = page.find(id=prefix + place.label.replace("_", "-"))
    assert isinstance(found, Tag), place
    if place.kind == "equation":
        number = found.select_one(".eqno")
    elif place.kind == "section":
        around = found if found.name == "section" else found.find_parent("section")
        number = around.select_one(".section-number") if around else None
    else:
        around = found if found.name == place.kind else found.find_parent(place.kind)
        around = around or found.find_next(place.kind)  # a table follows its id
        number = around.select_one(".caption-number") if around else None
    text = number.get_text() if number else ""
    assert text.startswith(PREFIX[place.kind]), place
    return text.removeprefix(PREFIX[place.kind]).strip("(). #")


def test_numbers_are_those_of_the_site(places, pages, site: Path):
    for place in places:
        assert on_page(pages[site / f"{place.page}.html"], place) == place.number, place


def test_numbers_are_those_of_the_pdf(places, book: Book, capsys):
    tab = book.tabs[0]
    assert main(["pdf", "--tab", tab]) == 0
    file = PdfDocument(capsys.readouterr().out.strip())
    pages = (page.get_textpage().get_text_bounded() for page in file)
    text = "\n".join(pages).replace("\r", "")
    printed = {
        "section": {entry.get_title().split()[0] for entry in file.get_toc()},
        "figure": set(re.findall(r"^Fig\.\s([\w.]+):", text, re.M)),
        "table": set(re.findall(r"^Table\s([\w.]+):", text, re.M)),
        "equation": set(re.findall(r"\(([\w]+\.\d+)\)$", text, re.M)),
    }
    for kind, numbers in printed.items():
        # Some places are in other tabs.
        wanted = {place.number for place in places if place.kind == kind}
        assert len(numbers & wanted) > len(wanted) * 0.8, kind


@pytest.mark.parametrize("tab", ["jax"])
def test_references_of_notebooks_say_the_kind_and_the_number(
    places, book: Book, tab: str
):
    words = {"figure": "Fig.", "table": "Table", "section": "Section"}
    by_label = {place.label: place for place in places}
    for section in book.sections:
        if tab not in book.code_tabs(section):
            continue
        notebook = Edition(book).notebook(section, tab, PLAIN)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        for kind, number, label in re.findall(
            r"\[(Fig\.|Table|Section) ([\d.]+)[^\]]*\]\([^)#]*#(\w+)\)", text
        ):
            place = by_label[label]
            assert (words[place.kind], place.number) == (kind, number.rstrip(".:"))
