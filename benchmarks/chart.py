"""Draw the bench's chart: weight and largest paint. It runs in the bench's environment.

_build/bench/environment/bin/python benchmarks/chart.py page.json page.svg
"""

import json
import sys
import textwrap
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

COLOURS = ("#3b6fb6", "#a8b0ba", "#a8b0ba")  # the book's own bar stands out


def draw(found: dict[str, Any]) -> None:
    """Two rows of bars, one bar a tool, each with its number."""
    measured = found["measured"]
    weights = [m["load"]["weight"] for m in measured.values()]
    paints = [median(run["lcp"] for run in m["lighthouse"]) for m in measured.values()]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True)
    bars(left, list(measured), weights, "weight of its own files, kB in gzip", 0)
    bars(right, list(measured), paints, "largest paint on a simulated phone, s", 1)
    told = textwrap.fill(found["told"], 150)
    figure.text(0.01, 0.01, told, fontsize=7, color="#555555")
    figure.tight_layout(rect=(0, 0.12, 1, 1))


def bars(axes: Axes, names: list[str], values: list[float], title: str, digits: int):
    drawn = axes.barh(names, values, color=COLOURS, height=0.6)
    axes.bar_label(drawn, fmt=f"%.{digits}f", padding=3)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlim(0, 1.15 * max(values))
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def main(source: Path, target: Path) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "page"
    draw(json.loads(source.read_text("utf-8")))
    plt.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
