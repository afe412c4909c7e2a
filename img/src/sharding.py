"""Draws img/sharding.svg: what four ranks store with and without sharding.

Run: python img/src/sharding.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    INK,
    PALE,
    box,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, LEFT, CELL, TALL, RANKS = 560, 16, 15, 22, 4
ROLES = {"weights": BLUE, "gradients": GREEN, "optimizer's state": INK}
LOOK = {GREEN: {"opacity": 0.55}}  # so that the roles differ in gray, too


def rank(svg: ET.Element, x: float, y: float, number: int, sharded: bool) -> None:
    """Draw the quarters of each role that a rank stores, and places for the others."""
    centered(svg, x + 2 * CELL, y - 8, f"rank {number}")
    for row, color in enumerate(ROLES.values()):
        for quarter in range(RANKS):
            stored = not sharded or quarter == number
            place = (x + quarter * CELL, y + row * (TALL + 2))
            fill = color if stored else PALE
            box(svg, place, (CELL - 1, TALL), fill=fill, **LOOK.get(fill, {}))


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 258, 14)
    for i, (role, color) in enumerate(ROLES.items()):
        box(svg, (LEFT + 110 * i, 10), (14, 14), fill=color, **LOOK.get(color, {}))
        label(svg, LEFT + 110 * i + 20, 22, role)
    for top, name in (62, "everything on each rank"), (174, "a quarter on each rank"):
        for number in range(RANKS):
            rank(svg, LEFT + 86 * number, top, number, sharded=top > 100)
        label(svg, LEFT + 86 * RANKS + 6, top + 40, name, font_weight="bold")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
