"""The outputs of a recorded cell as pages and slides show them: texts and pictures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pypandoc
from nbformat import NotebookNode

from book.records.cleaning import SVG, as_on_terminal
from book.records.descriptions import describe
from book.records.plots import restyle
from book.sources.blocks import Cell

# In the order of preference.
PICTURES = {SVG: "svg", "image/png": "png", "image/jpeg": "jpg"}
# The text of an object that shows something else in a notebook.
BARE_OBJECT = re.compile(r"<[\w.]+(?: object)?(?: at 0x[0-9a-f]+)?>")
PLOT = "Output of the cell above: a plot"


@dataclass(frozen=True)
class Printed:
    """A text, with no line break at its end."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture: `data` of the MIME type `kind`; plots look as on a page."""

    kind: str
    data: str
    alt: str


def read(outputs: list[NotebookNode], cell: Cell) -> Iterator[Printed | Picture]:
    """Yield what the outputs of a cell show; streams in a row are one text."""
    streams = ""
    for output in outputs:
        if output.output_type == "stream":
            streams += output.text
            continue
        if streams:
            yield _printed(streams)
            streams = ""
        yield from _result(output, cell)
    if streams:
        yield _printed(streams)


def text_of(outputs: list[NotebookNode], cell: Cell) -> str:
    """Return the text that a cell printed, without messages of errors."""
    no_errors = [output for output in outputs if output.output_type != "error"]
    shown = read(no_errors, cell)
    return "\n".join(part.text for part in shown if isinstance(part, Printed))


def _result(output: NotebookNode, cell: Cell) -> Iterator[Printed | Picture]:
    if output.output_type == "error":
        yield _printed("\n".join(output.traceback))
        return
    kind = next((kind for kind in PICTURES if kind in output.data), None)
    if kind is not None:
        yield _picture(kind, output, cell)
        return
    plain = output.data.get("text/plain", "")
    if "text/html" in output.data and (not plain or BARE_OBJECT.fullmatch(plain)):
        plain = _text_of(output.data["text/html"])
    if plain:
        yield _printed(plain)


def _printed(text: str) -> Printed:
    """Return a text as a terminal shows it in the end."""
    return Printed(as_on_terminal(text).removesuffix("\n"))


def _text_of(html: str) -> str:
    """Return what a reader sees of HTML, tables too, as text."""
    # The sandbox keeps pandoc from fetching what an iframe shows.
    options = ["--columns=91", "--sandbox"]
    text = pypandoc.convert_text(html, "plain", "html", extra_args=options)
    return str(text).rstrip()


def _picture(kind: str, output: NotebookNode, cell: Cell) -> Picture:
    """Return a picture with a description, from its record, its cell or itself."""
    data = output.data[kind]
    alt = output.metadata.get("alt") or cell.attributes.get("alt")
    if kind == SVG:
        alt, data = alt or describe(data), restyle(data)
    return Picture(kind, data, " ".join((alt or PLOT).split()))
