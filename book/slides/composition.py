"""Composes the slides of a section from its points: questions first, then what shows.

A deck has a title, a slide for each point, before it a slide with its question if
readers predict the output, and the Summary. The text around a point becomes notes.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from book.facts.points import Point, Talk
from book.merge import Prediction
from book.records.outputs import Picture, PrintedText
from book.render.code import without_marks
from book.render.results import restyled
from book.text.blocks import Cell, Equation, Figure, Table
from book.text.inline import for_medium

EXPLANATION = 300  # characters
SENTENCE = re.compile(r"(?<=[.:?])\s+(?=[A-Z$(*:`\[])")
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
    """A slide, which begins on `line` of the section's file; all texts are Markdown.

    `kind` is "front", "asks", "point" or "summary". A slide that asks has the question
    as its title, and the slide below it compares the answers: both have the
    `prediction`.
    """

    kind: str
    title: str
    blocks: list[SlideItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    line: int = 1
    prediction: Prediction | None = None


def compose(
    title: str, talk: Talk, predictions: Mapping[int, Prediction | None]
) -> Iterator[Slide]:
    """Yield the slides of a talk; `predictions` has those of cells by their numbers."""
    opening, notes = talk.opening, [talk.lead or title]
    yield Slide("front", title, [_figure(opening)] if opening else [], notes)
    for point in talk.points:
        if not point.block:
            continue
        sentence, said, line = point.sentence.rstrip("."), point.said, point.line
        number = point.block.number if isinstance(point.block, Cell) else 0
        prediction = predictions.get(number) if point.asks else None
        if prediction:
            before = point.notes or said
            yield Slide("asks", prediction.question, [], before, line, prediction)
            said = [point.after] if point.after else said
        yield Slide("point", sentence, list(_shown(point)), said, line, prediction)
    if talk.summary:
        notes = [talk.exercise or talk.lead or title]
        yield Slide("summary", "Summary", [Text(talk.summary)], notes)


def _shown(point: Point) -> Iterator[SlideItem]:
    """Yield what a point shows: a picture, or the code and the output of a cell."""
    block = point.block
    if isinstance(block, Figure):
        yield _figure(block)
    elif isinstance(block, Cell):
        if point.code:
            yield Code(shown_source(point.code))
        for output in point.outputs:
            if isinstance(output, PrintedText):
                yield Output(output.text.strip("\n"), block.varies)
            else:
                yield restyled(output, block)
    elif isinstance(block, Equation):
        yield Text(f"$${block.tex}$$")
        explained = _beginning(point.after or "".join(point.notes[-1:]))
        yield from [Text(explained)] if explained else []
    elif isinstance(block, Table):
        yield Text(for_medium(block.rows.strip(), "slide"))
    elif block:
        yield Text(for_medium(block.text, "slide"))


def _figure(figure: Figure) -> SlideFigure:
    return SlideFigure(figure.path, figure.alt)


def _beginning(text: str) -> str:
    """Return the first sentences of a text, up to a question or to full lines."""
    first, *others = SENTENCE.split(" ".join(text.split()))
    for sentence in others:
        if "?" in sentence or len(first) + len(sentence) > EXPLANATION:
            break
        first = f"{first} {sentence}"
    return f"{first[:-1]}." if first.endswith(":") else first


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
