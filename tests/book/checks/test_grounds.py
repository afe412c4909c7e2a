"""A number with a unit needs a ground."""

from collections.abc import Callable

import pytest

from book.checks import grounds
from book.text.book import Book

VARYING = "```{.python .input .varies}\n%%tab all\nprint(time())\n```\n"
FIXED = VARYING.replace(" .varies", "")


@pytest.mark.parametrize(
    "text",
    [
        "A copy takes 20 µs.",
        "It runs at 83 TFLOP/s.",
        "This is 12 times faster.",
        "Of the memory, 40 % is\nin use.",
        f"A fetch takes 20 microseconds.\n\n{FIXED}",
        f"Of [20 MiB]{{.measured}}, the weights take 4 MiB.\n\n{FIXED}",
        "A copy takes [20 µs]{.given}.",
        f"A fetch takes 20 ms.\n\n## Other\n\n{VARYING}",
        "A link carries 64 GB/s.\n\nThe link of 64 GB/s is new :cite:`a`.",
        'It has 80 GB.\n\n![A link](img.svg "It has 80 GB, see :cite:`a`.")',
    ],
)
def test_a_bare_quantity_is_found(make_book: Callable[..., Book], text: str):
    found = list(grounds.unfounded(make_book(one=f"# One\n\n{text}\n")))
    assert len(found) == 1
    assert found[0].startswith("chapter/one.md:")
    assert "nothing backs" in found[0] and "{.measured}" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "A link carries 64 GB/s :cite:`a`.",
        "A link carries 64 GB/s :cite:`a`.\n\nOver 64 GB/s, it is slow.",
        "Assume a latency of 20 µs.",
        "A thousand of them take $10^3 \\cdot 20 / 2$ = 10 ms.",
        f"{VARYING}\nA fetch takes about 20 µs.",
        f"{FIXED}\nThe model takes [20 MiB]{{.measured}}.",
        "A copy takes [20 µs]{.cited id=copy}.",
        "A number takes 4 bytes, and 3 steps are done in 2 turns.",
        "## Exercises\n\n1. A link carries 25 GB/s. How long do 1 GB take?",
        "Exercise 1 of :numref:`sec_ex_one` copies 1 GB over a link of 25 GB/s.",
    ],
)
def test_a_quantity_with_a_ground_is_not(make_book: Callable[..., Book], text: str):
    assert list(grounds.unfounded(make_book(one=f"# One\n\n{text}\n"))) == []


def test_a_reference_to_where_it_is_cited_is_a_ground(make_book: Callable[..., Book]):
    two = "# Two\n:label:`sec_two`\n\nA link carries 64 GB/s :cite:`a`.\n"
    one = "# One\n\nOf the 64 GB/s in :numref:`sec_two`, not 65 GB/s, half is used.\n"
    found = list(grounds.unfounded(make_book(one=one, two=two)))
    (line,) = found
    assert line.startswith("chapter/one.md:3: nothing backs '65 GB/s'")
