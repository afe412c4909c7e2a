"""A deck of slides as one page of HTML; `book.slides.decks` says what is on them."""

import base64
import mimetypes
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pypandoc
from pygments import highlight
from pygments.lexers import get_lexer_by_name

from book.base.errors import BookError
from book.base.paths import TEMPLATES
from book.pages.rst import SHELL_LINE
from book.pages.sphinx.code_styles import Light
from book.pages.sphinx.math import ALIGNMENT_STYLE, align_lines
from book.pages.sphinx.site import CodeFormatter
from book.slides.layout import WIDEST_TABLE, Page
from book.slides.marks import Block, Code, Figure, Plot, Printed, Text
from book.slides.words import Worded

Picture = Callable[[str], Path]  # the file of a figure that a section names
STAND_IN = "BOOKPART{}END"
PART = re.compile(r"<p>BOOKPART\d+END</p>")
DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
THOUSANDS = re.compile(r"(?<=\d)\s(?=\d{3}\b)")
NO_MATH = re.compile(r'<span class="math[^>]*>(.*?)</span>', re.DOTALL)
READER = "markdown-implicit_figures"


def page(template: str, **context: Any) -> str:
    """A page from one of the book's templates."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(context) + "\n"


def rendered(
    pages: list[Page], worded: Worded, picture: Picture
) -> list[dict[str, Any]]:
    """What the template asks for of each slide.

    `worded` replaces what refers to elsewhere by words.
    """
    texts = [worded(text) for page in pages for text in _texts(page)]
    html = iter(to_html(texts))
    return [_slide(page, html, picture) for page in pages]


def _texts(page: Page) -> list[str]:
    """All Markdown of a slide, in the order in which `_slide` takes it."""
    slide = page.slide
    blocks = [b for b in slide.blocks if isinstance(b, Text | Figure)]
    in_blocks = [b.markdown if isinstance(b, Text) else b.caption for b in blocks]
    return [slide.title, slide.part, *in_blocks, "\n\n".join(slide.notes)]


def _slide(page: Page, texts: Iterator[str], picture: Picture) -> dict[str, Any]:
    # In the order of `_texts`.
    return {
        "title": _inline(next(texts)),
        "part": _inline(next(texts)),
        "blocks": [_block(block, texts, picture) for block in page.slide.blocks],
        "notes": next(texts),
        "fit": round(100 * page.fit),
        "number": page.number,
        "of": page.of,
    }


def _block(block: Block, texts: Iterator[str], picture: Picture) -> dict[str, Any]:
    match block:
        case Text():
            return {"kind": "text", "html": next(texts)}
        case Figure(path, alt):
            caption = _inline(next(texts))
            src = _embedded(picture(path))
            return {"kind": "figure", "src": src, "alt": alt, "caption": caption}
        case Code(source):
            return {"kind": "code", "html": highlighted(source)}
        case Printed(text, varies):
            folds = any(len(line) > WIDEST_TABLE for line in text.split("\n"))
            return {"kind": "printed", "text": text, "varies": varies, "folds": folds}
        case Plot(kind, data, alt):
            return {"kind": "plot", "src": _plot(kind, data), "alt": alt}


def _embedded(file: Path) -> str:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return _address(kind, base64.b64encode(file.read_bytes()).decode())


def _plot(kind: str, data: str) -> str:
    if kind.endswith("+xml"):
        return _address(kind, base64.b64encode(data.encode()).decode())
    return _address(kind, "".join(data.split()))


def _address(kind: str, data: str) -> str:
    return f"data:{kind};base64,{data}"


def highlighted(source: str) -> str:
    lexer = get_lexer_by_name("ipython3" if SHELL_LINE.search(source) else "python")
    return highlight(source, lexer, CodeFormatter(style=Light)).strip()


def to_html(texts: list[str]) -> list[str]:
    """Each Markdown text as HTML, equations as MathML: one call of pandoc for all."""
    parts = [
        f"{STAND_IN.format(n)}\n\n{_prepared(text)}" for n, text in enumerate(texts)
    ]
    html = pypandoc.convert_text(
        *("\n\n".join(parts), "html", READER),
        extra_args=["--mathml", "--wrap=none", "--syntax-highlighting=none"],
    )
    if wrong := NO_MATH.search(html):
        raise BookError(f"cannot convert the equation '{wrong[1].strip('$ ')}'")
    return [p.strip() for p in PART.split(ALIGNMENT_STYLE.sub("", html))[1:]]


def _prepared(text: str) -> str:
    """Markdown with its equations aligned, and no number in two lines."""
    return DISPLAYED.sub(_equation, THOUSANDS.sub("\N{NO-BREAK SPACE}", text))


def _equation(found: re.Match[str]) -> str:
    return f"$${align_lines(found[1])}$$"


def _inline(html: str) -> str:
    """A paragraph without its own element."""
    return html.removeprefix("<p>").removesuffix("</p>")
