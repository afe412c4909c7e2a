"""The light and the dark style of code on the pages, with few but readable colors.

`config.ini` names the two styles, and `tests/site` checks their contrast.
"""

from typing import ClassVar

from pygments.style import Style
from pygments.token import (
    Comment,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)


def _rules(
    keyword: str, string: str, number: str, definition: str, comment: str
) -> dict[_TokenType, str]:
    """Return the rules of a Pygments style with these five colors."""
    return {
        Keyword: keyword,
        Keyword.Constant: number,
        Operator.Word: keyword,
        String: string,
        String.Interpol: number,
        Number: number,
        Literal: number,
        Name.Builtin: number,
        Name.Builtin.Pseudo: number,
        Name.Class: f"bold {definition}",
        Name.Function: f"bold {definition}",
        Name.Decorator: definition,
        Comment: f"italic {comment}",
    }


class Light(Style):
    """The style of code on a light page."""

    background_color = "#f6f7f9"
    styles: ClassVar[dict[_TokenType, str]] = _rules(
        "#b3202c", "#0a3c78", "#0b57a8", "#6b3fc0", "#57606a"
    )


class Dark(Style):
    """The style of code on a dark page."""

    background_color = "#1d2024"
    styles: ClassVar[dict[_TokenType, str]] = _rules(
        "#ff8a80", "#a5d0ff", "#7fbcff", "#d0aaff", "#a3abb5"
    )
