"""Draws img/task-transpose.svg: a warp that reads a row and writes a column.

Run: python img/src/task-transpose.py
"""

from xml.etree import ElementTree as ET

from svg import arrow, boxes, canvas, centered, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT = 560, 270, 26, 8
LEFTS = {"a": 40, "out": 310}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for name, left in LEFTS.items():
        centered(svg, left + SIDE * COUNT / 2, 22, name, font_style="italic")
        used = {(2, i) if name == "a" else (i, 2) for i in range(COUNT)}
        boxes(svg, (left, 34), (COUNT, COUNT), SIDE, used)
    y = 34 + SIDE * 2.5
    arrow(svg, (LEFTS["a"] + SIDE * COUNT + 6, y), (LEFTS["out"] - 8, y))
    label(svg, LEFTS["a"], HEIGHT - 10, "neighbors in memory")
    label(svg, LEFTS["out"], HEIGHT - 10, "one number of each row")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
