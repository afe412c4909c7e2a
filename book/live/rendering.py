"""The outputs of a live cell as HTML, made by what makes those of records."""

from collections.abc import Sequence

from nbformat import NotebookNode

from book.records import cleaning, outputs
from book.records.images import problem_with_image
from book.render.outputs import html_of as output_html
from book.render.outputs import printed
from book.text.blocks import Cell

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
    if isinstance(output, outputs.Picture):
        if problem := problem_with_image(output.kind, output.data):
            return printed(f"[picture refused: {problem}]")
    if cell is None:
        cell = Cell(line=1, source="", code="", rows=(), number=0)
    return output_html(output, cell, prefix)
