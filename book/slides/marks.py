"""Slides out of a section's notebook in one tab, by d2lbook's slide marks.

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
from itertools import pairwise

from d2lbook.slides import _match_slide_marks
from nbformat import NotebookNode

from book.base.errors import BookError
from book.pages.rst import SUFFIXES, alternative
from book.records.cleaning import as_on_terminal
from book.records.store import for_notebooks, varies
from book.sources.tabs import TAB_NAMES

IMAGE = re.compile(
    r'!\[(?P<caption>[^\n]*)\]\((?P<path>\S+?)(?:\s+"(?P<alt>(?:[^"\\\n]|\\.)*)")?\)'
)
LABEL = re.compile(r"^[ \t]*:(?:eq)?label:`[^`]*`[ \t]*\n?", re.MULTILINE)
SIZE = re.compile(r":(?:width|height):`[^`]*`")
HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
SECTION_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*$", re.MULTILINE)
PARAGRAPH = re.compile(r"\n[ \t]*\n")
LEAD_IN = re.compile(r"\*\*([^*\n]+)[.:]\*\*\s+\Z")
SENTENCE_END = re.compile(r"[.!?:][*_)\"']*\s*$")
SAVE = re.compile(r"[ \t]*#[ \t]*@save\b[ \t]*")
SUMMARY = re.compile(r"^(##+ Summary)[ \t]*\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
NEWLINE = "\n"
ENDINGS = ("Summary", "Exercises")
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


@dataclass
class Mark:
    """A marked text and where it stands, its signs included.

    `lead_in` are the bold words before it, as in "**Fix.** [**Move it first.**]".
    """

    start: int
    end: int
    text: str
    begins: bool
    lead_in: str = ""


def off_slides(cell: NotebookNode) -> bool:
    """Whether a cell is on no slide: one marked so, or one for notebooks alone."""
    classes = cell.metadata.get("attributes", {}).get("classes", [])
    return "off-slides" in classes or for_notebooks(cell)


def marks(text: str, where: str) -> list[Mark]:
    """The slide marks of a text cell in order; BookError if d2lbook refuses them."""
    try:
        found = _match_slide_marks(text)
    except AssertionError as error:
        reason = " ".join(str(error).split())[:100]
        raise BookError(f"slide marks that do not match: {reason}", where) from None
    placed, end = [], 0
    for pair, marked in found:
        start = text.index(pair[0] + marked + pair[1], end)
        end = start + len(pair[0] + marked + pair[1])
        lead = LEAD_IN.search(text[:start])
        begins = pair[0].startswith("[")
        lead_in = lead[1] if lead else ""
        placed.append(Mark(start, end, marked.strip(), begins, lead_in))
    return placed


def pieces(text: str, where: str, tab: str) -> list[str]:
    """A cell's text, cut where a slide begins: before the headings that lead to its
    mark, or else before the paragraph of the mark. A Summary has been marked."""
    text = SUMMARY.sub(lambda found: _marked(found, where, tab), text)
    begun = [0, *(mark.start for mark in marks(text, where) if mark.begins)]
    cuts = [_cut(text, before, start) for before, start in pairwise(begun)]
    ends = [summary.end() for summary in SUMMARY.finditer(text)]
    cuts = sorted({0, *cuts, *ends, len(text)})
    return [text[start:end] for start, end in pairwise(cuts)]


def _cut(text: str, before: int, start: int) -> int:
    """Where to cut for a slide whose mark is at `start`, the last one's at `before`."""
    for heading in HEADING.finditer(text, before, start):
        if heading[1] != "#":
            return heading.start()
    paragraphs = [end.end() for end in PARAGRAPH.finditer(text, before, start)]
    # A second slide of one paragraph begins at its mark.
    return paragraphs[-1] if paragraphs else start if before else 0


def _marked(found: re.Match[str], where: str, tab: str) -> str:
    """A Summary that is a slide: its items but for those about other frameworks."""
    heading, body = found.groups()
    if marks(body, where):
        return found[0]
    others = [name for key, name in TAB_NAMES.items() if key != tab]
    items = re.split(r"\n(?=[-*+] )", body.strip())
    kept = [item for item in items if not any(name in item for name in others)]
    return f"{heading}\n\n[~~Summary~~]\n\n(~~{NEWLINE.join(kept)}~~)\n\n"


