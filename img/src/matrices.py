"""Draws the three matrices of a product; the scripts of the two tasks use it."""

from collections.abc import Container
from xml.etree import ElementTree as ET

from svg import boxes, canvas, centered

WIDTH, HEIGHT, SIDE, COUNT = 600, 250, 20, 8


def product(
    filled: dict[str, Container[tuple[int, int]]], below: str, between: float = 186
) -> ET.Element:
    """Return a picture of a, b and out, with these boxes filled, and a text below."""
    svg = canvas(WIDTH, HEIGHT)
    for i, (name, cells) in enumerate(filled.items()):
        left = 36 + between * i
        centered(svg, left + SIDE * COUNT / 2, 22, name, font_style="italic")
        boxes(svg, (left, 34), (COUNT, COUNT), SIDE, cells)
    centered(svg, 36 + between - 13, 118, "·", font_size=22)
    centered(svg, 36 + 2 * between - 13, 120, "=", font_size=20)
    centered(svg, WIDTH / 2, HEIGHT - 22, below)
    return svg
