"""Data for search and previews is the same on each run, and kept for unchanged pages.

Its contents are in `tests/golden/expected`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from book.pages import html
from book.pages.article import Article
from book.pages.page import Written
from book.pages.search import Index
from book.text.book import Book

INDEX = """\
# A Made-Up Book

```toc

chapter/one
chapter/two
```
"""
ONE = """\
# One
:label:`sec_one`

A tensor has a shape.
"""
TWO = "# Two\n\nAs in :numref:`sec_one`.\n"
Make = Callable[..., Book]


def found(static: Path) -> list[dict[str, Any]]:
    """Return the entries of the search."""
    text = (static / "search-data.js").read_text("utf-8")
    script = text.removeprefix("bookSearchData = ").removesuffix(";\n")
    pages = json.loads(json.loads(script))["pages"]
    return [entry for entries in pages.values() for entry in entries]


SYMPTOMS = """\
# One

| Symptom | Remedy |
|:--|:--|
| It is **slow**. | Wait for it. |
| It hangs. | Do not wait. |
"""


def test_each_symptom_is_an_entry_with_a_target(make_site_book: Make):
    site = html.build(make_site_book(INDEX, one=SYMPTOMS, two="# Two\n")).parent
    rows = [entry for entry in found(site / "_static") if entry["kind"] == "symptom"]
    assert [(row["trail"][-1], row["text"]) for row in rows] == [
        ("It is slow", "Wait for it."),
        ("It hangs", "Do not wait."),
    ]
    text = (site / "chapter/one.html").read_text("utf-8")
    assert all(f'<tr id="{row["anchor"]}">' in text for row in rows)


@pytest.mark.parametrize(
    "line, is_found",
    [
        ("UserWarning: no GPU", True),
        ("torch.OutOfMemoryError: CUDA", True),
        ("OSError", False),
        ("no Warning: 2", False),
    ],
)
def test_messages_in_outputs_are_found(line: str, is_found: bool):
    index = Index(["jax"])
    index.add_output(f"first\n{line}\nlast: 3")
    assert [entry["code"] for entry in index.records()] == [line] * is_found


def test_the_same_book_gives_the_same_bytes(make_site_book: Make):
    books = [make_site_book(INDEX, folder=f, one=ONE, two=TWO) for f in "ab"]
    one, other = (html.build(book).parent / "_static" for book in books)
    for name in ("search-data.js", "previews.js"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_pages_that_have_not_changed_are_still_found(
    make_site_book: Make, monkeypatch: pytest.MonkeyPatch
):
    book = make_site_book(INDEX, one=ONE, two=TWO)
    before = found(html.build(book).parent / "_static")
    file = book.root / "chapter/two.md"
    file.write_text(TWO.replace("As in", "Anew, as in"), "utf-8")
    written, write = [], html._written

    def noting(article: Article) -> Written:
        written.append(article.name)
        return write(article)

    monkeypatch.setattr(html, "_written", noting)
    after = found(html.build(Book(book.root)).parent / "_static")
    assert written == ["chapter/two"]
    differ = [e for e in after if e not in before]
    assert [e["text"] for e in differ] == ["Anew, as in Section 1."]
    assert len(before) == len(after)
