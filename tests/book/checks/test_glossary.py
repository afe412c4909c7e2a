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
        ("**Warp**", "**WARPS (W)**", ""),
        (
            *("is short", "is short? Or not"),
            "4: 'Ring' has more than two sentences; shorten it",
        ),
        ("**Warp**", "**Quad**", "5: 'Quad' comes before 'Ring' in the alphabet"),
        (
            *("**Warp**", "**Wave**"),
            "5: 'Wave' is not in italics in chapter/one.md; mark it there",
        ),
        (
            *(" (:numref:`sec_one`). Dev", ". Dev"),
            "4: 'Ring' without its section; add (:numref:`LABEL`)",
        ),
    ],
)
def test_mistakes_are_named(
    make_book: Callable[..., Book], right: str, wrong: str, problem: str
):
    assert right in GLOSSARY
    texts = {"one": ONE, "glossary": GLOSSARY.replace(right, wrong)}
    root = make_book(**texts).root
    name_glossary(root, "chapter/glossary")
    found = list(glossary.problems(Book(root)))
    assert found[:1] == ([f"chapter/glossary.md:{problem}"] if problem else [])


def test_a_glossary_that_is_not_there_is_named(make_book: Callable[..., Book]):
    root = make_book(one=ONE, glossary=GLOSSARY).root
    assert not [*glossary.problems(Book(root))]  # the book names none
    name_glossary(root, "chapter/terms")
    [problem] = glossary.problems(Book(root))
    what = "[pages] glossary: no section 'chapter/terms'"
    assert problem == f"config.ini: {what}; correct it"


def name_glossary(root: Path, page: str) -> None:
    config = root / "config.ini"
    text = f"{config.read_text('utf-8')}\n[pages]\nglossary = {page}\n"
    config.write_text(text, "utf-8")
