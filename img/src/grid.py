"""Draws img/grid.svg: three programs of a kernel that adds two vectors.

Run: python img/src/grid.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    ORANGE,
    QUIET,
    arrow,
    box,
    canvas,
    label,
    save,
    target_of,
)

WIDTH, LEFT, CELL, TALL = 560, 44, 34, 26
COUNT, SIZE = 10, 4
COLORS = (BLUE, ORANGE, GREEN)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 208)
    for row, name in enumerate("xyz"):
        y = 12 + row * 34 if name != "z" else 166
        label(svg, 16, y + 18, name, font_weight="bold")
        for i in range(3 * SIZE):
            x = LEFT + i * CELL + i // SIZE * 40
            if i < COUNT:
                box(svg, (x, y), (CELL - 2, TALL), str(i), fill=COLORS[i // SIZE])
            else:
                dashes = {"stroke": QUIET, "stroke_dasharray": "4 3"}
                box(svg, (x, y), (CELL - 2, TALL), fill="none", **dashes)
    for block, color in enumerate(COLORS):
        x = LEFT + block * (SIZE * CELL + 40)
        middle = x + SIZE * CELL / 2 - 1
        arrow(svg, (middle, 76), (middle, 98))
        box(svg, (x, 102), (SIZE * CELL - 2, 34), f"program {block}", fill=color)
        arrow(svg, (middle, 138), (middle, 160))
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
