"""The descriptions that kernels give to the plots of the library, and to others."""

import io
import math
import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from book.runner.descriptions import describe

DRAWINGS = runpy.run_path(
    str(Path(__file__).parents[1] / "book/render/plots/draw.py"), run_name="drawings"
)
DESCRIPTIONS = {
    "curves": (
        "A Copy: Plot of seconds (10⁻⁵ to 0.01) over bytes (1,000 to 10⁸), with 3"
        " curves: measured from 10⁻⁵ to 0.01; fitted from 10⁻⁵ to 0.01; cited at"
        " 50,000."
    ),
    "valley": (
        "Plot of bytes (0 to 4 × 10⁷) over n (small; 0 to 4), with a curve"
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
}


def described() -> str:
    return describe(plt.gcf())


def svg() -> str:
    file = io.StringIO()
    with plt.rc_context({"svg.hashsalt": "book"}):
        plt.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close("all")
    return file.getvalue()


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_plot_is_described_by_its_texts_and_values_and_stays_as_it_is(name: str):
    DRAWINGS[name]()
    plain = svg()
    DRAWINGS[name]()
    assert described() == DESCRIPTIONS[name]
    assert svg() == plain


def test_the_plots_of_the_library_are_described(d2l):
    d2l.plot([1, 10, 100], [[1, 5, 2], [3, 3, 3]], "n", "ms", ["GPU", "CPU"])
    assert described() == (
        "Plot of ms (1 to 5) over n (1 to 100), with 2 curves:"
        " GPU from 1 to 2, highest 5; CPU from 3 to 3."
    )
    d2l.plot([4, 2, 2.1], xlabel="step", yscale="log")
    assert described() == (
        "Plot of values (2 to 4) over step (0 to 2), with a curve from 4 to 2.1,"
        " lowest 2."
    )
    plt.close("all")
    d2l.plot_trace({"host": [("copy", 0, 0.5)], "device": [("step", 1, 2)]})
    assert described() == (
        "Plot of rows (host, device) over ms (0 to 2,000), with bars for copy, step."
    )
    plt.close("all")
    d2l.plot_ladder({"here": {"eager": 2e3, "compiled": 5e3}})
    assert described() == (
        "here: Bars of times the first (label: 1000 tokens/s): eager 1, compiled 2.5."
    )


def test_the_curves_of_a_training_are_described(d2l):
    board = d2l.ProgressBoard("epoch", display=False)
    for x in range(4):
        board.draw(x, 8 / 2**x, "train_loss")
    board.show()
    assert describe(board.axes.figure) == (
        "Plot of values (1 to 8) over epoch (0 to 3), with a curve:"
        " train_loss from 8 to 1."
    )


@pytest.mark.parametrize(
    ("xs", "ys", "scale", "words"),
    [
        ([1, 2], [-3, 4], "linear", "a curve from -3 to 4"),
        ([1, 2], [0.0001, 123456], "log", "a curve from 10⁻⁴ to 120,000"),
        ([1, 2], [9.99e-7, 1e9], "log", "a curve from 10⁻⁶ to 10⁹"),
        ([1, 2], [3.24e-5, 3.25e6], "log", "a curve from 3.2 × 10⁻⁵ to 3.2 × 10⁶"),
        ([1, 2, 3], [1, 0.001, 1e6], "log", "a curve from 1 to 10⁶, lowest 0.001"),
        ([1, 2, 3], [1, 0.001, 1e6], "linear", "a curve from 1 to 10⁶"),
        ([1, 2, 3], [10, 1e-6, 10], "log", "a curve from 10 to 10, lowest 10⁻⁶"),
        ([1, 2, 3], [5, 4.9, 6], "linear", "a curve from 5 to 6, lowest 4.9"),
        ([1, 2, 3], [5, 4.99, 6], "linear", "a curve from 5 to 6"),
        ([1, 2, 3], [math.nan, 1, 2], "linear", "a curve from 1 to 2"),
        ([1, 2], [math.nan] * 2, "linear", "a curve"),
        ([7, 7], [1, 2], "linear", "a curve at 7"),
        ([7], [1], "linear", "a curve from 1 to 1"),
    ],
)
def test_a_curve_is_described_by_its_values(xs, ys, scale: str, words: str):
    plt.plot(xs, ys)
    plt.yscale(scale)
    assert described().endswith(f", with {words}.")


def test_several_curves_without_names_are_counted():
    plt.plot([1, 2], [[3, 4], [5, 6]])
    assert described() == "Plot of values (3 to 6) over steps (1 to 2), with 2 curves."


def test_bars_without_names_are_not_listed():
    plt.bar([1, 2], [3, 4])
    assert described() == "Plot of values (0 to 4) over steps (0.6 to 2.4)."


def test_bars_of_errors_are_no_values():
    plt.errorbar(["a", "b", "c"], [1, 2, 3], [0.1] * 3)
    assert described().endswith("(a, b, c), with a curve from 1 to 3.")


def test_an_empty_figure_has_no_description():
    plt.figure()
    assert described() == ""
