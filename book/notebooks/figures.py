"""Figures as pixels, for notebooks: Colab shows no SVG that stands in its text."""

import functools
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import resvg_py

from book.base.errors import BookError

ZOOM = 2
DOTS_PER_INCH = 96  # of CSS, in which matplotlib's points are counted
FAMILY = "Roboto"
FONTS = ("Regular", "Italic", "Medium", "Bold", "BoldItalic")
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


@dataclass(frozen=True)
class Picture:
    """An image that any notebook shows."""

    name: str
    mime: str
    data: bytes
    width: int | None = None  # as shown, in CSS pixels, if not its own


@functools.cache
def picture(path: Path) -> Picture:
    """The image in `path`; an SVG becomes a PNG with twice as many pixels each way."""
    if path.suffix in TYPES:
        return Picture(path.name, TYPES[path.suffix], path.read_bytes())
    if path.suffix != ".svg":
        raise BookError("notebooks show SVG, PNG and JPEG; convert it", path)
    data = drawn(path.read_text(encoding="utf-8"), path)
    return Picture(f"{path.stem}.png", "image/png", data, shown_size(data)[0])


def shown_size(png: bytes) -> tuple[int, int]:
    """The width and the height of what `drawn` drew, in CSS pixels."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return round(width / ZOOM), round(height / ZOOM)


def drawn(svg: str, where: object) -> bytes:
    """A PNG of an SVG, in one font for all: those that systems have differ."""
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
        raise BookError(f"cannot be drawn ({error}); mend it", where) from None
    return bytes(png)


@functools.cache
def _fonts() -> list[str]:
    folder = Path(str(files("font_roboto"))) / "files"
    return [str(folder / f"{FAMILY}-{style}.ttf") for style in FONTS]
