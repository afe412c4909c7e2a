"""Draws SVG as pixels, in letters that are the same on every system."""

from importlib.resources import files

import resvg_py

from book.runner.errors import BookError

ZOOM = 2
DOTS_PER_INCH = 96  # the resolution of CSS, for matplotlib's sizes in points
FAMILY = "Roboto"
STYLES = ("Regular", "Italic", "Medium", "Bold", "BoldItalic")
FONTS = [f"{files('font_roboto')}/files/{FAMILY}-{style}.ttf" for style in STYLES]


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
            font_files=FONTS,
            font_family=FAMILY,
            sans_serif_family=FAMILY,
            monospace_family=FAMILY,
        )
    except ValueError as error:
        message = f"the SVG cannot be drawn ({error}); correct it"
        raise BookError(message, where) from None
    return bytes(png)


def shown_size(png: bytes) -> tuple[int, int]:
    """Return the width and height in CSS pixels at which to show a drawn PNG."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return round(width / ZOOM), round(height / ZOOM)