def read(nb: NotebookNode, where: str, tab: str) -> list[Slide]:
    """The slides of the notebook of `tab`; the first has the section's title.

    Without any mark there are none. `where` is for what is told of broken marks.
    """
    reader = _Reader(where)
    for cell in nb.cells:
        if cell.cell_type == "code":
            if not off_slides(cell):
                reader.code(cell)
        else:
            for piece in pieces(cell.source, where, tab):
                reader.text(piece)
    return reader.slides if reader.marked else []


class _Reader:
    """Reads cells one by one; the last of `slides` is the one that they add to."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.slides: list[Slide] = []
        self.part = ""
        self.marked = False

    def text(self, piece: str) -> None:
        found = marks(piece, self.where)
        self.marked |= bool(found)
        title = self._headings(piece)
        if title or not self.slides:
            self.slides.append(Slide(title))
        if any(mark.begins for mark in found):
            self.slides.append(Slide("", self.part))
        slide = self.slides[-1]
        for mark in found:
            if mark.begins:
                title, rest = _title(mark.text)
                slide.title = f"{mark.lead_in}: {title}" if mark.lead_in else title
                slide.blocks += _blocks(rest)
            else:
                slide.blocks += _led_in(mark.lead_in, _blocks(mark.text))
        slide.notes += notes(piece, found)

    def _headings(self, piece: str) -> str:
        """The section's title, if it is here; other headings become the part."""
        title = ""
        for heading in HEADING.finditer(piece):
            if heading[1] == "#":
                title = heading[2]
            else:
                self.part = "" if heading[2] in ENDINGS else heading[2]
        return title

    def code(self, cell: NotebookNode) -> None:
        if not self.slides or len(self.slides) == 1:
            # Code before the first mark would crowd the slide of the title.
            self.slides.append(Slide("Setup"))
        blocks = self.slides[-1].blocks
        source = shown_source(cell.source)
        if source:
            blocks.append(Code(source))
        blocks += _outputs(cell)


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


def _blocks(text: str) -> Iterator[Text | Figure]:
    """The paragraphs and figures of a text on a slide."""
    text = SIZE.sub("", LABEL.sub("", text)).strip()
    end = 0
    for image in IMAGE.finditer(text):
        yield from _paragraphs(text[end : image.start()])
        alt = re.sub(r"\\(.)", r"\1", image["alt"] or "")
        yield Figure(image["path"], alt, image["caption"])
        end = image.end()
    yield from _paragraphs(text[end:])


def _led_in(words: str, blocks: Iterator[Text | Figure]) -> Iterator[Text | Figure]:
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


def notes(piece: str, found: list[Mark]) -> list[str]:
    """The paragraphs of a text cell without the sentences that stand on slides."""
    kept, end = [], 0
    for mark in found:
        before = piece[end : mark.start]
        signs = piece[mark.start : mark.start + 3]
        if signs.endswith("~~"):
            kept.append(before)
        elif _is_whole(piece, mark):
            kept.append(LEAD_IN.sub("", before))
        else:
            kept += [before, mark.text]
        end = mark.end
    text = LABEL.sub("", "".join([*kept, piece[end:]]))
    text = SIZE.sub("", IMAGE.sub("", HEADING.sub("", text)))
    return [p.strip() for p in PARAGRAPH.split(text) if p.strip(" \n.,;:")]


def _is_whole(piece: str, mark: Mark) -> bool:
    """Whether a marked text is one sentence or several, and no part of one."""
    before = PARAGRAPH.split(piece[: mark.start])[-1]
    after = PARAGRAPH.split(piece[mark.end :])[0]
    starts = not before.strip() or SENTENCE_END.search(before) is not None
    before_is_heading = HEADING.match(before.strip()) is not None
    ends = SENTENCE_END.search(mark.text) is not None or not after.strip()
    return (starts or before_is_heading) and ends


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


def _outputs(cell: NotebookNode) -> Iterator[Printed | Plot]:
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield _printed(output.text, cell)
        elif output.output_type == "error":
            yield _printed("\n".join(output.traceback), cell)
        elif kind := next((k for k in SUFFIXES if k in output.data), None):
            yield Plot(kind, output.data[kind], alternative(output, cell))
        elif "text/plain" in output.data:
            yield _printed(output.data["text/plain"], cell)


def _printed(text: str, cell: NotebookNode) -> Printed:
    return Printed(as_on_terminal(text).strip("\n"), varies(cell))
