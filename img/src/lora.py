"""Draws img/lora.svg: a matrix of weights and the two matrices of its adapter.

Run: python img/src/lora.py
"""

from xml.etree import ElementTree as ET

from svg import ORANGE, PALE, box, canvas, centered, label, save, target_of

WIDTH, HEIGHT, TOP, SIDE = 520, 250, 36, 192  # SIDE is 4096 weights
THIN = SIDE * 64 / 4096  # a rank of 64


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    box(svg, (12, TOP), (SIDE, SIDE), "W, as it was", fill=PALE)
    centered(svg, 12 + SIDE / 2, TOP - 12, "16,777,216 weights")
    centered(svg, 232, TOP + SIDE / 2 + 6, "+", font_size=24)
    box(svg, (262, TOP), (THIN, SIDE), fill=ORANGE)
    label(svg, 274, TOP + SIDE / 2 + 5, "B")
    centered(svg, 300, TOP + SIDE / 2 + 6, "·", font_size=24)
    box(svg, (318, TOP), (SIDE, THIN), fill=ORANGE)
    centered(svg, 318 + SIDE / 2, TOP + 24, "A")
    centered(svg, 390, TOP - 12, "2 · 262,144 weights that are trained")
    for i, text in enumerate(("drawn to scale, with rank 64:", "3 % of the weights")):
        centered(svg, 414, TOP + 96 + 24 * i, text)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
