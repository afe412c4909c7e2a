"""Slides out of what a tab shows of a section, by d2lbook's slide marks.

`[**text**]` begins a slide, whose title the text becomes; `(**text**)` adds to the
slide. Bold words just before, such as **Fix.**, come along. With `~~` in place of `**`
the text is on slides only. The code up to the next slide follows, with its outputs.
All other prose becomes the speaker's notes. A Summary without marks is a slide as it
is, and code marked `.off-slides` is on none.
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
    """A picture from the text; `path` is as the section names it."""

    path: str
    alt: str
    caption: str


@dataclass
class Code:
    source: str


@dataclass
class Printed:
    """What a cell printed; `varies` if the next run prints something else."""

    text: str
    varies: bool = False


@dataclass
class Plot:
    """A picture that a cell drew: `data` of a MIME type, as the record has it."""

    kind: str
    data: str
    alt: str


Block = Text | Figure | Code | Printed | Plot


@dataclass
class Slide:
    """`title` is Markdown; `part` is the heading of the part of the section."""

    title: str
    part: str = ""
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(shown: Shown) -> list[Slide]:
    """Return the slides of a section in one tab; the first has the section's title.

    Without any mark there are none.
    """
    reader = _Reader(shown.tab)
    cells = iter(zip(shown.outputs, strict=True))
    for part in _parts(shown.blocks):
        if _is_unmarked_summary(part):
            reader.summary(part[1:])
            part = [block for block in part if isinstance(block, source.Cell)]
        for block in part:
            if isinstance(block, source.Cell):
                (printed,) = next(cells)
                reader.code(block, printed)
            elif isinstance(block, source.Heading):
                reader.heading(block)
            elif not isinstance(block, source.Contents | source.Directive):
                reader.text(block)
    reader.settle()
    return reader.slides if reader.marked else []


def _parts(found: list[source.Block]) -> Iterator[list[source.Block]]:
    """Yield the blocks from each heading to the next."""
    part: list[source.Block] = []
    for block in found:
        if isinstance(block, source.Heading) and part:
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _is_unmarked_summary(part: list[source.Block]) -> bool:
    head, *rest = part
    is_summary = isinstance(head, source.Heading) and head.title == SUMMARY
    return is_summary and not any(_marks(block) for block in rest)


def _marks(block: source.Block) -> list[SlideMark]:
    """Return the slide marks of a block; its sign is one around all of it."""
    if isinstance(block, source.Cell):
        return []
    text = _text(block)
    if block.sign:
        begins, only = block.sign[0] == "[", block.sign[1] == "~"
        return [SlideMark(0, len(text), text, begins, only)]
    return slide_marks(text)


def _text(block: source.Block) -> str:
    return for_medium(block.text, "slide")


class _Reader:
    """Reads blocks one by one; the last of `slides` is the one that they add to."""

    def __init__(self, tab: str) -> None:
        self.tab = tab
        self.slides: list[Slide] = []
        self.part = ""
        self.marked = False
        # Text below a heading waits for the slide that it may lead to.
        self.waiting: list[str] | None = None

    def heading(self, heading: source.Heading) -> None:
        self.settle()
        if heading.level == 1 or not self.slides:
            self.slides.append(Slide(heading.title if heading.level == 1 else ""))
        if heading.level > 1:
            self.part = "" if heading.title in ENDINGS else heading.title
            self.waiting = []

    def summary(self, found: list[source.Block]) -> None:
        """Add a Summary as a slide, without its items on other frameworks."""
        self.settle()
        others = [name for key, name in TAB_NAMES.items() if key != self.tab]
        text = "\n".join(_text(b) for b in found if isinstance(b, source.Prose))
        items = re.split(r"\n(?=[-*+] )", text)
        kept = [item for item in items if not any(name in item for name in others)]
        self.slides.append(Slide(SUMMARY, "", [Text("\n".join(kept))]))
        self.marked = True

    def text(self, block: source.Block) -> None:
        if not self.slides:
            self.slides.append(Slide(""))
        found = _marks(block)
        self.marked |= bool(found)
        for start, end in _segments(_text(block), found):
            inside = [mark for mark in found if start <= mark.start < end]
            self._segment(block, start, end, inside)

    def _segment(
        self, block: source.Block, start: int, end: int, found: list[SlideMark]
    ) -> None:
        """Read a piece of a block in which at most one slide begins."""
        text = _text(block)
        if any(mark.begins for mark in found):
            self.slides.append(Slide("", self.part, notes=self.waiting or []))
            self.waiting = None
        for mark in found:
            lead_in = LEAD_IN.search(text, start, mark.start)
            self._mark(block, mark, lead_in[1] if lead_in else "")
        if not isinstance(block, source.Figure):
            self._note(_unmarked(text, start, end, found))

    def _mark(self, block: source.Block, mark: SlideMark, lead_in: str) -> None:
        slide = self.slides[-1]
        if isinstance(block, source.Figure):
            slide.blocks.append(Figure(block.path, block.alt, block.caption))
        elif mark.begins:
            title, rest = _title(mark.text)
            slide.title = f"{lead_in}: {title}" if lead_in else title
            slide.blocks += _paragraphs(rest)
        else:
            slide.blocks += _led_in(lead_in, _paragraphs(mark.text))

    def _note(self, text: str) -> None:
        notes = self.slides[-1].notes if self.waiting is None else self.waiting
        notes += [p.strip() for p in PARAGRAPH.split(text) if p.strip(" \n.,;:")]

    def settle(self) -> None:
        """Leave text that led to no slide to the last one."""
        if self.waiting and self.slides:
            self.slides[-1].notes += self.waiting
        self.waiting = None

    def code(self, cell: source.Cell, found: list) -> None:
        self.settle()
        if not cell.on_slides:
            return
        if len(self.slides) < 2:
            # Code before the first mark would crowd the slide of the title.
            self.slides.append(Slide("Setup"))
        code = shown_source(cell.code)
        if code:
            self.slides[-1].blocks.append(Code(code))
        self.slides[-1].blocks += _outputs(cell, found)


def _segments(text: str, found: list[SlideMark]) -> list[tuple[int, int]]:
    """Return the pieces of a text: a second slide of one block begins at its mark."""
    begun = [mark.start for mark in found if mark.begins][1:]
    return list(zip([0, *begun], [*begun, len(text)], strict=True))


# Text


def _title(text: str) -> tuple[str, str]:
    """The title in a slide's first text; what follows its paragraph or sentence."""
    first, *rest = PARAGRAPH.split(text, maxsplit=1)
    if len(first) > LONGEST_TITLE and (end := re.search(r"[.?!]\s", first)):
        rest.insert(0, first[end.end() :])
        first = first[: end.end()]
    if first.lstrip().startswith(("$$", "* ", "![")):
        return "", text
    return capitalised(" ".join(first.split()).rstrip(" ,;:.，。：")), "\n\n".join(rest)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _led_in(words: str, blocks: Iterator[Text]) -> Iterator[Text]:
    for block in blocks:
        if words and isinstance(block, Text):
            block.markdown = f"**{words}.** {block.markdown}"
        words = ""
        yield block


