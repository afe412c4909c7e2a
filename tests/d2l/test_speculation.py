"""The section's test of speculative decoding finds mistakes planted in its loop."""

import pydoc_data.topics
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
MISTAKES = {
    "a rejected token is followed by one of the large model": (
        "rest = onp.maximum(p - q, 0)",
        "rest = p if i else onp.maximum(p - q, 0)",
    ),
    "all tokens after the first are accepted": (
        "if rng.random() < p[token] / q[token]:",
        "if i or rng.random() < p[token] / q[token]:",
    ),
    "the last token is one of the draft": (
        "return new + [rng.choice(40, p=p / p.sum())]",
        "q = draft[tuple((text + new)[-2:])]\n            "
        "return new + [rng.choice(40, p=q / q.sum())]",
    ),
    "the large model does not see the new tokens": (
        "p = large[tuple((text + new)[-3:])]",
        "p = large[tuple(text[-3:])]",
    ),
}


def cells() -> tuple[str, str]:
    """Return the cells of the section that speculate, and that test the loop."""
    text = (ROOT / "chapter_gpus/inference.md").read_text("utf-8")
    code = re.findall(r"^```\{\.python .*?\}\n%%tab all\n(.*?)^```$", text, re.M | re.S)
    (loop,) = (cell for cell in code if "def speculate(" in cell)
    (test,) = (cell for cell in code if "def write(" in cell)
    assert test.count("10000") == 1
    return loop.partition("\nrng =")[0], test.replace("10000", "3000")


def statistics(loop: str, test: str) -> list[float]:
    """Return what the section's test prints for a loop, with tables drawn at random."""
    rng = np.random.default_rng(1)
    printed: list[str] = []
    likely = [1.0] * 4 + [0.01] * 36  # a few letters, so that each text is frequent
    tables = {
        "large": rng.dirichlet(likely, size=(40,) * 3).astype("float32"),
        "draft": rng.dirichlet(likely, size=(40,) * 2).astype("float32"),
    }
    space: dict[str, Any] = {"onp": np, "rng": np.random.default_rng(0), **tables}
    space |= {"letters": list("is "), "print": printed.append}
    exec(loop, space)
    exec(test, space)
    return [float(n) for n in re.findall(r"([\d.]+) for", "\n".join(printed))]


@pytest.mark.shared
def test_the_acceptance_in_a_text_of_the_large_model_is_that_of_the_section():
    text = (ROOT / "chapter_gpus/inference.md").read_text("utf-8")
    code = re.findall(r"^```\{\.python .*?\}\n%%tab all\n(.*?)^```$", text, re.M | re.S)
    (tables,) = (cell for cell in code if "def table(" in cell)
    space: dict[str, Any] = {"onp": np, "pydoc_data": pydoc_data, "Counter": Counter}
    space["print"] = lambda line: None
    exec(tables, space)
    large, draft = space["large"], space["draft"]
    sums = np.cumsum(large, -1)
    rng, letters = np.random.default_rng(0), [*space["held_out"][:3]]
    for _ in range(100_000):
        total = sums[tuple(letters[-3:])]
        letters.append(min(39, int(np.searchsorted(total, rng.random() * total[-1]))))
    a, b, c = (np.array(letters[i : len(letters) - 2 + i]) for i in range(3))
    alpha = np.minimum(large[a, b, c], draft[b, c]).sum(-1).mean()
    assert alpha == pytest.approx(0.68, abs=0.005)
    expected = [(1 - 0.678 ** (k + 1)) / (1 - 0.678) for k in (1, 2, 4)]
    words = "{:.2f}, {:.2f} and {:.2f} characters".format(*expected)
    assert words in " ".join(text.split())


@pytest.mark.shared
def test_the_loop_has_the_distribution_of_the_large_model():
    assert statistics(*cells()) == pytest.approx([1, 1], abs=0.3)


@pytest.mark.shared
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found(mistake: str):
    loop, test = cells()
    right, wrong = MISTAKES[mistake]
    assert loop.count(right) == 1
    assert max(statistics(loop.replace(right, wrong), test)) > 2
