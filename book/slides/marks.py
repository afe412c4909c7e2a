"""Reads the slides of a section from d2lbook's slide marks in its text.

`[**text**]` begins a slide and is its title; `(**text**)` adds a text to the slide.
Bold words just before a mark, such as **Fix.**, are added too. A text with `~~` instead
of `**` appears only on slides. The code up to the next slide is added with its
outputs, unless it is marked `.off-slides`. All other prose becomes the speaker's notes.
A Summary without marks becomes a slide.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from book.records import outputs
from book.records.store import Shown
from book.sources import blocks as source
from book.sources.inline import SlideMark, for_medium, slide_marks
from book.sources.tabs import TAB_NAMES

PARAGRAPH = re.compile(r"\n[ \t]*\n")
LEAD_IN = re.compile(r"\*\*([^*\n]+)[.:]\*\*\s+\Z")
SENTENCE_END = re.compile(r"[.!?:][*_)\"']*\s*$")
SAVE = re.compile(r"[ \t]*#[ \t]*@save\b[ \t]*")
SUMMARY = "Summary"
ENDINGS = (SUMMARY, "Exercises")
LONGEST_TITLE = 120
Documented = ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef


@dataclass
class Text:
    """A paragraph, list or equation, in Markdown."""

    markdown: str


@dataclass
class Figure:
    """A picture from the text; `path` is relative to the file of the section."""

    path: str
    alt: str
    caption: str


@dataclass
class Code:
    """The code of a cell."""

    source: str


@dataclass
class Printed:
    """The text that a cell printed; it `varies` if another run prints another text."""

    text: str
    varies: bool = False


@dataclass
class Plot:
    """A picture that a cell drew, as recorded; `kind` is the MIME type of `data`."""

    kind: str
    data: str
    alt: str


Block = Text | Figure | Code | Printed | Plot


@dataclass
class Slide:
    """A slide; `part` is the heading of the part of the section that it belongs to.

    All texts are Markdown.
    """

    title: str
    part: str = ""
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(shown: Shown) -> list[Slide]:
    """Return the slides of a section in one tab; the first has the section's title.

    The list is empty if the section has no slide marks.
    """
    reader = _Reader(shown.tab)
    cell_outputs = iter(shown.outputs)
    for part in _parts(shown.blocks):
        if _is_unmarked_summary(part):
            reader.read_summary(part[1:])
            part = [block for block in part if isinstance(block, source.Cell)]
        for block in part:
            if isinstance(block, source.Cell):
                reader.read_code(block, next(cell_outputs))
            elif isinstance(block, source.Heading):
                reader.read_heading(block)
            elif not isinstance(block, source.Contents | source.Directive):
                reader.read_text(block)
    reader.flush_notes()
    return reader.slides if reader.has_marks else []


def _parts(blocks: list[source.Block]) -> Iterator[list[source.Block]]:
    """Yield the blocks from each heading to the next."""
    part: list[source.Block] = []
    for block in blocks:
        if isinstance(block, source.Heading) and part:
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _is_unmarked_summary(part: list[source.Block]) -> bool:
    first, *rest = part
    is_summary = isinstance(first, source.Heading) and first.title == SUMMARY
    return is_summary and not any(_marks(block) for block in rest)


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
    """Return the text of a block for slides."""
    return for_medium(block.text, "slide")


class _Reader:
    """Reads blocks in order and adds them to the last of `slides`."""

    def __init__(self, tab: str) -> None:
        self.tab = tab
        self.slides: list[Slide] = []
        self.part = ""
        self.has_marks = False
        # Text below a heading is kept for the notes of the slide that it introduces.
        self.pending_notes: list[str] | None = None

    def read_heading(self, heading: source.Heading) -> None:
        """Begin a part of the section, and the first slide if it is the title."""
        self.flush_notes()
        if heading.level == 1 or not self.slides:
            self.slides.append(Slide(heading.title if heading.level == 1 else ""))
        if heading.level > 1:
            self.part = "" if heading.title in ENDINGS else heading.title
            self.pending_notes = []

    def read_summary(self, blocks: list[source.Block]) -> None:
        """Add a Summary as a slide, without its items on other frameworks."""
        self.flush_notes()
        others = [name for key, name in TAB_NAMES.items() if key != self.tab]
        text = "\n".join(_text(b) for b in blocks if isinstance(b, source.Prose))
        items = re.split(r"\n(?=[-*+] )", text)
        shown = [item for item in items if not any(name in item for name in others)]
        self.slides.append(Slide(SUMMARY, "", [Text("\n".join(shown))]))
        self.has_marks = True

    def read_text(self, block: source.Block) -> None:
        """Add the marks of a block to slides, and its other text to the notes."""
        if not self.slides:
            self.slides.append(Slide(""))
        all_marks = _marks(block)
        self.has_marks |= bool(all_marks)
        for start, end in _segments(_text(block), all_marks):
            marks = [mark for mark in all_marks if start <= mark.start < end]
            self._read_segment(block, start, end, marks)

    def _read_segment(
        self, block: source.Block, start: int, end: int, marks: list[SlideMark]
    ) -> None:
        """Read a piece of a block in which at most one slide begins."""
        text = _text(block)
        if any(mark.begins for mark in marks):
            self.slides.append(Slide("", self.part, notes=self.pending_notes or []))
            self.pending_notes = None
        for mark in marks:
            lead_in = LEAD_IN.search(text, start, mark.start)
            self._add_mark(block, mark, lead_in[1] if lead_in else "")
        if not isinstance(block, source.Figure):
            self._add_notes(_unmarked_text(text, start, end, marks))

    def _add_mark(self, block: source.Block, mark: SlideMark, lead_in: str) -> None:
        """Add the text of a mark to the last slide, after the bold words before it."""
        slide = self.slides[-1]
        if isinstance(block, source.Figure):
            slide.blocks.append(Figure(block.path, block.alt, block.caption))
        elif mark.begins:
            title, rest = _title(mark.text)
            slide.title = f"{lead_in}: {title}" if lead_in else title
            slide.blocks += _paragraphs(rest)
        else:
            slide.blocks += _with_lead_in(lead_in, _paragraphs(mark.text))

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

    def read_code(self, cell: source.Cell, cell_outputs: list) -> None:
        """Add the code and the outputs of a cell to the last slide."""
        self.flush_notes()
        if not cell.on_slides:
            return
        if len(self.slides) < 2:
            # Code before the first mark would crowd the slide with the title.
            self.slides.append(Slide("Setup"))
        code = shown_source(cell.code)
        if code:
            self.slides[-1].blocks.append(Code(code))
        self.slides[-1].blocks += _outputs(cell, cell_outputs)


def _segments(text: str, marks: list[SlideMark]) -> list[tuple[int, int]]:
    """Return the start and end of each piece of a text in which one slide begins."""
    starts = [mark.start for mark in marks if mark.begins][1:]
    return list(zip([0, *starts], [*starts, len(text)], strict=True))


# Text


def _title(text: str) -> tuple[str, str]:
    """Return the title in a slide's first text, and the text after the title.

    The title is the first paragraph, or its first sentence if the paragraph is long.
    It is empty if the text begins with an equation, a list or a picture.
    """
    first, *rest = PARAGRAPH.split(text, maxsplit=1)
    if len(first) > LONGEST_TITLE and (end := re.search(r"[.?!]\s", first)):
        rest.insert(0, first[end.end() :])
        first = first[: end.end()]
    if first.lstrip().startswith(("$$", "* ", "![")):
        return "", text
    return capitalize(" ".join(first.split()).rstrip(" ,;:.，。：")), "\n\n".join(rest)


def capitalize(text: str) -> str:
    """Return a text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def _with_lead_in(words: str, paragraphs: Iterator[Text]) -> Iterator[Text]:
    """Yield the paragraphs, the first of them after the bold `words`."""
    for paragraph in paragraphs:
        if words:
            paragraph.markdown = f"**{words}.** {paragraph.markdown}"
        words = ""
        yield paragraph


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


def shown_source(source: str) -> str:
    """Return a cell's code without `#@save` and with one-line docstrings."""
    source = SAVE.sub("", source).strip("\n")
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


def _outputs(cell: source.Cell, cell_outputs: list) -> Iterator[Printed | Plot]:
    """Yield the texts and pictures in the outputs of a cell."""
    for output in outputs.read(cell_outputs, cell):
        if isinstance(output, outputs.Printed):
            yield Printed(output.text.strip("\n"), cell.varies)
        else:
            yield Plot(output.kind, output.data, output.alt)
