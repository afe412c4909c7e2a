"""Draws img/turns.svg: the clocks of the units of an SM in a turn of four products.

Run: python img/src/turns.py
"""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from svg import BLUE, GREEN, INK, ORANGE, box, canvas, label, save, target_of

sys.path.insert(0, str(Path(__file__).parents[2]))
from d2l.tables import stored_turns, turn_clocks  # noqa: E402

WIDTH, LEFT, SCALE, TALL, BLOCK = 560, 142, 0.215, 17, 106
PLANS = (2, 3, 6, 9)  # in the order of d2l/turns.csv
COLORS = {
    "tensor cores": GREEN,
    "issue": ORANGE,
    "shared memory": INK,
    "L2 cache": BLUE,
}


def draw() -> ET.Element:
    """Return the picture."""
    svg, turns = canvas(WIDTH, BLOCK * len(PLANS) + 6), stored_turns()
    for i, plan in enumerate(PLANS):
        turn, y = turns[plan], 24 + BLOCK * i
        tile, clocks = " × ".join(map(str, turn.tile)), turn_clocks(turn)
        name = f"{turn.card}, tile of {tile}, {turn.warps} warps"
        label(svg, 12, y, name, font_weight="bold")
        for row, (unit, busy) in enumerate(clocks.items()):
            top, decides = y + 7 + (TALL + 3) * row, busy == max(clocks.values())
            wide, weight = max(1.5, busy * SCALE), "bold" if decides else "normal"
            shade = 1 if decides else 0.4
            box(svg, (LEFT, top), (wide, TALL), fill=COLORS[unit], opacity=shade)
            label(svg, 24, top + 13, unit, font_weight=weight)
            text = f"{busy:.0f} clocks" if busy else "read by the tensor cores"
            label(svg, LEFT + wide + 8, top + 13, text, font_weight=weight)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
