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
    answer = predictions.answer(shown.blocks, cell, text_of(cell.outputs))
    assert answer is not None
    return answer.printed.text, answer.arithmetic.text if answer.arithmetic else ""


def test_the_answer_is_a_number_of_the_output(asking):
    assert numbers(asking(PLAIN, PRINTED)) == ("0.84 s", "")


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
    assert predictions.answer(shown.blocks, cell, text_of(cell.outputs)) is None
