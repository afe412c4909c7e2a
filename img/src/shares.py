"""Draws img/shares.svg: a step of data parallelism on two GPUs.

Run: python img/src/shares.py
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
    save,
    target_of,
)

WIDTH, CELL = 600, 26
ROWS = (46, 142)  # the upper edge of each GPU's row


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 196)
    titles = (58, "minibatch"), (198, "its half"), (330, "gradient"), (452, "sum")
    for x, name in (*titles, (548, "weights")):
        centered(svg, x, 24, name, font_weight="bold")
    for i in range(8):
        color = BLUE if i < 4 else ORANGE
        place = (32 + i % 2 * CELL, 58 + i // 2 * CELL)
        box(svg, place, (CELL - 2, CELL - 2), str(i + 1), fill=color)
    for gpu, (y, color) in enumerate(zip(ROWS, (BLUE, ORANGE), strict=True)):
        middle = y + 16
        arrow(svg, (90, middle + 12 - 24 * gpu), (136, middle))
        box(svg, (142, y), (112, 32), f"GPU {gpu}", fill=color)
        arrow(svg, (258, middle), (298, middle))
        box(svg, (304, y), (52, 32), "gh"[0] + "₀₁"[gpu], fill=color)
        arrow(svg, (360, middle), (418, middle))
        arrow(svg, (360, middle), (418, ROWS[1 - gpu] + (28 if gpu else 4)))
        box(svg, (424, y), (66, 32), "g₀ + g₁", fill=GREEN)
        arrow(svg, (494, middle), (518, middle))
        box(svg, (524, y), (52, 32), "same", fill=PALE)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
