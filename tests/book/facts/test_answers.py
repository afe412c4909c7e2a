"""The numbers that answer predictions are those of the records."""

from collections.abc import Callable

import pytest
from nbformat.v4 import new_output

from book.checks.predictions import wrong_answers
from book.facts import predictions
from book.records import fingerprint, store, validation
from book.records.outputs import text_of
from book.sources.book import Book

CELL = "```{{.python .input .predict {}}}\n%%tab all\nprint(1)\n```\n"
PLAIN = CELL.format('answer="measured ? s"')
PRINTED = "predicted 0.83 s, measured 0.84 s"
FACTS = dict.fromkeys(validation.FACTS, "") | {"python": "3.11.2", "date": "2026-01-02"}


@pytest.fixture
def asking(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """Call it with a text that has one cell, and with what the cell printed."""

    def make(text: str, printed: str, machines: tuple[str, ...] = ("cpu",)) -> Book:
        book = make_book(one=f"# One\n\n{text}")
        section = book.section("one")
        for tab in book.tabs:
            nb = store.blank(book, section, tab)
            nb.cells[0].outputs = [new_output("stream", name="stdout", text=printed)]
            made = {"framework": tab}
            made["fingerprint"] = fingerprint.fingerprint(book, section, tab)
            for machine in machines:
                store.write(book, section, tab, nb, FACTS | made | {"machine": machine})
        return book

    return make


def problems(book: Book) -> list[str]:
    return list(dict.fromkeys(wrong_answers(book)))


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
