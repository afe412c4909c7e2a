"""The front page leads to all sections, and each page to those around it."""

from collections.abc import Callable

import pytest
import test_html
from bs4 import BeautifulSoup, Tag

from book.pages import html
from book.text.book import Book

INDEX = """\
# A Made-Up "Book"

Its *lead*
is \\<short>.

![First.](../img/a.svg)

![Second.](../img/a.svg)

### Part

* :ref:`sec_one`. An uncommon word.

  Requires nothing.

* :ref:`sec_two`: Another.

```toc

chapter/one
chapter/two
```
"""
ONE = """\
# *One* & "All" \\<b>
:label:`sec_one`

First \\*words* \\"now\\".

## Again

### Below

## Again

The end.
"""
TWO = """\
# Two
:label:`sec_two`

{words}

```toc

three
```
"""

find = test_html.find


@pytest.fixture
def book(make_site_book: Callable[..., Book]) -> Book:
    index = INDEX.replace("../img", "img")
    two = TWO.format(words="words " * 60)
    book = make_site_book(index=index, one=ONE, two=two)
    (book.root / "chapter/three.md").write_text("# Three\n\n:bibliography:`refs.bib`\n")
    (book.root / "chapter/one.md").write_text(f"{ONE}\nBy :cite:`Williams.2009`.\n")
    book = Book(book.root)
    html.build(book)
    return book


def page(book: Book, name: str) -> BeautifulSoup:
    return test_html.soup(book, name)


def words(element: Tag) -> str:
    return " ".join(element.get_text().split())


def test_the_front_page_begins_with_its_lead_buttons_and_figure(book: Book):
    front = page(book, "index")
    lead, start, figure, *_ = find(front, "h1").find_next_siblings()
    assert lead["class"] == ["lead"] and len(front.select(".lead, .start")) == 2
    links = [(a.get_text(), a["href"]) for a in start.select("a")]
    assert links == [
        ("PyTorch", "chapter/one.html?tab=pytorch"),
        ("JAX", "chapter/one.html?tab=jax"),
    ]
    assert not front.select(".record")  # there is no code
    assert [i.get("loading") for i in front.select("img")] == [None, "lazy"]


def test_buttons_are_above_the_figure_of_the_front_page_or_below_a_title(book: Book):
    written = html.write_articles(book, None, {})
    above = written["index"].above
    assert 'class="start"' in above and "<figure" not in above
    assert written["chapter/one"].above.endswith("</h1>\n")


def test_a_card_names_a_section_its_time_and_what_it_requires(book: Book):
    cards = page(book, "index").select("li.section-card")
    assert [words(card) for card in cards] == [
        "1 One & “All” <b>An uncommon word. 5 min Requires nothing.",
        "2 TwoAnother.",
    ]
    assert [words(find(card, "p.requires")) for card in cards] == [
        *("5 min Requires nothing.", "")
    ]
    data = (book.root / "_build/html/_static/search-data.js").read_text("utf-8")
    assert "Its lead is" in data and "uncommon" not in data


def test_a_page_leads_to_those_before_and_after_it(book: Book):
    names = ("index", "chapter/one", "chapter/two", "chapter/three")
    for name, before, after in zip(
        names,
        (None, "../index.html", "one.html", "two.html"),
        ("chapter/one.html", "two.html", "three.html", None),
        strict=True,
    ):
        for rel, wanted in (("prev", before), ("next", after)):
            links = page(book, name).select(f'[rel="{rel}"]')
            assert [link["href"] for link in links] == [wanted] * 2 * bool(wanted)


def test_the_contents_hold_the_pages_below_the_readers_page(book: Book):
    for name, shown in {
        "chapter/one": False,
        "chapter/two": True,
        "chapter/three": True,
    }.items():
        contents = find(page(book, name), "#book-contents")
        pages = [words(a) for a in contents.select("li a")]
        assert pages == ["1. One & “All” <b>", "2. Two", "2.1. Three"][: 2 + shown]
        current = find(contents, "li [aria-current=page]")
        assert current["href"] == "#" and len(contents.select("[aria-current]")) == 1


def test_the_contents_of_a_page_are_as_its_sections(book: Book):
    one = page(book, "chapter/one")
    links = one.select("#page-contents a")
    assert [(words(a), a["href"], len(a.find_parents("ul"))) for a in links] == [
        ("1. One & “All” <b>", "#", 1),
        ("1.1. Again", "#again", 2),
        ("1.1.1. Below", "#below", 3),
        ("1.2. Again", "#again-2", 2),
    ]
    sections = [
        (s["id"], len(s.find_parents("section"))) for s in one.select("section")
    ]
    assert sections == [("one-all-b", 0), ("again", 1), ("below", 2), ("again-2", 1)]
    assert not page(book, "index").select("#page-contents")
    data = (book.root / "_build/html/_static/search-data.js").read_text("utf-8")
    assert '"trail": ["1. One & “All” <b>", "1.2. Again"]' in data


def test_a_page_has_its_title_and_its_first_words_in_its_head(book: Book):
    one, title = page(book, "chapter/one"), "1. One & “All” <b>"
    assert find(one, "title").text == f"{title} – A Made-Up Book"
    assert find(one, 'meta[property="og:title"]')["content"] == title
    assert find(page(book, "index"), "title").text == "A Made-Up “Book”"
    described = {
        name: str(find(page(book, name), "meta[name=description]")["content"])
        for name in ("index", "chapter/one", "chapter/two", "chapter/three")
    }
    assert described["index"] == "Its lead is <short>."
    assert described["chapter/one"] == 'First *words* "now".'
    cut = described["chapter/two"]
    assert cut.endswith("words…") and 150 < len(cut) <= 160
    assert described["chapter/three"].startswith("Williams")
