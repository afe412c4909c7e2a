"""Parses the text of a block into tokens: CommonMark, tables, roles and equations.

Pages, slides and PDFs are made from these tokens. Their types are those of markdown-it,
and two more: `role`, whose `info` is the name and whose `content` is the value, and
`math`, whose `content` is TeX and whose `markup` is `$$` if it is displayed. What
follows an equation in a line without a place to break, such as a period or a unit, is
its `meta["ending"]`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from book.text.blocks import Block, Figure, Heading, Prose, Table
from book.text.inline import TOKEN, Medium, text_for
from book.text.quantities import SYMBOLS, pattern

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
# A space within a number or before its unit does not break, and neither does the space
# between an equation and its unit or the place between an equation and punctuation.
UNIT = pattern(SYMBOLS)
IN_QUANTITY = re.compile(rf"(?<=\d)\s(?={UNIT}|\d{{3}}\b)")
AFTER_EQUATION = re.compile(rf"\s?(?:{UNIT})?[.,;:!?)’]*")
SIGNS = {"---": "—", "--": "–", "...": "…"}  # longer ones first


def parse(text: str) -> list[Token]:
    """Return the tokens of Markdown without marks of media and of slides."""
    return _parser().parse(text)


def parse_line(text: str) -> list[Token]:
    """Return the one `inline` token of a text without blocks, such as a title."""
    return _parser().parseInline(text)


def walk(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield all tokens in order, each before those within it."""
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def plain(tokens: Iterable[Token]) -> str:
    """Return the words of tokens without their markup, on one line."""
    words = (
        token.content + token.meta.get("ending", "")
        for token in walk(tokens)
        if token.type not in ("inline", "role")
    )
    return " ".join("".join(words).split())


def outside_links(line: Token) -> list[Token]:
    """Return the tokens within a line that are in no link."""
    kept, links = [], 0
    for token in line.children or []:
        links += (token.type == "link_open") - (token.type == "link_close")
        kept += [] if links else [token]
    return kept


def equations(tokens: Iterable[Token]) -> Iterator[tuple[str, bool]]:
    """Yield the TeX of each equation, and whether it is displayed."""
    return (equation(token) for token in walk(tokens) if token.type == "math")


def equation(token: Token) -> tuple[str, bool]:
    """Return the TeX of a `math` token, and whether it is displayed."""
    return token.content, token.markup == "$$"


@functools.cache
def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"typographer": True})
    markdown.enable(["table", "smartquotes"]).disable("reference")
    markdown.inline.ruler.before("escape", "role_or_math", _role_or_math)
    # Signs after a backslash are not yet parts of the text around them.
    markdown.core.ruler.before("text_join", "typography", _typography)
    return markdown


def _role_or_math(state: StateInline, silent: bool) -> bool:
    """Read a role such as :numref:`sec_a`, or an equation."""
    if state.src[state.pos] not in ":$":
        return False
    found = TOKEN.match(state.src, state.pos)
    if found is None or found["tick"]:
        return False
    if not silent:
        token = state.push("role" if found["role"] else "math", "", 0)
        token.info = found["role"] or ""
        token.content = found["value"] or found[0].strip("$")
        token.markup = "$$" if found[0].startswith("$$") else ""
    state.pos = found.end()
    return True


def _typography(state: StateCore) -> None:
    """Write dashes as such, and keep units and punctuation with what they follow."""
    for token in state.tokens:
        if not token.children:
            continue
        children = token.children = _joined(token.children)
        for before, child in zip([None, *children], children, strict=False):
            if child.type != "text" or before and before.info == "auto":
                continue  # the text of an address is the address
            for plain, sign in SIGNS.items():
                child.content = child.content.replace(plain, sign)
            child.content = IN_QUANTITY.sub(NO_BREAK_SPACE, child.content)
            if before and before.type == "math" and not before.markup:
                _attach_ending(before, child)


def _attach_ending(equation: Token, after: Token) -> None:
    """Move punctuation and units from the start of a text to the equation before it."""
    ending = AFTER_EQUATION.match(after.content)
    if ending and ending[0].strip():
        equation.meta["ending"] = re.sub(r"\s", NO_BREAK_SPACE, ending[0])
        after.content = after.content[ending.end() :]


def _joined(children: list[Token]) -> list[Token]:
    """Return tokens in which text that spans several lines is one token."""
    joined: list[Token] = []
    for child in children:
        if child.type == "softbreak":
            child = Token("text", "", 0, content="\n", level=child.level)
        if child.type == "text" and joined and joined[-1].type == "text":
            joined[-1].content += child.content
        else:
            joined.append(child)
    return joined


def caption(block: Block, medium: Medium) -> list[Token]:
    """Return the title or the caption of a block as one `inline` token."""
    match block:
        case Heading(title=text) | Figure(caption=text) | Table(caption=text):
            return parse_line(text_for(text, medium))
    return []


def body(block: Block, medium: Medium) -> list[Token]:
    """Return the text of a block, without its caption; empty if only slides show it."""
    if block.sign.endswith("~~"):
        return []
    match block:
        case Table(rows=text) | Prose(source=text):
            return parse(text_for(text, medium))
    return []
