"""Converts figures to pixels for notebooks, since Colab shows no SVG within text."""

import functools
from dataclasses import dataclass
from pathlib import Path

from book.base.drawing import ZOOM, draw_png
from book.base.errors import BookError

TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


@dataclass(frozen=True)
class EmbeddedPicture:
    """An image in a format that every notebook can show."""

    name: str
    mime: str
    data: bytes
    width: int | None = None  # in CSS pixels, if it is not the image's own width


@functools.cache
def read_picture(path: Path) -> EmbeddedPicture:
    """Return the image in `path`; an SVG becomes a PNG of twice its width and height.

    Raises a `BookError` for a file in another format or a damaged SVG.
    """
    if path.suffix in TYPES:
        return EmbeddedPicture(path.name, TYPES[path.suffix], path.read_bytes())
    if path.suffix != ".svg":
        message = "notebooks can show only SVG, PNG and JPEG; convert this file"
        raise BookError(message, path)
    data = draw_png(path.read_text(encoding="utf-8"), path)
    return EmbeddedPicture(f"{path.stem}.png", "image/png", data, shown_size(data)[0])


def shown_size(png: bytes) -> tuple[int, int]:
    """Return the width and height in CSS pixels at which to show a drawn PNG."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return round(width / ZOOM), round(height / ZOOM)
