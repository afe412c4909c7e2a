"""Numbers with units are found in text and compared across units."""

import pytest

from book.facts.quantities import distance, quantities


def found(text: str) -> list[tuple[float, str]]:
    return [(quantity.value, quantity.unit) for quantity in quantities(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("about 16 ms, or 0.5\nGB/s", [(16, "ms"), (0.5, "GB/s")]),
        ("10 to 20 µs", [(10, ""), (20, "µs")]),
        ("1,024 MiB of 70 000 kB", [(1024, "MiB"), (70000, "kB")]),
        ("[1, 2, 300]", [(1, ""), (2, ""), (300, "")]),
        ("1.3e-05 seconds", [(1.3e-05, "seconds")]),
        ("83 % or 4 percent", [(83, "%"), (4, "percent")]),
        ("1.5 times, 4x", [(1.5, "times"), (4, "x")]),
        ("66.9 TFLOP/s", [(66.9, "TFLOP/s")]),
        ("float32 on an RTX 4090 in 3 steps", [(4090, ""), (3, "")]),
        ("no number, v1.2.3a", []),
    ],
)
def test_numbers_are_found_with_their_units(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "one, other, expected",
    [
        ("16 ms", "0.016 s", 0),
        ("15 ms", "10 ms", 0.5),
        ("16 ms", "16 MB", float("inf")),
        ("16 ms", "16 ms per step", 0),
        ("2", "4 ms", 0.5),
        ("16 ms", "16", 0),  # a table whose head names the unit
        ("16 ms", "0.016", 0),  # in seconds
        ("60 %", "0.6", 0),
        ("1 MiB", "1048576 bytes", 0),
        ("0", "0", 0),
        ("1", "0", float("inf")),
    ],
)
def test_distances_of_quantities(one, other, expected):
    (first,), (second,) = quantities(one), quantities(other)
    assert distance(first, second) == pytest.approx(expected)
