"""Converts a merged section to reStructuredText.

pandoc and d2lbook convert the text, in one call per section, with a marker before each
block. Code and outputs bypass them, because pandoc would change both.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version

import pypandoc

from book.base.cache import Cache
from book.facts.predictions import has_arithmetic, introduces
from book.merge import (
    Part,
    Prediction,
    Run,
    TabSet,
    TabView,
    origin,
    version_notices,
)
from book.pages.folding import split, title
from book.records.outputs import (
    PICTURES,
    InteractiveFigure,
    Picture,
    PrintedText,
    read,
)
from book.render import pictures
from book.sources.blocks import (
    COMMAND_LINE,
    Block,
    Cell,
    Equation,
    Figure,
    Heading,
    Labelled,
    Prose,
    Table,
)
from book.sources.inline import Medium, for_medium, without_slide_marks
from book.sources.section import Section

MARKER = "BOOKPIECE{}END"
MARKER_LINE = re.compile(r"^BOOKPIECE\d+END$", re.MULTILINE)
FIGURE = re.compile(r"^\.\. figure:: .*$", re.MULTILINE)
TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
MARK = re.compile(r":(ref|numref|eqref|cite|citet|citep):`([^`]+)`")
ROLES = {"eqref": "eq", "citet": "cite:t", "citep": "cite:p"}
NO_OUTPUT = ".. rst-class:: no-output\n\nNo output."
VARIES = ".. rst-class:: output-note\n\nYour output may differ, here and below."
COVERED = ".. rst-class:: arithmetic\n\n"
EXPLAINS = ".. rst-class:: explains\n\n"
SPECIAL = re.compile(r"[\\*_`|]")
NOTICE = "```{{=rst}}\n.. rst-class:: version-notice\n\n{}\n```"


@dataclass
class Page:
    """The reStructuredText of a page and the image files beside it.

    `lines` holds, for each block, its first line in the text and in the Markdown.
    `written` holds, for each text, its line in the Markdown, and its block or its own
    Markdown, as readers of `medium` should see it.
    """

    text: str = ""
    images: dict[str, bytes] = field(default_factory=dict)
    lines: list[tuple[int, int]] = field(default_factory=list)
    written: list[tuple[int, Block | str]] = field(default_factory=list)
    medium: Medium = "web"

    def origin(self, line: int) -> tuple[int, int]:
        """Return the Markdown's first line of the block at `line`, and of the next."""
        index = bisect_right(self.lines, (line, 10**9)) - 1
        starts = sorted({start for _, start in self.lines} | {10**9})
        first = self.lines[max(index, 0)][1] if self.lines else 1
        return first, next(start for start in starts if start > first)


@dataclass(frozen=True)
class Records:
    """The paragraphs under a page's title on the origin of each tab's outputs."""

    texts: dict[str, list[str]]


PageItem = Part | TabSet | Records


def with_records(
    items: list[Part | TabSet], section: Section, views: list[TabView], tabs: list[str]
) -> list[PageItem]:
    """Return the items of a page with the origin of its outputs under its title.

    The items of a page without code are returned unchanged.
    """
    if not any(True for _ in section.cells):
        return list(items)
    view_of_tab = {view.tab: view for view in views}
    texts = {
        tab: [origin(view_of_tab.get(tab), tab, section)]
        + [NOTICE.format(notice) for notice in version_notices(view_of_tab.get(tab))]
        for tab in tabs
    }
    first = items[0] if items else None
    has_title = isinstance(first, Part) and isinstance(first.block, Heading)
    return [*items[:has_title], Records(texts), *items[has_title:]]


def convert(
    items: list[PageItem], name: str, medium: Medium = "web", cache: Cache | None = None
) -> Page:
    """Return the page of a section; the names of its images begin with `name`.

    A page that an earlier build has converted is taken from `cache`.
    """
    if cache is None:
        return _convert(items, name, medium)
    versions = map(version, ("pypandoc_binary", "d2lbook"))
    parts = [*versions, name, medium, repr(items)]
    return cache.value(parts, lambda: _convert(items, name, medium))


def _convert(items: list[PageItem], name: str, medium: Medium) -> Page:
    texts = [text for item in items for text in _texts(item, medium)]
    writer = _Writer(name, iter(to_rst(texts)), medium)
    for item in items:
        writer.add(item)
    return writer.page


