"""Checks that each section has its places in the book, outside of its own file.

These are a line in the contents; for a lesson, a card on the front page, if the others
have one; and, if the book has a map of the machine, the parts that the lesson treats.
"""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from book.facts.map import Map
from book.text.book import Book
from book.text.section import Section

CONFIG = "config.ini"
INDEX = "index.md"
CARD = ":ref:`{}`"


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each section that lacks a place, and for each wrong part."""
    front, *sections = book.sections
    appendix = book.setting("pages", "appendix")
    lessons = [*takewhile(lambda page: page.name != appendix, sections)]
    shown = Map(book)
    cards = [page for page in lessons if _has_card(page, front)]
    for page in lessons:
        lacks = []
        if cards and page not in cards:
            lacks.append(f"a card in {INDEX}")
        if shown.file and Path(page.name).name not in shown.entries:
            entry = f"{Path(page.name).name} = PARTS"
            lacks.append(f"'{entry}' (or no parts) under [map] in {CONFIG}")
        if lacks:
            yield f"{page.name}.md: lacks {' and '.join(lacks)}; add what it lacks"
    known = {page.path.resolve() for page in book.sections}
    for folder in dict.fromkeys(page.path.parent for page in sections):
        for path in sorted(folder.glob("*.md")):
            if path.resolve() not in known:
                name = path.relative_to(book.root).as_posix()
                yield f"{name}: not in the contents of {INDEX}; add or remove it"
    if shown.file:
        yield from _wrong_parts(shown, {Path(page.name).name for page in sections})


def _has_card(page: Section, front: Section) -> bool:
    return any(CARD.format(label) in front.text for label, _ in page.labels)


def _wrong_parts(shown: Map, names: set[str]) -> Iterator[str]:
    """Yield a line for each entry of the map that is wrong, and each unused part."""
    if shown.file and not shown.parts:
        yield f"{CONFIG}: [map] drawing: no parts in '{shown.file.name}'; correct it"
    known = ", ".join(shown.parts)
    for name, parts in shown.entries.items():
        if name not in names:
            yield f"{CONFIG}: [map] no section '{name}'; correct or remove it"
        for part in parts:
            if part not in shown.parts:
                wrong = f"{name}: unknown part '{part}'"
                yield f"{CONFIG}: [map] {wrong}; choose from {known}"
    for part in shown.parts.keys() - set().union(*shown.entries.values()):
        yield f"{CONFIG}: [map] no section treats the part '{part}'; name it in one"
