"""Draws img/pinned.svg: copies to a GPU from pageable and from pinned memory.

Run: python img/src/pinned.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, add, arrow, canvas, centered, save, target_of

WIDTH, HEIGHT = 640, 250
ROWS = {"pageable": 84, "pinned": 186}  # the y coordinate of the middle of each row
SIDE = 52


def box(svg: ET.Element, x: float, width: float, title: str) -> None:
    """Draw a memory below its title."""
    add(
        *(svg, "rect"),
        x=x,
        y=34,
        width=width,
        height=HEIGHT - 46,
        rx=10,
        fill="none",
        stroke=INK,
    )
    centered(svg, x + width / 2, 24, title, font_weight="bold")


def array(svg: ET.Element, x: float, y: float, text: str) -> None:
    """Draw an array above its description."""
    size = {"width": SIDE, "height": SIDE - 8, "rx": 4}
    add(svg, "rect", x=x, y=y - SIDE / 2, fill=BLUE, **size)
    centered(svg, x + SIDE / 2, y + SIDE / 2 + 10, text)


def buffer(svg: ET.Element, x: float, y: float, text: str) -> None:
    """Draw the driver's buffer, which holds a piece of the data."""
    add(svg, "rect", x=x, y=y - 14, width=SIDE, height=20, rx=4, fill=ORANGE)
    centered(svg, x + SIDE / 2, y + SIDE / 2 + 10, text)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    box(svg, 12, 352, "Main memory")
    box(svg, 500, 128, "GPU")
    for kind, y in ROWS.items():
        array(svg, 46, y, kind)
        array(svg, 538, y, "copy")
    y = ROWS["pageable"]
    buffer(svg, 268, y, "pinned buffer")
    arrow(svg, (106, y - 4), (262, y - 4))
    centered(svg, 184, y - 14, "1. CPU, in pieces")
    arrow(svg, (326, y - 4), (532, y - 4))
    centered(svg, 432, y - 14, "2. copy engine")
    y = ROWS["pinned"]
    arrow(svg, (106, y - 4), (532, y - 4))
    centered(svg, 432, y - 14, "copy engine")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
