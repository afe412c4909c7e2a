"""The parts of the book are those of its front page.

Contents, slides and notebooks that list them are in `tests/golden/expected`.
"""

from collections.abc import Callable

import pytest

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


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    names = ("one", "two", "three", "four")
    book = make_book(**{name: f"# {name}\n:label:`sec_{name}`\n" for name in names})
    (book.root / "index.md").write_text(INDEX)
    return Book(book.root)


def test_a_part_ends_where_the_next_one_begins(book: Book):
    parts = {title: [s.name[8:] for s in sections] for title, sections in book.parts}
    assert parts == {"First & Best": ["one", "two", "three"], "Last": ["four"]}


def test_sections_before_the_first_part_have_none(book: Book):
    path = book.root / "index.md"
    path.write_text(INDEX.replace("* :ref:`sec_one`. One.\n\n", ""))
    parts = {title: len(sections) for title, sections in Book(book.root).parts}
    assert parts == {"": 1, "First & Best": 2, "Last": 1}
