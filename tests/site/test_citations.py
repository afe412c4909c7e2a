"""Citations say the same in the text, in the list and in every format."""

import re

import pytest
from bs4 import Tag

from book.refs.bibliography import Bibliography
from book.text.book import Book

AUTHORS = re.compile(r"([A-Z][\w-]+(?: and [A-Z][\w-]+| et al\.)?) \( ?$")


@pytest.fixture(scope="module")
def bibliography(book: Book) -> Bibliography:
    return Bibliography(book)


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


def test_addresses_of_works_are_whole_in_print(open_page):
    page = open_page("chapter_gpus/references.html")
    page.emulate_media(media="print")
    shown = page.eval_on_selector_all(
        ".citation a.external",
        """links => links.map((link) => [
          link.getAttribute("href"), getComputedStyle(link, "::after").content])""",
    )
    assert shown and all(href in content for href, content in shown)
