"""Writes the slides of a deck as HTML."""

import base64
import math
import mimetypes
import re
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import imagesize

from book.library import figures
from book.records.cleaning import SVG
from book.records.outputs import Picture
from book.render import code, plots, results
from book.render.texts import Texts
from book.slides.slide_marks import Code, Output, Slide, SlideFigure, SlideItem, Text
from book.slides.words import Words
from book.text.section import Section
from book.text.tokens import equations, parse, parse_line

SMALLEST = 18  # the size of text that can be read on a slide, in pixels
PLOT_TEXT = 10  # in the unit of a plot; slides.css has a bit more
FONT_SIZE = re.compile(r'font-size[=:]\s*"?([\d.]+)')


def render_slides(
    slides: list[Slide], section: Section, words: Words
) -> list[dict[str, Any]]:
    """Return the variables of the template for each slide of a section.

    Raises a `BookError` for an equation that is not valid.
    """
    writer = _Writer(slides, section, words)
    return [_slide(slide, section, writer) for slide in slides]


class _Writer:
    """Writes the texts of some slides as HTML; one call converts their equations."""

    def __init__(self, slides: list[Slide], section: Section, words: Words):
        self._lines = {
            line: words.targets.word(parse_line(line))
            for slide in slides
            for line in slide.lines
        }
        self._texts = {
            text: words.targets.word(parse(text))
            for slide in slides
            for text in [*slide.texts, _notes(slide)]
        }
        found = equations(chain(*self._lines.values(), *self._texts.values()))
        self._html = Texts(lambda reference: "", words.mathml(found, section))

    def line(self, text: str) -> str:
        """Return the HTML of a title or a caption."""
        return self._html.line(self._lines[text])

    def text(self, text: str) -> str:
        """Return the HTML of paragraphs, lists and other blocks."""
        return self._html.html(self._texts[text]).strip()


def _notes(slide: Slide) -> str:
    return "\n\n".join(slide.notes)


def _slide(slide: Slide, section: Section, writer: _Writer) -> dict[str, Any]:
    """Return the variables for a slide."""
    folder = section.path.parent
    return {
        "title": writer.line(slide.title),
        "part": writer.line(slide.part),
        "blocks": [
            _block(block, writer, folder) | {"step": step}
            for block, step in zip(slide.blocks, _steps(slide), strict=True)
        ],
        "notes": writer.text(_notes(slide)),
        "number": slide.number,
        "total": slide.total,
        "place": section.at(slide.line),
        "is_point": slide.is_point,
    }


def _steps(slide: Slide) -> Iterator[int | None]:
    """Yield the step in which each block of a slide appears; None if at once.

    The blocks appear in turn, and the outputs of a cell together.
    """
    step, above = 0, None
    for block in slide.blocks:
        is_output = isinstance(block, Output | Picture)
        if above and not (is_output and isinstance(above, Output | Picture)):
            step += 1
        yield step or None
        above = block


def _block(block: SlideItem, writer: _Writer, folder: Path) -> dict[str, Any]:
    """Return the variables for a block of a slide."""
    match block:
        case Text():
            return {"kind": "text", "html": writer.text(block.text)}
        case SlideFigure(path, alt):
            file, caption = folder / path, writer.line(block.caption)
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            src = _data_address(kind, file.read_bytes())
            least = _readable_height(file)
            name = file.stem if figures.is_interactive(file.stem) else ""
            shown = {"src": src, "alt": alt, "caption": caption, "interactive": name}
            return {"kind": "figure", **shown, "least": least}
        case Code(source):
            html = code.colored(source, code.language_of(source))
            return {"kind": "code", "html": html}
        case Output(text, varies):
            folds = results.is_folded(text)
            return {"kind": "printed", "text": text, "varies": varies, "folds": folds}
        case Picture(kind, data, alt):
            prefix = f"plot-{zlib.crc32(data.encode()):x}-"
            if kind == SVG and (svg := plots.inline(data, alt, prefix)):
                least = round(plots.height_of(data) * SMALLEST / PLOT_TEXT)
                return {"kind": "plot", "html": svg, "least": least}
            src = _data_address(kind, block.bytes)
            return {"kind": "picture", "src": src, "alt": alt}


def _readable_height(file: Path) -> int:
    """Return the height in pixels at which the text of a drawing can be read, or 0."""
    text = file.read_text("utf-8") if file.suffix == ".svg" else ""
    smallest = min(map(float, FONT_SIZE.findall(text)), default=0)
    _, height = imagesize.get(file)
    return math.ceil(height * SMALLEST / smallest) if smallest else 0


def _data_address(kind: str, data: bytes) -> str:
    """Return an address that holds the data of a picture."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
