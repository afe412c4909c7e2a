"""The sampler of the solutions draws no unlikely tokens from a large vocabulary."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def draw(d2l) -> Callable[..., np.ndarray]:
    """Return the solution's function, from and to arrays of NumPy."""
    text = (ROOT / "chapter_gpus/solutions-inference.md").read_text("utf-8")
    (source,) = re.findall(r"^def draw\(.*?(?=^\S)", text, re.M | re.S)
    space: dict[str, Any] = {"d2l": d2l, "onp": np}
    exec(source, space)
    return lambda logits, temperature, rng: d2l.numpy(
        space["draw"](d2l.tensor(logits, dtype=d2l.float32), temperature, rng)
    )


def test_no_unlikely_token_is_drawn(draw):
    # With uniform numbers of 32 bits, this seed draws 4 of them.
    logits = np.zeros((50, 128256), "float32")
    logits[:, 0] = 30
    rng = np.random.default_rng(0)
    assert not sum(int(draw(logits, 1, rng).sum()) for _ in range(20))


@pytest.mark.parametrize("logits", [[0, 1, 2, 3], [-1, 3, 1, 2], [-3, -2, -4, -2.5]])
def test_likeliest_token_is_drawn_at_temperature_0(draw, logits):
    drawn = draw([logits] * 2, 0, np.random.default_rng(0))
    assert drawn.tolist() == 2 * [[np.argmax(logits)]]


def test_tokens_are_drawn_as_often_as_the_softmax_says(draw):
    drawn = draw([[0, 1, 2, 3]] * 4000, 2, np.random.default_rng(0))
    expected = 4000 * np.exp(np.arange(4) / 2) / np.exp(np.arange(4) / 2).sum()
    squares = (np.bincount(drawn[:, 0], minlength=4) - expected) ** 2 / expected
    assert squares.sum() / 3 < 4
