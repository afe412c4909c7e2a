"""Reads the slides of a section from d2lbook's slide marks in its text.

`[**text**]` begins a slide and is its title; `(**text**)` adds a text to the slide.
Bold words just before a mark, such as **Fix.**, are added too. A text with `~~` instead
of `**` appears only on slides. The code up to the next slide is added with its
outputs, unless it is marked `.off-slides` or consists of imports. Figures need no mark.
All other prose becomes the speaker's notes. A Summary without marks becomes a slide.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from book.records.outputs import PrintedText
from book.records.outputs import read as read_outputs
from book.records.store import Shown
from book.render import pictures
from book.text import blocks as source
from book.text.inline import SlideMark, for_medium, slide_marks
from book.text.tabs import TAB_NAMES

PARAGRAPH = re.compile(r"\n[ \t]*\n")
NEXT_ITEM = re.compile(r"\n(?=[-*+] )")
LEAD_IN = re.compile(r"\*\*([^*\n]+)[.:]\*\*\s+\Z")
TITLE_LEAD_IN = re.compile(r"^(\w+): ")
SENTENCE_END = re.compile(r"[.!?:][*_)\"']*\s*$")
SENTENCE = re.compile(r"(?<=[.?!:])\s+(?=[A-Z`:$\[\"(])")
UNDIVIDED = re.compile(r"[-*+] |\d+\. |\||\$\$|```|>")  # lists, tables, ...
SHOWN_WORDS = 45  # in the sentences that a slide without any other text shows
SAVE = re.compile(r"[ \t]*#[ \t]*@save\b[ \t]*")
SUMMARY = "Summary"
ENDINGS = (SUMMARY, "Exercises")
Documented = ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef


@dataclass
class Text:
    """A paragraph, list or equation, in Markdown."""

    markdown: str


@dataclass
class SlideFigure:
    """A picture from the text; `path` is relative to the file of the section."""

    path: str
    alt: str
    caption: str
    height: float = 0  # the least height in pixels at which its text can be read
    is_alone: bool = False  # on a slide with only a small title


@dataclass
class Code:
    """The code of a cell."""

    source: str


@dataclass
class Output:
    """The text that a cell printed; it `varies` if another run prints another text."""

    text: str
    varies: bool = False


@dataclass
class Plot:
    """A picture that a cell drew, as recorded; `kind` is the MIME type of `data`."""

    kind: str
    data: str
    alt: str


SlideItem = Text | SlideFigure | Code | Output | Plot


@dataclass
class Slide:
    """A slide; `part` is the heading of the part of the section that it belongs to.

    It is `continued` if the slide before it has the same title. All texts are Markdown.
    """

    title: str
    part: str = ""
    blocks: list[SlideItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    continued: bool = False


def read(shown: Shown) -> list[Slide]:
    """Return the slides of a section in one tab; the first has the section's title.

    The list is empty if the section has no slide marks.
    """
    reader = _Reader(shown.tab)
    for part in _parts(shown.blocks):
        if _is_unmarked_summary(part):
            reader.read_summary(part[1:])
            part = [block for block in part if isinstance(block, source.Cell)]
        for block in part:
            if isinstance(block, source.Cell):
                reader.read_code(block)
            elif isinstance(block, source.Heading):
                reader.read_heading(block)
            elif not isinstance(block, source.Contents | source.References):
                reader.read_text(block)
    reader.flush_notes()
    for slide in reader.slides[1:]:
        _complete(slide)
    return _join_bare_titles(reader.slides) if reader.has_marks else []


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
    """Return the text of a block for slides; the caption of a table has no colon."""
    is_table = isinstance(block, source.Table)
    text = block.text.removeprefix(":") if is_table else block.text
    return for_medium(text, "slide")


class _Reader:
    """Reads blocks in order and adds them to the last of `slides`."""

    def __init__(self, tab: str) -> None:
        self.tab = tab
        self.slides: list[Slide] = []
        self.heading = self.part = ""
        self.has_marks = False
        # Text below a heading is kept for the notes of the slide that it introduces.
        self.pending_notes: list[str] | None = None

    def read_heading(self, heading: source.Heading) -> None:
        """Begin a part of the section, and the first slide if it is the title."""
        self.flush_notes()
        if heading.level == 1 or not self.slides:
            self.slides.append(Slide(heading.title if heading.level == 1 else ""))
        if heading.level > 1:
            self.heading = heading.title
            self.part = "" if heading.title in ENDINGS else heading.title
            self.pending_notes = []

    def read_summary(self, blocks: list[source.Block]) -> None:
        """Add a Summary as a slide, without its items on other frameworks."""
        self.flush_notes()
        others = [name for key, name in TAB_NAMES.items() if key != self.tab]
        text = "\n".join(_text(b) for b in blocks if isinstance(b, source.Prose))
        items = NEXT_ITEM.split(text)
        shown = [item for item in items if not any(name in item for name in others)]
        self.slides.append(Slide(SUMMARY, "", [Text("\n".join(shown))]))
        self.has_marks = True

    def read_text(self, block: source.Block) -> None:
        """Add the marks of a block to slides, and its other text to the notes."""
        if not self.slides:
            self.slides.append(Slide(""))
        all_marks = _marks(block)
        self.has_marks |= bool(all_marks)
        if not all_marks and self._is_announced(block):
            self.slides[-1].blocks.append(Text(_text(block).strip()))
            return
        for start, end in _segments(_text(block), all_marks):
            marks = [mark for mark in all_marks if start <= mark.start < end]
            self._read_segment(block, start, end, marks)

    def _is_announced(self, block: source.Block) -> bool:
        """Return True if the last text on the last slide ends with a colon for this."""
        blocks = self.slides[-1].blocks if self.pending_notes is None else []
        announces = bool(blocks) and _announces(blocks[-1])
        return announces and not isinstance(block, source.Figure)

    def _read_segment(
        self, block: source.Block, start: int, end: int, marks: list[SlideMark]
    ) -> None:
        """Read a piece of a block in which at most one slide begins."""
        text = _text(block)
        if any(mark.begins for mark in marks):
            self._begin_slide("", self.part)
        elif marks or isinstance(block, source.Figure):
            self._begin_part()
        if isinstance(block, source.Figure):
            self._add_figure(block)
            return
        for mark in marks:
            lead_in = LEAD_IN.search(text, start, mark.start)
            self._add_mark(mark, lead_in[1] if lead_in else "")
        self._add_notes(_unmarked_text(text, start, end, marks))

    def _begin_slide(self, title: str, part: str) -> None:
        """Begin a slide; the text below the last heading becomes its notes."""
        self.slides.append(Slide(title, part, notes=self.pending_notes or []))
        self.pending_notes = None

    def _begin_part(self) -> None:
        """Begin a slide with the last heading as its title, if it has no slide yet."""
        if self.pending_notes is not None:
            self._begin_slide(self.heading, "")

    def _add_figure(self, figure: source.Figure) -> None:
        """Add a figure to the last slide, and what its caption explains to the notes.

        The first sentence of the caption stays below the figure.
        """
        self.slides[-1].blocks.append(to_figure(figure))
        self._add_notes(_first_sentence(figure.caption)[1])

    def _add_mark(self, mark: SlideMark, lead_in: str) -> None:
        """Add the text of a mark to the last slide, after the bold words before it."""
        slide = self.slides[-1]
        if mark.begins:
            title, rest = _title(mark.text)
            slide.title = f"{lead_in}: {title}" if lead_in else title
            slide.blocks += _paragraphs(rest)
        else:
            slide.blocks += _with_lead_in(lead_in, _paragraphs(mark.text))

    def _add_notes(self, text: str) -> None:
        """Add the paragraphs of a text to the notes."""
        pending = self.pending_notes
        notes = self.slides[-1].notes if pending is None else pending
        if not UNDIVIDED.match(text.strip()):  # perhaps it begins within an item
            text = NEXT_ITEM.sub("\n\n", text, count=1)
        notes += [p.strip() for p in PARAGRAPH.split(text) if p.strip(" \n.,;:")]

    def flush_notes(self) -> None:
        """Add the pending notes to the last slide, since no new slide follows them."""
        if self.pending_notes and self.slides:
            self.slides[-1].notes += self.pending_notes
        self.pending_notes = None

    def read_code(self, cell: source.Cell) -> None:
        """Add the code and the outputs of a cell to the last slide."""
        if not cell.on_slides or _imports(cell.code):
            if len(self.slides) == 1 and self.pending_notes is None:
                # A text below this cell is not one for the front slide.
                self.heading, self.pending_notes = "Setup", []
            return
        self._begin_part()
        if len(self.slides) < 2:
            # Code before the first mark would crowd the slide with the title.
            self.slides.append(Slide("Setup"))
        code = shown_source(cell.code)
        if code:
            self.slides[-1].blocks.append(Code(code))
        self.slides[-1].blocks += _outputs(cell)


def _complete(slide: Slide) -> None:
    """Move text from the notes to a slide that would have no more than a title.

    The text is the first sentences of the notes that do not repeat the title, and what
    they announce by a colon.
    """
    claim = (slide.title.partition(": ")[2] or slide.title).lower()
    kept = []
    while slide.notes and _needs_text(slide):
        note = slide.notes.pop(0)
        sentences = SENTENCE.split(note)
        repeats = [s for s in sentences if claim in " ".join(s.split()).lower()]
        kept += repeats
        if len(repeats) == len(sentences):
            continue
        shown, rest = _first_sentences(
            " ".join(s for s in sentences if s not in repeats) if repeats else note
        )
        slide.blocks.append(Text(shown))
        if rest:
            slide.notes.insert(0, rest)
    slide.notes[:0] = kept


def _needs_text(slide: Slide) -> bool:
    """Return True if a slide has only a title, or ends with a colon."""
    return bool(slide.title) and (not slide.blocks or _announces(slide.blocks[-1]))


def _join_bare_titles(slides: list[Slide]) -> list[Slide]:
    """Return the slides, in which the only sentence of a slide is on one beside it.

    That is the slide before it, or else the one after it, in the same part.
    """
    joined: list[Slide] = slides[:1]
    for slide, after in zip_longest(slides[1:], slides[2:]):
        sentence = Text(TITLE_LEAD_IN.sub(r"**\1.** ", _as_sentence(slide.title)))
        if slide.blocks or not slide.part:
            joined.append(slide)
        elif joined[-1].part == slide.part:
            joined[-1].blocks.append(sentence)
            joined[-1].notes += slide.notes
        elif after is not None and after.part == slide.part:
            after.blocks.insert(0, sentence)
            after.notes[:0] = slide.notes
        else:
            joined.append(slide)
    return joined


def _announces(block: SlideItem) -> bool:
    """Return True for a text that ends with a colon."""
    return isinstance(block, Text) and block.markdown.endswith(":")


def _first_sentences(text: str) -> tuple[str, str]:
    """Return the sentences that begin in the first words of a text, and the others.

    A list, a table or an equation is not divided.
    """
    if UNDIVIDED.match(text):
        return text, ""
    words = 0
    sentences = SENTENCE.split(text)
    for number, sentence in enumerate(sentences):
        words += len(sentence.split())
        if words > SHOWN_WORDS:
            end = max(number, 1)
            return " ".join(sentences[:end]), " ".join(sentences[end:])
    return text, ""


def to_figure(figure: source.Figure, folder: Path = Path()) -> SlideFigure:
    """Return a figure with the first sentence of its caption; `folder` has its path."""
    caption, _ = _first_sentence(figure.caption)
    return SlideFigure(str(folder / figure.path), figure.alt, caption)


def texts(slide: Slide) -> list[str]:
    """Return the Markdown that a slide shows, in order; the captions are included."""
    blocks = [b for b in slide.blocks if isinstance(b, Text | SlideFigure)]
    shown = [b.markdown if isinstance(b, Text) else b.caption for b in blocks]
    return [slide.title, slide.part, *shown]


def _segments(text: str, marks: list[SlideMark]) -> list[tuple[int, int]]:
    """Return the start and end of each piece of a text in which one slide begins."""
    starts = [mark.start for mark in marks if mark.begins][1:]
    return list(zip([0, *starts], [*starts, len(text)], strict=True))


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


def _imports(code: str) -> bool:
    """Return True for a cell that prepares the others, mostly by imports."""
    try:
        statements = ast.parse(code).body
    except SyntaxError:
        return False
    imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
    return len(imports) > len(statements) / 2


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


def _outputs(cell: source.Cell) -> Iterator[Output | Plot]:
    """Yield the texts and pictures in the outputs of a cell."""
    for output in read_outputs(cell.outputs):
        if isinstance(output, PrintedText):
            yield Output(output.text.strip("\n"), cell.varies)
        else:
            picture = pictures.shown(output, cell)
            yield Plot(picture.kind, picture.data, picture.alt)
