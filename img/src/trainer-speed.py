"""Draws img/trainer-speed.svg: times of the Trainer from `make bench-trainer`, as bars.

The picture is narrow, so that it is readable on a phone: both models share one column.

Run: python img/src/trainer-speed.py [trainer.json [trainer.svg]]
"""

import json
import sys
from math import log2
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree as ET

from svg import BLUE, INK, QUIET, WHITE, add, canvas, centered, label, save

ROOT = Path(__file__).resolve().parents[2]
LINE = "#c9ced6"
BLUES, GRAYS = (BLUE, "#5b9bd0"), ("#59616c", "#9098a4")  # one shade per model
WIDTH, LEFT, SCALE, BAR, ROW, TOP = 440, 150, 248, 13, 34, 64
MOST = 512  # the ratio to the time of the bare loop at the right end of the scale
TABS = {
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
}
ROWS = {
    "silent": ("this Trainer", BLUES),
    "plotting": ("this Trainer, plotting", BLUES),
    "peer": ("", GRAYS),  # PEERS holds its name in each framework
    "d2l 1.0.3": ("d2l 1.0.3", GRAYS),
    "d2l 1.0.3, plotting": ("d2l 1.0.3, plotting", GRAYS),
}
PEERS = {"pytorch": "Lightning", "tensorflow": "Keras’s fit"}
WORKLOADS = {"linear": "linear regression", "mlp": "MLP"}


def ratio(runs: dict[str, list], variant: str) -> float:
    """Return the median ratio of a variant's steady time to that of the bare loop."""
    pairs = zip(runs[variant], runs["bare"], strict=True)
    return median(a["steady"] / b["steady"] for a, b in pairs)


def bar_length(value: float) -> float:
    """Return the length in pixels of the bar for a ratio, on a logarithmic scale."""
    return SCALE * log2(max(value, 1)) / log2(MOST)


def legend(svg: ET.Element) -> None:
    """Draw the shades of each model with its name."""
    x = LEFT
    for i, name in enumerate(WORKLOADS.values()):
        for j, shades in enumerate((BLUES, GRAYS)):
            add(svg, "rect", x=x + 9 * j, y=9, width=9, height=BAR, fill=shades[i])
        label(svg, x + 24, 20, name)
        x += 150


def axis(svg: ET.Element, bottom: float) -> None:
    """Draw the lines of the scale and their labels."""
    for times in (1, 4, 16, 64, 256):
        x = LEFT + bar_length(times)
        stroke = INK if times == 1 else LINE
        add(svg, "line", x1=x, x2=x, y1=TOP - 12, y2=bottom, stroke=stroke)
        centered(svg, x, TOP - 18, f"{times}×", fill=QUIET)


def bar(svg: ET.Element, y: float, value: float, color: str) -> None:
    """Draw the bar of a ratio, and the ratio behind it."""
    width = max(round(bar_length(value), 1), 1.5)
    add(svg, "rect", x=LEFT, y=y, width=width, height=BAR, fill=color)
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    # Hide the line of the scale behind the number.
    add(svg, "rect", x=LEFT + width + 3, y=y, width=30, height=BAR, fill=WHITE)
    label(svg, LEFT + width + 5, y + 11, text)


def rows(measured: dict[str, Any], tab: str) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return the names and colors of the variants that were measured in a framework."""
    names = ROWS | {"peer": (PEERS.get(tab, ""), GRAYS)}
    return {v: row for v, row in names.items() if v in measured["runs"]["linear"]}


def draw(results: dict[str, Any]) -> ET.Element:
    """Return the picture of the results."""
    shown = {tab: rows(measured, tab) for tab, measured in results["tabs"].items()}
    bottom = TOP + sum(ROW * len(names) + 30 for names in shown.values())
    svg = canvas(WIDTH, bottom + 4, font_size=13)
    legend(svg)
    axis(svg, bottom - 8)
    y = TOP
    for tab, names in shown.items():
        label(svg, 4, y + 8, TABS[tab], font_weight="bold")
        y += 20
        for variant, (name, shades) in names.items():
            label(svg, LEFT - 10, y + BAR + 4, name, text_anchor="end", fill=QUIET)
            for i, workload in enumerate(WORKLOADS):
                runs = results["tabs"][tab]["runs"][workload]
                bar(svg, y + (BAR + 1) * i, ratio(runs, variant), shades[i])
            y += ROW
        y += 10
    return svg


def main(source: Path, target: Path) -> None:
    """Draw the results in `source` and write the picture to `target`."""
    save(draw(json.loads(source.read_text("utf-8"))), target)


if __name__ == "__main__":
    paths = [Path(name) for name in sys.argv[1:]]
    defaults = [
        ROOT / "benchmarks/results/trainer.json",
        ROOT / "img/trainer-speed.svg",
    ]
    main(*paths, *defaults[len(paths) :])
