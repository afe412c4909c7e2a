"""Draws the plots of the tests, as records have them.

python tests/book/render/plots/draw.py  # needs matplotlib, IPython and nbclient
"""

import io
import sys
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3]))
mpl.use("agg")

from matplotlib import pyplot as plt  # noqa: E402

from book.runner.kernel_settings import PLOT_STYLE  # noqa: E402


def curves() -> None:
    """Draw measured points, a dashed curve in magenta, and a vertical line."""
    sizes = [10**i for i in range(3, 9)]
    times = [1e-5 + size / 1e10 for size in sizes]
    plt.plot(sizes, times, "o", [1e3, 1e8], [1e-5, 1e-2], "m--", [5e4] * 2, times[::5])
    plt.xscale("log")
    plt.yscale("log")
    plt.gca().set(xlabel="bytes", ylabel="seconds", title="A Copy")
    plt.legend(["measured", "fitted", "cited"])
    plt.grid()


def valley() -> None:
    """Draw one curve that falls and rises, with a factor at its axis."""
    plt.plot([0, 1, 2, 3, 4], [2e7, 1e7, 0, 1.5e7, 4e7])
    plt.gca().set(xlabel="n (small)", ylabel="bytes")


def bars() -> None:
    """Draw two groups of horizontal bars."""
    _, both = plt.subplots(1, 2, figsize=(7, 2.5), layout="constrained")
    for axes, title in zip(both, ("here", "there"), strict=True):
        drawn = axes.barh(["+ fast", "slow"], [3.25, 1])
        axes.bar_label(drawn, ["x", "y"])
        axes.set(title=title, xlabel="times the first")


def timeline() -> None:
    """Draw spans of time, some of them hatched, in two rows."""
    _, axes = plt.subplots(figsize=(5, 1.5))
    axes.broken_barh([(0, 2), (3, 2)], (0.6, 0.8), fc="C0", ec="white", label="work")
    axes.broken_barh(
        [(2, 1)], (-0.4, 0.8), fc="none", ec="C0", hatch="//", label="wait"
    )
    axes.set(yticks=[0, 1], yticklabels=["device", "host"], xlabel="ms")
    axes.legend()


def images() -> None:
    """Draw two images."""
    _, both = plt.subplots(1, 2, figsize=(2, 1))
    for axes, title in zip(both, ("coat", "bag"), strict=True):
        axes.imshow([[0, 1], [2, 3]], cmap="gray_r")
        axes.set(xticks=[], yticks=[], title=title)


def draw(figure: str, style: str, name: str) -> None:
    """Draw a figure to a file in a style."""
    (HERE / "matplotlibrc").write_text(style)
    with mpl.rc_context(mpl.rc_params_from_file(HERE / "matplotlibrc")):
        plt.rcParams["figure.figsize"] = (3.5, 2.5)
        globals()[figure]()
        file = io.StringIO()
        plt.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close("all")
    (HERE / "matplotlibrc").unlink()
    text = file.getvalue()
    start, end = text.index("<metadata>"), text.index("</metadata>")
    svg = text[text.index("<svg") : start] + text[end + len("</metadata>") :]
    (HERE / name).write_text(svg)


if __name__ == "__main__":
    for each in ("curves", "valley", "bars", "timeline", "images"):
        draw(each, PLOT_STYLE, f"{each}.svg")
    draw("valley", "svg.hashsalt: book\n", "letters-as-paths.svg")
