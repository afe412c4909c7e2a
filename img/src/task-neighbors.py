"""Draws img/task-neighbors.svg: threads that each add three neighbors.

Run: python img/src/task-neighbors.py
"""

from xml.etree import ElementTree as ET

from svg import arrow, boxes, canvas, centered, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT = 560, 190, 44, 10
ROWS = {"a": 40, "out": 130}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for name, y in ROWS.items():
        label(svg, 16, y + 27, name, font_style="italic")
        used = {(0, i) for i in ((3, 4, 5) if name == "a" else (4,))}
        boxes(svg, (60, y), (1, COUNT), SIDE, used)
    for i in (3, 4, 5):
        start = (82.0 + i * SIDE, ROWS["a"] + SIDE + 2.0)
        arrow(svg, start, (82.0 + 4 * SIDE + 6 * (i - 4), ROWS["out"] - 4.0))
    centered(svg, 82 + 4 * SIDE, 26, "thread 4 adds three numbers")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
