"""Draws img/fusion.svg: the traffic of three operations, separate and fused.

Run: python img/src/fusion.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, WHITE, add, arrow, canvas, centered, save, target_of

WIDTH, HEIGHT = 640, 190
MEMORY, KERNEL, TALL = 40, 126, 38  # the y coordinates of both rows, and their height
WIDE, STEP = 62, 112


def box(svg: ET.Element, x: float, y: float, width: float, text: str) -> None:
    """Draw an array in the row of the memory, or an operation in the other row."""
    color = BLUE if y == MEMORY else ORANGE
    add(svg, "rect", x=x, y=y, width=width, height=TALL, rx=4, fill=color)
    centered(svg, x + width / 2, y + 25, text, fill=WHITE, font_weight="bold")


def chain(svg: ET.Element, left: float, arrays: list, kernels: list) -> None:
    """Draw arrays, and between each two of them the kernel that makes the second."""
    for i, name in enumerate(arrays):
        box(svg, left + i * STEP, MEMORY, WIDE, name)
    for i, name in enumerate(kernels):
        x = left + i * STEP
        box(svg, x + 25, KERNEL, STEP + WIDE - 50 - 26, name)
        arrow(svg, (x + WIDE / 2, MEMORY + TALL), (x + 50, KERNEL - 3))
        arrow(svg, (x + STEP + 14, KERNEL - 3), (x + STEP + 31, MEMORY + TALL + 3))


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    centered(svg, 211, 24, "Separate: six times through memory", font_weight="bold")
    chain(svg, 12, ["x", "2x", "2x+1", "result"], ["· 2", "+ 1", "tanh"])
    add(svg, "path", d=f"M424 14V{HEIGHT - 12}", stroke=INK, stroke_width=1)
    centered(svg, 532, 24, "Fused: twice", font_weight="bold")
    chain(svg, 444, ["x", "result"], ["· 2, + 1, tanh"])
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
