"""Writes code as HTML, with few but readable colors."""

import functools

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import (
    STANDARD_TYPES,
    Comment,
    Keyword,
    Literal,
    Name,
    Operator,
    String,
    _TokenType,
)

from book.library.marks import MARK
from book.text.blocks import COMMAND_LINE

# Declarations of CSS. `tests/site` checks the contrast of the colors.
KEYWORD = "color: light-dark(#b3202c, #ff8a80);"
STRING = "color: light-dark(#0a3c78, #a5d0ff);"
NUMBER = "color: light-dark(#0b57a8, #7fbcff);"
DEFINITION = "color: light-dark(#6b3fc0, #d0aaff);"
COMMENT = "color: light-dark(#57606a, #a3abb5); font-style: italic;"
# Each holds for a token and those below it, such as all literals that are no strings.
STYLES = {
    Keyword: KEYWORD,
    Keyword.Constant: NUMBER,
    Operator.Word: KEYWORD,
    Literal: NUMBER,
    String: STRING,
    String.Interpol: NUMBER,
    Name.Builtin: NUMBER,
    Name.Class: f"{DEFINITION} font-weight: 600;",
    Name.Function: f"{DEFINITION} font-weight: 600;",
    Name.Decorator: DEFINITION,
    Comment: COMMENT,
}

# Readers who do not see the page hear what a box is; translators leave it as it is.
BOX = (
    '<div role="group" aria-label="{}" class="{} notranslate">'
    '<div class="highlight"><pre>{}</pre></div></div>\n'
)
# Longer lines are set in a smaller size, as far as that helps.
WIDEST = 88
LEXERS = {"default": "python", "none": "text"}


class Formatter(HtmlFormatter):  # type: ignore[type-arg]
    """Writes no elements around plain tokens, and one around equal-looking neighbors.

    This halves the size of a page.
    """

    def _get_css_classes(self, ttype: _TokenType) -> str:
        while ttype not in STANDARD_TYPES:
            ttype = ttype.parent
        return CLASSES.get(ttype, "")


def without_marks(code: str) -> str:
    """Return code without the marks `#@save`, which are for the library."""
    return MARK.sub("", code)


@functools.lru_cache(maxsize=4096)  # tabs and pages share a third of all listings
def colored(code: str, language: str) -> str:
    """Return the HTML of code, which ends in a line break, without a box."""
    lexer = get_lexer_by_name(LEXERS.get(language, language), stripnl=False)
    return highlight(code, lexer, Formatter(nowrap=True))


def listing(code: str, language: str) -> str:
    """Return the HTML of code in a box."""
    long = " long" if any(len(line) > WIDEST for line in code.split("\n")) else ""
    return BOX.format("Code", f"highlight-{language}{long}", colored(code, language))


def language_of(cell: str) -> str:
    """Return the language of a cell, which may have lines that are commands."""
    return "ipython3" if COMMAND_LINE.search(cell) else "python"


def rules() -> str:
    """Return the CSS for code, with one rule for all tokens that look the same."""
    shown = {name: _declarations(token) for token, name in CLASSES.items()}
    return "".join(f".highlight .{name} {{ {d} }}\n" for name, d in shown.items())


def highlight_rules() -> str:
    """Return the CSS for tokens that a script marks in plain text, by their class."""
    shown = {name: _declarations(token) for token, name in CLASSES.items()}
    return "".join(f"pre::highlight(code-{n}) {{ {d} }}\n" for n, d in shown.items())


def _declarations(token: _TokenType) -> str:
    """Return the CSS declarations for a token; empty if it looks like plain text."""
    while token not in STYLES and token.parent:
        token = token.parent
    return STYLES.get(token, "")


def _classes() -> dict[_TokenType, str]:
    """Return the class of each token, the same for all that look the same.

    Docstrings have one of their own, because the comparison of two frameworks leaves
    them out.
    """
    names: dict[tuple[str, bool], str] = {}
    return {
        token: names.setdefault((declarations, token is String.Doc), name)
        for token, name in STANDARD_TYPES.items()
        if name and (declarations := _declarations(token))
    }


CLASSES = _classes()
