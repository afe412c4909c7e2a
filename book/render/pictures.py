"""Recorded pictures as pages and slides show them: restyled, and with a description."""

from dataclasses import replace

from book.records.cleaning import SVG
from book.records.outputs import Picture
from book.render.plots import restyle
from book.text.blocks import Cell

PLOT = "Output of the cell above: a plot"


def shown(picture: Picture, cell: Cell) -> Picture:
    """Return a picture of a cell's outputs in the book's style, with a description.

    The description is that of the cell or, if it has none, that of the record.
    """
    alt = cell.attributes.get("alt") or picture.alt or PLOT
    data = restyle(picture.data) if picture.kind == SVG else picture.data
    return replace(picture, data=data, alt=" ".join(alt.split()))
