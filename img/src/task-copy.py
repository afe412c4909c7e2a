"""Draws img/task-copy.svg: twelve threads that copy ten numbers.

Run: python img/src/task-copy.py
"""

from xml.etree import ElementTree as ET

from svg import INK, WHITE, add, arrow, boxes, canvas, centered, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT, THREADS = 600, 190, 40, 10, 12


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for name, y in {"a": 14, "out": 136}.items():
        label(svg, 16, y + 25, name, font_style="italic")
        boxes(svg, (80, y), (1, COUNT), SIDE, {(0, i) for i in range(COUNT)})
    label(svg, 16, 100, "threads")
    for i in range(THREADS):
        x = 80.0 + SIDE * (i + 0.5)
        style = {"stroke_dasharray": "3 3"} if i >= COUNT else {}
        add(svg, "circle", cx=x, cy=95, r=14, fill=WHITE, stroke=INK, **style)
        centered(svg, x, 100, str(i))
        if i < COUNT:
            arrow(svg, (x, 56.0), (x, 79.0))
            arrow(svg, (x, 111.0), (x, 134.0))
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
