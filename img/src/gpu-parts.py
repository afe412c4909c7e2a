"""Draws img/gpu-parts.svg: what a kernel can see of a GPU, with the sizes of an H100.

Run: python img/src/gpu-parts.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, QUIET, WHITE, add, canvas, centered, save, target_of

WIDTH, HEIGHT = 640, 330
LIGHT, PALE = "#e4edf6", "#fbeee6"
SMALL = {"font_size": 13, "fill": QUIET}


def box(
    svg: ET.Element, x: float, y: float, width: float, height: float, fill: str = WHITE
) -> None:
    """Draw a box."""
    size = {"width": width, "height": height, "rx": 6}
    add(svg, "rect", x=x, y=y, **size, fill=fill, stroke=INK)


def memory(svg: ET.Element, y: float, name: str, size: str) -> None:
    """Draw a memory that all multiprocessors share."""
    box(svg, 16, y, 190, 44, LIGHT)
    centered(svg, 111, y + 19, name)
    centered(svg, 111, y + 37, size, **SMALL)


def zoom(svg: ET.Element, x1: float, top: float, bottom: float, x2: float) -> None:
    """Draw two lines from the sides of a part to the box that enlarges it."""
    for start, end in (top, 44), (bottom, HEIGHT - 12):
        line = {"x1": x1, "y1": start, "x2": x2, "y2": end}
        add(svg, "line", **line, stroke=QUIET, stroke_dasharray="4 4")


def card(svg: ET.Element) -> None:
    """Draw the GPU: its multiprocessors and the memories that they share."""
    centered(svg, 111, 28, "GPU", font_weight="bold")
    box(svg, 6, 44, 210, HEIGHT - 56)
    for number in range(40):
        x, y = 18 + number % 10 * 19, 58 + number // 10 * 24
        fill = BLUE if number == 19 else LIGHT
        add(svg, "rect", x=x, y=y, width=15, height=18, fill=fill, stroke=INK)
    centered(svg, 111, 174, "132 multiprocessors", **SMALL)
    memory(svg, 200, "L2 cache", "50 MB")
    memory(svg, 258, "memory", "80 GB, 3.35 TB/s")


def multiprocessor(svg: ET.Element) -> None:
    """Draw a multiprocessor with its four parts."""
    centered(svg, 349, 28, "multiprocessor (SM)", font_weight="bold")
    box(svg, 262, 44, 174, HEIGHT - 56)
    for number in range(4):
        y = 54 + 50 * number
        box(svg, 272, y, 154, 44, PALE)
        centered(svg, 349, y + 19, "16384 registers", font_size=13)
        centered(svg, 349, y + 36, "16 warps, tensor core", **SMALL)
    box(svg, 272, 260, 154, 48, LIGHT)
    centered(svg, 349, 280, "shared memory")
    centered(svg, 349, 298, "228 KiB", **SMALL)


def warp(svg: ET.Element) -> None:
    """Draw a warp with its 32 threads."""
    centered(svg, 560, 28, "warp", font_weight="bold")
    box(svg, 488, 44, 144, HEIGHT - 56)
    for number in range(32):
        x, y = 504 + number % 8 * 15, 66 + number // 8 * 34
        line = {"x1": x, "y1": y, "x2": x, "y2": y + 24}
        add(svg, "line", **line, stroke=ORANGE, stroke_width=3)
    lines = "32 threads,", "one instruction at a", "time, up to 255", "registers each"
    for number, text in enumerate(lines):
        centered(svg, 560, 228 + 20 * number, text, **SMALL)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    zoom(svg, 204, 82, 100, 262)
    zoom(svg, 426, 54, 98, 488)
    card(svg)
    multiprocessor(svg)
    warp(svg)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
