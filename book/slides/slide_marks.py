"""Reads the slides of a section from d2lbook's slide marks in its text.

`[**text**]` begins a slide and is its title; `(**text**)` adds a text, a table or a
figure to the slide. Bold words just before a mark, such as **Fix.**, are added too. A
text with `~~` instead of `**` appears only on slides. The code up to the next slide is
added with its outputs, unless it is marked `.off-slides` or consists of imports. All
other prose becomes the speaker's notes. A Summary without marks becomes a slide.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from book.facts.points import Point, points
from book.records.outputs import InteractiveFigure, Picture, PrintedText
from book.records.outputs import read as read_outputs
from book.records.store import Shown
from book.render.code import without_marks
from book.render.results import restyled
from book.text import blocks as source
from book.text.inline import SlideMark, for_medium, slide_marks
from book.text.tabs import TAB_NAMES

PARAGRAPH = re.compile(r"\n[ \t]*\n")
NEXT_ITEM = re.compile(r"\n(?=[-*+] )")
LEAD_IN = re.compile(r"\*\*([^*\n]+)[.:]\*\*\s+\Z")
SENTENCE_END = re.compile(r"[.!?:][*_)\]\"']*\s*$")
SUMMARY = "Summary"
ENDINGS = (SUMMARY, "Exercises")
Documented = ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef


@dataclass
class Text:
    """A paragraph, list, table or equation, in Markdown."""

    text: str


@dataclass
class SlideFigure:
    """A picture from the text; `path` is relative to the file of the section."""

    path: str
    alt: str
    caption: str


@dataclass
class Code:
    """The code of a cell."""

    text: str


@dataclass
class Output:
    """The text that a cell printed; it `varies` if another run prints another text."""

    text: str
    varies: bool = False


# A `Picture` is one that a cell drew.
SlideItem = Text | SlideFigure | Code | Output | Picture


@dataclass
class Slide:
    """A slide; `part` is the heading of the part of the section that it belongs to.

    All texts are Markdown. It begins on `line` of the section's file, and shows part
    `number` of `total` parts of what the text marks. A slide of the short deck
    `is_point`: a sentence and what shows it.
    """

    title: str
    part: str = ""
    blocks: list[SlideItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    line: int = 1
    number: int = 1
    total: int = 1
    is_point: bool = False

    @property
    def lines(self) -> list[str]:
        """The titles, and the captions of figures."""
        figures = [b.caption for b in self.blocks if isinstance(b, SlideFigure)]
        return [self.title, self.part, *figures]

    @property
    def texts(self) -> list[str]:
        """The paragraphs and other texts on the slide."""
        return [block.text for block in self.blocks if isinstance(block, Text)]


def read(shown: Shown) -> list[Slide]:
    """Return the slides of a section in one tab; the first has the section's title.

    The list is empty if the section has no slide marks.
    """
    if not any(map(_marks, shown.blocks)):
        return []
    reader = _Reader()
    for block in _with_summary(shown.blocks, shown.tab):
        if isinstance(block, source.Cell):
            reader.read_code(block)
        elif isinstance(block, source.Heading):
            reader.read_heading(block)
        elif not isinstance(block, source.Contents | source.References):
            reader.read_text(block)
    reader.flush_notes()
    return reader.slides


def short(shown: Shown) -> list[Slide]:
    """Return the slides of the short deck in one tab: a sentence and a picture each."""
    return [
        Slide(
            point.sentence.rstrip("."),
            blocks=list(_shown(point)),
            notes=point.notes,
            line=point.line,
            is_point=True,
        )
        for point in points(shown.blocks)
        if point.block
    ]


def _shown(point: Point) -> Iterator[SlideItem]:
    """Yield what a point shows: a picture, or the code and the output of a cell."""
    block = point.block
    if isinstance(block, source.Figure):
        yield to_figure(block)
    elif isinstance(block, source.Cell):
        outputs = list(_outputs(block)) if point.show != "code" else []
        plots = [output for output in outputs if isinstance(output, Picture)]
        if point.show:
            yield Code(shown_source(block.code))
        yield from plots[:1] or outputs
    elif isinstance(block, source.Equation):
        yield Text(f"$${block.tex}$$")
    elif block:
        yield Text(_text(block))


def _with_summary(blocks: list[source.Block], tab: str) -> list[source.Block]:
    """Return the blocks of a section, with a mark around a Summary without marks."""
    titles = {n: b.title for n, b in enumerate(blocks) if isinstance(b, source.Heading)}
    for start, end in pairwise([*titles, len(blocks)]):
        part = blocks[start + 1 : end]
        prose = [block for block in part if isinstance(block, source.Prose)]
        if titles[start] == SUMMARY and prose and not any(map(_marks, part)):
            text = _items_for(tab, "\n".join(block.source for block in prose))
            marked = replace(prose[0], source=text, sign="(**")
            others = [block for block in part if block not in prose]
            return [*blocks[: start + 1], marked, *others, *blocks[end:]]
    return blocks


def _items_for(tab: str, text: str) -> str:
    """Return a list without the items that name other frameworks than that of `tab`."""
    others = [name for key, name in TAB_NAMES.items() if key != tab]
    items = NEXT_ITEM.split(text)
    return "\n".join(i for i in items if not any(name in i for name in others))


def _marks(block: source.Block) -> list[SlideMark]:
    """Return the slide marks of a block; a mark around it has all of its text."""
    if isinstance(block, source.Cell):
        return []
    text = _text(block)
    if block.sign:
        begins, only = block.sign[0] == "[", block.sign[1] == "~"
        return [SlideMark(0, len(text), text, begins, only)]
    return slide_marks(text)


def _text(block: source.Block) -> str:
    """Return the text of a block for slides; a table is without its caption."""
    text = block.rows.strip() if isinstance(block, source.Table) else block.text
    return for_medium(text, "slide")


class _Reader:
    """Reads blocks in order and adds them to the last of `slides`."""

    def __init__(self) -> None:
        self.slides: list[Slide] = []
        self.heading = self.part = ""
        self.line = 1
        # Text below a heading is kept for the notes of the slide that it introduces.
        self.pending_notes: list[str] | None = None

    def read_heading(self, heading: source.Heading) -> None:
        """Begin a part of the section, and the first slide if it is the title."""
        self.flush_notes()
        if heading.level == 1 or not self.slides:
            self._begin_slide(heading.title if heading.level == 1 else "")
        if heading.level > 1:
            self.heading = heading.title
            self.part = "" if heading.title in ENDINGS else heading.title
            self.pending_notes = []

    def read_text(self, block: source.Block) -> None:
        """Add the marks of a block to slides, and its other text to the notes."""
        if isinstance(block, source.Table) and self.slides:
            self._add_notes(block.caption)
        text, all_marks = _text(block), _marks(block)
        # The pieces of the text in which at most one slide begins.
        starts = [mark.start for mark in all_marks if mark.begins][1:]
        for start, end in pairwise([0, *starts, len(text)]):
            marks = [mark for mark in all_marks if start <= mark.start < end]
            first = marks[0].start if marks else start
            self.line = block.line + text.count("\n", 0, first)
            self._read_segment(block, start, end, marks)

    def _read_segment(
        self, block: source.Block, start: int, end: int, marks: list[SlideMark]
    ) -> None:
        """Read a piece of a block in which at most one slide begins."""
        text = _text(block)
        if any(mark.begins for mark in marks) or not self.slides:
            self._begin_slide("", self.part)
        elif marks:
            self._begin_part()
        if isinstance(block, source.Figure):
            caption = block.caption
            if marks:  # the first sentence of the caption stays below the figure
                self.slides[-1].blocks.append(to_figure(block))
                _, caption = _first_sentence(caption)
            self._add_notes(caption)
            return
        for mark in marks:
            lead_in = LEAD_IN.search(text, start, mark.start)
            self._add_mark(mark, lead_in[1] if lead_in else "")
        self._add_notes(_unmarked_text(text, start, end, marks))

    def _begin_slide(self, title: str, part: str = "") -> None:
        """Begin a slide; the text below the last heading becomes its notes."""
        notes = self.pending_notes or []
        self.slides.append(Slide(title, part, notes=notes, line=self.line))
        self.pending_notes = None

    def _begin_part(self) -> None:
        """Begin a slide with the last heading as its title, if it has no slide yet."""
        if self.pending_notes is not None:
            self._begin_slide(self.heading)

    def _add_mark(self, mark: SlideMark, lead_in: str) -> None:
        """Add the text of a mark to the last slide, after the bold words before it."""
        slide = self.slides[-1]
        if mark.begins:
            title, rest = _title(mark.text)
            slide.title = f"{lead_in}: {title}" if lead_in else title
            slide.blocks += _paragraphs(rest)
        else:
            paragraphs = list(_paragraphs(mark.text))
            if lead_in and paragraphs:
                paragraphs[0].text = f"**{lead_in}.** {paragraphs[0].text}"
            slide.blocks += paragraphs

    def _add_notes(self, text: str) -> None:
        """Add the paragraphs of a text to the notes."""
        pending = self.pending_notes
        notes = self.slides[-1].notes if pending is None else pending
        notes += [p.strip() for p in PARAGRAPH.split(text) if p.strip(" \n.,;:")]

    def flush_notes(self) -> None:
        """Add the pending notes to the last slide, since no new slide follows them."""
        if self.pending_notes and self.slides:
            self.slides[-1].notes += self.pending_notes
        self.pending_notes = None

    def read_code(self, cell: source.Cell) -> None:
        """Add the code and the outputs of a cell to the last slide."""
        self.line = cell.line
        if {"off-slides", "notebook"} & {*cell.classes} or _imports(cell.python):
            if len(self.slides) == 1 and self.pending_notes is None:
                # A text below this cell is not one for the front slide.
                self.heading, self.pending_notes = "Setup", []
            return
        self._begin_part()
        if len(self.slides) < 2:
            # Code before the first mark would crowd the slide with the title.
            self._begin_slide("Setup")
        if code := shown_source(cell.code):
            self.slides[-1].blocks.append(Code(code))
        self.slides[-1].blocks += _outputs(cell)


def to_figure(figure: source.Figure, folder: Path = Path()) -> SlideFigure:
    """Return a figure with the first sentence of its caption; `folder` has its path."""
    caption, _ = _first_sentence(for_medium(figure.caption, "slide"))
    return SlideFigure(str(folder / figure.path), figure.alt, caption)


# Text


def _title(text: str) -> tuple[str, str]:
    """Return the title in a slide's first text, and the text after the title.

    The title is the first sentence. It is empty if the text begins with an equation, a
    list or a picture.
    """
    if text.lstrip().startswith(("$$", "* ", "![")):
        return "", text
    paragraph, *rest = PARAGRAPH.split(text, maxsplit=1)
    first, explanation = _first_sentence(paragraph)
    title = capitalize(" ".join(first.split()).rstrip(" ,;:.，。："))
    return title, "\n\n".join([explanation, *rest])


def _first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a text, and the text after it."""
    end = re.search(r"[.?!]\s", text)
    return (text[: end.end()].strip(), text[end.end() :]) if end else (text, "")


