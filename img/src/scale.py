"""Draws img/scale.svg: the bandwidths of an H100's link and of its memory, to scale.

Run: python img/src/scale.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, QUIET, WHITE, add, canvas, centered, save, target_of

WIDTH, HEIGHT, MIDDLE = 640, 250, 128
# Gigabytes per second in one direction: PCI Express 5 with 16 lanes, and HBM3.
LINK, MEMORY = 64, 3350
PIXELS_PER_GIGABYTE = 168 / MEMORY


def box(svg: ET.Element, x: float, width: float, *lines: str) -> None:
    """Draw a box with lines of text in it; the first line is bold."""
    add(
        *(svg, "rect"),
        x=x,
        y=MIDDLE - 92,
        width=width,
        height=184,
        rx=8,
        fill=WHITE,
        stroke=INK,
    )
    top = MIDDLE - 11 * (len(lines) - 1) + 5
    for number, line in enumerate(lines):
        style = {"font_weight": "bold"} if number == 0 else {"fill": QUIET}
        centered(svg, x + width / 2, top + 22 * number, line, **style)


def channel(
    svg: ET.Element, x: float, width: float, bandwidth: float, name: str
) -> None:
    """Draw a bar between two boxes, whose height is its bandwidth, above its name."""
    height = round(bandwidth * PIXELS_PER_GIGABYTE, 2)
    add(
        *(svg, "rect"),
        x=x,
        y=round(MIDDLE - height / 2, 2),
        width=width,
        height=height,
        fill=BLUE,
    )
    centered(svg, x + width / 2, HEIGHT - 8, name, fill=QUIET)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    centered(svg, 440, 24, "One H100")
    channel(svg, 125, 115, LINK, f"{LINK} GB/s")
    channel(svg, 360, 135, MEMORY, f"{MEMORY} GB/s")
    box(svg, 1, 124, "Main memory", "of the host")
    box(svg, 240, 120, "Memory", "80 GB")
    box(svg, 495, 144, "Arithmetic", "989 TFLOP/s", "in 16 bits")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
