"""Checks that each lesson names the parts of the machine that it treats."""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from book.facts.map import Map
from book.text.book import Book

CONFIG = "config.ini"


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each entry that is wrong, and for each that is missing."""
    shown = Map(book)
    if shown.file is None:
        return
    if not shown.parts:
        yield f"{CONFIG}: [map] drawing: no parts in '{shown.file.name}'; correct it"
    known = ", ".join(shown.parts)
    sections = {Path(section.name).name: section for section in book.sections}
    for name, parts in shown.entries.items():
        if name not in sections:
            yield f"{CONFIG}: [map] no section '{name}'; correct or remove it"
        for part in parts:
            if part not in shown.parts:
                wrong = f"{name}: unknown part '{part}'"
                yield f"{CONFIG}: [map] {wrong}; choose from {known}"
    appendix = book.setting("pages", "appendix")
    lessons = takewhile(lambda page: page.name != appendix, book.sections[1:])
    for name in (Path(page.name).name for page in lessons):
        if name not in shown.entries:
            entry = f"write the parts that it treats after '{name} =', or nothing"
            yield f"{CONFIG}: [map] no entry for {name}; {entry}"
    for part in shown.parts.keys() - set().union(*shown.entries.values()):
        yield f"{CONFIG}: [map] no section treats the part '{part}'; name it in one"
