"""Cells marked `.predict` say what of their output readers predict.

book/checks/quotations.py finds mistakes in the marks.
"""

from collections.abc import Callable

import pytest

from book.checks import quotations, rules
from book.facts import predictions
from book.runner.errors import BookError
from book.text.blocks import Cell
from book.text.book import Book
from book.text.inline import Span, spans
from book.text.parsing import parse

OUTPUT = """\
wait for each step  predicted 1.40 s, measured 1.45 s
wait for nothing    predicted 0.83 s, measured 0.84 s
n = 16: 460,032 bytes (predicted 2.5e-03)
16384 examples fit
step-00000024"""


@pytest.mark.parametrize(
    "place, number",
    [
        ("wait for nothing .. measured ? s", "0.84 s"),
        ("wait for nothing predicted ?", "0.83 s"),
        ("n = 16: ? bytes", "460,032 bytes"),
        ("n = 16: .. (predicted ?)", "2.5e-03"),
        ("? examples fit", "16384"),
        ("step-000000?", "24"),
    ],
)
def test_a_place_names_one_number_of_the_output(place: str, number: str):
    found = predictions.number_at(place, OUTPUT)
    assert found is not None and found.text == number


@pytest.mark.parametrize(
    "place",
    ["wait for all ?", "each step .. 0.84 ?", "fit ?", "measured ? ms", "n = ? bytes"],
)
def test_a_place_that_the_output_does_not_have_names_no_number(place: str):
    assert predictions.number_at(place, OUTPUT) is None


@pytest.mark.parametrize(
    "question, unit",
    [
        ("How many MiB is it?", "MiB"),
        ("Of 8, how many ms in all?", "ms"),
        ("How many GFLOPs is it?", "GFLOPs"),
        ("How many FLOPs does it do for each byte?", ""),
        ("How many?", ""),
    ],
)
def test_a_question_may_name_the_unit(question: str, unit: str):
    assert predictions.unit_asked(question) == unit


def marked(text: str) -> Span:
    return next(spans(f"[{text}]{{.arithmetic}}"))


@pytest.mark.parametrize(
    "text, number, value",
    [
        ("$4 + 17 = 21$ MiB", "21 MiB", 21),
        ("$120 \\cdot 14.6 = 1752$ µs", "1752 µs", 1752),
        ("$(3 \\cdot 5 + 20) / 4 = 8.75$ ms", "8.75 ms", 8.75),
        ("$2^{10} \\times 4 = 4096$ bytes", "4096 bytes", 4096),
        ("$n + 1 = 7$ bytes", "7 bytes", None),
        ("0.83", "0.83", None),
    ],
)
def test_an_equation_derives_its_number(text: str, number: str, value: float | None):
    found = predictions.result(marked(text))
    assert found is not None and found.text == number
    equation = predictions.EQUATION.search(text)
    left = equation["left"] if equation else "n"
    assert quotations.evaluate(left) == (value and pytest.approx(value))


def test_a_text_without_a_number_has_no_result():
    assert predictions.result(marked("two")) is None


@pytest.mark.parametrize(
    "text, waits, introduces",
    [
        ("It waits for 2. It does.", True, False),
        ("(**It introduces:**)", True, True),
        ("[It, too:] ", True, True),
        ("[It]{.open} is in sight:", False, True),
        ("* a list", False, False),
        ("- a list", False, False),
        ("12. a list", False, False),
        ("> a quotation", False, False),
        ("```\nlisting\n```", False, False),
        ("![A figure](a.svg)", False, False),
    ],
)
def test_paragraphs_wait_with_an_output(text: str, waits: bool, introduces: bool):
    [block] = parse(f"{text}\n").blocks
    assert predictions.is_open(block) == (not waits)
    assert predictions.introduces(block) == introduces


@pytest.mark.parametrize(
    "ends, ticks, middle",
    [
        ("0 to 50", [0, 12.5, 25, 37.5, 50], 25),
        ("10 to 1000", [10, 100, 1000], 100),
        ("0.5 to 20", [1, 10], 10**0.5),
    ],
)
def test_a_line_is_drawn_between_axes(ends: str, ticks: list[float], middle: float):
    [cell] = parse(PREDICTING.format(f'draw="{ends} over the n of it"')).blocks
    assert isinstance(cell, Cell)
    axes = predictions.axes(cell)
    assert axes and axes.over == "the n of it"
    assert axes.ticks == pytest.approx(ticks)
    heights = [axes.height(value) for value in (axes.least, middle, axes.most)]
    assert heights == pytest.approx([0, 0.5, 1])


PREDICTING = "```{{.python .input .predict {}}}\n%%tab all\nprint(1)\n```\n"
ASKED = 'question="How many s?" '
CELL = PREDICTING.format(f'{ASKED}answer="n: ? s"')
LINE = 'fields="1 | 2 | 4" answer="? | ? | ?"'
WRONG = "'$1 + 1 = {}$ s' is wrong, since the left side is 2"
QUESTION = 'no question for readers; write question="How many ms for n = 8?"'


