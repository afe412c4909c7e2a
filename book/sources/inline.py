"""What stands within a line of text: roles, slide marks, text for one medium.

All functions take the Markdown of a block and give places in it as offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Medium = Literal["web", "print", "notebook", "slide"]
MEDIA: tuple[Medium, ...] = ("web", "print", "notebook", "slide")

# A role; or code or an equation, within which nothing is one.
TOKEN = re.compile(
    r":(?P<role>[-\w./\\]+):`(?P<value>[^`]+)`|(?P<tick>`+)(?:(?!(?P=tick)).)+(?P=tick)"
    r"|\\[$`]|\$\$.+?\$\$|\$[^$\n]+\$",
    re.DOTALL,
)
SIGNS = {"[**": "**]", "(**": "**)", "[~~": "~~]", "(~~": "~~)"}
SIGN = re.compile(r"[\[(](?:\*\*|~~)|(?:\*\*|~~)[\])]")
SPAN_END = re.compile(r"\]\{((?:[ ]*\.[\w-]+)+)[ ]*\}")


class MarkupError(Exception):
    """A mistake at `offset` of a block's source."""

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.offset = offset


# Roles


@dataclass(frozen=True)
class Role:
    """A role such as :numref:`sec_one`, and where it is."""

    name: str
    value: str
    start: int
    end: int


def roles(source: str) -> Iterator[Role]:
    """Yield the roles of a text in order."""
    for found in TOKEN.finditer(source):
        if found["role"]:
            yield Role(found["role"], found["value"], found.start(), found.end())


def replace_roles(source: str, written: Callable[[Role], str]) -> str:
    """Return `source` with each role replaced by what `written` gives for it."""
    parts, end = [], 0
    for role in roles(source):
        parts += [source[end : role.start], written(role)]
        end = role.end
    return "".join([*parts, source[end:]])


def without_code(source: str) -> str:
    """Return `source` with blanks for code, equations and roles; offsets stay."""
    return TOKEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


# Slide marks


@dataclass(frozen=True)
class SlideMark:
    """A text for slides; `start` and `end` include its signs.

    The mark `begins` a slide or adds to one; `only_on_slides` if no page shows it.
    """

    start: int
    end: int
    text: str
    begins: bool
    only_on_slides: bool


def slide_marks(source: str) -> list[SlideMark]:
    """Return the slide marks of a block in order.

    Raises a `MarkupError` for a sign without its counterpart: a mark ends in the
    block that it begins in, unless its signs are on lines of their own.
    """
    marks: list[SlideMark] = []
    opened: re.Match[str] | None = None
    for sign in SIGN.finditer(source):
        if opened is None:
            if sign[0] not in SIGNS:
                raise MarkupError(
                    f"a '{sign[0]}' that ends no slide mark", sign.start()
                )
            opened = sign
            continue
        if sign[0] != SIGNS[opened[0]]:
            message = f"a slide mark '{opened[0]}' without its '{SIGNS[opened[0]]}'"
            raise MarkupError(f"{message}; close it in this block", opened.start())
        # A link may have bold text, as in [**this**](address).
        if not (sign[0].endswith("]") and source.startswith("(", sign.end())):
            marks.append(_slide_mark(source, opened, sign))
        opened = None
    if opened is not None:
        message = f"a slide mark '{opened[0]}' without its '{SIGNS[opened[0]]}'"
        raise MarkupError(f"{message}; close it in this block", opened.start())
    return marks


def _slide_mark(source: str, opened: re.Match[str], closed: re.Match[str]) -> SlideMark:
    text = source[opened.end() : closed.start()].strip()
    start, end = opened.start(), closed.end()
    return SlideMark(start, end, text, opened[0][0] == "[", opened[0][1] == "~")


def without_slide_marks(source: str) -> str:
    """Return `source` as pages show it, without what is only on slides."""
    parts, end = [], 0
    for mark in slide_marks(source):
        inner = source[mark.start + 3 : mark.end - 3]
        parts += [source[end : mark.start], "" if mark.only_on_slides else inner]
        end = mark.end
    return "".join([*parts, source[end:]])


# Text for one medium


@dataclass(frozen=True)
class Span:
    """A text for some media only, as in `[Press the button.]{.web}`."""

    start: int
    end: int
    text: str
    media: tuple[str, ...]


def spans(source: str) -> Iterator[Span]:
    """Yield the texts for some media only; a `MarkupError` for one without its `[`."""
    plain = without_code(source)
    for found in SPAN_END.finditer(plain):
        start = _opening(plain, found.start())
        if start < 0:
            raise MarkupError(f"a '{found[0]}' without its '['", found.start())
        media = tuple(name.strip(" .") for name in found[1].split(".")[1:])
        yield Span(start, found.end(), source[start + 1 : found.start()], media)


def _opening(source: str, end: int) -> int:
    """Return where the bracket opens that closes at `end`; -1 if it does not."""
    depth = 0
    for place in range(end - 1, -1, -1):
        if source[place] == "]":
            depth += 1
        elif source[place] == "[":
            if not depth:
                return place
            depth -= 1
    return -1


def for_medium(source: str, medium: Medium) -> str:
    """Return `source` as `medium` shows it: without texts for other media only."""
    parts, end = [], 0
    for span in spans(source):
        before = source[end : span.start]
        if medium not in span.media:
            # The space before goes with the sentence.
            before = before.rstrip(" ") if source[span.end :][:1] in " \n" else before
        parts += [before, span.text if medium in span.media else ""]
        end = span.end
    return "".join([*parts, source[end:]])
