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
    word = "note that" if "note" in text else text.strip("[*].").split()[-2:][0]
    message = f"'{word}' is a word to avoid; leave it out"
    assert found.casefold() == f"chapter/one.md:{line}: {message}".casefold()


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


@pytest.mark.parametrize(
    "promise",
    [PROMISE, f"(**{PROMISE}**)", "In this chapter,", "By the end of this section"],
)
def test_no_section_opens_with_a_promise(make_book: Callable[..., Book], promise: str):
    (found,) = problems(make_book, f"{promise}\n\nHalf of them are wasted.")
    message = "a section opens with a surprise; promise something later"
    assert found == f"chapter/one.md:3: {message}"


def test_a_promise_may_follow_later(make_book: Callable[..., Book]):
    text = f"Half of the bytes are wasted. {PROMISE}\n\n{PROMISE}"
    assert problems(make_book, text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Press the part of the figure.", "Press the"),
        ("The JAX tab shows it.", "The JAX tab"),
        ("![Time it by *Measure my GPU*.](../img/a.svg)", "Measure my GPU"),
        ("[Press the part of the figure.]{.web} A part.", ""),
        ("Presses the values of `this page`.", ""),
    ],
)
def test_words_of_the_screen_are_not_on_paper(
    make_book: Callable[..., Book], text: str, found: str
):
    message = f"chapter/one.md:3: '{found}' is not on paper; mark it {{.web}}"
    book = make_book(one=f"# One\n\n{text}\n")
    assert list(english.on_screen(book)) == ([message] if found else [])
