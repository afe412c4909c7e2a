"""The glossary is in order, short, and marked where its terms are introduced."""

from collections.abc import Callable
from pathlib import Path

import pytest

from book.checks import glossary
from book.text.book import Book

GLOSSARY = """\
# Glossary
:label:`sec_glossary`

* **Ring** (:numref:`sec_one`). Devices that send to the next one. It is short.
* **Warp** (:numref:`sec_one`). Threads that execute the
  same instruction.
"""
ONE = """\
# One
:label:`sec_one`

Threads run in *warps*. [***Rings* are cheap.**] A ring is closed.
"""


@pytest.mark.parametrize(
    "right, wrong, problem",
    [
        ("short", "short", ""),
        ("is short", "is short. Or not", "glossary.md:4: 'Ring' has more than two"),
        ("**Ring**", "**Zone**", "glossary.md:5: 'Warp' comes before 'Zone'"),
        ("**Warp**", "**Wave**", "'Wave' is not in italics in chapter/one.md; mark"),
        (" (:numref:`sec_one`). Dev", ". Dev", "'Ring' without its section"),
    ],
)
def test_mistakes_are_named(
    make_book: Callable[..., Book], right: str, wrong: str, problem: str
):
    assert right in GLOSSARY
    texts = {"one": ONE, "glossary": GLOSSARY.replace(right, wrong)}
    book = make_book(**texts)
    found = list(glossary.problems(Book(Path(book.root))))
    assert any(problem in line for line in found) if problem else not found
