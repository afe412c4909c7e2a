"""The numbers that answer predictions are those of the records.

book/checks/quotations.py compares them.
"""

import pytest

from book.checks import quotations as rule
from book.facts import predictions
from book.records import store
from book.records.outputs import text_of
from book.text.book import Book

FENCE = '```{{.python .input .predict question="How long?" {}}}'
CELL = FENCE + "\n%%tab all\nprint(1)\n```\n"
PLAIN = CELL.format('answer="measured ? s"')
PRINTED = "predicted 0.83 s, measured 0.84 s"


def problems(book: Book) -> list[str]:
    return list(dict.fromkeys(rule.problems(book)))


def numbers(book: Book) -> tuple[str, str]:
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None
    (cell,) = shown.cells
    (answer,) = predictions.answers(shown.blocks, cell, text_of(cell.outputs))
    assert answer.printed is not None
    return answer.printed.text, answer.arithmetic.text if answer.arithmetic else ""


def test_the_answer_is_a_number_of_the_output(asking):
    assert numbers(asking(PLAIN, PRINTED)) == ("0.84 s", "")


@pytest.mark.parametrize(
    "place, printed, wanted",
    [
        ("ridge: ?", "ridge: 35.2 FLOP per byte", "35.2"),
        ("in all ?", "in all 16 x wgmma", "16"),
        ("faster: ?", "faster: 16 x", "16 x"),
        ("in all ?", "in all 4 KiB, 2 per step", "4 KiB"),
    ],
)
def test_a_unit_belongs_to_its_number(asking, place: str, printed: str, wanted: str):
    assert numbers(asking(CELL.format(f'answer="{place}"'), printed)) == (wanted, "")


@pytest.mark.parametrize("first, is_beyond", [("1", False), ("0.9", True), ("6", True)])
def test_the_line_of_the_output_ends_on_the_board(asking, first: str, is_beyond: bool):
    places = 'fields="1 | 2 | 4" answer="1: ? s | 2: ? s | 4: ? s"'
    cell = CELL.format(f'{places} draw="1 to 5 over n"')
    found = problems(asking(cell, f"1: {first} s\n2: 3 s\n4: 5 s"))
    beyond = f"correct draw: {first} s is beyond the ends of the axis"
    assert bool(found) == is_beyond == any(beyond in line for line in found)


def test_the_cell_may_print_its_arithmetic(asking):
    settings = 'answer="measured ? s" arithmetic="predicted ? s"'
    assert numbers(asking(CELL.format(settings), PRINTED)) == ("0.84 s", "0.83 s")


def test_the_text_may_hold_the_arithmetic(asking):
    text = f"So [$0.4 + 0.4 = 0.8$ s]{{.arithmetic}}.\n\n{PLAIN}"
    book = asking(text, PRINTED)
    assert problems(book) == []
    assert numbers(book) == ("0.84 s", "0.8 s")


@pytest.mark.parametrize(
    "settings, name",
    [
        ('answer="lost ? s"', "answer"),
        ('answer="? s" arithmetic="lost ? s"', "arithmetic"),
    ],
)
def test_each_fresh_record_must_have_the_numbers(asking, settings: str, name: str):
    book = asking(CELL.format(settings), PRINTED, ("cpu", "h200"))
    found = problems(book)
    message = f"correct {name}: no output has the number of 'lost ? s'"
    assert found == [
        f"chapter/one.md:3: {message} in {tab} on {machine}"
        for tab in ("pytorch", "jax")
        for machine in ("cpu", "h200")
    ]


@pytest.mark.parametrize(
    "number, right",
    [
        ("0.83 s", True),
        ("0.8232 s", True),  # 0.84 s, less 2 percent
        ("0.813 s", False),
        ("$n + 1 = 2$ s", False),
        ("$n + 1 = 0.83$ s", True),
        ("$1 + 1 = 2$ s", True),
    ],
)
def test_arithmetic_without_a_formula_must_be_in_the_output(asking, number, right):
    text = f"So [{number}]{{.arithmetic}}.\n\n{PLAIN}"
    found = problems(asking(text, PRINTED))
    assert right == (not found)
    assert right or found[0] == (
        "chapter/one.md:5: write it as one, such as $2 + 3 = 5$ MiB:"
        f" '{number}' is neither an equation nor in the output in pytorch on cpu"
    )


def test_an_output_without_the_number_has_no_answer(asking):
    book = asking(PLAIN, "nothing")
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None
    (cell,) = shown.cells
    assert predictions.answers(shown.blocks, cell, text_of(cell.outputs)) == []


def texts(book: Book) -> list[str]:
    """Return the texts of the answers in the record of a framework."""
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None
    (cell,) = shown.cells
    found = predictions.answers(shown.blocks, cell, text_of(cell.outputs))
    return [answer.text for answer in found]


TWO = 'fields="first | second" answer="predicted ? s | measured ? s"'


def test_a_cell_may_have_several_answers(asking):
    book = asking(CELL.format(TWO), PRINTED)
    assert problems(book) == [] and texts(book) == ["0.83 s", "0.84 s"]


def test_a_cell_without_one_of_its_answers_has_none(asking):
    book = asking(CELL.format(TWO), "measured 0.84 s")
    assert texts(book) == []
    assert "no output has the number of 'predicted ? s'" in problems(book)[0]


@pytest.mark.parametrize(
    "settings, right",
    [
        ('choices="0.83 s | 0.85 s"', ["0.83 s"]),
        ('choices="an error | a sum" answer="Error | measured"', ["a sum"]),
        ('choices="a sum | an error" answer="measured |"', ["a sum"]),
        ('choices="a | b" answer="predicted ? s | measured ? s" right=largest', ["b"]),
        ('choices="a | b" answer="predicted ? s | measured ? s" right=smallest', ["a"]),
        ('choices="a | b" answer="predicted .. 0.84 | 0.85"', ["a"]),
        (
            'choices="a | b" answer="measured ? s | predicted ? s" right=ascending',
            ["b → a"],
        ),
        (
            'choices="a | b" answer="predicted ? s | measured ? s" right=descending',
            ["b → a"],
        ),
    ],
)
def test_the_output_says_which_choice_is_right(asking, settings: str, right: list[str]):
    book = asking(CELL.format(settings), PRINTED)
    assert problems(book) == [] and texts(book) == right


@pytest.mark.parametrize("place", ["lost ? s", "predicted ? s"])
def test_an_order_needs_a_different_number_for_each_choice(asking, place: str):
    settings = f'choices="a | b" answer="predicted ? s | {place}" right=ascending'
    book = asking(CELL.format(settings), PRINTED)
    assert texts(book) == []
    assert "no output has a different number for each choice" in problems(book)[0]


@pytest.mark.parametrize(
    "settings, found",
    [
        ('choices="yes | no"', "none"),
        ('choices="yes | no" answer="lost |"', "none"),
        ('choices="yes | no" answer="predicted | measured"', "'yes' and 'no'"),
        ('choices="yes | no" answer="? s | ? s" right=smallest', "'yes' and 'no'"),
        ('choices="yes | no" answer="? s | lost ? s" right=smallest', "none"),
    ],
)
def test_exactly_one_choice_is_right_for_each_record(asking, settings: str, found: str):
    book = asking(CELL.format(settings), PRINTED)
    assert texts(book) == []
    message = f"correct answer: of the choices, {found} would be right"
    assert problems(book) == [
        f"chapter/one.md:3: {message} in {tab} on cpu" for tab in ("pytorch", "jax")
    ]
