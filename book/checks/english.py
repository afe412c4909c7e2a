"""Checks the words of the text, and how each section begins.

No word of english.toml is in it, and what only a screen has is not on paper.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from book.text.blocks import Cell, Contents, Prose, References
from book.text.book import Book
from book.text.inline import without_code
from book.text.tokens import body, caption, walk

LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REMEDIES = {word: remedy for remedy, words in LISTS.items() for word in words}
AVOIDED = re.compile(
    rf"(?<![\w-])(?:{'|'.join(map(re.escape, REMEDIES))})(?![\w-])", re.IGNORECASE
)
# What a reader of paper does not have.
SCREEN = re.compile(
    r"\b(?:press (?:a|the)|(?<!no )buttons?|measure my gpu|(?:of|in) this (?:page|tab)"
    r"|the \w+ tab|your browser shows)\b",
    re.I,
)
PROMISE = re.compile(r"\W*(?:after|by the end of|in) this (?:section|chapter)", re.I)


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each problem with words or with the opening of a section."""
    for section in book.sections:
        opening = next((b for b in section.blocks if isinstance(b, Prose)), None)
        if opening and PROMISE.match(opening.text):
            where = section.at(opening.line)
            yield f"{where}: a section opens with a surprise; promise something later"
        for block in section.blocks:
            if isinstance(block, Cell | Contents | References):
                continue
            for found in AVOIDED.finditer(without_code(block.text)):
                where = section.at(block.line_at(found.start()))
                remedy = REMEDIES[found[0].lower()]
                yield f"{where}: '{found[0]}' is a word to avoid; {remedy}"


def on_screen(book: Book) -> Iterator[str]:
    """Yield a line for each text in print with words that need a screen."""
    for section in book.sections:
        for block in section.blocks:
            if isinstance(block, Cell | Contents | References):
                continue
            tokens = walk([*caption(block, "print"), *body(block, "print")])
            printed = "".join(t.content for t in tokens if t.type == "text")
            if found := SCREEN.search(printed):
                where, told = section.at(block.line), "is not on paper; mark it {.web}"
                yield f"{where}: '{found[0]}' {told}"
