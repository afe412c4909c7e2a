"""Draws img/remedies.svg: four remedies for a step that needs too much memory.

Run: python img/src/remedies.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    ORANGE,
    QUIET,
    box,
    canvas,
    centered,
    save,
    target_of,
)

WIDTH, LEFT, WIDE, FLOOR, STEP = 560, 12, 84, 192, 110
ROLES = {"weights": BLUE, "gradients": GREEN, "optimizer": QUIET, "activations": ORANGE}
SIZES = {"weights": 20, "gradients": 20, "optimizer": 40, "activations": 100}
# The part of a role that a remedy leaves on the GPU.
REMEDIES = {
    "the step": {},
    "checkpointing": {"activations": 0.35},
    "accumulation": {"activations": 0.25},
    "mixed precision": {"activations": 0.5},
    "offloading": {"optimizer": 0},
}


def column(svg: ET.Element, x: float, left: dict[str, float]) -> None:
    """Draw the roles of a step, of which a remedy leaves a part, from below."""
    y, saved, color = FLOOR, 0.0, ""
    for role, size in SIZES.items():
        kept = size * left.get(role, 1)
        saved += size - kept
        if kept < size:
            color = ROLES[role]
        y -= kept
        if kept:
            box(svg, (x, y), (WIDE, kept - 1), role, fill=ROLES[role])
    if saved:
        dashes = {"stroke": color, "stroke_dasharray": "4 3"}
        box(svg, (x, y - saved), (WIDE, saved - 1), fill="none", **dashes)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, FLOOR + 34, 14)
    for i, (name, left) in enumerate(REMEDIES.items()):
        x = LEFT + STEP * i
        column(svg, x, left)
        centered(svg, x + WIDE / 2, FLOOR + 22, name)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
