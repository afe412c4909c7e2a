"""The outputs of a live cell as HTML, made by what makes those of records."""

import base64
import html
from collections.abc import Sequence

from nbformat import NotebookNode

from book.pages.sphinx.extension import BookOutput, figure_of_output
from book.records import cleaning, outputs
from book.records.images import problem_with_image
from book.render import pictures, plots
from book.sources.blocks import Cell

TEXT = (
    '<div role="group" aria-label="Output" class="output{} highlight-none notranslate">'
    '<div class="highlight"><pre>{}\n</pre></div></div>'
)
HTML_NOTE = (
    '<p class="output-note">HTML is shown as text, because its scripts could run code '
    "on this machine.</p>"
)


def html_of(found: Sequence[NotebookNode], cell: Cell | None, prefix: str) -> str:
    """Return the HTML of the outputs of a cell; ids in it begin with `prefix`."""
    shown = outputs.read(cleaning.clean_outputs(list(found)))
    parts = (_html(output, cell, f"{prefix}{i}-") for i, output in enumerate(shown))
    note = HTML_NOTE if any(_is_html(output) for output in found) else ""
    return "".join(parts) + note


def _is_html(output: NotebookNode) -> bool:
    """Return whether an output is HTML of which only the text is shown."""
    data = output.get("data", {})
    others = (*outputs.PICTURES, cleaning.FIGURE)
    return "text/html" in data and not any(kind in data for kind in others)


def _html(
    output: outputs.PrintedText | outputs.Picture, cell: Cell | None, prefix: str
) -> str:
    if isinstance(output, outputs.InteractiveFigure):
        identifier = f"{prefix}{output.name}"
        return figure_of_output(output.text, output.name, output.settings, identifier)
    if isinstance(output, outputs.PrintedText):
        return _text(output.text)
    if problem := problem_with_image(output.kind, output.data):
        return _text(f"[picture refused: {problem}]")
    if cell is None:
        cell = Cell(line=1, source="", code="", rows=(), number=0)
    picture = pictures.shown(output, cell)
    alt = html.escape(picture.alt)
    if picture.kind == cleaning.SVG:
        if plot := plots.inline(picture.data, picture.alt, prefix):
            return f'<div class="plotted output">{plot}</div>'
        data = base64.b64encode(picture.data.encode()).decode()
    else:
        data = "".join(picture.data.split())
    source = f"data:{picture.kind};base64,{data}"
    return f'<img class="output" alt="{alt}" src="{source}">'


def _text(text: str) -> str:
    fold = any(len(line) > BookOutput.widest_table for line in text.split("\n"))
    return TEXT.format(" fold" if fold else "", html.escape(text))
