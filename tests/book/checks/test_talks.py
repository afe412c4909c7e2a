"""Decks have a good number of slides, sentences as titles, and notes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from nbformat.v4 import new_output

from book.checks import talks
from book.records.store import Shown
from book.text.blocks import Cell
from book.text.book import Book

POINT = "[Point {n} is a sentence.]{{.point}}\n\n$$x = {n}$$\n\nIt is {n}.\n\n"

PREDICT = ' .predict question="How many ms?" answer="took ? ms"'


def problems(make_book: Callable[..., Book], text: str) -> list[str]:
    return list(talks.problems(make_book(one=f"# One\n\n{text}")))


def deck(count: int) -> str:
    return "".join(POINT.format(n=n) for n in range(count))


def code(count: int) -> str:
    lines = "\n".join(f"x = {n}" for n in range(count))
    cell = f"```{{.python .input}}\n%%tab all\n\n{lines}\n```\n"
    return f"{deck(11)}[Code.]{{.point show=code}}\n\n{cell}"


LONGEST = deck(11).replace("Point 0 is a sentence.", f"Is it {'very ' * 16}big?")


@pytest.mark.parametrize("text", ["", deck(11), deck(15), LONGEST])
def test_a_deck_that_follows_the_rules(make_book: Callable[..., Book], text: str):
    assert problems(make_book, text) == []


@pytest.mark.parametrize("count", [1, 10, 16])
def test_a_deck_with_too_few_or_too_many_slides(
    make_book: Callable[..., Book], count: int
):
    book = make_book(one=f"# One\n\n{deck(count)}")
    [pytorch, _] = talks.problems(book)  # one for each tab
    message = f"{count + 1} slides in pytorch, with questions; mark points for 12 to 16"
    assert pytorch == f"chapter/one.md: {message}"


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
    text = deck(11).replace("Point 0 is a sentence.", title)
    found = problems(make_book, text)
    assert found == [f"chapter/one.md:3: {message}"] * 2


def test_a_point_without_a_picture(make_book: Callable[..., Book]):
    found = problems(make_book, deck(11) + "[An end.]{.point}\n")
    message = "nothing shows this point; put it above a picture"
    assert found[0] == f"chapter/one.md:69: {message}"


def test_an_equation_without_words(make_book: Callable[..., Book]):
    found = problems(make_book, f"{deck(10)}## P\n\n[An end.]{{.point}}\n\n$$x$$\n")
    assert found[:2] == [
        "chapter/one.md:65: no text near this point becomes notes in pytorch;"
        " explain the point",
        "chapter/one.md:65: the equation would be alone on its slide;"
        " explain it in words",
    ]


# Cells, in a deck with a record


Cells = Callable[..., list[str]]


@pytest.fixture
def with_outputs(
    make_book: Callable[..., Book], monkeypatch: pytest.MonkeyPatch
) -> Cells:
    """Call it with a setting of the point and the code and output of its cell."""

    def problems(show: str, code: str, printed: str, above: str = "") -> list[str]:
        cell = f"```{{.python .input{PREDICT}}}\n%%tab all\n{code}\n```\n\nSo.\n"
        text = f"# One\n\n{deck(9)}{above}[It.]{{.point{show}}}\n\n{cell}"
        book = make_book(one=text)
        outputs = (new_output("stream", text=printed),)
        blocks = [
            replace(block, outputs=outputs) if isinstance(block, Cell) else block
            for block in book.blocks(book.section("one"), "jax")
        ]
        of_jax = {("chapter/one", "jax"): Shown("jax", blocks)}
        monkeypatch.setattr(
            talks.store, "shown", lambda _, s, tab: of_jax.get((s.name, tab))
        )
        return [p for p in talks.problems(book) if " slides in " not in p]

    return problems


def lines(count: int) -> str:
    return "\n".join(["x = 1"] * count)


@pytest.mark.parametrize(("printed", "found"), [("one", 0), ("one\ntwo", 1)])
def test_code_and_output_that_are_too_long_for_a_slide(
    with_outputs: Cells, printed: str, found: int
):
    problems = with_outputs(" show=both", lines(17), printed)
    message = "19 lines on a slide in jax; choose a cell with at most 18"
    assert problems == [f"chapter/one.md:57: {message}"] * found


def test_a_single_line(with_outputs: Cells):
    found = with_outputs(" show=code", "x = 1", "one")
    message = "a single line on a slide in jax; choose another cell"
    assert found == [f"chapter/one.md:57: {message}"]


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ("[It takes 25 ms.]{.point}\n\n$$y$$\n\n", 1),
        ("[It takes.]{.point}\n\n| a |\n|:--|\n| 25 ms |\n\n", 1),
        ("[It takes 125 ms.]{.point}\n\n$$y$$\n\n", 0),
    ],
)
def test_an_answer_before_its_question(with_outputs: Cells, above: str, found: int):
    problems = with_outputs("", "x = 1", "took 25 ms", above + "So.\n\n")
    message = "an earlier slide in jax shows the answer, 25 ms"
    assert [message in problem for problem in problems] == [True] * found
