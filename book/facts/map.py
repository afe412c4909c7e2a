"""Finds which sections treat which parts of the machine.

Under `[map]` in config.ini, `drawing` names the map of the machine, and each lesson
the parts that it treats. In the drawing, a part is a group with an id, `data-touch`,
and a title, which begins with its name.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from book.text.book import Book
from book.text.section import Section

GROUP = "map"
DRAWING = "drawing"
PART = re.compile(r'data-touch="(?P<id>\w+)">\s*<title>(?P<name>[^<:]+)')


class Map:
    """The map of a book; a book without one has no parts."""

    def __init__(self, book: Book):
        parser = book.config.build.parser
        settings = parser[GROUP] if parser.has_section(GROUP) else {}
        self.file = book.root / settings[DRAWING] if DRAWING in settings else None
        # The parts of each section, as config.ini has them.
        self.entries: Mapping[str, list[str]] = {
            name: parts.split() for name, parts in settings.items() if name != DRAWING
        }

    @cached_property
    def parts(self) -> dict[str, str]:
        """The names of the parts in the drawing by their ids."""
        if self.file is None or not self.file.is_file():
            return {}
        return {m["id"]: m["name"] for m in PART.finditer(self.file.read_text("utf-8"))}

    def parts_of(self, section: Section) -> list[str]:
        """Return the ids of the parts that a section treats."""
        names = self.entries.get(Path(section.name).name, [])
        return [name for name in names if name in self.parts]
