"""Draws img/moving.svg: what a trainer moves to its device, and how often.

Run: python img/src/moving.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, WHITE, add, arrow, canvas, centered, save, target_of

HOST, DEVICE, SIDE = 12, 428, 160  # the left edges of two boxes, and their width


def place(svg: ET.Element, x: float, name: str) -> None:
    """Draw a place with memory of its own below its name."""
    add(svg, "rect", x=x, y=34, width=SIDE, height=178, rx=10, fill="none", stroke=INK)
    centered(svg, x + SIDE / 2, 24, name, font_weight="bold")


def thing(svg: ET.Element, x: float, y: float, name: str, color: str) -> None:
    """Draw what is in a place."""
    add(svg, "rect", x=x + 24, y=y, width=SIDE - 48, height=36, rx=4, fill=color)
    centered(svg, x + SIDE / 2, y + 23, name, fill=WHITE, font_weight="bold")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(600, 224)
    place(svg, HOST, "Host")
    place(svg, DEVICE, "Device")
    for x, name in ((HOST, "minibatches"), (DEVICE, "minibatch")):
        thing(svg, x, 48, "model", BLUE)
        thing(svg, x, 104, name, ORANGE)
    thing(svg, DEVICE, 160, "loss", INK)
    centered(svg, HOST + SIDE / 2, 183, "the loop")
    middle, left, right = 300, HOST + SIDE + 4, DEVICE - 4
    arrow(svg, (left, 66), (right, 66))
    centered(svg, middle, 56, "prepare_model, once")
    arrow(svg, (left, 122), (right, 122), stroke_dasharray="6 4")
    centered(svg, middle, 112, "prepare_batch, in each step")
    arrow(svg, (right, 178), (left, 178))
    centered(svg, middle, 168, "losses, fetched together")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
