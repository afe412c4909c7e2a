"""Draws img/tiles.svg: the tiles that one program of a tiled product loads.

Run: python img/src/tiles.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    WHITE,
    add,
    arrow,
    canvas,
    centered,
    save,
    target_of,
)

WIDTH, HEIGHT = 640, 240
COUNT, TILE = 5, 32  # tiles in a row of a matrix, and their size in pixels
SIZE = COUNT * TILE
TOP = 44
ROW, COLUMN, NOW = 1, 3, 2  # of the tile of C, and the tiles that are loaded now
LIGHT = "#cfe0f0"


def matrix(svg: ET.Element, left: float, name: str) -> None:
    """Draw the outline and the tiles of a matrix under its name."""
    centered(svg, left + SIZE / 2, TOP - 14, name, font_style="italic")
    for row in range(COUNT):
        for column in range(COUNT):
            tile(svg, left, row, column, WHITE)


def tile(svg: ET.Element, left: float, row: int, column: int, fill: str) -> None:
    """Draw one tile of the matrix that begins at `left`."""
    x, y = left + TILE * column, TOP + TILE * row
    size = {"width": TILE, "height": TILE}
    add(svg, "rect", x=x, y=y, **size, fill=fill, stroke=INK)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    a, b, c = 30, 240, 450
    for left, name in (a, "A"), (b, "B"), (c, "C"):
        matrix(svg, left, name)
    for number in range(COUNT):
        tile(svg, a, ROW, number, BLUE if number == NOW else LIGHT)
        tile(svg, b, number, COLUMN, BLUE if number == NOW else LIGHT)
    tile(svg, c, ROW, COLUMN, ORANGE)
    height = TOP + TILE * (ROW + 0.5)
    arrow(svg, (a + TILE * 3.15, height), (a + TILE * 4.85, height))
    middle = b + TILE * (COLUMN + 0.5)
    arrow(svg, (middle, TOP + TILE * 3.15), (middle, TOP + TILE * 4.85))
    for left, text in (a, "loads a row"), (b, "loads a column"), (c, "keeps a tile"):
        centered(svg, left + SIZE / 2, TOP + SIZE + 24, text, fill=QUIET)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
