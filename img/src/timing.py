"""Draws img/timing.svg: the times that clocks around asynchronous work measure.

Run: python img/src/timing.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, WHITE, add, canvas, centered, label, save, target_of

WIDTH, HEIGHT = 640, 236
LEFT, SCALE = 84, 50  # the x coordinate of time 0, and the pixels per unit of time
QUEUE, COMPUTE, STEPS = 0.8, 3.0, 3
HOST, DEVICE, TALL = 30, 92, 38


def block(
    svg: ET.Element, row: float, start: float, duration: float, color: str
) -> None:
    """Draw a span of time as a box."""
    add(
        *(svg, "rect"),
        x=LEFT + start * SCALE,
        y=row,
        width=duration * SCALE - 2,
        height=TALL,
        rx=3,
        fill=color,
    )


def name(svg: ET.Element, row: float, start: float, duration: float, text: str) -> None:
    """Write a text into the box of a span of time."""
    middle = LEFT + (start + duration / 2) * SCALE - 1
    centered(svg, middle, row + 25, text, fill=WHITE, font_weight="bold")


def clock(svg: ET.Element, y: float, end: float, text: str) -> None:
    """Draw a line from time 0 to `end` with marks at its ends, and a text behind it."""
    right = LEFT + end * SCALE
    path = f"M{LEFT} {y - 6}v12M{LEFT} {y}H{right}M{right} {y - 6}v12"
    add(svg, "path", d=path, stroke=INK, stroke_width=2, fill="none")
    label(svg, right + 10, y + 5, text)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    for row, text in ((HOST, "Host"), (DEVICE, "Device")):
        label(svg, 12, row + 25, text, font_weight="bold")
    for i in range(STEPS):
        for row, start, duration, color in (
            (HOST, i * QUEUE, QUEUE, BLUE),
            (DEVICE, QUEUE + i * COMPUTE, COMPUTE, ORANGE),
        ):
            block(svg, row, start, duration, color)
            name(svg, row, start, duration, str(i + 1))
    end, queued = QUEUE + STEPS * COMPUTE, STEPS * QUEUE
    waiting = LEFT + (queued + end) / 2 * SCALE
    centered(svg, waiting, HOST + 25, "waits, or does something else")
    clock(svg, 160, queued, "stopped when the last call returns")
    clock(svg, 192, end, "")
    centered(svg, LEFT + end / 2 * SCALE, 216, "stopped after a wait")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
