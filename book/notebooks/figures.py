"""Converts figures to pixels for notebooks, since Colab shows no SVG within text."""

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import resvg_py

from book.base.errors import BookError

ZOOM = 2
DOTS_PER_INCH = 96  # the resolution of CSS, for matplotlib's sizes in points
FAMILY = "Roboto"
FONTS = ("Regular", "Italic", "Medium", "Bold", "BoldItalic")
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


@dataclass(frozen=True)
class Picture:
    """An image in a format that every notebook can show."""

    name: str
    mime: str
    data: bytes
    width: int | None = None  # in CSS pixels, if it is not the image's own width


@functools.cache
def read_picture(path: Path) -> Picture:
    """Return the image in `path`; an SVG becomes a PNG of twice its width and height.

    Raises a `BookError` for a file in another format or a damaged SVG.
    """
    if path.suffix in TYPES:
        return Picture(path.name, TYPES[path.suffix], path.read_bytes())
    if path.suffix != ".svg":
        message = "notebooks can show only SVG, PNG and JPEG; convert this file"
        raise BookError(message, path)
    data = draw_png(path.read_text(encoding="utf-8"), path)
    return Picture(f"{path.stem}.png", "image/png", data, shown_size(data)[0])


def shown_size(png: bytes) -> tuple[int, int]:
    """Return the width and height in CSS pixels at which to show a drawn PNG."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return round(width / ZOOM), round(height / ZOOM)


def draw_png(svg: str, where: object) -> bytes:
    """Return a PNG of an SVG with the same font on every system.

    Raises a `BookError` at `where` if the SVG is damaged.
    """
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=ZOOM,
            dpi=DOTS_PER_INCH,
            skip_system_fonts=True,
            font_files=_fonts(),
            font_family=FAMILY,
            sans_serif_family=FAMILY,
            monospace_family=FAMILY,
        )
    except ValueError as error:
        message = f"the SVG cannot be drawn ({error}); correct it"
        raise BookError(message, where) from None
    return bytes(png)


@functools.cache
def _fonts() -> list[str]:
    """Return the paths of the font files."""
    folder = Path(str(files("font_roboto"))) / "files"
    return [str(folder / f"{FAMILY}-{style}.ttf") for style in FONTS]
