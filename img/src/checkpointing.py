"""Draws img/checkpointing.svg: the memory of a step against the number of segments.

The model is `DeepMLP` with 64 layers, and the minibatch has 1024 examples.

Run: python img/src/checkpointing.py
"""

from math import log2
from xml.etree import ElementTree as ET

from svg import BLUE, ORANGE, QUIET, add, canvas, centered, label, save, target_of

LAYERS, WIDTH_OF_LAYER, EXAMPLES = 64, 128, 1024
ARRAY = EXAMPLES * WIDTH_OF_LAYER * 4 / 2**20  # MiB of the output of a layer
WEIGHTS = LAYERS * (WIDTH_OF_LAYER**2 + WIDTH_OF_LAYER) * 4 / 2**20
RESIDENT = WEIGHTS + ARRAY  # with the minibatch
LOSS = 5 * ARRAY  # the differences and four arrays made from them
FIXED = WEIGHTS + LOSS  # what a step needs for any number of segments
COUNTS = (1, 2, 4, 8, 16, 32)
SIZE = (480, 310)
LEFT, RIGHT, TOP, BOTTOM, HIGHEST = 44, 464, 28, 254, 40


def formula(segments: float) -> float:
    """Return the MiB of k + n/k activations, and of what every step needs.

    The minibatch is one of the activations, the input of the first segment.
    """
    return (segments + LAYERS / segments) * ARRAY + FIXED


def peak(segments: int) -> float:
    """Return the MiB at the highest point of a step, counted moment by moment.

    The last segment is not computed twice. The peak is at the loss, or where a segment
    is computed again while the gradients of later segments exist.
    """
    each = LAYERS / segments
    at_loss = (segments - 1 + each) * ARRAY + LOSS
    again = [
        (before + each + 2) * ARRAY + WEIGHTS * (segments - 1 - before) / segments
        for before in range(segments - 1)
    ]
    return RESIDENT + max([at_loss, *again])


def x_of(segments: float) -> float:
    """Return the x coordinate of a number of segments, on a logarithmic axis."""
    return LEFT + 24 + (RIGHT - LEFT - 48) * log2(segments) / 5


def y_of(size: float) -> float:
    """Return the y coordinate of a size in MiB."""
    return BOTTOM - (BOTTOM - TOP) * size / HIGHEST


def axes(svg: ET.Element) -> None:
    """Draw both axes with their numbers."""
    for size in range(0, HIGHEST + 1, 10):
        y = y_of(size)
        add(svg, "path", d=f"M{LEFT} {y:.1f}H{RIGHT}", stroke="#d4d8dd")
        label(svg, LEFT - 8, round(y + 5, 1), str(size), text_anchor="end", fill=QUIET)
    for count in COUNTS:
        centered(svg, round(x_of(count), 1), BOTTOM + 22, str(count), fill=QUIET)
    centered(svg, (LEFT + RIGHT) / 2, BOTTOM + 46, "segments")
    label(svg, 8, TOP - 8, "MiB", fill=QUIET)


def curve(svg: ET.Element) -> None:
    """Draw the curve of the formula."""
    counts = [2 ** (i / 8) for i in range(41)]
    points = "L".join(f"{x_of(k):.1f} {y_of(formula(k)):.1f}" for k in counts)
    line = {"fill": "none", "stroke": BLUE, "stroke_width": 2.5}
    add(svg, "path", d=f"M{points}", **line)
    label(svg, round(x_of(1.5)), round(y_of(33)), "k + 64/k activations", fill=BLUE)


def dots(svg: ET.Element) -> None:
    """Draw the counted peaks with their sizes."""
    for count in COUNTS:
        x, y = round(x_of(count), 1), round(y_of(peak(count)), 1)
        add(svg, "circle", cx=x, cy=y, r=5, fill=ORANGE)
        place = (x + 28, y + 2) if count == 1 else (x, y + 22)  # not on the curve
        centered(svg, *(round(z, 1) for z in place), f"{peak(count):.1f}")


def fixed(svg: ET.Element) -> None:
    """Draw the line of what a step needs without any activations."""
    y = y_of(FIXED)
    dashes = {"stroke": QUIET, "stroke_width": 1.5, "stroke_dasharray": "5 4"}
    add(svg, "path", d=f"M{LEFT} {y:.1f}H{RIGHT}", **dashes)
    text = f"weights and loss: {FIXED:.1f} MiB"
    label(svg, RIGHT, round(y + 18, 1), text, text_anchor="end", fill=QUIET)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(*SIZE)
    axes(svg)
    fixed(svg)
    curve(svg)
    dots(svg)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