def _paragraphs(text: str) -> Iterator[Text]:
    for paragraph in PARAGRAPH.split(text.strip()):
        if paragraph.strip():
            yield Text(_finished(paragraph.strip()))


def _finished(text: str) -> str:
    """A text that was a part of a sentence, as a sentence."""
    if re.match(r"[-*+$|#]|\d+\. |```", text) or text.endswith("$$"):
        return text
    text = capitalised(text.rstrip(" ,;"))
    return text if SENTENCE_END.search(text) else f"{text}."


def _unmarked(text: str, start: int, end: int, found: list[SlideMark]) -> str:
    """Return a piece of a text without the sentences that are on slides."""
    kept, last = [], start
    for mark in found:
        before = text[last : mark.start]
        if mark.only_on_slides:
            kept.append(before)
        elif _is_whole(text[start : mark.start], mark, text[mark.end : end]):
            kept.append(LEAD_IN.sub("", before))
        else:
            kept += [before, mark.text]
        last = mark.end
    return "".join([*kept, text[last:end]])


def _is_whole(before: str, mark: SlideMark, after: str) -> bool:
    """Return whether a marked text is one sentence or several, and no part of one."""
    before, after = PARAGRAPH.split(before)[-1], PARAGRAPH.split(after)[0]
    starts = not before.strip() or SENTENCE_END.search(before) is not None
    ends = SENTENCE_END.search(mark.text) is not None or not after.strip()
    return starts and ends


# Code and outputs


def shown_source(source: str) -> str:
    """A cell's code without `#@save`, and of each docstring the first line alone."""
    source = SAVE.sub("", source).strip("\n")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    lines = source.split("\n")
    documented = [node for node in ast.walk(tree) if isinstance(node, Documented)]
    # The last first, so that the lines of the others stay where they are.
    for node in sorted(documented, key=lambda n: n.lineno, reverse=True):
        _shorten(lines, node)
    return "\n".join(lines)


def _shorten(lines: list[str], node: Documented) -> None:
    """Leave the first line of a definition's docstring; later lines keep no place."""
    first = node.body[0]
    start, end = first.lineno - 1, first.end_lineno or first.lineno
    if ast.get_docstring(node) is not None and end > start + 1:
        lines[start] = f"{lines[start].rstrip()}{lines[start].strip()[:3]}"
        del lines[start + 1 : end]


def _outputs(cell: source.Cell, found: list) -> Iterator[Printed | Plot]:
    for output in outputs.read(found, cell):
        if isinstance(output, outputs.Printed):
            yield Printed(output.text.strip("\n"), cell.varies)
        else:
            yield Plot(output.kind, output.data, output.alt)
