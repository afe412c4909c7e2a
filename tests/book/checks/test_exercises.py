"""Exercises say what they need, are graded, and lead to their solutions."""

from collections.abc import Callable

import pytest

from book.checks import exercises, quotations
from book.text.book import Book

ONE = """\
# One

## Exercises
:label:`sec_ex_one`

1. (Warm-up, CPU) Do it. Solution: :numref:`sec_sol_one_1`.
1. (One GPU) Do it
   again. Solution: :numref:`sec_sol_one_2`.
1. (Research, two GPUs) Find out. Solution: :numref:`sec_sol_one_3`.
"""
SOLUTION = """\
## Exercise {n}: Doing It
:label:`sec_sol_one_{n}`

Exercise {n} of :numref:`sec_ex_one` asks. It is so.

"""
SOLUTIONS = "# Solutions\n\n" + "".join(SOLUTION.format(n=n) for n in (1, 2, 3))


def problems(
    make_book: Callable[..., Book], one: str = ONE, solutions: str = SOLUTIONS
) -> list[str]:
    sections = {"one": one, "solutions-one": solutions}
    return list(exercises.problems(make_book(**sections)))


def test_exercises_that_follow_the_rules(make_book: Callable[..., Book]):
    assert problems(make_book) == []


NEEDS = (
    "an exercise does not say what it needs; begin it with (CPU), (Warm-up, CPU) or"
    " (Research, one GPU), say"
)
EASIER = (
    "an easier exercise follows a harder one; warm-ups come first and research comes"
    " last; move it"
)


@pytest.mark.parametrize(
    "right, wrong, line, message",
    [
        (
            *(":label:`sec_ex_one`\n", "", 3),
            "exercises without a label; write :label:`sec_ex_NAME` below",
        ),
        ("(One GPU) Do", "Do", 7, NEEDS),
        ("(One GPU) Do", "(one gpu) Do", 7, NEEDS),
        ("(Research, two", "(Warm-up, two", 9, EASIER),
        ("(Warm-up, CPU)", "(Research, CPU)", 7, EASIER),
        (
            *(" Solution: :numref:`sec_sol_one_2`.", "", 7),
            "an exercise leads to no solution; end it with"
            " 'Solution: :numref:`sec_sol_one_2`.'",
        ),
    ],
)
def test_an_exercise_that_breaks_a_rule(
    make_book: Callable[..., Book], right: str, wrong: str, line: int, message: str
):
    found = problems(make_book, ONE.replace(right, wrong))
    assert found[0] == f"chapter/one.md:{line}: {message}"


NEXT = "not the next solution; write ## Exercise 2: TITLE and :label:`sec_sol_one_2`"
RESTATES = (
    "a solution restates its exercise; begin with 'Exercise 2 of :numref:`sec_ex_one`'"
)


@pytest.mark.parametrize(
    "right, wrong, line, message",
    [
        ("sec_sol_one_2", "sec_sol_one_5", 8, NEXT),
        ("Exercise 2: Doing", "Exercise 3: Doing", 8, NEXT),
        ("Exercise 2 of :n", "It is :n", 8, RESTATES),
        ("Exercise 2 of :numref:`sec_ex_one` asks. It is so.\n", "", 8, RESTATES),
        (
            *(SOLUTION.format(n=3), "", 1),
            "3 exercises have 2 solutions; write those that are missing",
        ),
    ],
)
def test_a_solution_that_breaks_a_rule(
    make_book: Callable[..., Book], right: str, wrong: str, line: int, message: str
):
    (found,) = problems(make_book, solutions=SOLUTIONS.replace(right, wrong))
    assert found == f"chapter/solutions-one.md:{line}: {message}"


def test_exercises_need_a_page_of_solutions(make_book: Callable[..., Book]):
    (found,) = exercises.problems(make_book(one=ONE))
    assert found == "chapter/one.md:6: no solutions-one.md; write it"


ASKS = "Do it. Solution: :numref:`sec_sol_one_1`."


def asks(settings: str, question: str = "How many?") -> str:
    """Return the section with a question in its first exercise."""
    return ONE.replace(ASKS, f"[{question}]{{.ask {settings}}} {ASKS}")


NUMBERS = SOLUTIONS.replace("It is so.", "It has 3 parts of 4 MB.", 1)


@pytest.mark.parametrize(
    "settings", ['answer="has ? parts"', 'choices="3 | 4" answer="3 parts |"']
)
def test_a_question_whose_answer_the_solution_has(
    make_book: Callable[..., Book], settings: str
):
    assert problems(make_book, asks(settings), NUMBERS) == []


HAS = "correct answer: no output or text of the solution has "


@pytest.mark.parametrize(
    "settings, message",
    [
        ('answer="has ? items"', f"{HAS}'has ? items'"),
        ('choices="few | many"', f"{HAS}'one of the choices'"),
        (
            'answer="parts of ?"',
            "correct answer: write MB behind the ?, as for 4 MB",
        ),
    ],
)
def test_a_question_whose_answer_no_solution_has(
    make_book: Callable[..., Book], settings: str, message: str
):
    book = make_book(one=asks(settings), **{"solutions-one": NUMBERS})
    assert list(exercises.problems(book)) == [
        f"chapter/one.md:6: {message} in {tab}" for tab in book.tabs
    ]


def test_a_question_stands_once_on_a_page(make_book: Callable[..., Book]):
    again = '[How many?]{.ask answer="has ? parts"} Do it.'
    twice = asks('answer="has ? parts"').replace("Do it.", again)
    (found,) = problems(make_book, twice, NUMBERS)
    message = "the same question stands above; ask with other words"
    assert found == f"chapter/one.md:6: {message}"


SOME = 'answer="has ? parts"'


@pytest.mark.parametrize(
    "settings, question, message",
    [
        (SOME, "Count", "'Count' is no question in plain words"),
        (SOME, "How many `a`?", "is no question in plain words"),
        ("", "How many?", 'no part of the solution; write {.ask answer="takes ? ms"}'),
        ('answer="has 3"', "How many?", "'has 3' must have one ? in the place"),
        (f"{SOME} cited=queue", "How many?", "'cited' of an exercise without choices"),
        (f'{SOME} fields="a | b"', "How many?", "answer has 1 parts for 2 fields"),
        (f'{SOME} fields="a"', "How many?", "name at least two different fields"),
        (f'{SOME} hints="a | b | c | d"', "How many?", "write one to 3 hints"),
        (f'{SOME} hints="a | "', "How many?", "write one to 3 hints"),
        ('choices="3"', "How many?", "name at least two different choices"),
    ],
)
def test_a_question_with_a_mistake(
    make_book: Callable[..., Book], settings: str, question: str, message: str
):
    book = make_book(one=asks(settings, question), **{"solutions-one": NUMBERS})
    one = book.section("one")
    (found,) = quotations.mistakes_in_predictions(book, one)
    assert found[0] == 6 and message in found[1]
