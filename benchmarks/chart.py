"""Draws the chart of the bench, which shows the weight and the largest paint of pages.

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

COLORS = ("#3b6fb6", "#a8b0ba", "#a8b0ba")  # This book has the first color.


def draw(results: dict[str, Any]) -> None:
    """Draw two bar charts, with one bar and its number per tool."""
    measured = results["measured"]
    weights = [m["load"]["weight"] for m in measured.values()]
    paints = [median(run["lcp"] for run in m["lighthouse"]) for m in measured.values()]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True)
    bars(left, list(measured), weights, "weight of its own files, kB in gzip", 0)
    bars(right, list(measured), paints, "largest paint on a simulated phone, s", 1)
    notes = textwrap.fill(results["told"], 150)
    figure.text(0.01, 0.01, notes, fontsize=7, color="#555555")
    figure.tight_layout(rect=(0, 0.12, 1, 1))


def bars(axes: Axes, names: list[str], values: list[float], title: str, digits: int):
    """Draw a chart with a horizontal bar and its number for each name."""
    container = axes.barh(names, values, color=COLORS, height=0.6)
    axes.bar_label(container, fmt=f"%.{digits}f", padding=3)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlim(0, 1.15 * max(values))
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def main(source: Path, target: Path) -> None:
    """Draw the results in `source` and write the chart to `target`."""
    matplotlib.rcParams["svg.hashsalt"] = "page"
    draw(json.loads(source.read_text("utf-8")))
    plt.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
