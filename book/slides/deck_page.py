"""Writes a deck of slides as one page of HTML."""

import base64
import html
import mimetypes
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pypandoc
from pygments import highlight
from pygments.lexers import get_lexer_by_name

from book.base.errors import BookError
from book.base.paths import TEMPLATES
from book.library import figures
from book.pages import wording
from book.pages.sphinx.math import ALIGNMENT_STYLE, align_lines, space_functions
from book.pages.sphinx.site import CodeFormatter
from book.records.cleaning import SVG
from book.render import plots
from book.render.code_styles import Light
from book.slides import marks
from book.slides.layout import WIDEST_TABLE, LaidOutSlide
from book.slides.marks import Code, Output, Plot, Slide, SlideFigure, SlideItem, Text
from book.slides.words import ReplaceRoles
from book.sources.blocks import COMMAND_LINE

FindFigure = Callable[[str], Path]  # returns the file for a path in a section
MARKER = "BOOKPART{}END"
MARKER_PARAGRAPH = re.compile(r"<p>BOOKPART\d+END</p>")
DISPLAYED_EQUATION = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
THOUSANDS_SPACE = re.compile(r"(?<=\d)\s(?=\d{3}\b)")
# pandoc writes this element for an equation that it cannot convert.
INVALID_EQUATION = re.compile(r'<span class="math[^>]*>(.*?)</span>', re.DOTALL)
# The colon of a caption above a table.
TABLE_CAPTION = re.compile(r"^:[ \t]*(?=[^\n]+(?:\n[^\n]+)*\n\n\|)", re.MULTILINE)
NO_TEXT = re.compile(r"<(code|pre|math)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
PANDOC_READER = "markdown-implicit_figures"


class Misread(Exception):
    """A text that readers of slides would not see as it is written."""

    def __init__(self, text: str, message: str):
        super().__init__(message)
        self.text = text


def render_template(template: str, **context: Any) -> str:
    """Return the page that one of the book's templates makes from these variables."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(context) + "\n"


def render_slides(
    pages: list[LaidOutSlide], replace_roles: ReplaceRoles, find_figure: FindFigure
) -> list[dict[str, Any]]:
    """Return the variables of the template for each slide.

    `replace_roles` returns a text with words instead of references and citations.
    """
    texts = [replace_roles(text) for page in pages for text in _texts(page.slide)]
    converted = iter(to_html(texts))
    return [_slide(page, converted, find_figure) for page in pages]


def _texts(slide: Slide) -> list[str]:
    """Return all Markdown of a slide in the order in which `_slide` uses it."""
    return [*marks.texts(slide), "\n\n".join(slide.notes)]


def _slide(
    page: LaidOutSlide, html: Iterator[str], find_figure: FindFigure
) -> dict[str, Any]:
    """Return the variables for a slide; `html` yields its texts in order."""
    slide = page.slide
    return {
        "title": _unwrap(next(html)),
        "part": _unwrap(next(html)),
        "blocks": [
            _block(block, html, find_figure) | {"step": step}
            for block, step in zip(slide.blocks, _steps(slide), strict=True)
        ],
        "notes": next(html),
        "continued": slide.continued,
        "scale": round(100 * page.scale),  # percent
        "number": page.number,
        "total": page.total,
    }


def _steps(slide: Slide) -> Iterator[int | None]:
    """Yield the step in which each block of a slide appears; None if at once.

    The blocks appear in turn, and the outputs of a cell together.
    """
    step, above = 0, None
    for block in slide.blocks:
        is_output = isinstance(block, Output | Plot)
        if above and not (is_output and isinstance(above, Output | Plot)):
            step += 1
        yield step or None
        above = block


def _block(
    block: SlideItem, html: Iterator[str], find_figure: FindFigure
) -> dict[str, Any]:
    """Return the variables for a block of a slide."""
    match block:
        case Text():
            return {"kind": "text", "html": next(html)}
        case SlideFigure(path, alt, is_alone=is_alone):
            caption = _unwrap(next(html))
            src = _file_address(find_figure(path))
            name = Path(path).stem if figures.is_interactive(Path(path).stem) else ""
            shown = {"src": src, "alt": alt, "caption": caption, "interactive": name}
            return {"kind": "figure", **shown, "alone": is_alone}
        case Code(source):
            return {"kind": "code", "html": highlight_code(source)}
        case Output(text, varies):
            folds = any(len(line) > WIDEST_TABLE for line in text.split("\n"))
            return {"kind": "printed", "text": text, "varies": varies, "folds": folds}
        case Plot(kind, data, alt):
            prefix = f"plot-{zlib.crc32(data.encode()):x}-"
            if kind == SVG and (svg := plots.inline(data, alt, prefix)):
                return {"kind": "plot", "html": svg}
            return {"kind": "picture", "src": _plot_address(kind, data), "alt": alt}


def _file_address(file: Path) -> str:
    """Return an address that holds the data of a file."""
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return _data_address(kind, base64.b64encode(file.read_bytes()).decode())


def _plot_address(kind: str, data: str) -> str:
    """Return an address that holds the data of a recorded picture."""
    if kind.endswith("+xml"):
        return _data_address(kind, base64.b64encode(data.encode()).decode())
    return _data_address(kind, "".join(data.split()))


def _data_address(kind: str, data: str) -> str:
    return f"data:{kind};base64,{data}"


def highlight_code(source: str) -> str:
    """Return code as HTML with the colors of the pages."""
    lexer = get_lexer_by_name("ipython3" if COMMAND_LINE.search(source) else "python")
    return highlight(source, lexer, CodeFormatter(style=Light)).strip()


def to_html(texts: list[str]) -> list[str]:
    """Return each Markdown text as HTML with MathML; one call of pandoc converts all.

    Raises a `BookError` for an equation that is not valid, and `Misread` for a text
    that pandoc reads in another way than the book.
    """
    parts = [f"{MARKER.format(n)}\n\n{_prepare(text)}" for n, text in enumerate(texts)]
    converted = pypandoc.convert_text(
        *("\n\n".join(parts), "html", PANDOC_READER),
        extra_args=["--mathml", "--wrap=none", "--syntax-highlighting=none"],
    )
    if invalid := INVALID_EQUATION.search(converted):
        equation = invalid[1].strip("$ ")
        raise BookError(f"cannot convert the equation '{equation}'; correct its TeX")
    _, *parts = MARKER_PARAGRAPH.split(converted)
    for text, part in zip(texts, parts, strict=True):
        wanted = wording.text_of(TABLE_CAPTION.sub("", text))
        seen = wording.compact(_plain(part))
        if wanted != seen:
            raise Misread(text, wording.explain(text, wanted, seen))
    shown = (space_functions(ALIGNMENT_STYLE.sub("", part)) for part in parts)
    return [part.strip() for part in shown]


def _plain(html_text: str) -> str:
    """Return the text of HTML without code and equations."""
    return html.unescape(TAG.sub("", NO_TEXT.sub("", html_text)))


def _prepare(text: str) -> str:
    """Return Markdown with aligned equations and without line breaks in numbers."""
    text = THOUSANDS_SPACE.sub("\N{NO-BREAK SPACE}", text)
    return DISPLAYED_EQUATION.sub(lambda match: f"$${align_lines(match[1])}$$", text)


def _unwrap(html: str) -> str:
    """Return the contents of a paragraph."""
    return html.removeprefix("<p>").removesuffix("</p>")
