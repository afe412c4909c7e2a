"""Draws img/workgroups.svg: the threads of two workgroups and what they read and write.

Run: python img/src/workgroups.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    ORANGE,
    PALE,
    arrow,
    box,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, LEFT, CELL, HALF = 560, 56, 46, 250
SHOWN = ("0", "1", "…", "255")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 216)
    for y, name in (52, "a"), (194, "out"):
        label(svg, 16, y, name, font_weight="bold")
    for w, color in enumerate((BLUE, ORANGE)):
        x0 = LEFT + HALF * w
        centered(svg, x0 + 110, 20, f"workgroup w = {w}", font_weight="bold")
        box(svg, (x0 - 6, 86), (HALF - 10, 62), fill=PALE)
        for k, text in enumerate(SHOWN):
            x = x0 + k * (CELL + 12)
            number = text if text == "…" else str(int(text) + 256 * w)
            middle = x + CELL / 2
            box(svg, (x, 34), (CELL, 26), number, fill=color)
            arrow(svg, (middle, 62), (middle, 90))
            box(svg, (x, 94), (CELL, 46), fill=color)
            centered(svg, middle, 122, f"l = {text}", fill="#ffffff", font_size=13)
            arrow(svg, (middle, 142), (middle, 172))
            box(svg, (x, 176), (CELL, 26), number, fill=color)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
