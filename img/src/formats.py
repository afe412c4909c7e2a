"""Draws img/formats.svg: the bits of formats for numbers.

Run: python img/src/formats.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, ORANGE, QUIET, box, canvas, label, save, target_of

WIDTH, LEFT, BIT, TALL, ROW = 500, 100, 12, 22, 34
# The bits of the sign, the exponent and the mantissa.
FORMATS = {
    "float32": (1, 8, 23),
    "TF32": (1, 8, 10),
    "bfloat16": (1, 8, 7),
    "float16": (1, 5, 10),
    "FP8 (E4M3)": (1, 4, 3),
}
PARTS = {"sign": QUIET, "exponent": ORANGE, "mantissa": BLUE}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 44 + ROW * len(FORMATS))
    for i, (part, color) in enumerate(PARTS.items()):
        box(svg, (LEFT + 110 * i, 10), (14, 14), fill=color)
        label(svg, LEFT + 110 * i + 20, 22, part)
    for i, (name, bits) in enumerate(FORMATS.items()):
        x, y = LEFT, 40 + ROW * i
        label(svg, 8, y + 16, name)
        for count, color in zip(bits, PARTS.values(), strict=True):
            box(svg, (x, y), (count * BIT - 2, TALL), str(count), fill=color)
            x += count * BIT
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
