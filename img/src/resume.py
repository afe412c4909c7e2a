"""Draws img/resume.svg: a run that fails and resumes from its newest checkpoint.

Run: python img/src/resume.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    ORANGE,
    QUIET,
    arrow,
    box,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, LEFT, CELL, TALL = 560, 14, 40, 30
SAVED, FAILED = (4, 8), 11  # the steps after which the job saves, and that it loses


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 204)
    for step in range(1, FAILED + 1):
        lost = step > SAVED[-1]
        place = (LEFT + (step - 1) * CELL, 26)
        box(svg, place, (CELL - 2, TALL), str(step), fill=QUIET if lost else BLUE)
    end = LEFT + FAILED * CELL
    label(svg, end + 4, 47, "× failure", fill="#a8261c", font_weight="bold")
    centered(svg, end - 1.5 * CELL, 20, "lost", fill=QUIET)
    for step in SAVED:
        x = LEFT + step * CELL - 1
        arrow(svg, (x, 58), (x, 84))
        box(svg, (x - 52, 88), (104, 28), f"checkpoint {step}", fill=ORANGE)
    start = LEFT + SAVED[-1] * CELL
    arrow(svg, (start, 118), (start, 146))
    for step in range(SAVED[-1] + 1, FAILED + 2):
        place = (LEFT + (step - 1) * CELL, 150)
        box(svg, place, (CELL - 2, TALL), str(step))
    label(svg, LEFT, 170, "the job starts again from it:")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
