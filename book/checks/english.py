"""Checks the English of the text by the words that config.ini lists.

The setting `avoid` under `[english]` has a line for each word or phrase that the text
does not use, and what to write instead: `utilise -> use`.
"""

import re
from collections.abc import Iterator

from book.base.errors import BookError
from book.text.blocks import Block, Cell, Contents, References
from book.text.book import Book
from book.text.inline import without_code

SECTION, SETTING = "english", "avoid"
LISTING = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[ \t]*$", re.M | re.S)


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each word to avoid in the text of the book."""
    words = _words(book)
    if not words:
        return
    pattern = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(w)}(?![\w-])" for w in words), re.IGNORECASE
    )
    for section in book.sections:
        for block in section.blocks:
            for found in pattern.finditer(_plain(block)):
                where = section.at(block.line_at(found.start()))
                better = words[found[0].lower()]
                yield f"{where}: '{found[0]}' is a word to avoid; {better}"


def _words(book: Book) -> dict[str, str]:
    """Return the words to avoid, in lowercase, with what to do instead."""
    parser = book.config.build.parser
    setting = parser.get(SECTION, SETTING, fallback="")
    words = {}
    for line in filter(None, map(str.strip, setting.splitlines())):
        word, arrow, better = line.partition(" -> ")
        if not arrow:
            where = f"config.ini, [{SECTION}]"
            raise BookError(f"'{line}' is not WORD -> REMEDY", where)
        words[word.strip().lower()] = better.strip()
    return words


def _plain(block: Block) -> str:
    """Return the text of a block with spaces in place of code; offsets stay."""
    if isinstance(block, Cell | Contents | References):
        return ""
    text = LISTING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), block.text)
    return without_code(text)
