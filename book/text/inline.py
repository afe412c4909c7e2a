"""Finds roles, slide marks and marked texts within the text of a block.

All functions take the Markdown of a block; places in it are offsets of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

# The last medium consists of the titles of slides (book/facts/points.py).
Medium = Literal["web", "print", "notebook", "slide", "point"]
MEDIA: tuple[Medium, ...] = ("web", "print", "notebook", "slide", "point")
CITATIONS = ("cite", "citet", "citep")
REFERENCES = ("ref", "numref", "eqref")

# Marks that change no medium, with their settings. An output has the number, a row of
# published measurements has it, the audit of a kind of prediction has it, or it is the
# prediction of an output that pages cover. A paragraph with an open text is in sight.
# A paragraph may ask for a row, before the paragraph below tells it. Exercises ask for
# what their solutions have.
MARKS = {
    "measured": {"within", "value"},
    "cited": {"id", "within", "value"},
    "audited": {"id"},
    "arithmetic": set(),
    "open": set(),
    "ask": {"cited", "answer", "fields", "choices", "right", "hints"},
}
# The mark of a text that sets an interactive figure: `[at once]{.play queue.every=1}`.
PLAY = "play"

# A role, or code or an equation, which may hold text that looks like a role.
TOKEN = re.compile(
    r":(?P<role>[-\w./\\]+):`(?P<value>[^`]+)`|(?P<tick>`+)(?:(?!(?P=tick)).)+(?P=tick)"
    r"|\\[$`]|\$\$.+?\$\$|\$(?:[^$\n]|\n(?!\s*\n))+\$",
    re.DOTALL,
)
SIGNS = {"[**": "**]", "(**": "**)", "[~~": "~~]", "(~~": "~~)"}
SIGN = re.compile(r"[\[(](?:\*\*|~~)|(?:\*\*|~~)[\])]")
SPAN_END = re.compile(r"\]\{(\s*\.[\w-]+[^{}]*)\}")
SETTING = re.compile(r'([\w.-]+)=("[^"]*"|\S+)')


class MarkupError(Exception):
    """A mistake in the markup at `offset` of a block's source."""

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.offset = offset


# Roles


@dataclass(frozen=True)
class Role:
    """A role such as :numref:`sec_one`, from `start` up to `end`."""

    name: str
    value: str
    start: int
    end: int

    @property
    def keys(self) -> list[str]:
        """The keys of the works that a citation names."""
        return names_in(self.value)


def names_in(value: str) -> list[str]:
    """Return the labels or the keys of works that a role names."""
    return [name.strip() for name in value.split(",") if name.strip()]


def roles(source: str) -> Iterator[Role]:
    """Yield the roles of a text in order."""
    for match in TOKEN.finditer(source):
        if match["role"]:
            yield Role(match["role"], match["value"], match.start(), match.end())


def replace_roles(source: str, render: Callable[[Role], str]) -> str:
    """Return `source` with each role replaced by the text that `render` returns."""
    return _replaced(source, ((r.start, r.end, render(r)) for r in roles(source)))


