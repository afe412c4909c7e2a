"""Writes what the outputs of a cell show as HTML, for pages and live pages."""

import base64
from collections.abc import Callable
from dataclasses import replace

from book.library.figures import scripts_of
from book.records.cleaning import SVG
from book.records.outputs import InteractiveFigure, Picture, PrintedText
from book.render import code, plots
from book.render.texts import attribute, escape
from book.text.blocks import Cell

PLOT = "Output of the cell above: a plot"
# nvidia-smi prints 91 columns. Longer lines, as error messages have, wrap, unless a
# wide screen has room for them in a smaller size.
WIDEST_TABLE = 92
WIDEST_SMALL = 106


def html_of(
    output: PrintedText | Picture,
    cell: Cell,
    prefix: str,
    image: Callable[[Picture], str] | None = None,
    caption: str = "",
) -> str:
    """Return the HTML of an output of a cell; ids in it begin with `prefix`.

    `image` returns the HTML of a picture that is no plot. Without it, the HTML holds
    the data of the picture. `caption` is that of an interactive figure.
    """
    if isinstance(output, InteractiveFigure):
        return _figure(output, prefix, caption)
    if isinstance(output, PrintedText):
        return printed(output.text)
    picture = restyled(output, cell)
    if picture.kind == SVG:
        # A plot is a part of the page and takes its colors.
        if plot := plots.inline(picture.data, picture.alt, prefix):
            return f'<div class="plotted output">{plot}</div>\n'
    return image(picture) if image else _image(picture)


def widest(text: str) -> int:
    """Return the number of characters of the longest line."""
    return max(map(len, text.split("\n")))


def printed(text: str) -> str:
    """Return the HTML of a text exactly as a cell printed it."""
    fold = " fold" if widest(text) > WIDEST_TABLE else ""
    long = " long" if fold and widest(text) <= WIDEST_SMALL else ""
    kind = f"output{fold}{long} highlight-none"
    return code.BOX.format("Output", kind, f"{escape(text)}\n")


def restyled(picture: Picture, cell: Cell) -> Picture:
    """Return a picture of a cell's outputs in the book's style, with a description.

    The description is that of the cell or, if it has none, that of the record.
    """
    alt = cell.attributes.get("alt") or picture.alt or PLOT
    data = plots.restyle(picture.data) if picture.kind == SVG else picture.data
    return replace(picture, data=data, alt=" ".join(alt.split()))


def _figure(figure: InteractiveFigure, prefix: str, caption: str) -> str:
    """Return an interactive figure, which scripts draw."""
    name = attribute("id", f"{prefix}{figure.name}") + explorable(figure.name)
    settings = attribute("data-settings", figure.settings)
    text = "<noscript>This figure needs JavaScript.</noscript>"
    if caption:
        text += f"<figcaption>\n{caption}</figcaption>\n"
    return f'<figure class="output"{name}{settings}>{text}</figure>\n'


def explorable(name: str) -> str:
    """Return the attributes by which a page finds the scripts of a figure."""
    scripts = " ".join(scripts_of(name))
    return attribute("data-explorable", name) + attribute("data-scripts", scripts)


def _image(picture: Picture) -> str:
    """Return a picture that holds its own data."""
    data = base64.b64encode(picture.bytes).decode()
    source = attribute("src", f"data:{picture.kind};base64,{data}")
    return f'<img class="output"{attribute("alt", picture.alt)}{source}>\n'
