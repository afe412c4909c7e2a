"""Writes the files of the site beside its pages: style, scripts, fonts and pictures."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from rcssmin import cssmin
from rjsmin import jsmin

from book.base.drawing import draw_png
from book.base.files import remove
from book.base.paths import STATIC
from book.library import package
from book.library.figures import page_scripts
from book.pages import sets
from book.render import code
from book.text.book import Book

# The scripts that each page loads, in this order; the others are loaded when needed.
SCRIPTS = tuple(
    f"{name}.js" for name in ("book", "guess", "predict", "preview", "solutions")
)
# Drawings that other programs show as pixels: links to the book, and home screens.
DRAWN = ("card", "touch-icon")
DECK_FONTS = ("mono", "mono-bold", "sans", "sans-bold")
FOR_OTHERS = (
    *("slides.css", "slides.js", "vendor/reveal", "live"),
    *(f"fonts/{name}.woff2" for name in DECK_FONTS),
)


def write_static(book: Book, machines: Sequence[str], folder: Path) -> None:
    """Write the stylesheet, the scripts and the other static files to a new folder."""
    shutil.copytree(STATIC, folder)
    parts = ("book.css", "early.js", *SCRIPTS, *(f"{name}.svg" for name in DRAWN))
    for name in (*parts, *FOR_OTHERS):
        remove(folder / name)
    style, script = stylesheet(book.tabs, machines), jsmin(_joined(SCRIPTS))
    (folder / "site.css").write_text(style, "utf-8")
    (folder / "site.js").write_text(script, "utf-8")
    write_explorables(book, folder / "explorables")
    for name in DRAWN:
        svg = STATIC / f"{name}.svg"
        png = draw_png(svg.read_text("utf-8"), svg, zoom=1)
        (folder / f"{name}.png").write_bytes(png)


def stylesheet(tabs: list[str], machines: Sequence[str]) -> str:
    """Return the stylesheet of the pages."""
    styles = [
        _joined(("book.css",)),
        code.rules(),
        sets.tab_rules(tabs),
        sets.machine_rules([*machines]),
    ]
    return str(cssmin("\n".join(styles)))


def write_explorables(book: Book, folder: Path) -> None:
    """Write the scripts of the interactive figures in the place of their sources."""
    for path in folder.glob("*.js"):
        path.unlink()
    for name, text in page_scripts(package.tables(book)).items():
        (folder / f"{name}.js").write_text(text, "utf-8")


def _joined(names: Sequence[str]) -> str:
    return "\n".join((STATIC / name).read_text("utf-8") for name in names)
