"""Turn a merged notebook into reStructuredText.

Text goes through d2lbook and pandoc, in one call a section. Code and outputs go
round them, for they would be changed on the way: stand-ins hold their places.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pypandoc
from d2lbook import rst as d2l_rst
from d2lbook.slides import remove_slide_marks
from nbformat import NotebookNode

from book.records.cleaning import as_on_terminal
from book.records.store import varies

STAND_IN = re.compile(r"^BOOKCELL(\d+)END$", re.MULTILINE)
FIGURE = re.compile(r"^(\.\. figure:: (\S+))$", re.MULTILINE)
IMAGE_WITH_ALT = re.compile(r'!\[[^\n]*\]\((\S+)\s+"((?:[^"\\\n]|\\.)*)"\)')
TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
MARK = re.compile(r":(ref|numref|eqref|cite|citet|citep):`([^`]+)`")
ROLES = {"eqref": "eq", "citet": "cite:t", "citep": "cite:p"}
SHELL_LINE = re.compile(r"^\s*[!%]", re.MULTILINE)
SUFFIXES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
# What Python prints of an object that shows something else in a notebook.
BARE_OBJECT = re.compile(r"<[\w.]+(?: object)?(?: at 0x[0-9a-f]+)?>")
NO_OUTPUT = ".. rst-class:: no-output\n\nNo output."
PLOT = "Output of the cell above: a plot"


@dataclass
class Page:
    """A page's reStructuredText and the image files that belong beside it."""

    text: str = ""
    images: dict[str, bytes] = field(default_factory=dict)


def convert(nb: NotebookNode, name: str) -> Page:
    """The page of a section, whose images are called after its `name`."""
    _put_pandoc_on_path()
    # d2lbook hides and strips by marks in the code, so it sees the code cells first.
    cells = d2l_rst._process_nb(remove_slide_marks(nb)).cells
    page = Page()
    blocks = [_code_cell(c, page, name) for c in cells if c.cell_type == "code"]
    body, _ = d2l_rst.convert_notebook(_text_only(cells), {})
    body = _restore_alternatives(body, cells)
    page.text = STAND_IN.sub(lambda m: blocks[int(m[1])], body)
    return page


def _put_pandoc_on_path() -> None:
    folder = str(Path(pypandoc.get_pandoc_path()).parent)
    if folder not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] += os.pathsep + folder


def _text_only(cells: list[NotebookNode]) -> NotebookNode:
    """A notebook of one text cell, in which stand-ins take the places of code."""
    texts, code = [], 0
    for cell in cells:
        if cell.cell_type == "code":
            texts.append(f"BOOKCELL{code}END")
            code += 1
        else:
            texts.append(TABLE_ROW.sub(_with_roles, cell.source))
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("\n\n".join(texts))]
    )


def _with_roles(row: re.Match[str]) -> str:
    """A row of a table with marks as pandoc leaves them: in d2lbook's hands they
    grow shorter when the table's columns are already drawn."""
    return MARK.sub(
        lambda m: f"`` :{ROLES.get(m[1], m[1])}:`{m[2]}` ``{{=rst}}", row[0]
    )


def _restore_alternatives(body: str, cells: list[NotebookNode]) -> str:
    """The figures with the text of `![caption](image "text")`, which d2lbook drops."""
    source = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    texts = {
        path: re.sub(r"\\(.)", r"\1", t) for path, t in IMAGE_WITH_ALT.findall(source)
    }

    def add(figure: re.Match[str]) -> str:
        text = texts.get(figure[2])
        return f"{figure[1]}\n   :alt: {text}" if text else figure[1]

    return FIGURE.sub(add, body)


# Code and outputs


def _code_cell(cell: NotebookNode, page: Page, name: str) -> str:
    blocks = [_code(cell.source)] if cell.source.strip() else []
    runs = cell.metadata.get("runs", [])
    if cell.get("outputs") and runs:
        outputs = [_machines(cell, runs, page, name)]
    else:
        outputs = list(_outputs(cell, page, name))
    blocks += outputs
    if outputs and varies(cell):
        blocks.append(".. rst-class:: output-note\n\nDiffers from run to run.")
    return "\n\n".join(blocks)


def _code(source: str) -> str:
    language = "ipython3" if SHELL_LINE.search(source) else "python"
    style = ".. raw:: latex\n\n   \\diilbookstyleinputcell\n\n"
    return f"{style}.. code:: {language}\n\n{_indented(source)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


def _machines(
    cell: NotebookNode, runs: list[dict[str, Any]], page: Page, name: str
) -> str:
    """A panel for each machine, or for several with the same outputs."""
    ran = [NotebookNode({**cell, "outputs": run["outputs"]}) for run in runs]
    outputs = [list(_outputs(c, page, name)) or [NO_OUTPUT] for c in ran]
    panels = "\n\n".join(map(_machine, runs, outputs))
    return f".. book-machines::\n\n{_indented(panels)}"


def _machine(run: dict[str, Any], outputs: list[str]) -> str:
    head = f".. book-machine:: {' '.join(run['machines'])}"
    options = f":titles: {json.dumps(run['titles'])}\n:made: {json.dumps(run['made'])}"
    body = "\n\n".join([options, *outputs])
    return f"{head}\n{_indented(body)}"


def _outputs(cell: NotebookNode, page: Page, name: str) -> Iterator[str]:
    printed = ""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            printed += output.text
            continue
        if printed:
            yield _literal(printed)
            printed = ""
        yield from _result(output, cell, page, name)
    if printed:
        yield _literal(printed)


def _result(
    output: NotebookNode, cell: NotebookNode, page: Page, name: str
) -> Iterator[str]:
    if output.output_type == "error":
        yield _literal("\n".join(output.traceback))
        return
    for kind, suffix in SUFFIXES.items():
        if kind in output.data:
            yield _image(output, kind, suffix, alternative(output, cell), page, name)
            return
    plain = output.data.get("text/plain", "")
    if "text/html" in output.data and (not plain or BARE_OBJECT.fullmatch(plain)):
        plain = _text_of(output.data["text/html"])
    if plain:
        yield _literal(plain)


def _text_of(html: str) -> str:
    """What a reader sees of HTML, tables too, as text that also stands on paper."""
    # The sandbox keeps pandoc from fetching what an iframe shows.
    options = ["--columns=91", "--sandbox"]
    text = pypandoc.convert_text(html, "plain", "html", extra_args=options)
    return str(text).rstrip()


def _literal(text: str) -> str:
    """A text that reaches the page as it is: a JSON string a line.

    reStructuredText would cut spaces at the ends of lines and blank lines off.
    """
    shown = as_on_terminal(text).removesuffix("\n")
    lines = "\n".join(f"   {json.dumps(line)}" for line in shown.split("\n"))
    return f".. book-output::\n\n{lines}"


def alternative(output: NotebookNode, cell: NotebookNode) -> str:
    places = (output.metadata, cell.metadata, cell.metadata.get("attributes", {}))
    # notedown keeps the quotes of an attribute in the Markdown.
    return next((p["alt"].strip("\"'") for p in places if p.get("alt")), PLOT)


def _image(
    output: NotebookNode, kind: str, suffix: str, alt: str, page: Page, name: str
) -> str:
    data = output.data[kind]
    content = data.encode() if suffix == "svg" else base64.b64decode(data)
    file = f"{name}_{hashlib.sha256(content).hexdigest()[:10]}.{suffix}"
    page.images[file] = content
    alt = " ".join(alt.split())
    return f".. image:: {file}\n   :alt: {alt}\n   :class: output"
