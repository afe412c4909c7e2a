"""Short decks have a good number of slides, with sentences as titles."""

from collections.abc import Callable

import pytest

from book.checks import short_decks
from book.text.book import Book

POINT = "[Point {n} is a sentence.]{{.point}}\n\n$$x = {n}$$\n\n"


def problems(make_book: Callable[..., Book], text: str) -> list[str]:
    return list(short_decks.problems(make_book(one=f"# One\n\n{text}")))


def deck(count: int) -> str:
    return "".join(POINT.format(n=n) for n in range(count))


def code(count: int) -> str:
    lines = "\n".join(f"x = {n}" for n in range(count))
    cell = f"```{{.python .input}}\n%%tab all\n\n{lines}\n```\n"
    return f"{deck(8)}[Code.]{{.point show=code}}\n\n{cell}"


LONGEST = deck(8).replace("Point 0 is a sentence.", f"Is it {'very ' * 16}big?")


@pytest.mark.parametrize("text", ["", deck(8), deck(12), code(18), LONGEST])
def test_a_deck_that_follows_the_rules(make_book: Callable[..., Book], text: str):
    assert problems(make_book, text) == []


@pytest.mark.parametrize("count", [1, 7, 13])
def test_a_deck_with_too_few_or_too_many_slides(
    make_book: Callable[..., Book], count: int
):
    found = problems(make_book, deck(count))
    assert len(found) == 2  # one for each tab
    message = f"{count} points in pytorch; mark 8 to 12 sentences with '.point'"
    assert found[0] == f"chapter/one.md: {message}"


SENTENCE = "is not a sentence; it begins with a capital, ends with '.'"


@pytest.mark.parametrize(
    "title, message",
    [
        ("a part of one.", f"'a part of one.' {SENTENCE}"),
        ("No end", f"'No end' {SENTENCE}"),
        (
            f"This {'very ' * 16}long!.",
            "a title has at most 90 characters, and this has 91",
        ),
    ],
)
def test_a_title_that_is_no_sentence(
    make_book: Callable[..., Book], title: str, message: str
):
    text = deck(8).replace("Point 0 is a sentence.", title)
    found = problems(make_book, text)
    assert found == [f"chapter/one.md:3: {message}"] * 2


def test_a_point_without_a_picture(make_book: Callable[..., Book]):
    found = problems(make_book, deck(8) + "[An end.]{.point}\n")
    message = "nothing shows this point; put it above a picture"
    assert found[0] == f"chapter/one.md:35: {message}"


def test_code_that_is_too_long_for_a_slide(make_book: Callable[..., Book]):
    message = "19 lines on a slide in pytorch; choose a cell with at most 18"
    assert problems(make_book, code(19))[0] == f"chapter/one.md:35: {message}"
