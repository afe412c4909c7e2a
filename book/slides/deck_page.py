"""Writes the slides of a deck as HTML."""

import base64
import math
import mimetypes
import re
import zlib
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import imagesize

from book.base.paths import STATIC
from book.library import figures
from book.pages import covered_outputs
from book.records.cleaning import SVG
from book.records.outputs import Picture
from book.render import code, plots, results
from book.render.texts import Texts
from book.slides.composition import Code, Output, Slide, SlideFigure, SlideItem, Text
from book.slides.words import Words
from book.text.section import Section
from book.text.tokens import equations, parse, parse_line

SMALLEST = 18  # the size of text that can be read on a slide, in pixels
WIDEST = 108  # characters of a line of code in the size of other text
PLOT_TEXT = 10  # in the unit of a plot; slides.css has a bit more
FACE = "@font-face {{ font-family: Book Sans; font-weight: {}; src: url({}); }}"
FONT_FAMILY = re.compile(r'(font-family=")')
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
            slide.title: words.targets.word(parse_line(slide.title)) for slide in slides
        }
        texts = [text for s in slides for text in [*_texts(s), _notes(s)]]
        self._texts = {text: words.targets.word(parse(text)) for text in texts}
        found = equations(chain(*self._lines.values(), *self._texts.values()))
        self._html = Texts(lambda reference: "", words.mathml(found, section))

    def line(self, text: str) -> str:
        """Return the HTML of a title."""
        return self._html.line(self._lines[text])

    def text(self, text: str) -> str:
        """Return the HTML of paragraphs, lists and other blocks."""
        return self._html.html(self._texts[text]).strip()


def _texts(slide: Slide) -> list[str]:
    return [block.text for block in slide.blocks if isinstance(block, Text)]


def _notes(slide: Slide) -> str:
    return "\n\n".join(slide.notes)


def _slide(slide: Slide, section: Section, writer: _Writer) -> dict[str, Any]:
    """Return the variables for a slide."""
    folder, asked = section.path.parent, slide.prediction
    form = covered_outputs.fields(asked) if asked and slide.kind == "asks" else ""
    rows = covered_outputs.rows(asked, "The room") if asked and not form else ""
    blocks = [_block(block, writer, folder) for block in slide.blocks]
    # What a cell shows follows its code, unless a question has asked for it.
    waits = blocks and blocks[0]["kind"] == "code" and not rows
    return {
        "kind": slide.kind,
        "title": writer.line(slide.title),
        "question": asked.question if form and asked else "",
        "form": form,
        "rows": rows,
        "blocks": [b | {"step": bool(waits and n)} for n, b in enumerate(blocks)],
        "notes": writer.text(_notes(slide)),
        "place": section.at(slide.line),
    }


def _block(block: SlideItem, writer: _Writer, folder: Path) -> dict[str, Any]:
    """Return the variables for a block of a slide."""
    match block:
        case Text():
            return {"kind": "text", "html": writer.text(block.text)}
        case SlideFigure(path, alt):
            file = folder / path
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            src = _data_address(kind, _in_the_books_font(file))
            least = _readable_height(file)
            name = file.stem if figures.is_interactive(file.stem) else ""
            shown = {"src": src, "alt": alt, "interactive": name}
            return {"kind": "figure", **shown, "least": least}
        case Code(source):
            html = code.colored(source, code.language_of(source))
            return {"kind": "code", "html": html}
        case Output(text, varies):
            return {"kind": "printed", "text": text, "varies": varies} | _fold(text)
        case Picture(kind, data, alt):
            prefix = f"plot-{zlib.crc32(data.encode()):x}-"
            if kind == SVG and (svg := plots.inline(data, alt, prefix)):
                least = round(plots.height_of(data) * SMALLEST / PLOT_TEXT)
                return {"kind": "plot", "html": svg, "least": least}
            src = _data_address(kind, block.bytes)
            return {"kind": "picture", "src": src, "alt": alt}


def _fold(text: str) -> dict[str, Any]:
    """Return the variables for the measure of a printed text."""
    chars = results.widest(text)
    is_wide = results.WIDEST_TABLE < chars <= WIDEST
    return {"folds": chars > WIDEST, "chars": chars if is_wide else 0}


def _readable_height(file: Path) -> int:
    """Return the height in pixels at which the text of a drawing can be read, or 0."""
    text = file.read_text("utf-8") if file.suffix == ".svg" else ""
    smallest = min(map(float, FONT_SIZE.findall(text)), default=0)
    _, height = imagesize.get(file)
    return math.ceil(height * SMALLEST / smallest) if smallest else 0


def _in_the_books_font(file: Path) -> bytes:
    """Return the data of a picture; a drawing holds its font, since it loads none."""
    data = file.read_bytes()
    if file.suffix != ".svg" or b"font-family=" not in data:
        return data
    faces = [FACE.format(400, _font("sans"))]
    if b"font-weight" in data:
        faces.append(FACE.format(600, _font("sans-bold")))
    style = f"<style>{''.join(faces)}</style>"
    svg = FONT_FAMILY.sub(r"\1Book Sans, ", data.decode("utf-8"))
    return re.sub(r"(<svg[^>]*>)", rf"\1{style}", svg, count=1).encode()


@cache
def _font(name: str) -> str:
    return _data_address("font/woff2", (STATIC / f"fonts/{name}.woff2").read_bytes())


def _data_address(kind: str, data: bytes) -> str:
    """Return an address that holds the data of a picture."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
