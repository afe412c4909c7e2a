"""The numbers that the text quotes are those of the outputs."""

from collections.abc import Callable

import pytest
from nbformat.v4 import new_output

from book.__main__ import main
from book.checks import quotations, rules
from book.records import fingerprint, store, validation
from book.runner.errors import BookError
from book.text.book import Book
from book.text.quantities import quantities

CELL = "```{.python .input .varies}\n%%tab all\nprint(1)\n```\n\n"
FACTS = dict.fromkeys(validation.FACTS, "") | {"python": "3.11.2", "date": "2026-01-02"}


@pytest.fixture
def quoting(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """Call it with a text and what its cells print, for all tabs or by tab."""

    def make(text: str, *printed: str, machine: str = "cpu", **by_tab: list[str]):
        book = make_book(one=f"# One\n:label:`sec_one`\n\n{text}\n")
        for tab in book.tabs:
            record(book, tab, by_tab.get(tab, list(printed)), machine)
        return book

    return make


def record(book: Book, tab: str, printed: list[str], machine: str = "cpu") -> None:
    section = book.section("one")
    nb = store.blank(book, section, tab)
    for cell, text in zip(nb.cells, printed, strict=True):
        cell.outputs = [new_output("stream", name="stdout", text=text)] if text else []
    made = {"machine": machine, "framework": tab}
    made["fingerprint"] = fingerprint.fingerprint(book, section, tab)
    store.write(book, section, tab, nb, FACTS | made)


def problems(book: Book) -> list[str]:
    try:
        rules.check_for_build(book)
    except BookError as error:
        return str(error).splitlines()
    return list(dict.fromkeys(quotations.problems(book)))


@pytest.mark.parametrize(
    "text, printed",
    [
        ("A copy takes [16 ms]{.measured}.", "a copy: 16.21 ms"),
        ("A copy takes [16 ms]{.measured}.", "a copy: 0.0128 seconds"),
        ("A copy takes [16 ms]{.measured}.", "a copy: 0.0213 seconds"),
        ("It copies [9.2\nGB/s]{.measured}.", "9.4 GB/s"),
        ("[10 and 20 µs]{.measured}.", "11.1 µs, then 19 µs"),
        ("(**[twice]{.measured value=2} as long.**)", "ratio 2.1"),
        ("[ten ms]{.measured value=10}.", "10 ms"),
        ("[16 ms]{.measured within=60%}.", "10 ms"),
        ("[60 %]{.measured} are right.", "accuracy 0.58"),
        ("[1.5 times]{.measured}.", "the trainer takes 1.42 times as long"),
        ("* A list with [16 ms]{.measured}.", "16 ms"),
    ],
)
def test_a_number_of_the_output_above_is_accepted(quoting, text: str, printed: str):
    assert problems(quoting(CELL + text, printed)) == []


@pytest.mark.parametrize(
    "text, printed",
    [
        ("A copy takes [16 ms]{.measured}.", "12.7 ms"),
        ("A copy takes [16 ms]{.measured}.", "21.4 ms"),
        ("A copy takes [16 ms]{.measured}.", "16 MB"),
        ("A copy takes [16 ms]{.measured}.", "16 s"),
        ("[10 and 20 µs]{.measured}.", "11.1 µs"),
        ("[twice]{.measured value=2} as long.", "ratio 1.2"),
        ("[16 ms]{.measured within=10%}.", "14 ms"),
    ],
)
def test_a_number_that_is_not_in_the_output_is_reported(
    quoting, text: str, printed: str
):
    found = problems(quoting(CELL + text, printed))
    assert len(found) == 2  # one for each tab
    number = text[text.index("[") + 1 : text.index("]")]
    has = ", ".join(quantity.text for quantity in quantities(printed))
    assert found[1] == (
        f"chapter/one.md:9: '{number}' is not in the output of line 4 in jax, which"
        f" has {has}; correct the number"
    )


def test_a_wrong_number_is_reported_with_the_recorded_ones(quoting):
    book = quoting(CELL + "A copy takes\n[16\nms]{.measured}.", "a 10 ms, b 3 ms")
    assert problems(book) == [
        "chapter/one.md:10: '16 ms' is not in the output of line 4 in"
        f" {tab}, which has 10 ms, 3 ms; correct the number"
        for tab in ("pytorch", "jax")
    ]


def test_the_command_reports_a_wrong_number(quoting, capsys):
    quoting(CELL + "A copy takes [16 ms]{.measured}.", pytorch=["9 ms"], jax=["16 ms"])
    assert main(["check"]) == 1
    assert capsys.readouterr().err == (
        "error: chapter/one.md:9: '16 ms' is not in the output of line 4 in pytorch,"
        " which has 9 ms; correct the number\n"
    )


def test_only_some_of_many_numbers_are_reported(quoting):
    book = quoting(CELL + "[9 ms]{.measured}", " ".join(map(str, range(20, 40))))
    assert "which has 20, 21, 22, 23, 24, 25, 26, 27, ...;" in problems(book)[0]


def test_each_tab_is_compared_with_its_own_output(quoting):
    book = quoting(CELL + "[16 ms]{.measured}", pytorch=["16 ms"], jax=["10 ms"])
    (line,) = problems(book)
    assert "in jax, which has 10 ms" in line


def test_the_text_of_a_tab_is_compared_with_the_output_of_this_tab(quoting):
    text = ":begin_tab:`jax`\nIt takes [10 ms]{.measured}.\n:end_tab:\n"
    assert problems(quoting(CELL + text, pytorch=["16 ms"], jax=["10 ms"])) == []


def test_the_nearest_cell_with_numbers_is_quoted(quoting):
    text = f"{CELL}{CELL}{CELL}[16 ms]{{.measured}}"
    book = quoting(text, "40 ms", "16 ms", "True")
    assert problems(book) == []
    record(book, "jax", ["16 ms", "40 ms", ""])
    (line,) = problems(book)
    assert "is not in the output of line 9 in jax, which has 40 ms" in line


def test_a_quotation_without_a_cell_is_reported(quoting):
    (line, _) = problems(quoting(f"[16 ms]{{.measured}}\n\n{CELL}", "16 ms"))
    assert line == (
        "chapter/one.md:4: '16 ms' quotes no cell, because none prints a number in"
        " pytorch; move or remove the mark"
    )


def test_a_stale_record_is_not_compared(quoting):
    book = quoting(CELL + "It takes [16 ms]{.measured}.", "10 ms")
    path = book.root / "chapter/one.md"
    path.write_text(path.read_text().replace("print(1)", "print(2)"))
    assert problems(Book(book.root)) == []


def test_a_new_record_of_another_machine_is_compared(quoting):
    book = quoting(CELL + "It takes [16 ms]{.measured}.", "16 ms")
    for tab in book.tabs:
        record(book, tab, ["2 ms"], "h200")
    section = book.section("one")
    assert list(quotations.wrong_quotations(book, section, "jax", "cpu")) == []
    assert list(quotations.wrong_quotations(book, section, "jax", "h200")) == [
        "chapter/one.md:9: '16 ms' is not in the output of line 4 in jax, which has"
        " 2 ms; correct the number"
    ]


def test_numbers_without_a_mark_are_not_compared(quoting):
    assert problems(quoting(CELL + "A copy takes 16 ms.", "10 ms")) == []


@pytest.mark.parametrize(
    "one, other, within, expected",
    [
        ("16 ms", "0.016 s", 0, True),
        ("15 ms", "10 ms", 0.5, True),
        ("15 ms", "10 ms", 0.49, False),
        ("16 ms", "16 MB", 9, False),
        ("16 ms", "16 ms per step", 0, True),
        ("2", "4 ms", 0.5, True),
        ("16 ms", "16", 0, True),  # a table whose head names the unit
        ("16 ms", "0.016", 0, True),  # in seconds
        ("60 %", "0.6", 0, True),
        ("1 MiB", "1048576 bytes", 0, True),
        ("0", "0", 0, True),
        ("1", "0", 9, False),
    ],
)
def test_quantities_agree_in_any_unit(one, other, within, expected):
    (first,), (second,) = quantities(one), quantities(other)
    assert quotations.agree(first, second, within) == expected
