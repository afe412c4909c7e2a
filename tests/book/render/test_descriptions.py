"""Descriptions of plots; `plots/draw.py` draws those used here."""

from pathlib import Path

import pytest

from book.render.descriptions import Axis, describe

FILES = Path(__file__).parent / "plots"
DESCRIPTIONS = {
    "curves": (
        "A Copy: Plot of seconds (10⁻⁵ to 10⁻²) over bytes (10³ to 10⁸), with 3 curves:"
        " measured from 10⁻⁵ to 0.01; fitted from 10⁻⁵ to 0.01; cited at 50,000."
    ),
    "valley": (
        "Plot of bytes (0.0 to 4.0 times 1e7) over n (small; 0.0 to 4.0), with a curve"
        " from 2 × 10⁷ to 4 × 10⁷, lowest 0."
    ),
    "bars": (
        "2 plots. here: Bars of times the first: + fast 3.2, slow 1."
        " there: Bars of times the first: + fast 3.2, slow 1."
    ),
    "timeline": (
        "Plot of rows (device, host) over ms (0 to 5), with bars for work, wait."
    ),
    "images": "2 images: coat, bag.",
    "letters-as-paths": "",
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_plot_is_described_by_its_texts_and_values(name: str):
    assert describe((FILES / f"{name}.svg").read_text("utf-8")) == DESCRIPTIONS[name]


@pytest.mark.parametrize("svg", ["<svg>", '<svg xmlns="http://www.w3.org/2000/svg"/>'])
def test_another_picture_has_no_description(svg: str):
    assert describe(svg) == ""


@pytest.mark.parametrize(
    ("ticks", "words"),
    [
        ([(0, "10⁻⁴"), (9, "6 × 10⁻⁴")], "s (10⁻⁴ to 6 × 10⁻⁴)"),
        ([(0, "10⁰")], "s (10⁰)"),
        ([], "s"),
    ],
)
def test_an_axis_is_described_by_its_label_and_ticks(ticks, words):
    assert Axis("s", ticks).describe("values") == words


@pytest.mark.parametrize(
    ("ticks", "value"),
    [
        ([(0, "0"), (10, "-2.5")], -1.25),
        ([(0, "10⁰"), (10, "10⁻⁴")], 0.01),
        ([(0, "2 × 10⁰"), (10, "2 × 10²")], 20),
        ([(0, "0 s"), (10, "1 ms")], None),
        ([(0, "1")], None),
        ([], None),
    ],
)
def test_ticks_give_the_values_between_them(ticks, value):
    got = Axis("n", ticks).value(5)
    assert got == (None if value is None else pytest.approx(value))
