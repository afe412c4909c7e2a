"""Draws img/ring.svg: the rounds of a ring all-reduce of three devices.

Run: python img/src/ring.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, QUIET, add, arrow, canvas, centered, save, target_of

DEVICES, CELL, COLUMN, ROW, LEFT, TOP = 3, 38, 148, 62, 78, 66
ROUNDS = 2 * (DEVICES - 1)
FILLS = ("#e8eef5", "#b9d3ea", "#7fb0d8")  # by the number of terms


def states() -> list[list[list[set[int]]]]:
    """Return the terms of each piece of each device, before and after each round."""
    pieces = [[{device} for _ in range(DEVICES)] for device in range(DEVICES)]
    seen = [[[set(terms) for terms in row] for row in pieces]]
    for step in range(ROUNDS):
        sent = [pieces[d][(d - step) % DEVICES] for d in range(DEVICES)]
        for device in range(DEVICES):
            place = (device - 1 - step) % DEVICES
            arriving = sent[(device - 1) % DEVICES]
            adds = pieces[device][place] if step < DEVICES - 1 else set()
            pieces[device][place] = adds | arriving
        seen.append([[set(terms) for terms in row] for row in pieces])
    return seen


def corner(column: int, device: int, piece: int) -> tuple[int, int]:
    """Return the upper left corner of a piece."""
    return LEFT + column * COLUMN + piece * (CELL - 8), TOP + device * ROW


def draw_piece(
    svg: ET.Element, column: int, device: int, piece: int, terms: set
) -> None:
    """Draw a piece with the numbers of the devices whose terms it contains."""
    x, y = corner(column, device, piece)
    done = len(terms) == DEVICES
    frame = {"stroke": INK if done else QUIET, "stroke_width": 2.5 if done else 1}
    size = {"x": x, "y": y, "width": CELL - 8, "height": CELL - 8}
    add(svg, "rect", **size, fill=FILLS[len(terms) - 1], **frame)
    text = "".join(str(term) for term in sorted(terms))
    centered(svg, x + (CELL - 8) / 2, y + 20, text, font_size=12.5)


def draw_messages(svg: ET.Element, step: int) -> None:
    """Mark each piece that travels in a round, and draw an arrow to its receiver."""
    for device in range(DEVICES):
        x, y = corner(step, device, (device - step) % DEVICES)
        size = {"width": CELL - 8, "height": 5, "rx": 2}
        add(svg, "rect", x=x, y=y + CELL - 4, **size, fill=ORANGE)
        right, y = corner(step, device, DEVICES)
        left, to_y = corner(step + 1, (device + 1) % DEVICES, 0)
        middle = CELL / 2 - 4
        arrow(svg, (right + 4, y + middle), (left - 4, to_y + middle))


def draw() -> ET.Element:
    """Return the picture."""
    width = LEFT + (ROUNDS + 1) * COLUMN - 40
    svg = canvas(width, TOP + DEVICES * ROW, 14)
    seen = states()
    for step in range(ROUNDS):
        draw_messages(svg, step)
    for column, pieces in enumerate(seen):
        middle = corner(column, 0, 0)[0] + 1.5 * (CELL - 8)
        centered(svg, middle, 44, f"round {column}" if column else "before")
        for device, row in enumerate(pieces):
            for piece, terms in enumerate(row):
                draw_piece(svg, column, device, piece, terms)
    for device in range(DEVICES):
        centered(svg, LEFT / 2, corner(0, device, 0)[1] + 20, f"device {device}")
    for name, first in (("reduce-scatter", 1), ("all-gather", DEVICES)):
        x = corner(first, 0, 0)[0] + COLUMN / 2 + 1.5 * (CELL - 8)
        centered(svg, x, 20, name, fill=BLUE, font_weight="bold")
    return svg


if __name__ == "__main__":
    assert all(len(terms) == DEVICES for row in states()[-1] for terms in row)
    save(draw(), target_of(__file__))
