"""Draws img/recipes.svg: the bytes per parameter by role, for six recipes of training.

Run: python img/src/recipes.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, QUIET, add, canvas, centered, label, save, target_of

WIDTH, LEFT, SCALE, ROW, TALL, TOP = 440, 8, 19.5, 50, 24, 44
ROLES = (
    ("weights", BLUE, 1),
    ("gradients", "#1f6f43", 0.5),
    ("master copy", ORANGE, 0.75),
    ("optimizer", QUIET, 0.25),
)
# The bytes of weights, gradients, master copy and the optimizer's state.
RECIPES = (
    ("32 bits, SGD", (4, 4, 0, 0)),
    ("32 bits, Adam", (4, 4, 0, 8)),
    ("mixed, gradients in 16 bits", (2, 2, 4, 8)),
    ("mixed, gradients in 32 bits", (2, 4, 4, 8)),
    ("mixed, gradients in 16 and 32 bits", (2, 6, 4, 8)),
    ("mixed, Adam's state in 8 bits", (2, 2, 4, 2)),
)


def legend(svg: ET.Element) -> None:
    """Draw the names of the roles above the bars."""
    for (name, color, opacity), x in zip(ROLES, (LEFT, 98, 198, 320), strict=True):
        add(svg, "rect", x=x, y=12, width=14, height=14, fill=color, opacity=opacity)
        label(svg, x + 20, 24, name)


def bar(svg: ET.Element, y: float, name: str, sizes: tuple[int, ...]) -> None:
    """Draw the bar of a recipe below its name, with the bytes of each role."""
    label(svg, LEFT, y + 14, name)
    y += 20
    x = LEFT
    for (_, color, opacity), size in zip(ROLES, sizes, strict=True):
        if not size:
            continue
        box = {"x": x, "y": y, "width": size * SCALE - 2, "height": TALL}
        add(svg, "rect", **box, fill=color, opacity=opacity)
        ink = "#ffffff" if opacity == 1 else INK
        centered(svg, x + size * SCALE / 2 - 1, y + 17, str(size), fill=ink)
        x += size * SCALE
    label(svg, x + 8, y + 17, str(sum(sizes)), font_weight="bold")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, TOP + ROW * len(RECIPES) + 2)
    legend(svg)
    for i, (name, sizes) in enumerate(RECIPES):
        bar(svg, TOP + ROW * i, name, sizes)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
