"""Draws img/task-prefix.svg: the running totals of eight numbers in three rounds.

Run: python img/src/task-prefix.py
"""

from xml.etree import ElementTree as ET

from svg import arrow, boxes, canvas, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT = 600, 280, 44, 8


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for level in range(4):
        y = 16.0 + 72 * level
        done = {(0, i) for i in range(COUNT) if i < 1 << level}
        boxes(svg, (40, y), (1, COUNT), SIDE - 8, done)
        label(svg, 360, y + 24, f"each adds what was {1 << level} before" * (level < 3))
        for i in range(COUNT) if level < 3 else ():
            x = 40.0 + (SIDE - 8) * (i + 0.5)
            back = (SIDE - 8) * (1 << level)
            for start in (x, x - back) if i >= 1 << level else (x,):
                arrow(svg, (start, y + 38), (x, y + 70), stroke_opacity=0.6)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
