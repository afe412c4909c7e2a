"""The parts of the book are those of its front page, wherever sections are listed."""

import functools
import re

import pytest
import test_html
from bs4 import BeautifulSoup

from book.notebooks import archive
from book.pages import html
from book.refs.numbers import Numbers
from book.slides import decks
from book.text.book import Book

INDEX = """\
# A Made-Up Book

Read it.

### First & Best

* :ref:`sec_one`. One.

* :ref:`sec_two`. Two.

### Last

* :ref:`sec_four`. Four.

```toc
:numbered:

chapter/one
chapter/two
chapter/three
chapter/four
```
"""
SECTION = """\
# {title}
:label:`sec_{name}`

[**A sentence for a slide.**]

```{{.python .input}}
%%tab all
{name} = 1
```
"""
NAMES = ("one", "two", "three", "four")


@pytest.fixture
def book(make_site_book: test_html.Make) -> Book:
    texts = {name: SECTION.format(title=name.title(), name=name) for name in NAMES}
    return make_site_book(index=INDEX, **texts)


def test_a_part_ends_where_the_next_one_begins(book: Book):
    parts = {title: [s.name[8:] for s in sections] for title, sections in book.parts}
    assert parts == {"First & Best": ["one", "two", "three"], "Last": ["four"]}


def test_sections_before_the_first_part_have_none(book: Book):
    path = book.root / "index.md"
    path.write_text(INDEX.replace("* :ref:`sec_one`. One.\n\n", ""))
    parts = {title: len(sections) for title, sections in Book(book.root).parts}
    assert parts == {"": 1, "First & Best": 2, "Last": 1}


def test_the_contents_show_the_part_of_a_page(book: Book):
    html.build(book, functools.partial(test_html.shown, book))
    for page, wanted in (("chapter/three", 0), ("chapter/four", 1), ("index", 0)):
        soup = test_html.soup(book, page)
        parts = soup.select("#book-contents > details")
        titles = [part.select_one("summary") for part in parts]
        assert [t and t.get_text() for t in titles] == ["First & Best", "Last"]
        assert [part.has_attr("open") for part in parts] == [
            number == wanted for number in range(2)
        ]
        listed = [[a.get_text()[3:] for a in part.select("a")] for part in parts]
        assert listed == [["One", "Two", "Three"], ["Four"]]
        current = soup.select("#book-contents li [aria-current]")
        assert len(current) == (page != "index")


def test_slides_and_notebooks_are_listed_by_part(
    book: Book, monkeypatch: pytest.MonkeyPatch
):
    list_of_decks = BeautifulSoup(decks.build(book).read_text("utf-8"), "html.parser")
    levels = [(h.name, h.get_text()) for h in list_of_decks.select("h2, h3")]
    first, *sections = levels[:4]
    assert first == ("h2", "First & Best") and sections == [
        ("h3", name.title()) for name in NAMES[:3]
    ]
    assert levels[4:] == [("h2", "Last"), ("h3", "Four")]
    monkeypatch.setattr(archive, "_requirements", lambda *_: "")
    readme = archive.supporting_files(book, Numbers(book))["README.md"].decode()
    lines = re.findall(r"^(?:##|\*) .*", readme, re.MULTILINE)
    assert lines[0] == "## First & Best" and lines[4] == "## Last"
    assert lines[3] == "* 3 Three: `three.ipynb`" and len(lines) == 6
