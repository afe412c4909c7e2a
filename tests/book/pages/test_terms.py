"""Terms on a page lead to their entries in the glossary."""

from collections.abc import Callable

import pytest
import test_html
from test_search_data import read

from book.pages import html
from book.pages.glossary import Glossary, forms
from book.text.book import Book
from book.text.tokens import parse

INDEX = """\
# A Made-Up Book

A warp in :numref:`sec_one`.

```toc

chapter/one
chapter/terms
```
"""
ONE = """\
# A Warp
:label:`sec_one`

:begin_tab:`jax`
The first warp is in a tab.
:end_tab:

A [warp](https://d2l.ai), `warp`, warp scheduler, and two
warps of a stream, a *stream* or a *stream of water*. An sm is no SM.
"""
TERMS = """\
# Glossary

* **Warp**: 32 threads. See stream.

* **Warp scheduler**: it issues.

* **Stream**: a queue.

* **Streaming multiprocessor (SM)**: a core.
"""


@pytest.fixture
def book(make_site_book: Callable[..., Book]) -> Book:
    book = make_site_book(index=INDEX, one=ONE, terms=TERMS)
    config = book.root / "config.ini"
    settings = "[pages]\nglossary = chapter/terms\neveryday = stream\n"
    config.write_text(f"{config.read_text('utf-8')}\n{settings}", "utf-8")
    return Book(book.root)


def mentions(book: Book, *texts: tuple[str, bool]) -> list[tuple[int, str, str]]:
    """Return the place, the words and the entry of each mention in some texts."""
    inlines = [(parse(text)[1], in_tab) for text, in_tab in texts]
    found = Glossary(book).mentions(inlines, "there.html")
    return [
        (match.start(), " ".join(match[0].split()), address.removeprefix("there.html#"))
        for inline, _ in inlines
        for child in inline.children or []
        for match, address in found.get(id(child), [])
    ]


def test_a_term_may_be_written_in_several_ways():
    assert forms("Streaming Multiprocessor (SM)") == [
        "Streaming Multiprocessor",
        "streaming Multiprocessor",
        "SM",
    ]


def test_the_first_mention_of_each_term_leads_to_its_entry(book: Book):
    text = "The SM has a warp\nscheduler; its warps, one warp, an SM."
    assert mentions(book, (text, False)) == [
        (4, "SM", "term-streaming-multiprocessor-sm"),
        (13, "warp scheduler", "term-warp-scheduler"),
        (33, "warps", "term-warp"),
    ]


def test_a_mention_that_all_readers_see_is_preferred(book: Book):
    texts = ("A warp.", True), ("One warp.", False), ("Warps.", False)
    assert [place for place, *_ in mentions(book, *texts)] == [4]
    two = mentions(book, ("A warp.", True), ("An SM and a warp.", False))
    assert [place for place, *_ in two] == [3, 12]
    assert mentions(book, ("Any warp.", True)) == [(4, "warp", "term-warp")]


def test_an_everyday_word_is_a_mention_only_alone_in_italics(book: Book):
    assert mentions(book, ("A stream, a *cold stream*, an sm.", False)) == []
    (found,) = mentions(book, ("The *stream*.", False))
    assert found[2] == "term-stream"


def test_a_page_links_to_terms_in_its_text_alone(book: Book):
    html.build(book)
    links = test_html.soup(book, "chapter/one").select("a.term")
    assert [(a.get_text(), a["href"]) for a in links] == [
        ("warp scheduler", "terms.html#term-warp-scheduler"),
        ("warps", "terms.html#term-warp"),
        ("stream", "terms.html#term-stream"),
        ("SM", "terms.html#term-streaming-multiprocessor-sm"),
    ]
    for page in ("index", "chapter/terms"):
        assert not test_html.soup(book, page).select("a.term")
    shown = read(book.root / "_build/html/_static/previews.js", "bookPreviews")
    assert len(shown) == 5 and "scheduler" in shown["chapter/one.html#sec-one"]
    assert not any("<a" in preview for preview in shown.values())
    assert "32 threads. See stream." in shown["chapter/terms.html#term-warp"]
