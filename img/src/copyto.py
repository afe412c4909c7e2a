"""Draws img/copyto.svg: tensor X is copied to the device of Y and added to Y there.

Run: python img/src/copyto.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, WHITE, add, arrow, canvas, centered, save, target_of


def device(svg: ET.Element, x: float, name: str) -> None:
    """Draw a device below its name."""
    add(svg, "rect", x=x, y=34, width=220, height=176, rx=10, fill="none", stroke=INK)
    centered(svg, x + 110, 24, name, font_weight="bold")


def tensor(svg: ET.Element, x: float, y: float, name: str, color: str) -> None:
    """Draw a tensor with its name."""
    add(svg, "rect", x=x, y=y, width=64, height=44, rx=4, fill=color)
    centered(svg, x + 32, y + 28, name, fill=WHITE, font_weight="bold")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(600, 222)
    device(svg, 12, "GPU 0")
    device(svg, 368, "GPU 1")
    tensor(svg, 90, 58, "X", BLUE)
    tensor(svg, 390, 58, "Z", BLUE)
    tensor(svg, 502, 58, "Y", ORANGE)
    tensor(svg, 446, 152, "Y + Z", INK)
    arrow(svg, (158, 80), (384, 80), stroke_dasharray="6 4")
    centered(svg, 300, 70, "copy")
    arrow(svg, (424, 106), (462, 148))
    arrow(svg, (532, 106), (494, 148))
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
