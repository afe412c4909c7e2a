"""Draws img/pitfalls.svg: the places of faults in a program that trains on a GPU.

Run: python img/src/pitfalls.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, ORANGE, QUIET, WHITE, add, canvas, label, save, target_of

WIDTH, LEFT, BOX, GAP = 440, 34, 152, 34
ROWS = (36, 36, 46)  # the heights of steps with no, one or two faults
# The steps of a program in two groups; each step has its faults as (number, name).
GROUPS = (
    (
        "Before the loop",
        (
            ("Choose the GPU", ((8, "the same one twice"), (11, "the CPU instead"))),
            ("Move the model", ((3, "state left behind"),)),
            ("Build the optimizer", ((4, "before the move"),)),
        ),
    ),
    (
        "In each step",
        (
            ("Copy the minibatch", ((9, "buffer filled again too early"),)),
            ("Forward", ((1, "operands on two devices"), (2, "made on the CPU"))),
            ("Backward, update", ()),
            ("Read the loss", ((5, "fetched each time"), (10, "before it arrived"))),
            ("Log the loss", ((6, "with its graph"),)),
        ),
    ),
)


def fault(svg: ET.Element, x: float, y: float, number: int, name: str) -> None:
    """Draw the number of a fault in a disc, and its name to the right."""
    add(svg, "circle", cx=x, cy=y, r=11, fill=ORANGE)
    style = {"fill": WHITE, "text_anchor": "middle", "font_weight": "bold"}
    label(svg, x, y + 4.5, str(number), font_size=13, **style)
    label(svg, x + 18, y + 5, name)


def step(svg: ET.Element, top: float, name: str, faults: tuple) -> None:
    """Draw a step of the program with its faults."""
    row = ROWS[len(faults)]
    middle = top + row / 2
    add(
        *(svg, "rect"),
        x=LEFT,
        y=top + 4,
        width=BOX,
        height=row - 8,
        rx=4,
        fill=WHITE,
        stroke=BLUE,
        stroke_width=1.5,
    )
    label(svg, LEFT + BOX / 2, middle + 5, name, text_anchor="middle")
    first = middle - 12 * (len(faults) - 1)
    for i, (number, text) in enumerate(faults):
        fault(svg, LEFT + BOX + 24, first + 24 * i, number, text)


def clock(svg: ET.Element, top: float, bottom: float) -> None:
    """Draw a bracket on the left, from `top` to `bottom`, and the fault of a clock."""
    path = f"M26 {top + 6} H14 V{bottom + 18}"
    add(svg, "path", d=path, fill="none", stroke=QUIET, stroke_width=1.5)
    add(svg, "path", d=f"M14 {bottom - 6} H26", stroke=QUIET, stroke_width=1.5)
    fault(svg, 14, bottom + 18, 7, "a clock that stops before the work is done")


def draw() -> ET.Element:
    """Return the picture."""
    steps = [step for _, steps in GROUPS for step in steps]
    height = len(GROUPS) * GAP + sum(ROWS[len(each)] for _, each in steps) + 44
    svg = canvas(WIDTH, height)
    y = 0
    for title, steps_of_group in GROUPS:
        label(svg, LEFT, y + 24, title, font_weight="bold")
        y += GAP
        top = y
        for name, faults in steps_of_group:
            step(svg, y, name, faults)
            y += ROWS[len(faults)]
    clock(svg, top, y)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
