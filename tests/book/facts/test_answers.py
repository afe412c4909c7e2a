"""The numbers that answer predictions are those of the records."""

import pytest

from book.checks import numbers as rule
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
    "settings, message",
    [
        ('answer="lost ? s"', "correct answer: no output has the number of 'lost ? s'"),
        ('answer="? s" arithmetic="lost ? s"', "correct arithmetic: no output"),
    ],
)
def test_each_fresh_record_must_have_the_numbers(asking, settings: str, message: str):
    book = asking(CELL.format(settings), PRINTED, ("cpu", "h200"))
    found = problems(book)
    assert len(found) == 4 and all(message in line for line in found)
    assert all(line.startswith("chapter/one.md:3: ") for line in found)
    assert found[1].endswith("in pytorch on h200")


@pytest.mark.parametrize(
    "number, right", [("0.83 s", True), ("2 s", False), ("$n + 1 = 2$ s", False)]
)
def test_arithmetic_without_a_formula_must_be_in_the_output(asking, number, right):
    text = f"So [{number}]{{.arithmetic}}.\n\n{PLAIN}"
    found = problems(asking(text, PRINTED))
    assert right == (not found)
    assert all("is neither an equation nor in the output" in line for line in found)


def test_an_output_without_the_number_has_no_answer(asking):
    book = asking(PLAIN, "nothing")
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None
    (cell,) = shown.cells
    assert predictions.answer(shown.blocks, cell, text_of(cell.outputs)) is None
