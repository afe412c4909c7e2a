"""Draws img/decode.svg: what each step of generating text reads.

Run: python img/src/decode.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
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

WIDTH, LEFT, WIDE, STEP, CELL = 560, 84, 98, 120, 13
PROMPT = ("The", "GPU", "waits", "for")
MADE = ("the", "next", "token", ".")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 250)
    for y, name in (57, "input"), (118, "weights"), (172, "cache"), (226, "output"):
        label(svg, 12, y, name)
    inputs = (" ".join(PROMPT), *MADE[:-1])
    for i, (text, made) in enumerate(zip(inputs, MADE, strict=True)):
        x = LEFT + STEP * i
        name = "prefill" if i == 0 else f"decode {i}"
        centered(svg, x + WIDE / 2, 24, name, font_weight="bold")
        box(svg, (x, 38), (WIDE, 28), fill=PALE)
        centered(svg, x + WIDE / 2, 57, text, font_size=12 if i == 0 else 15)
        box(svg, (x, 84), (WIDE, 56), "all read", fill=BLUE)
        for position in range(len(PROMPT) + i):
            fresh = position >= len(PROMPT) + i - (len(PROMPT) if i == 0 else 1)
            color = ORANGE if fresh else GREEN
            box(svg, (x + CELL * position, 158), (CELL - 2, 20), fill=color)
        box(svg, (x, 206), (WIDE, 28), made, fill=PALE)
        if i < len(MADE) - 1:
            arrow(svg, (x + WIDE + 1, 216), (x + STEP + 6, 70))
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
