"""Draws img/task-row.svg: a row that is added to each row of a matrix.

Run: python img/src/task-row.py
"""

from xml.etree import ElementTree as ET

from svg import arrow, boxes, canvas, centered, save, target_of

WIDTH, HEIGHT, SIDE, ROWS, COLUMNS = 600, 200, 26, 5, 6
LEFTS = {"a": 20, "b": 224, "out": 424}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    used = (3, 4)
    for name, left in LEFTS.items():
        centered(svg, left + SIDE * COLUMNS / 2, 22, name, font_style="italic")
        rows = 1 if name == "b" else ROWS
        at = (used[0] % rows, used[1])
        boxes(svg, (left, 34), (rows, COLUMNS), SIDE, {at})
    centered(svg, 200, 96, "+", font_size=22)
    arrow(svg, (386.0, 90.0), (416.0, 90.0))
    centered(svg, 302, 84, "one row")
    centered(svg, 302, HEIGHT - 18, "thread 3 · 6 + 4 = 22")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
