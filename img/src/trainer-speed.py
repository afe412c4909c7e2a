"""Draws img/trainer-speed.svg: what `make bench` measured of the Trainer, as bars.

Run: python img/src/trainer-speed.py [trainer.json [trainer.svg]]
"""

import json
import sys
from math import log2
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree as ET

from svg import BLUE, INK, QUIET, WHITE, add, canvas, label, save

ROOT = Path(__file__).resolve().parents[2]
LINE, GREY = "#c9ced6", "#7b8490"
WIDTH, LEFT, COLUMN, ROW, TOP = 700, 176, 250, 19, 62
MOST = 256  # times as long as the bare loop, at the right edge
TABS = {
    "pytorch": "PyTorch",
    "mxnet": "MXNet",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
}
ROWS = {
    "silent": ("this Trainer", BLUE),
    "plotting": ("this Trainer, plotting", BLUE),
    "peer": ("", GREY),  # by a name of its own in each framework
    "d2l 1.0.3": ("d2l 1.0.3", GREY),
    "d2l 1.0.3, plotting": ("d2l 1.0.3, plotting", GREY),
}
PEERS = {"pytorch": "Lightning", "tensorflow": "Keras’s fit"}
WORKLOADS = {"linear": "Linear regression", "mlp": "MLP"}


def ratio(runs: dict[str, list], variant: str) -> float:
    """The median of a variant's steady time relative to the bare loop's."""
    pairs = zip(runs[variant], runs["bare"], strict=True)
    return median(a["steady"] / b["steady"] for a, b in pairs)


def place(value: float) -> float:
    """Pixels from the start of a column; each doubling takes as many."""
    return (COLUMN - 40) * log2(max(value, 1)) / log2(MOST)


def axis(svg: ET.Element, x: float, bottom: float, name: str) -> None:
    label(svg, x, 20, name, font_weight="bold")
    for times in (1, 4, 16, 64, 256):
        at = x + place(times)
        stroke = INK if times == 1 else LINE
        add(svg, "line", x1=at, x2=at, y1=TOP - 12, y2=bottom, stroke=stroke)
        label(svg, at, TOP - 18, f"{times}×", text_anchor="middle", fill=QUIET)


def bar(svg: ET.Element, x: float, y: float, value: float, colour: str) -> None:
    width = round(place(value), 1)
    add(svg, "rect", x=x, y=y - 11, width=max(width, 1.5), height=13, fill=colour)
    at = x + max(width, 1.5) + 5
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    # a line of the axis must not run through the number
    add(svg, "rect", x=at - 2, y=y - 11, width=30, height=13, fill=WHITE)
    label(svg, at, y, text)


def rows(measured: dict[str, Any], tab: str) -> dict[str, tuple[str, str]]:
    """The variants that were measured in a framework: their names and colours."""
    names = ROWS | {"peer": (PEERS.get(tab, ""), GREY)}
    return {v: row for v, row in names.items() if v in measured["runs"]["linear"]}


def draw(found: dict[str, Any]) -> ET.Element:
    shown = {tab: rows(measured, tab) for tab, measured in found["tabs"].items()}
    bottom = TOP + sum(ROW * len(names) + 34 for names in shown.values())
    svg = canvas(WIDTH, bottom + 8, font_size=13)
    columns = {name: LEFT + COLUMN * i for i, name in enumerate(WORKLOADS)}
    for name, x in columns.items():
        axis(svg, x, bottom - 10, WORKLOADS[name])
    y = TOP
    for tab, names in shown.items():
        label(svg, 0, y + 6, TABS[tab], font_weight="bold")
        y += 8
        for variant, (name, colour) in names.items():
            y += ROW
            label(svg, LEFT - 10, y, name, text_anchor="end", fill=QUIET)
            for workload, x in columns.items():
                runs = found["tabs"][tab]["runs"][workload]
                bar(svg, x, y, ratio(runs, variant), colour)
        y += 26
    return svg


def main(source: Path, target: Path) -> None:
    save(draw(json.loads(source.read_text("utf-8"))), target)


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    kept = [ROOT / "benchmarks/results/trainer.json", ROOT / "img/trainer-speed.svg"]
    main(*given, *kept[len(given) :])
