"""Reads what the recorded outputs of a cell show: texts and pictures."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from nbformat import NotebookNode

from book.records.cleaning import FIGURE, SVG, as_on_terminal

# In the order of preference.
PICTURES = {SVG: "svg", "image/png": "png", "image/jpeg": "jpg"}


@dataclass(frozen=True)
class PrintedText:
    """A text, with no line break at its end."""

    text: str


@dataclass(frozen=True)
class InteractiveFigure(PrintedText):
    """A figure of the book by its name, with settings as they stand in an address.

    Its text says so where a figure cannot be interactive.
    """

    name: str
    settings: str


@dataclass(frozen=True)
class Picture:
    """A picture: `data` of the MIME type `kind`; `alt` is empty without a description.

    The data of an SVG is text, and that of other kinds is in base64.
    """

    kind: str
    data: str
    alt: str = ""

    @property
    def bytes(self) -> bytes:
        """The contents of a file with the picture."""
        is_text = self.kind == SVG
        return self.data.encode() if is_text else base64.b64decode(self.data)


def read(outputs: Sequence[NotebookNode]) -> Iterator[PrintedText | Picture]:
    """Yield what the outputs of a cell show; streams in a row are one text."""
    for is_stream, group in groupby(outputs, lambda o: o.output_type == "stream"):
        if not is_stream:
            yield from chain.from_iterable(map(_result, group))
        elif text := "".join(output.text for output in group):
            yield _printed(text)


def text_of(outputs: Sequence[NotebookNode]) -> str:
    """Return the text that a cell printed, without messages of errors."""
    no_errors = [output for output in outputs if output.output_type != "error"]
    shown = read(no_errors)
    return "\n".join(part.text for part in shown if isinstance(part, PrintedText))


def _result(output: NotebookNode) -> Iterator[PrintedText | Picture]:
    if output.output_type == "error":
        yield _printed("\n".join(output.traceback))
        return
    kind = next((kind for kind in PICTURES if kind in output.data), None)
    if kind is not None:
        yield Picture(kind, output.data[kind], output.metadata.get("alt", ""))
    elif figure := output.data.get(FIGURE, ""):
        name, _, settings = figure.partition("?")
        yield InteractiveFigure(output.data.get("text/plain", ""), name, settings)
    elif plain := output.data.get("text/plain", ""):
        yield _printed(plain)


def _printed(text: str) -> PrintedText:
    """Return a text as a terminal shows it in the end."""
    return PrintedText(as_on_terminal(text).removesuffix("\n"))
