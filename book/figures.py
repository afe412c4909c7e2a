"""Figures as pixels, for notebooks: Colab shows no SVG that stands in its text."""

import functools
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import resvg_py

from book.errors import BookError

ZOOM = 2
FAMILY = "Roboto"
FONTS = ("Regular", "Italic", "Medium", "Bold", "BoldItalic")
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)(?:px)?"', re.DOTALL)
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
    svg = path.read_text(encoding="utf-8")
    try:
        data = _drawn(svg)
    except ValueError as error:
        raise BookError(f"cannot be drawn ({error}); mend it", path) from None
    size = SIZE.search(svg)
    width = round(float(size[1])) if size else None
    return Picture(f"{path.stem}.png", "image/png", data, width)


def _drawn(svg: str) -> bytes:
    """A PNG of an SVG, in one font for all: those that systems have differ."""
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=ZOOM,
            skip_system_fonts=True,
            font_files=_fonts(),
            font_family=FAMILY,
            sans_serif_family=FAMILY,
            monospace_family=FAMILY,
        )
    )


@functools.cache
def _fonts() -> list[str]:
    folder = Path(str(files("font_roboto"))) / "files"
    return [str(folder / f"{FAMILY}-{style}.ttf") for style in FONTS]