# Text


def _texts(item: PageItem, medium: Medium) -> Iterator[str]:
    """Yield each Markdown text of an item, in the order in which the writer uses it."""
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
    """Return the text of a block for pandoc and d2lbook; empty if it is not shown."""
    if block.sign.endswith("~~"):
        return ""
    text = without_slide_marks(for_medium(block.text, medium))
    if isinstance(block, Table):
        text = TABLE_ROW.sub(_convert_roles, text)
    if isinstance(block, Labelled) and block.label:
        name = "eqlabel" if isinstance(block, Equation) else "label"
        text += f"\n\n:{name}:`{block.label}`"
    return text


def _convert_roles(row: re.Match[str]) -> str:
    """Return a row of a table with its roles as reStructuredText.

    If d2lbook converted them, they would become shorter after pandoc has aligned the
    columns of the table.
    """
    return MARK.sub(
        lambda m: f"`` :{ROLES.get(m[1], m[1])}:`{m[2]}` ``{{=rst}}", row[0]
    )


def to_rst(texts: list[str]) -> list[str]:
    """Return each Markdown text as reStructuredText."""
    pieces = [f"{MARKER.format(i)}\n\n{text}" for i, text in enumerate(texts)]
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(
            pypandoc.convert_text, "\n\n".join(pieces), "rst", "markdown"
        )
        from d2lbook import rst as d2l_rst  # its import takes as long as pandoc

        body = work.result()
    body = d2l_rst._process_rst(body).replace("   :style: apa", "   :style: book")
    return [piece.strip("\n") for piece in MARKER_LINE.split(body)[1:]]


# The page


class _Writer:
    """Writes the items of a page; `texts` yields their converted texts in order."""

    def __init__(self, name: str, texts: Iterator[str], medium: Medium):
        self.name = name
        self.medium = medium
        self.texts = texts
        self.page = Page(medium=medium)
        self.next_line = 1
        # The tabs in which the text explains an output that readers predict.
        self.explaining: set[str] = set()
        # The tabs whose readers know that their outputs may differ.
        self.told: set[str] = set()

    def add(self, item: PageItem, indent: str = "") -> None:
        """Append an item to the page."""
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
            ((markdown, *_),) = records.texts.values()
            self.page.written.append((1, markdown))
            self._write(next(self.texts))
            return
        self._write(".. book-tabs::\n   :class: record")
        for tab in records.texts:
            text = _indent(next(self.texts), 3)
            self._write(f".. book-tab:: {tab}\n\n{text}", "   ")

    def _add_part(self, part: Part, indent: str) -> None:
        self.page.lines.append((self.next_line, part.block.line))
        if isinstance(part.block, Cell):
            (self.explaining.update if part.prediction else self._end)(part.tabs)
            for text in self._cell(part.block, part):
                self._write(text, indent)
            return
        text = next(self.texts)
        self.page.written.append((part.block.line, part.block))
        if isinstance(part.block, Figure):
            text = _add_description(text, part.block)
        if self.medium == "web" and has_arithmetic(part.block):
            text = COVERED + text
        elif self._explains(part):
            text = EXPLAINS + text
        self._write(text, indent)

    def _explains(self, part: Part) -> bool:
        """Return True for a text right below an output that readers predict.

        A text that ends with a colon belongs to what it introduces.
        """
        if not isinstance(part.block, Prose):
            self._end(part.tabs)
            return False
        is_told = bool(self.explaining.intersection(part.tabs))
        return is_told and not introduces(part.block) and self.medium == "web"

    def _end(self, tabs: Iterable[str]) -> None:
        self.explaining.difference_update(tabs)

    def _write(self, text: str, indent: str = "") -> None:
        """Append a text and a blank line to the page."""
        if text:
            text = _indent(text, len(indent)) + "\n\n"
            self.page.text += text
            self.next_line += text.count("\n")

    # Code and outputs

    def _cell(self, cell: Cell, part: Part) -> Iterator[str]:
        """Yield the code of a cell and its outputs."""
        if cell.code.strip():
            yield from self._code(cell)
        if len(part.runs) > 1:
            outputs = [self._machine_set(cell, part)]
        else:
            outputs = [o for run in part.runs for o in self._outputs(run, cell)]
        if outputs and cell.varies and not self.told.issuperset(part.tabs):
            self.told.update(part.tabs)
            outputs.append(VARIES)
        if outputs and part.prediction and self.medium == "web":
            yield _covered(outputs, part.prediction)
        else:
            yield from outputs

    def _code(self, cell: Cell) -> Iterator[str]:
        """Yield the code of a cell; a web page may fold a part of it."""
        code = cell.code
        if cell.is_folded and self.medium == "web":
            folded, code = split(code)
            option = "   :class: head\n" if code else ""
            text = _indent(_code(folded), 3)
            yield f".. book-folded:: {title(folded)}\n{option}\n{text}"
        if code:
            yield _code(code)

    def _machine_set(self, cell: Cell, part: Part) -> str:
        """Return a set with a panel for each run of a cell."""
        panels = "\n\n".join(self._machine_panel(run, cell) for run in part.runs)
        return f".. book-machines::\n\n{_indent(panels, 3)}"

    def _machine_panel(self, run: Run, cell: Cell) -> str:
        """Return a panel with the outputs of a run."""
        outputs = list(self._outputs(run, cell)) or [NO_OUTPUT]
        head = f".. book-machine:: {' '.join(run.machines)}"
        options = [
            f":titles: {json.dumps(run.titles)}",
            f":made: {json.dumps(run.made)}",
        ]
        body = "\n\n".join(["\n".join(options), *outputs])
        return f"{head}\n{_indent(body, 3)}"

    def _outputs(self, run: Run, cell: Cell) -> Iterator[str]:
        """Yield the texts and pictures that a run shows."""
        for output in read(run.outputs):
            if isinstance(output, InteractiveFigure):
                address = json.dumps([output.name, output.settings])
                yield _literal(output.text, f"   :figure: {address}\n")
            elif isinstance(output, PrintedText):
                yield _literal(output.text)
            else:
                yield self._image(pictures.shown(output, cell))

    def _image(self, picture: Picture) -> str:
        """Return the directive for a picture, whose file is added to the page."""
        suffix = PICTURES[picture.kind]
        is_text = suffix == "svg"
        data = picture.data.encode() if is_text else base64.b64decode(picture.data)
        file = f"{self.name}_{hashlib.sha256(data).hexdigest()[:10]}.{suffix}"
        self.page.images[file] = data
        return f".. image:: {file}\n   :alt: {picture.alt}\n   :class: output"


