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


# The value of 2 of each unit in seconds, bytes, FLOP or ones.
VALUES: dict[str, dict[str, float]] = {
    "time": {
        **dict.fromkeys(("s", "sec", "second", "seconds"), 2),
        **dict.fromkeys(("ms", "millisecond", "milliseconds"), 2e-3),
        **dict.fromkeys(("µs", "μs", "us", "microsecond", "microseconds"), 2e-6),
        **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 2e-9),
        **dict.fromkeys(("min", "minute", "minutes"), 120),
        **dict.fromkeys(("hour", "hours"), 7200),
    },
    "bytes": {
        **{"B": 2, "byte": 2, "bytes": 2, "kB": 2000, "KB": 2000, "KiB": 2048},
        **{"MB": 2e6, "megabyte": 2e6, "MiB": 2 * 1024**2, "GB": 2e9, "gigabytes": 2e9},
        **{
            "GiB": 2 * 1024**3,
            "TB": 2e12,
            "terabyte": 2e12,
            "TiB": 2 * 1024**4,
            "PB": 2e15,
        },
    },
    "rate": {"B/s": 2, "KiB/s": 2048, "MB/s": 2e6, "GB/s": 2e9, "TB/s": 2e12},
    "arithmetic": {"FLOP": 2, "MFLOP": 2e6, "GFLOP": 2e9, "PFLOP": 2e15},
    "speed": {"FLOP/s": 2, "GFLOP/s": 2e9, "TFLOP/s": 2e12},
    "ratio": {"%": 0.02, "percent": 0.02, "times": 2, "x": 2},
    "": {"": 2, "apples": 2},
}


@pytest.mark.parametrize("kind", VALUES)
def test_units_have_a_kind_and_a_value(kind: str):
    for unit, value in VALUES[kind].items():
        [quantity] = quantities(f"2 {unit}")
        assert quantity.kind == kind, unit
        assert quantity.base_value == value, unit
