"""The answers to exercises are in the outputs or in the text of their solutions."""

from collections.abc import Callable

import pytest

from book.facts import exercises
from book.facts.exercises import Question, Right
from book.records import store
from book.text.book import Book
from book.text.inline import spans

ONE = """\
# One

## Exercises

1. (CPU) [How many?]{{.ask {0}}} Solution: :numref:`sec_sol_one_1`.
1. (CPU) Not this one. [How many MB is it?]{{.ask answer="of ? GB"}} [And how
   long?]{{.ask answer="for ? ms"}} Solution:
   :numref:`sec_sol_one_2`.
1. (CPU) [Why?]{{.ask answer="?"}} There is no solution.

[A question of its own?]{{.ask cited=queue}}
"""
SOLUTIONS = """\
# Solutions

A number of 9 items is of another part.

## Exercise 1: Counting
:label:`sec_sol_one_1`

There are 3
items and $2 + 5 = 7$ MB of them.

```{.python .input}
%%tab jax
print(1)
```

### Why
:label:`sec_why`

Since 5 boxes are full.

## Exercise 2: More
:label:`sec_sol_one_2`

There are 4 boxes.
"""
Make = Callable[..., Book]


def question(make_book: Make, settings: str = "") -> Question:
    one = make_book(one=ONE.format(settings)).section("one")
    return next(exercises.questions(one))


def right(make_book: Make, settings: str) -> Right | None:
    book = make_book(one=ONE.format(settings), solutions=SOLUTIONS)
    (asked, *_) = exercises.questions(book.section("one"))
    shown = store.shown(book, book.section("solutions"), "jax")
    assert shown is not None
    return exercises.right(asked, exercises.solution(shown.blocks, asked.solution))


def test_a_question_leads_to_the_solution_of_its_exercise(make_book: Make):
    one = make_book(one=ONE.format("")).section("one")
    found = [(q.solution, q.text) for q in exercises.questions(one)]
    assert found == [
        ("sec_sol_one_1", "How many?"),
        ("sec_sol_one_2", "How many MB is it?"),
        ("sec_sol_one_2", "And how long?"),
    ]


@pytest.mark.parametrize(
    "settings, wanted",
    [
        ('answer="are ? items"', ["3"]),
        ('answer="= ?"', ["7"]),
        ('fields="a | b" answer="are ? items | Since ? boxes"', ["3", "5"]),
        ('choices="few | many" answer="3 items | 9 items"', ["few"]),
        (
            'choices="boxes | items" right=ascending answer="? boxes | ? items"',
            ["items → boxes"],
        ),
    ],
)
def test_the_answer_may_be_in_the_text(make_book: Make, settings: str, wanted: list):
    assert right(make_book, settings) == Right(wanted)


@pytest.mark.parametrize(
    "settings",
    [
        'answer="of ? items"',
        'answer="are ? boxes"',
        'fields="a | b" answer="are ? items | of ?"',
        'choices="few | many" answer="3 | 7"',
    ],
)
def test_another_part_or_half_an_answer_is_none(make_book: Make, settings: str):
    assert right(make_book, settings) is None


@pytest.mark.parametrize("varies", ["", " .varies"])
def test_an_output_comes_before_the_text(asking, varies: str):
    cell = f"```{{.python .input{varies}}}\n%%tab all\nprint(1)\n```\n"
    book = asking(cell, "are 8 items")
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None
    (span,) = spans('[How many?]{.ask answer="are ? items"}')
    asked = Question("sec_sol_one_1", span, shown.blocks[0])
    assert exercises.right(asked, shown.blocks) == Right(["8"], bool(varies))


@pytest.mark.parametrize(
    "place, unit",
    [
        ("takes ? ms.", "ms"),
        ("?% of it", "%"),
        ("? boxes", ""),
        ("is (? GB/s)", "GB/s"),
        ("are ?", ""),
    ],
)
def test_the_unit_is_behind_the_number(make_book: Make, place: str, unit: str):
    assert question(make_book, f'answer="{place}"').units == [unit]


def test_the_question_may_have_the_unit(make_book: Make):
    two = 'fields="a | b" answer="of ? | in ? steps"'
    text = ONE.format("").replace('answer="of ? GB"', two)
    one = make_book(one=text).section("one")
    assert [q.units for q in exercises.questions(one)][1] == ["MB", ""]


def test_a_setting_may_have_spaces_and_lines(make_book: Make):
    asked = question(make_book, 'answer="are\n   ? items" hints="One. | Two,\n   too."')
    assert asked.span.attributes == {
        "answer": "are ? items",
        "hints": "One. | Two, too.",
    }
    assert asked.span.classes == ("ask",)
