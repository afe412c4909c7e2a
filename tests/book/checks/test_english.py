"""Words that config.ini lists are not in the text."""

from collections.abc import Callable

import pytest

from book.base.errors import BookError
from book.checks import english
from book.text.book import Book

SETTING = "\n[english]\navoid = simply -> leave it out\n    note that -> leave it out\n"


def problems(
    make_book: Callable[..., Book], text: str, setting: str = SETTING
) -> list[str]:
    book = make_book(one=f"# One\n\n{text}\n")
    with (book.root / "config.ini").open("a") as file:
        file.write(setting)
    return list(english.problems(Book(book.root)))


@pytest.mark.parametrize(
    "text, line",
    [("It\nSimply works.", 4), ("* a\n* note that b", 4), ("[**simply**]", 3)],
)
def test_a_word_to_avoid_is_found(make_book: Callable[..., Book], text: str, line: int):
    (found,) = problems(make_book, text)
    assert found.startswith(f"chapter/one.md:{line}: ")
    assert found.endswith("is a word to avoid; leave it out")


@pytest.mark.parametrize(
    "text",
    [
        "`simply` and :ref:`simply`.",
        "```\nsimply\n```",
        "```{.python .input}\n%%tab jax\nsimply = 1\n```",
        "The oversimply-named one.",
    ],
)
def test_code_and_parts_of_words_are_not(make_book: Callable[..., Book], text: str):
    assert problems(make_book, text) == []


def test_a_setting_without_a_remedy_is_reported(make_book: Callable[..., Book]):
    with pytest.raises(
        BookError, match=r"config.ini, \[english\]: 'so' is not WORD ->"
    ):
        problems(make_book, "A.", "\n[english]\navoid = so\n")