def _covered(outputs: list[str], prediction: Prediction) -> str:
    """Return the directive that covers outputs until readers have predicted them."""
    row, cited = list(prediction.numbers), prediction.cited
    source = []
    if cited:
        row.append((f"{cited['hardware']}, cited", f"{cited['value']} {cited['unit']}"))
        what = SPECIAL.sub(r"\\\g<0>", cited["what"])
        text = f"{cited['hardware']}, {cited['framework']}: {what}"
        role = f":cite:`{cited['source']}`"
        source = [f".. rst-class:: prediction-source\n\n{text} {role}."]
    words = [prediction.before, prediction.after]
    options = [
        f":question: {json.dumps(prediction.question)}",
        f":words: {json.dumps(words)}",
        f":unit: {json.dumps(prediction.unit)}",
        f":row: {json.dumps(row)}",
    ]
    body = "\n\n".join(["\n".join(options), *source, *outputs])
    return f".. book-prediction::\n{_indent(body, 3)}"


def _add_description(text: str, figure: Figure) -> str:
    """Return a figure with its alternative text, which d2lbook drops."""
    if not figure.alt:
        return text
    return FIGURE.sub(lambda match: f"{match[0]}\n   :alt: {figure.alt}", text)


def _code(source: str) -> str:
    """Return a block of code with its style for LaTeX."""
    language = "ipython3" if COMMAND_LINE.search(source) else "python"
    style = ".. raw:: latex\n\n   \\diilbookstyleinputcell\n\n"
    return f"{style}.. code:: {language}\n\n{_indent(source, 4)}"


def _indent(text: str, by: int) -> str:
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.split("\n"))


def _literal(text: str, options: str = "") -> str:
    """Return a directive that shows a text unchanged; each line is a JSON string.

    Otherwise, reStructuredText would remove blank lines and spaces at line ends.
    """
    lines = "\n".join(f"   {json.dumps(line)}" for line in text.split("\n"))
    return f".. book-output::\n{options}\n{lines}"
