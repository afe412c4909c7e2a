"""A merged section as reStructuredText.

Text goes through pandoc and d2lbook, in one call a section, with a stand-in before each
block. Code and outputs go round them, because they would be changed on the way.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import nbformat
import pypandoc

from book.base.kept import Kept
from book.pages.merge import Part, Run, TabSet, TabView, origin, version_notices
from book.records.outputs import PICTURES, Picture, Printed, read
from book.sources.blocks import Block, Cell, Equation, Figure, Heading, Labelled, Table
from book.sources.inline import Medium, for_medium, without_slide_marks
from book.sources.section import Section

CODE = Path(__file__)
STAND_IN = "BOOKPIECE{}END"
PIECE = re.compile(r"^BOOKPIECE\d+END$", re.MULTILINE)
FIGURE = re.compile(r"^\.\. figure:: .*$", re.MULTILINE)
TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
MARK = re.compile(r":(ref|numref|eqref|cite|citet|citep):`([^`]+)`")
ROLES = {"eqref": "eq", "citet": "cite:t", "citep": "cite:p"}
SHELL_LINE = re.compile(r"^\s*[!%]", re.MULTILINE)
NO_OUTPUT = ".. rst-class:: no-output\n\nNo output."
VARIES = ".. rst-class:: output-note\n\nDiffers from run to run."
NOTICE = "```eval_rst\n.. rst-class:: version-notice\n\n{}\n```"


@dataclass
class Page:
    """A page's reStructuredText and the image files that belong beside it.

    `lines` pairs a line of the text with that of the Markdown that it comes from, for
    the first line of each block.
    """

    text: str = ""
    images: dict[str, bytes] = field(default_factory=dict)
    lines: list[tuple[int, int]] = field(default_factory=list)

    def origin(self, line: int) -> tuple[int, int]:
        """Return the first line of the block that `line` is in, and of the next one."""
        place = bisect_right(self.lines, (line, 10**9)) - 1
        starts = sorted({start for _, start in self.lines} | {10**9})
        first = self.lines[max(place, 0)][1] if self.lines else 1
        return first, next(start for start in starts if start > first)


@dataclass(frozen=True)
class Records:
    """The paragraphs under a page's title on what made the outputs of each tab."""

    texts: dict[str, list[str]]


Item = Part | TabSet | Records


def with_records(
    items: list[Part | TabSet], section: Section, views: list[TabView], tabs: list[str]
) -> list[Item]:
    """Return the items of a page with what made its outputs under its title.

    A page without code has nothing to say.
    """
    if not any(True for _ in section.cells):
        return list(items)
    of = {view.tab: view for view in views}
    texts = {
        tab: [origin(of.get(tab), tab, section)]
        + [NOTICE.format(notice) for notice in version_notices(of.get(tab))]
        for tab in tabs
    }
    titled = (
        bool(items)
        and isinstance(items[0], Part)
        and (isinstance(items[0].block, Heading))
    )
    return [*items[:titled], Records(texts), *items[titled:]]


def convert(
    items: list[Item], name: str, medium: Medium = "web", kept: Kept | None = None
) -> Page:
    """Return the page of a section, whose images are called after its `name`.

    Text that is the same as in an earlier build comes from `kept`.
    """
    texts = [text for item in items for text in _texts(item, medium)]
    made_by = map(version, ("pypandoc_binary", "d2lbook"))
    if kept:
        parts = [*made_by, CODE.read_text("utf-8"), *texts]
        converted = json.loads(kept.text(parts, lambda: json.dumps(to_rst(texts))))
    else:
        converted = to_rst(texts)
    writer = _Writer(name, iter(converted))
    for item in items:
        writer.add(item)
    return writer.page


# Text


def _texts(item: Item, medium: Medium) -> Iterator[str]:
    """Yield the Markdown of an item, in the order in which the writer asks for it."""
    if isinstance(item, Records):
        for texts in item.texts.values():
            yield "\n\n".join(texts)
    elif isinstance(item, TabSet):
        for panel in item.panels:
            for part in panel.parts:
                yield from _texts(part, medium)
    elif not isinstance(item.block, Cell):
        yield markdown(item.block, medium)


def markdown(block: Block, medium: Medium) -> str:
    """Return the text of a block as pandoc and d2lbook read it; empty if unseen."""
    if block.sign.endswith("~~"):
        return ""
    text = without_slide_marks(for_medium(block.text, medium))
    if isinstance(block, Table):
        text = TABLE_ROW.sub(_with_roles, text)
    return "\n\n".join([text, *_marks(block)])


def _marks(block: Block) -> Iterator[str]:
    """Yield the marks below a block, which d2lbook expects between blank lines."""
    if isinstance(block, Figure):
        if block.width:
            yield f":width:`{block.width}`"
        if block.height:
            yield f":height:`{block.height}`"
    if isinstance(block, Labelled) and block.label:
        name = "eqlabel" if isinstance(block, Equation) else "label"
        yield f":{name}:`{block.label}`"


def _with_roles(row: re.Match[str]) -> str:
    """Return a row of a table with its roles as pandoc leaves them.

    In d2lbook's hands they grow shorter when the table's columns are already drawn.
    """
    return MARK.sub(
        lambda m: f"`` :{ROLES.get(m[1], m[1])}:`{m[2]}` ``{{=rst}}", row[0]
    )


