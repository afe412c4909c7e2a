"""Draws img/step-memory.svg: the memory of a training step over time, by role.

Run: python img/src/step-memory.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    add,
    arrow,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, LEFT, FLOOR, STEP = 480, 12, 208, 44
LAYERS = 4
# Adam's state is twice as large as the weights; the size of the activations is assumed.
WEIGHTS, STATE, ACTIVATION, GRADIENT = 24, 48, 24, 6


def area(svg: ET.Element, low: list, high: list, color: str, opacity: float) -> None:
    """Draw the area between two lines of heights."""
    above = [(LEFT + STEP * i, FLOOR - y) for i, y in enumerate(high)]
    below = [(LEFT + STEP * i, FLOOR - y) for i, y in enumerate(low)]
    points = " ".join(f"{x},{y}" for x, y in [*above, *reversed(below)])
    add(svg, "polygon", points=points, fill=color, opacity=opacity)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, FLOOR + 36)
    layers = range(LAYERS + 1)
    kept = [i * ACTIVATION for i in (*layers, *reversed(layers[:-1]), 0)]
    made = [0] * LAYERS + [i * GRADIENT for i in layers] + [0]
    base = [WEIGHTS + STATE] * len(kept)
    middle = [b + g for b, g in zip(base, made, strict=True)]
    top = [m + a for m, a in zip(middle, kept, strict=True)]
    area(svg, [0] * len(kept), [WEIGHTS] * len(kept), BLUE, 1)
    area(svg, [WEIGHTS] * len(kept), base, QUIET, 0.45)
    area(svg, base, middle, GREEN, 0.7)
    area(svg, middle, top, ORANGE, 0.6)
    label(svg, LEFT + 8, FLOOR - 7, "weights", fill="#ffffff")
    label(svg, LEFT + 8, FLOOR - WEIGHTS - 18, "optimizer's state")
    centered(svg, LEFT + 4 * STEP, FLOOR - 98, "activations")
    label(svg, LEFT + 8.1 * STEP, FLOOR - 112, "gradients")
    arrow(svg, (LEFT + 8.8 * STEP, FLOOR - 107), (LEFT + 8.15 * STEP, FLOOR - 84))
    centered(svg, LEFT + 4 * STEP, FLOOR - 176, "the highest point", font_weight="bold")
    for at, name in (2, "forward"), (6, "backward"), (8.6, "update"):
        centered(svg, LEFT + at * STEP, FLOOR + 22, name)
    for at in (4, 8):
        x = LEFT + at * STEP
        add(svg, "path", d=f"M{x} {FLOOR}V{FLOOR + 10}", stroke=INK, stroke_width=1)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
