"""Draws img/speed-up.svg: a step on one GPU, and its halves on two.

Run: python img/src/speed-up.py
"""

from xml.etree import ElementTree as ET

from svg import (
    INK,
    ORANGE,
    add,
    box,
    canvas,
    label,
    save,
    target_of,
)

WIDTH, LEFT, UNIT, TALL = 560, 96, 26, 26
STEP, SUM, HIDDEN = 16, 5, 3.5  # units of time: a step, the sum, its hidden part


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 196)
    half = STEP / 2
    end = LEFT + (half + SUM - HIDDEN) * UNIT
    label(svg, 12, 32, "one GPU")
    box(svg, (LEFT, 14), (STEP * UNIT, TALL), "forward and backward, all examples")
    for i, y in enumerate((62, 124)):
        label(svg, 12, y + 18, f"GPU {i}")
        box(svg, (LEFT, y), (half * UNIT, TALL), "half of the examples")
        start = LEFT + (half - HIDDEN) * UNIT
        box(svg, (start, y + TALL + 2), (SUM * UNIT, 20), "gradients", fill=ORANGE)
    line = {"stroke": INK, "stroke_dasharray": "5 4"}
    add(svg, "path", d=f"M{end} 56V180", **line)
    label(svg, end + 8, 112, "more than half the time,", font_weight="bold")
    label(svg, end + 8, 132, "as part of the sum is exposed")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
