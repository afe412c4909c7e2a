"""Numbers with units are found in text and compared across units."""

import pytest

from book.text.quantities import quantities


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
        ("700 W at 1.98 GHz, 4 Mbit", [(700, "W"), (1.98, "GHz"), (4, "Mbit")]),
        ("float32 on an RTX 4090 in 3 steps", [(4090, ""), (3, "")]),
        ("no number, v1.2.3a", []),
    ],
)
def test_numbers_are_found_with_their_units(text, expected):
    assert found(text) == expected