def _replaced(source: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """Return `source` with another text from the start to the end of each part."""
    kept, end = [], 0
    for start, stop, text in parts:
        kept += [source[end:start], text]
        end = stop
    return "".join([*kept, source[end:]])


def without_code(source: str) -> str:
    """Return `source` with spaces in place of code, equations and roles.

    Offsets in the result are the same as in `source`.
    """
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


# Slide marks


@dataclass(frozen=True)
class SlideMark:
    """A text for slides; `start` and `end` include its signs.

    The mark begins a slide if `begins` is True, and adds to a slide otherwise. Pages
    do not show it if `only_on_slides` is True.
    """

    start: int
    end: int
    text: str
    begins: bool
    only_on_slides: bool


def slide_marks(source: str) -> list[SlideMark]:
    """Return the slide marks of a block in order.

    Raises a `MarkupError` for a sign without its counterpart: a mark must end in the
    block in which it begins, unless its signs are on lines of their own.
    """
    marks: list[SlideMark] = []
    signs = SIGN.finditer(without_code(source))
    for opening in signs:
        sign = opening[0]
        if sign not in SIGNS:
            message = f"'{sign}' closes no slide mark; remove it"
            raise MarkupError(message, opening.start())
        closing = next(signs, None)
        if closing is None or closing[0] != SIGNS[sign]:
            message = f"slide mark '{sign}' without its '{SIGNS[sign]}'"
            raise MarkupError(f"{message}; close it in this block", opening.start())
        # A link may have bold text, as in [**this**](address).
        if not (closing[0].endswith("]") and source.startswith("(", closing.end())):
            start, end = opening.start(), closing.end()
            text = source[start + len(sign) : closing.start()].strip()
            marks.append(SlideMark(start, end, text, sign[0] == "[", sign[1] == "~"))
    return marks


def without_slide_marks(source: str) -> str:
    """Return `source` as pages show it, without texts that are only on slides."""
    marks = slide_marks(source)
    return _replaced(source, ((m.start, m.end, _on_page(m, source)) for m in marks))


def text_for(source: str, medium: Medium) -> str:
    """Return `source` as `medium` shows it, without slide marks."""
    return without_slide_marks(for_medium(source, medium))


def _on_page(mark: SlideMark, source: str) -> str:
    return "" if mark.only_on_slides else source[mark.start + 3 : mark.end - 3]


# Spans


@dataclass(frozen=True)
class Span:
    """A marked text such as `[Press the button.]{.web}` or `[3 ms]{.measured}`.

    `attributes` holds the settings of the mark, such as `within=30%`.
    """

    start: int
    end: int
    text: str
    classes: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def media(self) -> tuple[str, ...]:
        """The media that alone show the text; empty if all do."""
        return tuple(name for name in self.classes if name not in (*MARKS, PLAY))

    @property
    def settings(self) -> str:
        """The attributes as in the address of a page: `queue.every=1&queue.host=9`."""
        return "&".join(map("=".join, self.attributes.items()))


def spans(source: str) -> Iterator[Span]:
    """Yield the marked texts in the order of their ends.

    Raises a `MarkupError` for a text without its opening bracket.
    """
    plain = without_code(source)
    for closing in SPAN_END.finditer(plain):
        start = _opening_bracket(plain, closing.start())
        if start < 0:
            message = f"'{closing[0]}' without its '['; add the bracket"
            raise MarkupError(message, closing.start())
        text = source[start + 1 : closing.start()]
        yield Span(start, closing.end(), text, *_marks(closing[1]))


def _marks(text: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the classes and the attributes that `text` lists."""
    found = (setting.groups() for setting in SETTING.finditer(text))
    attributes = {name: " ".join(value.strip('"').split()) for name, value in found}
    names = SETTING.sub("", text)
    return tuple(name.strip() for name in names.split(".")[1:]), attributes


def _opening_bracket(source: str, end: int) -> int:
    """Return the offset of the bracket that `end` closes, or -1 if there is none."""
    depth = 0
    for offset in range(end - 1, -1, -1):
        if source[offset] == "]":
            depth += 1
        elif source[offset] == "[":
            if not depth:
                return offset
            depth -= 1
    return -1


def for_medium(source: str, medium: Medium) -> str:
    """Return `source` as `medium` shows it: without marks, and texts for others.

    On pages, a text that sets a figure is a link to the figure's settings.
    """
    return _replaced(source, _in_medium(source, medium))


def _in_medium(source: str, medium: Medium) -> Iterator[tuple[int, int, str]]:
    """Yield each span that is in no other span, with its text in a medium."""
    end = 0
    for span in sorted(spans(source), key=lambda span: span.start):
        if span.start < end:
            continue
        start, end = span.start, span.end
        if span.media and medium not in span.media:
            # The space before a sentence is removed together with the sentence.
            if source[end:][:1] in " \n":
                start = len(source[:start].rstrip(" "))
            yield start, end, ""
            continue
        text = for_medium(span.text, medium)
        is_link = PLAY in span.classes and medium == "web"
        yield start, end, f"[{text}](?{span.settings})" if is_link else text