def to_rst(texts: list[str]) -> list[str]:
    """Return each Markdown text as reStructuredText."""
    from d2lbook import rst as d2l_rst  # takes long to import

    pieces = [f"{STAND_IN.format(i)}\n\n{text}" for i, text in enumerate(texts)]
    body = pypandoc.convert_text("\n\n".join(pieces), "rst", "markdown")
    body = d2l_rst._process_rst(body).replace("   :style: apa", "   :style: book")
    return [piece.strip("\n") for piece in PIECE.split(body)[1:]]


# The page


class _Writer:
    """Puts the parts of a page one after another; `texts` gives those of pandoc."""

    def __init__(self, name: str, texts: Iterator[str]):
        self.name = name
        self.texts = texts
        self.page = Page()
        self.count = 1  # the line that comes next
        self.hides_all = False

    def add(self, item: Item, indent: str = "") -> None:
        if isinstance(item, Records):
            self._add_records(item)
        elif isinstance(item, TabSet):
            self._write(".. book-tabs::", indent)
            for panel in item.panels:
                self._write(f".. book-tab:: {' '.join(panel.tabs)}", indent + "   ")
                for part in panel.parts:
                    self.add(part, indent + "      ")
        else:
            self._add_part(item, indent)

    def _add_records(self, records: Records) -> None:
        if len(records.texts) == 1:
            self._write(next(self.texts))
            return
        self._write(".. book-tabs::\n   :class: record")
        for tab in records.texts:
            self._write(
                f".. book-tab:: {tab}\n\n{_indented(next(self.texts), 3)}", "   "
            )

    def _add_part(self, part: Part, indent: str) -> None:
        self.page.lines.append((self.count, part.block.line))
        if isinstance(part.block, Cell):
            for text in self._cell(part.block, part):
                self._write(text, indent)
            return
        text = next(self.texts)
        if isinstance(part.block, Figure):
            text = _with_alternative(text, part.block)
        self._write(text, indent)

    def _write(self, text: str, indent: str = "") -> None:
        if text:
            text = _indented(text, len(indent)) + "\n\n"
            self.page.text += text
            self.count += text.count("\n")

    # Code and outputs

    def _cell(self, cell: Cell, part: Part) -> Iterator[str]:
        shows_code, shows_outputs = self._shown_parts(cell.code)
        if shows_code and cell.code.strip():
            yield _code(cell.code)
        if not shows_outputs:
            return
        if len(part.runs) > 1:
            outputs = [self._machines(cell, part)]
        else:
            outputs = [o for run in part.runs for o in self._outputs(run, cell)]
        yield from outputs
        if outputs and cell.varies:
            yield VARIES

    def _shown_parts(self, code: str) -> tuple[bool, bool]:
        """Return whether code and outputs are shown: d2lbook's marks may hide them."""
        if "hide" not in code.lower():
            return not self.hides_all, not self.hides_all
        self.hides_all |= "#@hide_all" in code.lower()
        shown = nbformat.v4.new_output("stream")
        cell = nbformat.v4.new_code_cell(code, outputs=[shown])
        from d2lbook import rst as d2l_rst

        (kept,) = d2l_rst._process_nb(nbformat.v4.new_notebook(cells=[cell])).cells
        return bool(kept.source), bool(kept.outputs)

    def _machines(self, cell: Cell, part: Part) -> str:
        """Return a panel for each run of a cell."""
        panels = "\n\n".join(self._machine(run, cell) for run in part.runs)
        return f".. book-machines::\n\n{_indented(panels, 3)}"

    def _machine(self, run: Run, cell: Cell) -> str:
        outputs = list(self._outputs(run, cell)) or [NO_OUTPUT]
        head = f".. book-machine:: {' '.join(run.machines)}"
        options = [
            f":titles: {json.dumps(run.titles)}",
            f":made: {json.dumps(run.made)}",
        ]
        body = "\n\n".join(["\n".join(options), *outputs])
        return f"{head}\n{_indented(body, 3)}"

    def _outputs(self, run: Run, cell: Cell) -> Iterator[str]:
        for output in read(run.outputs, cell):
            if isinstance(output, Printed):
                yield _literal(output.text)
            else:
                yield self._image(output)

    def _image(self, picture: Picture) -> str:
        suffix = PICTURES[picture.kind]
        is_text = suffix == "svg"
        data = picture.data.encode() if is_text else base64.b64decode(picture.data)
        file = f"{self.name}_{hashlib.sha256(data).hexdigest()[:10]}.{suffix}"
        self.page.images[file] = data
        return f".. image:: {file}\n   :alt: {picture.alt}\n   :class: output"


def _with_alternative(text: str, figure: Figure) -> str:
    """Return a figure with its description, which d2lbook drops."""
    if not figure.alt:
        return text
    return FIGURE.sub(lambda found: f"{found[0]}\n   :alt: {figure.alt}", text)


def _code(source: str) -> str:
    language = "ipython3" if SHELL_LINE.search(source) else "python"
    style = ".. raw:: latex\n\n   \\diilbookstyleinputcell\n\n"
    return f"{style}.. code:: {language}\n\n{_indented(source, 4)}"


def _indented(text: str, by: int) -> str:
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.split("\n"))


def _literal(text: str) -> str:
    """Return a text that reaches the page as it is: a JSON string a line.

    reStructuredText would cut off spaces at the ends of lines and blank lines.
    """
    lines = "\n".join(f"   {json.dumps(line)}" for line in text.split("\n"))
    return f".. book-output::\n\n{lines}"
