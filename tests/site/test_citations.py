"""Citations say the same in the text, in the list and in every format."""

import re

import pytest
from bs4 import BeautifulSoup, Tag

from book.notebooks.editions import Edition
from book.pages.names import PLAIN
from book.refs.bibliography import Bibliography
from book.slides import decks
from book.slides.words import Words
from book.text.book import Book

AUTHORS = re.compile(r"([A-Z][\w-]+(?: and [A-Z][\w-]+| et al\.)?) \( ?$")
LABEL = re.compile(r"([A-Z][\w .&-]*?), (\d{4}[a-z]?)")


@pytest.fixture(scope="module")
def bibliography(book: Book) -> Bibliography:
    return Bibliography(book)


@pytest.fixture(scope="module")
def known(bibliography: Bibliography) -> set[tuple[str, str]]:
    """The authors and the year of each work, as text cites it."""
    labels = {bibliography.label(key, "") for key in bibliography.works}
    assert len(labels) == len(bibliography.works)
    return labels


def authors_before(link: Tag) -> str:
    """Return the authors of a citation like "Bekman (2026)", whose link is the year."""
    text = "".join(node.get_text() for node in reversed([*link.previous_siblings]))
    found = AUTHORS.search(" ".join(text.split()) + " ")
    assert found, text[-40:]
    return found[1]


def test_each_citation_of_the_site_names_one_work(site, pages, bibliography):
    list_of_all = pages[site / "chapter_gpus/references.html"]
    entries = {div["id"]: div.get_text() for div in list_of_all.select(".citation")}
    assert len(entries) == len(bibliography.works)
    seen = set()
    for page in pages.values():
        for link in page.select("a.reference.internal[href*='references.html#']"):
            authors, _, year = link.get_text().rpartition(", ")
            authors = authors or authors_before(link)
            entry = " ".join(entries[link["href"].partition("#")[2]].split())
            if year:
                assert f"({year})" in entry, (link, entry)
                seen.add((authors, year, entry))
    works = {(authors, year) for authors, year, _ in seen}
    assert len(works) == len(seen) > 20


def test_the_list_of_the_site_is_in_order(site, pages):
    list_of_all = pages[site / "chapter_gpus/references.html"]
    texts = [" ".join(e.get_text().split()) for e in list_of_all.select(".citation")]
    keys = [re.sub(r"[^\w ]", "", text).lower().split() for text in texts]
    assert keys == sorted(keys)


def test_notebooks_and_slides_cite_alike(book: Book, known, bibliography):
    section = book.section("pitfalls")
    cells = Edition(book).notebook(section, "pytorch", PLAIN).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    cited = set(re.findall(r"\[([^\]]+), (\d{4}[a-z]?)\]\(#ref_", text))
    assert cited and cited <= known
    deck = decks.deck(book, section, "pytorch", Words(book))
    shown = BeautifulSoup(deck, "html.parser").select_one(".slides")
    assert shown is not None
    found = re.findall(r"\(([^()]+, \d{4}[a-z]?)\)", shown.get_text())
    said = {tuple(label.rsplit(", ", 1)) for f in found for label in f.split("; ")}
    assert said and said <= known


def test_addresses_of_works_are_whole_in_print(open_page):
    page = open_page("chapter_gpus/references.html")
    page.emulate_media(media="print")
    shown = page.eval_on_selector_all(
        ".citation a.external",
        """links => links.map((link) => [
          link.getAttribute("href"), getComputedStyle(link, "::after").content])""",
    )
    assert shown and all(href in content for href, content in shown)