@pytest.mark.parametrize(
    "text, line, message",
    [
        (PREDICTING.format(ASKED), 3, "no part of the output to predict"),
        (PREDICTING.format('answer="n: ? s"'), 3, QUESTION),
        (PREDICTING.format('question="Now." answer="n: ? s"'), 3, QUESTION),
        (PREDICTING.format(f'{ASKED}answer="n: 5 s"'), 3, "'n: 5 s' must have one ?"),
        (
            PREDICTING.format(f'{ASKED}answer="?" arithmetic="? or ?"'),
            *(3, "'? or ?' must have one ?"),
        ),
        (PREDICTING.format(f'{ASKED}fields="a" answer="?"'), 3, "two different fields"),
        (
            PREDICTING.format(f'{ASKED}fields="a | a" answer="? | ?"'),
            *(3, "two different fields"),
        ),
        (
            PREDICTING.format(f'{ASKED}fields="a | b" answer="a ? s"'),
            *(3, "answer has 1 parts for 2 fields; | separates them"),
        ),
        (
            PREDICTING.format(f'{ASKED}answer="? | ?" fields="a | b" arithmetic="?"'),
            *(3, "arithmetic has 1 parts for 2 fields"),
        ),
        (
            PREDICTING.format(f'{ASKED}answer="a ? | b" fields="a | b"'),
            *(3, "'b' must have one ?"),
        ),
        (PREDICTING.format(f'{ASKED}answer="?" right=largest'), 3, "without choices"),
        (PREDICTING.format(f'{ASKED}answer="?" draw="0 to 9 over n"'), 3, "no line to"),
        (
            PREDICTING.format(f'{ASKED}{LINE} draw="0 to n"'),
            *(3, 'no line to draw; write draw="0 to 50 over n"'),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="a | b" draw="0 to 9 over n"'),
            *(3, "'draw' of a question with choices"),
        ),
        (PREDICTING.format(f'{ASKED}choices="yes"'), 3, "two different choices"),
        (PREDICTING.format(f'{ASKED}choices="yes | "'), 3, "two different choices"),
        (
            PREDICTING.format(f'{ASKED}choices="yes | no" answer="True"'),
            *(3, "answer has 1 parts for 2 choices"),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="yes | no" answer="? | no"'),
            *(3, "'?' has a ?; write no ?, or add right=smallest"),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="a | b" answer="a ? | b" right=largest'),
            *(3, "'b' must have one ?"),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="a | b" answer="? | ?" right=best'),
            *(3, "'best' is not valid; write right=smallest, largest, ascending"),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="a | b" arithmetic="?"'),
            *(3, "'arithmetic' of a question with choices"),
        ),
        (
            PREDICTING.format(f'{ASKED}choices="a | b"')
            + PREDICTING.format(f'{ASKED}choices="b | a"'),
            *(7, "the same question has other choices in line 3"),
        ),
        ('```{.python .input answer="?"}\n%%tab all\n1\n```\n', 3, "'answer' without"),
        ('```{.python .input question="?"}\n%%tab all\n1\n```\n', 3, "'question'"),
        (PREDICTING.format(f'{ASKED}answer="?" cited=x'), 3, "no measurement 'x' in"),
        (f"So [2 s]{{.arithmetic}}.\n\n{CELL}\n[3 s]{{.arithmetic}}.\n", 10, "no cell"),
        (f"So [2 s]{{.arithmetic}}.\n\n## Two\n\n{CELL}", 3, "no cell"),
        (f"[$1 + 1 = 2.05$ s]{{.arithmetic}}.\n\n{CELL}", 3, WRONG.format("2.05")),
        (f"[$1 + 1 = 1.95$ s]{{.arithmetic}}.\n\n{CELL}", 3, WRONG.format("1.95")),
        (f"[two]{{.arithmetic}}.\n\n{CELL}", 3, "no number in 'two'"),
        (f"## [2 s]{{.arithmetic}}\n\n{CELL}", 3, "in no paragraph"),
    ],
)
def test_each_mistake_is_one_line(
    make_book: Callable[..., Book], text: str, line: int, message: str
):
    book = make_book(one=f"# One\n\n{text}")
    with pytest.raises(BookError) as error:
        rules.check_for_build(book)
    (found,) = str(error.value).splitlines()
    assert found.startswith(f"chapter/one.md:{line}: ") and message in found


def test_a_published_measurement_is_compared_with_one_number(
    make_book: Callable[..., Book],
):
    cell = PREDICTING.format(f'{ASKED}answer="? | ?" fields="a | b" cited=x')
    book = make_book(one=f"# One\n\n{cell}")
    found = quotations.mistakes_in_predictions(book, book.section("one"))
    assert [message.split(";")[0] for _, message in found] == [
        "'cited' of a question with several fields"
    ]


def test_a_number_in_the_text_is_that_of_the_next_cell_only():
    plain = CELL.replace(f' .predict {ASKED}answer="n: ? s"', "")
    text = f"A [1 s]{{.arithmetic}}, [2 s]{{.arithmetic}}.\n\n{plain}\n{CELL}\n{CELL}"
    blocks = parse(text).blocks
    first, second = [b for b in blocks if isinstance(b, Cell) and b.predicts]
    (found,) = predictions.numbers_in_text(blocks, first)
    assert found.text == "2 s"
    assert predictions.numbers_in_text(blocks, second) == []


@pytest.mark.parametrize("fields", [2, 3])
def test_several_fields_take_as_many_numbers_of_the_text(fields: int):
    names = " | ".join("abc"[:fields])
    text = f"A [1 s]{{.arithmetic}}, [2 s]{{.arithmetic}}.\n\n{CELL}"
    blocks = parse(text.replace('answer="n: ? s"', f'fields="{names}"')).blocks
    (cell,) = [b for b in blocks if isinstance(b, Cell)]
    found = [span.text for span in predictions.numbers_in_text(blocks, cell)]
    assert found == (["1 s", "2 s"] if fields == 2 else [])
