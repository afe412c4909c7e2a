"""Short decks have a good number of slides, with sentences as titles."""

from collections.abc import Callable

import pytest

from book.checks import points
from book.text.book import Book

POINT = "[Point {n} is a sentence.]{{.point}}\n\n$$x = {n}$$\n\n"


def problems(make_book: Callable[..., Book], text: str) -> list[str]:
    return list(points.problems(make_book(one=f"# One\n\n{text}")))


def deck(count: int) -> str:
    return "".join(POINT.format(n=n) for n in range(count))


@pytest.mark.parametrize("count", [0, 8, 12])
def test_a_deck_that_follows_the_rules(make_book: Callable[..., Book], count: int):
    assert problems(make_book, deck(count)) == []


@pytest.mark.parametrize("count", [1, 7, 13])
def test_a_deck_with_too_few_or_too_many_slides(
    make_book: Callable[..., Book], count: int
):
    found = problems(make_book, deck(count))
    assert len(found) == 2  # one for each tab
    assert found[0].startswith(
        f"chapter/one.md: {count} points in pytorch; mark 8 to 12"
    )


@pytest.mark.parametrize(
    "title, message",
    [
        ("a part of one", "is not a sentence"),
        ("No end", "is not a sentence"),
        (f"This {'very ' * 20}long.", "a title has at most 90 characters"),
    ],
)
def test_a_title_that_is_no_sentence(
    make_book: Callable[..., Book], title: str, message: str
):
    text = deck(8).replace("Point 0 is a sentence.", title)
    found = problems(make_book, text)
    assert found and all(
        f.startswith("chapter/one.md:3: ") and message in f for f in found
    )


def test_a_point_without_a_picture(make_book: Callable[..., Book]):
    found = problems(make_book, deck(8) + "[An end.]{.point}\n")
    assert found[0].startswith("chapter/one.md:35: nothing shows this point")


def test_code_that_is_too_long_for_a_slide(make_book: Callable[..., Book]):
    lines = "\n".join(f"x = {n}" for n in range(19))
    cell = f"```{{.python .input}}\n%%tab all\n{lines}\n```\n"
    found = problems(make_book, f"{deck(8)}[Code.]{{.point show=code}}\n\n{cell}")
    assert found[0].startswith("chapter/one.md:35: 19 lines on a slide in pytorch")
