"""Compares the text that readers see with the text of the parsed Markdown.

markdown-it parses the sources. pandoc, docutils and Jupyter read the Markdown of a
block again, each by rules of its own, so that a text may lose words or signs. All
functions leave out spaces, code, equations and roles, which other checks cover.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from book.sources.blocks import Block, Contents, Equation, Figure, References, Table
from book.sources.inline import (
    TOKEN,
    Medium,
    for_medium,
    without_code,
    without_slide_marks,
)

# Signs that are made typographic: readers of pages see the signs on the right.
TYPOGRAPHIC = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "…": "...", "–": "--", "—": "---"}
)
# Constructs that other programs read and markdown-it does not, where they begin.
CONSTRUCTS = {
    r"\\[A-Za-z]+": "a TeX command outside of an equation",
    r"^\s*(?:!\[)?\(?(?:[A-Za-z]|[ivxlcdm]+|\d+|#)[.)](?=\s|\]|$)": "a list",
    r"^> [-*+]\s": "a list without a blank line above it",
    r"^:\s": "a definition list",
    r"~\S": "a subscript, or text that is struck out",
    r"\^\S": "a superscript",
    r"::\s*$": "two colons at the end of a paragraph",
    r"(?<=\s)@\w": "a citation",
    r"\[\^": "a footnote",
}
SHOWN = 24  # characters of a text in a message


def written(block: Block | str, medium: Medium) -> str:
    """Return the text of a block, or of Markdown, that readers should see."""
    if isinstance(block, str):
        return text_of(block)
    if isinstance(block, Contents | Equation | References) or block.sign.endswith("~~"):
        return ""
    if isinstance(block, Figure):
        return text_of(_shown(block.caption, medium))
    if isinstance(block, Table):
        return text_of(_shown(block.caption, medium)) + text_of(
            _shown(block.rows, medium)
        )
    return text_of(_shown(block.text, medium))


def _shown(markdown: str, medium: Medium) -> str:
    return without_slide_marks(for_medium(markdown, medium))


def text_of(markdown: str, dialect: str = "commonmark") -> str:
    """Return the text of Markdown, as `markdown-it` reads a dialect."""
    plain = TOKEN.sub(lambda m: m[0] if m[0].startswith("\\") else " ", markdown)
    return compact("".join(_texts(_parser(dialect).parse(plain))))


@functools.cache
def _parser(dialect: str) -> MarkdownIt:
    return MarkdownIt(dialect, {"linkify": False}).enable("table")


def _texts(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "text":
            yield token.content
        elif token.type == "softbreak":
            yield "\n"
        elif token.children:
            yield from _texts(token.children)


def compact(text: str) -> str:
    """Return a text without spaces, with plain signs."""
    return "".join(text.translate(TYPOGRAPHIC).split())


def explain(source: str, wanted: str, seen: str) -> str:
    """Return how the text that readers see of a block differs, and how to mend it."""
    start = next(
        (i for i, (a, b) in enumerate(zip(wanted, seen, strict=False)) if a != b),
        min(len(wanted), len(seen)),
    )
    here = slice(max(start - 4, 0), start + SHOWN)
    return (
        f"readers would see '{seen[here]}' for '{wanted[here]}', because other programs"
        f" read {_construct(source)} here; write it as `code`, or in other words"
    )


def _construct(source: str) -> str:
    """Return the name of the first construct that may be read in two ways."""
    plain = without_code(source)
    found = (
        (match.start(), name)
        for pattern, name in CONSTRUCTS.items()
        if (match := re.search(pattern, plain, re.MULTILINE))
    )
    return min(found, default=(0, "markup"))[1]
