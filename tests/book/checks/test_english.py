"""The text has no words that english.toml lists."""

from collections.abc import Callable

import pytest

from book.checks import english
from book.text.book import Book


def problems(make_book: Callable[..., Book], text: str) -> list[str]:
    return list(english.problems(make_book(one=f"# One\n\n{text}\n")))


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


PROMISE = "After this section you can count bytes."


@pytest.mark.parametrize("promise", [PROMISE, f"(**{PROMISE}**)", "In this section,"])
def test_no_section_opens_with_a_promise(make_book: Callable[..., Book], promise: str):
    (found,) = problems(make_book, f"{promise}\n\nHalf of them are wasted.")
    assert found.startswith("chapter/one.md:3: a section opens with a surprise")


def test_a_promise_may_follow_later(make_book: Callable[..., Book]):
    text = f"Half of the bytes are wasted. {PROMISE}\n\n{PROMISE}"
    assert problems(make_book, text) == []
