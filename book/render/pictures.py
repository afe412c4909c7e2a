"""Recorded pictures as pages and slides show them: restyled, and with a description."""

from dataclasses import replace

from book.records.cleaning import SVG
from book.records.outputs import Picture
from book.render.descriptions import describe
from book.render.plots import restyle
from book.text.blocks import Cell

PLOT = "Output of the cell above: a plot"


def shown(picture: Picture, cell: Cell) -> Picture:
    """Return a picture of a cell's outputs in the book's style, with a description.

    The description is that of the record, of the cell, or one of the picture itself.
    """
    alt, data = picture.alt or cell.attributes.get("alt"), picture.data
    if picture.kind == SVG:
        alt, data = alt or describe(data), restyle(data)
    return replace(picture, data=data, alt=" ".join((alt or PLOT).split()))