def capitalize(text: str) -> str:
    """Return a text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def _paragraphs(text: str) -> Iterator[Text]:
    """Yield the paragraphs of a marked text as whole sentences."""
    for paragraph in PARAGRAPH.split(text.strip()):
        if paragraph.strip():
            yield Text(_as_sentence(paragraph.strip()))


def _as_sentence(text: str) -> str:
    """Return a part of a sentence as a sentence; lists and equations are unchanged."""
    if re.match(r"[-*+$|#]|\d+\. |```", text) or text.endswith("$$"):
        return text
    text = capitalize(text.rstrip(" ,;"))
    return text if SENTENCE_END.search(text) else f"{text}."


def _unmarked_text(text: str, start: int, end: int, marks: list[SlideMark]) -> str:
    """Return a piece of a text without the sentences that are on slides."""
    parts, last = [], start
    for mark in marks:
        before = text[last : mark.start]
        if mark.only_on_slides:
            parts.append(before)
        elif _is_whole_sentence(text[start : mark.start], mark, text[mark.end : end]):
            parts.append(LEAD_IN.sub("", before))
        else:
            parts += [before, mark.text]
        last = mark.end
    return "".join([*parts, text[last:end]])


def _is_whole_sentence(before: str, mark: SlideMark, after: str) -> bool:
    """Return True if a marked text is one or more sentences and not a part of one."""
    before, after = PARAGRAPH.split(before)[-1], PARAGRAPH.split(after)[0]
    starts = not before.strip() or SENTENCE_END.search(before) is not None
    ends = SENTENCE_END.search(mark.text) is not None or not after.strip()
    return starts and ends


# Code and outputs


def _imports(code: str) -> bool:
    """Return True for a cell that prepares the others, mostly by imports."""
    statements = ast.parse(code).body
    imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
    return len(imports) > len(statements) / 2


def shown_source(source: str) -> str:
    """Return a cell's code without `#@save` and with one-line docstrings."""
    source = without_marks(source).strip("\n")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    lines = source.split("\n")
    documented = [node for node in ast.walk(tree) if isinstance(node, Documented)]
    # Definitions further down come first, so that the lines above do not move.
    for node in sorted(documented, key=lambda n: n.lineno, reverse=True):
        _shorten_docstring(lines, node)
    return "\n".join(lines)


def _shorten_docstring(lines: list[str], node: Documented) -> None:
    """Remove all but the first line of a definition's docstring from `lines`."""
    first = node.body[0]
    start, end = first.lineno - 1, first.end_lineno or first.lineno
    if ast.get_docstring(node) is not None and end > start + 1:
        lines[start] = f"{lines[start].rstrip()}{lines[start].strip()[:3]}"
        del lines[start + 1 : end]


def _outputs(cell: source.Cell) -> Iterator[Output | Picture]:
    """Yield the texts and pictures in the outputs of a cell."""
    for output in read_outputs(cell.outputs):
        if isinstance(output, InteractiveFigure):
            continue  # which has no picture
        if isinstance(output, PrintedText):
            yield Output(output.text.strip("\n"), cell.varies)
        else:
            yield restyled(output, cell)
