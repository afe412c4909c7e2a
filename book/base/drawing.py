"""Draws SVG as pixels, in letters that are the same on every system."""

import functools
from importlib.resources import files
from pathlib import Path

import resvg_py

from book.base.errors import BookError

ZOOM = 2
DOTS_PER_INCH = 96  # the resolution of CSS, for matplotlib's sizes in points
FAMILY = "Roboto"
FONTS = ("Regular", "Italic", "Medium", "Bold", "BoldItalic")


def draw_png(svg: str, where: object, zoom: int = ZOOM) -> bytes:
    """Return a PNG that is `zoom` times as wide and high as an SVG.

    Raises a `BookError` at `where` if the SVG is damaged.
    """
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=zoom,
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
