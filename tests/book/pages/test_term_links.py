"""Terms are found in the text; `tests/golden/expected/pages` has links to them."""

from collections.abc import Callable

import pytest

from book.pages.term_links import Glossary, forms
from book.text.book import Book
from book.text.tokens import parse

TERMS = """\
# Glossary

* **Warp**: 32 threads. See stream.

* **Warp scheduler**: it issues.

* **Stream**: a queue.

* **Streaming multiprocessor (SM)**: a core.
"""


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    book = make_book(terms=TERMS)
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


def test_a_term_in_a_link_is_no_mention(book: Book):
    found = mentions(book, ("A [warp](a.html), an SM, a warp.", False))
    assert [place for place, *_ in found] == [5, 11]


def test_an_everyday_word_is_a_mention_only_alone_in_italics(book: Book):
    assert mentions(book, ("A stream, a *cold stream*, an sm.", False)) == []
    (found,) = mentions(book, ("The *stream*.", False))
    assert found[2] == "term-stream"
