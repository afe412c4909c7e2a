"""Formats with scales, as `faster-training.md` rounds to them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.shared
SECTION = Path(__file__).parents[2] / "chapter_gpus" / "faster-training.md"


@pytest.fixture
def formats() -> dict[str, Any]:
    """Return the names that the section defines before it draws numbers."""
    code = re.findall(
        r"^%%tab all\n(FP8, FP4 = .*?)^rng =", SECTION.read_text(), re.M | re.S
    )
    names: dict[str, Any] = {"onp": np}
    exec(code[0], names)
    return names


def test_a_block_of_zeros_stays_zero_and_does_not_touch_the_others(formats):
    X = np.random.default_rng(0).normal(size=(4, 64))
    exact = formats["scaled"](X, 32, *formats["FP8"])
    X[1, :32] = 0
    with np.errstate(all="raise"):
        rounded = formats["scaled"](X, 32, *formats["FP8"])
    assert not rounded[1, :32].any()
    assert np.array_equal(rounded[1, 32:], exact[1, 32:])
    assert np.array_equal(rounded[[0, 2, 3]], exact[[0, 2, 3]])


@pytest.mark.parametrize("power", [-30, 0, 30])
def test_a_scale_is_a_power_of_two_that_follows_the_values(formats, power):
    X = np.random.default_rng(0).normal(size=(4, 64))
    exact = formats["scaled"](X, 32, *formats["FP8"])
    moved = formats["scaled"](X * 2.0**power, 32, *formats["FP8"])
    assert np.array_equal(moved, exact * 2.0**power)
    assert abs(exact / X - 1).max() < 0.07
