"""Draws img/divisions.svg: four ways to divide a model among four GPUs.

Run: python img/src/divisions.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    ORANGE,
    QUIET,
    box,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, STEP, WIDE, TOP = 600, 148, 128, 60
GPUS = (BLUE, ORANGE, GREEN, QUIET)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 200, 14)
    for i, color in enumerate(GPUS):
        box(svg, (12 + 92 * i, 10), (14, 14), fill=color)
        label(svg, 32 + 92 * i, 22, f"GPU {i}")
    lefts = [12 + STEP * i for i in range(4)]
    quarter = WIDE / 4
    for i, color in enumerate(GPUS):
        box(svg, (lefts[0] + quarter * i, TOP), (quarter - 2, 96), str(i), fill=color)
        for token in range(2):
            place = (lefts[1] + (2 * i + token) * WIDE / 8, TOP + 34)
            box(svg, place, (WIDE / 8 - 2, 28), str(i), fill=color)
        place = (lefts[2] + i % 2 * WIDE / 2, TOP + i // 2 * 49)
        box(svg, place, (WIDE / 2 - 4, 45), f"expert {i}", fill=color)
        box(svg, (lefts[3], TOP + 24.5 * i), (WIDE, 22), f"layer {i}", fill=color)
    names = ("columns of a layer", "positions of a text", "experts", "layers")
    plans = ("tensor", "context", "expert", "pipeline")
    for left, name, plan in zip(lefts, names, plans, strict=True):
        centered(svg, left + WIDE / 2, TOP - 12, plan, font_weight="bold")
        centered(svg, left + WIDE / 2, TOP + 120, name)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
