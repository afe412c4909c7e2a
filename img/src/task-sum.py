"""Draws img/task-sum.svg: a sum of eight numbers as a tree.

Run: python img/src/task-sum.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, WHITE, add, arrow, canvas, centered, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT = 560, 270, 44, 8


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for level in range(4):
        kept = COUNT >> level
        y = 16.0 + 62 * level
        label(svg, 440, y + 26, f"{kept} left" if level else "tile")
        for i in range(COUNT):
            fill = BLUE if i < kept else WHITE
            size = {"width": SIDE - 8, "height": SIDE - 8, "rx": 3}
            add(svg, "rect", x=40 + i * SIDE, y=y, fill=fill, stroke=INK, **size)
        half = kept // 2
        for i in range(half):
            for other in (i, i + half):
                start = (58.0 + other * SIDE, y + SIDE - 6)
                arrow(svg, start, (58.0 + i * SIDE, y + 60), stroke_opacity=0.6)
    centered(svg, 210, HEIGHT - 8, "a barrier between the levels")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
