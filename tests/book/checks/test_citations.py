"""Numbers of published measurements are those of their rows."""

import pytest

from book.base.errors import BookError
from book.checks import rules

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
