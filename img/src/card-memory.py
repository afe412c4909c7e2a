"""Draws img/card-memory.svg: the memory of six cards, and what Llama 3 8B takes.

Run: python img/src/card-memory.py
"""

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

from svg import BLUE, INK, add, box, canvas, label, save, target_of

WIDTH, LEFT, SCALE, ROW, TOP = 560, 84, 2.05, 30, 56
CARDS = ("T4", "RTX 4090", "A100", "H100", "H200", "B200")
# The gigabytes of 8.03 billion parameters, with 2 and with 16 bytes each.
NEEDS = {"generating, 16 bits": 8.03 * 2, "training with Adam": 8.03 * 16}


def sizes() -> dict[str, float]:
    """Return the gigabytes of each card, as `card_memory` of the library does."""
    table = Path(__file__).parents[2] / "d2l/cards.csv"
    rows = csv.DictReader(table.read_text("utf-8").splitlines())
    found = {(r["card"], r["property"]): r["value"] for r in rows}
    seen = {card: float(found.get((card, "memory"), 0)) / 1e9 for card in CARDS}
    return {card: seen[card] or float(found[card, "advertised"]) for card in CARDS}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, TOP + ROW * len(CARDS) + 4)
    for i, (card, size) in enumerate(sizes().items()):
        y = TOP + ROW * i
        label(svg, 8, y + 16, card)
        box(svg, (LEFT, y), (size * SCALE, 22), fill=BLUE, opacity=0.75)
        label(svg, LEFT + size * SCALE + 6, y + 16, f"{size:.1f} GB")
    for name, need in NEEDS.items():
        x = LEFT + need * SCALE
        line = {"stroke": INK, "stroke_width": 2, "stroke_dasharray": "5 4"}
        add(svg, "path", d=f"M{x} {TOP - 6}V{TOP + ROW * len(CARDS) - 4}", **line)
        anchor = {"text_anchor": "start" if need < 100 else "middle"}
        label(svg, x - 8 * (need < 100), 22, name, **anchor)
        label(
            svg,
            x - 8 * (need < 100),
            42,
            f"{need:.0f} GB",
            font_weight="bold",
            **anchor,
        )
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
