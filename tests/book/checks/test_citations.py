"""Numbers of published measurements, and records of predictions, are those of d2l.

book/checks/quotations.py compares them, with the rows of book/facts/marked_numbers.py.
"""

import dataclasses

import pytest

from book.checks import rules
from book.runner.errors import BookError
from d2l import audit, published

ROWS = """\
id,topic,what,framework,value,unit,hardware,source
queue-finished,queue,products,PyTorch,80.1,ms,2 x RTX 4090,A.2026
speed,speed,training,PyTorch,267,thousand tokens/s,A100 SXM,A.2026
"""


def problems(make_book, text):
    book = make_book(one=f"# One\n\n{text}\n")
    (book.root / "refs.bib").write_text("@article{A.2026, year={2026}}\n")
    (book.root / "d2l/cited.csv").write_text(ROWS)
    try:
        rules.check_for_build(book)
    except BookError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    "text",
    [
        "An RTX 4090 takes [80.1 ms]{.cited id=queue-finished}.",
        "It takes [80\nms]{.cited id=queue-finished} :cite:`B.1, A.2026`.",
        "A 4090 takes [0.080 s]{.cited id=queue-finished}.",
        "A 4090 takes [80]{.cited id=queue-finished} ms.",
        "A 4090 takes [eighty ms]{.cited id=queue-finished value=80}.",
        "A 4090 takes [100 ms]{.cited id=queue-finished within=25%}.",
        "An A100 learns from [267 thousand]{.cited id=speed} tokens per second.",
    ],
)
def test_a_published_measurement_may_be_rounded(make_book, text):
    found = [line for line in problems(make_book, text) if "'B.1'" not in line]
    assert found == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "A 4090 takes [81 ms]{.cited id=queue-finished}.",
            "'81 ms' is not the value of 'queue-finished', 80.1 ms; correct the number",
        ),
        (
            "A 4090 takes [8 s]{.cited id=queue-finished}.",
            "'8 s' is not the value of 'queue-finished', 80.1 ms; correct the number",
        ),
        (
            "A 4090 takes [80.1 ms]{.cited id=queue-finish}.",
            "no measurement 'queue-finish' in cited.csv; add it or correct the id",
        ),
        (
            "It takes [80.1 ms]{.cited id=queue-finished}.",
            "name the hardware of 'queue-finished', 2 x RTX 4090, in this paragraph, or"
            " cite A.2026",
        ),
    ],
)
def test_a_wrong_citation_is_reported(make_book, text, message):
    assert problems(make_book, text) == [f"chapter/one.md:3: {message}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[How many ms?]{.ask cited=queue-finished}", ""),
        ("[How many ms?]{.ask cited=queue-finish}", "no measurement 'queue-finish'"),
        ("[How many ms?]{.ask}", "no number to predict; write {.ask cited=NAME}"),
        ("[How many?]{.ask cited=speed} Guess.", "is not alone; make it a paragraph"),
        ("* [How many?]{.ask cited=speed}", "is not alone; make it a paragraph"),
        ("[So many.]{.ask cited=speed}", "'So many.' is no question in plain words"),
        ("[Is $n$ 2?]{.ask cited=speed}", "'Is $n$ 2?' is no question in plain words"),
    ],
)
def test_a_text_that_asks_for_a_published_number_is_a_question(
    make_book, text, message
):
    found = problems(make_book, text)
    assert any(message in line for line in found) if message else found == []


# Records


def record(factor=1.0):
    """Return the text of the record of `bandwidth`, with its ratios rounded."""
    found = audit.summary("bandwidth")
    low, median, high = (
        f"{factor * ratio:.1f}" for ratio in (found.least, found.median, found.most)
    )
    return f"{median} times ({low} to {high}; {found.rows} rows from one source)"


def test_a_record_is_that_of_the_audit(make_book):
    assert problems(make_book, f"At [{record()}]{{.audited id=bandwidth}}.") == []


def test_a_wrong_record_is_reported_with_the_right_one(make_book):
    text = record(1.5)
    (found,) = problems(make_book, f"At [{text}]{{.audited id=bandwidth}}.")
    right = audit.summary("bandwidth").record
    wrong = f"'{text}' is not the record of bandwidth, {right}"
    assert found == f"chapter/one.md:3: {wrong}; correct the numbers"


def test_a_record_without_its_rows_is_reported(make_book):
    (found,) = problems(make_book, "At [1.2 times]{.audited id=bandwidth}.")
    assert "'1.2 times' is not the record of bandwidth" in found


def test_a_record_of_nothing_is_reported(make_book):
    (found,) = problems(make_book, "At [1.2 times]{.audited id=bandwith}.")
    message = "no record of 'bandwith'; python -m d2l audit lists all kinds"
    assert found == f"chapter/one.md:3: {message}"


def rows_of(change):
    return tuple(
        change(row) if row.kind == "bandwidth" else row
        for row in published.published_rows()
    )


CHANGES = {
    "slower cards": lambda row: dataclasses.replace(row, value=row.value / 1.2),
    "no card": lambda row: dataclasses.replace(row, card="X100"),
    "two sources": lambda row: dataclasses.replace(row, source=f"{row.id[-1]}.2026"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_measurements_stop_the_build(make_book, monkeypatch, change):
    text = f"At [{record()}]{{.audited id=bandwidth}}."
    rows = rows_of(CHANGES[change])
    monkeypatch.setattr(audit, "published_rows", lambda: rows)
    audit.outcomes.cache_clear()
    try:
        (found,) = problems(make_book, text)
    finally:
        audit.outcomes.cache_clear()
    assert "is not the record of bandwidth" in found or "no record of" in found
