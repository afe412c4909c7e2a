"""Finds which sections treat which parts of the machine, and the numbers of the parts.

Under `[map]` in config.ini, `drawing` names the map of the machine, and each lesson
the parts that it treats; `[map-terms]` lists the terms of the glossary that name each
part. In the drawing, a part is a group with an id, `data-touch`, and a title, which
consists of its name and, after a colon, its number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from book.text.book import Book
from book.text.section import Section

GROUPS = ("map", "map-terms")
DRAWING = "drawing"
PART = re.compile(
    r'data-touch="(?P<id>\w+)">\s*<title>(?P<name>[^<:]+)(?:: (?P<number>[^<]+))?<'
)
CARD = re.compile(r'data-card="([^"]+)"')


@dataclass(frozen=True)
class MachinePart:
    """A part of the machine; `number` has its unit, or is empty."""

    id: str
    name: str
    number: str

    @property
    def title(self) -> str:
        """The name and the number."""
        return f"{self.name}, {self.number}" if self.number else self.name


class Map:
    """The map of a book; a book without one has no parts."""

    def __init__(self, book: Book):
        parser = book.config.build.parser
        groups = (parser[n] if parser.has_section(n) else {} for n in GROUPS)
        settings, terms = groups
        self.file = book.root / settings[DRAWING] if DRAWING in settings else None
        # The parts of each section, and the terms of each part, as config.ini has them.
        self.entries: Mapping[str, list[str]] = {
            name: parts.split() for name, parts in settings.items() if name != DRAWING
        }
        self.terms: Mapping[str, list[str]] = {
            part: [term.strip() for term in names.split(",")]
            for part, names in terms.items()
        }

    @cached_property
    def _text(self) -> str:
        if self.file is None or not self.file.is_file():
            return ""
        return str(self.file.read_text("utf-8"))

    @cached_property
    def parts(self) -> dict[str, MachinePart]:
        """The parts in the drawing by their ids."""
        found = (m.groupdict(default="") for m in PART.finditer(self._text))
        return {part["id"]: MachinePart(**part) for part in found}

    @property
    def card(self) -> str:
        """The name of the card whose numbers the drawing has."""
        found = CARD.search(self._text)
        return found[1] if found else ""

    def parts_of(self, section: Section) -> list[MachinePart]:
        """Return the parts that a section treats, in the order of its author."""
        names = self.entries.get(Path(section.name).name, [])
        return [self.parts[name] for name in names if name in self.parts]
