"""Checks that the text has no word of english.toml, which says what to do instead."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from book.text.blocks import Cell, Contents, References
from book.text.book import Book
from book.text.inline import without_code

LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REMEDIES = {word: remedy for remedy, words in LISTS.items() for word in words}
AVOIDED = re.compile(
    rf"(?<![\w-])(?:{'|'.join(map(re.escape, REMEDIES))})(?![\w-])", re.IGNORECASE
)


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each word to avoid in the text of the book."""
    for section in book.sections:
        for block in section.blocks:
            if isinstance(block, Cell | Contents | References):
                continue
            for found in AVOIDED.finditer(without_code(block.text)):
                where = section.at(block.line_at(found.start()))
                remedy = REMEDIES[found[0].lower()]
                yield f"{where}: '{found[0]}' is a word to avoid; {remedy}"
