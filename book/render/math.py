"""Converts equations: TeX to MathML and to Typst. No other module calls pandoc."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pypandoc

from book.base.cache import Cache
from book.runner.errors import BookError

# Of an equation: its TeX, and whether it is displayed.
Equation = tuple[str, bool]
Key = TypeVar("Key", str, Equation)
INVALID = "{}: cannot convert the equation '{}'; correct its TeX"


def align_lines(tex: str) -> str:
    """Return the TeX of an equation, in which several lines are in an environment."""
    tex = tex.strip()
    if r"\\" in tex and r"\begin{" not in tex:
        return rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def _pandoc(target: str, paragraphs: Iterable[str], *options: str) -> str:
    """Return paragraphs in pandoc's own notation as `target`."""
    command = [pypandoc.get_pandoc_path(), "-f", "native", "-t", target, "--wrap=none"]
    result = subprocess.run(
        [*command, *options],
        input=f"[{','.join(paragraphs)}]",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return result.stdout


def _paragraph(tex: str, displayed: bool = False) -> str:
    """Return an equation in pandoc's own notation."""
    kind = "DisplayMath" if displayed else "InlineMath"
    return f"Para [Math {kind} {json.dumps(align_lines(tex), ensure_ascii=False)}]"


def _checked(
    equations: Mapping[Key, str], made: Iterable[str | None]
) -> dict[Key, str]:
    """Return what is `made` of each equation; it is None if its TeX is not valid.

    Raises a `BookError` with the places of these equations.
    """
    found = dict(zip(equations, made, strict=True))
    wrong = [
        (equations[key], key if isinstance(key, str) else key[0])
        for key, result in found.items()
        if result is None
    ]
    if wrong:
        raise BookError("\n".join(INVALID.format(*pair) for pair in wrong))
    return {key: result for key, result in found.items() if result is not None}


# MathML

# What HTML does not need. The stylesheet aligns columns by `columnalign`, since the
# policy of a page forbids styles.
NEEDLESS = re.compile(r' display="inline"| xmlns="[^"]*"| style="[^"]*"')
# The name of a function, which TeX separates from a symbol or a number beside it.
FUNCTION = r'<mrow><mi mathvariant="normal">\w+</mi><mo>&#8289;</mo></mrow>'
BEFORE_FUNCTION = re.compile(
    rf'(</(?:mi|mn|mfrac|msub|msup)>|form="postfix">[^<]+</mo>)(?=(?:<m\w+>)?{FUNCTION})'
)
SCRIPTED_FUNCTION = rf"<m(?:sub|sup)>{FUNCTION}<m[in]>\w+</m[in]></m(?:sub|sup)>"
AFTER_FUNCTION = re.compile(
    rf"({SCRIPTED_FUNCTION}|(?<!<msub>)(?<!<msup>){FUNCTION})(?=<m(?:i|n|sub|sup)>)"
)
THIN_SPACE = r'\1<mspace width="0.167em"></mspace>'
INVISIBLE = re.compile("[\u2061-\u2064]")  # invisible operators
# The signs for fractions and scripts in a line of text.
SIGNS = {"mfrac": "/", "msup": "^", "msub": "_"}


def mathml(equations: Mapping[Equation, str]) -> dict[Equation, str]:
    """Return the MathML of each equation, by one call of pandoc.

    The value of each is its place, such as a file and a line. Raises a `BookError` with
    the places of those whose TeX is not valid.
    """
    if not equations:
        return {}
    written = _pandoc("html", (_paragraph(*e) for e in equations), "--mathml")
    made = re.findall(r"<p>(.*?)</p>", written, re.DOTALL)
    return _checked(equations, map(_mended_mathml, made))


def _mended_mathml(html: str) -> str | None:
    """Return MathML with the space around names of functions that pandoc omits."""
    for pattern in (BEFORE_FUNCTION, AFTER_FUNCTION):
        html = pattern.sub(THIN_SPACE, html)
    return NEEDLESS.sub("", html) if html.startswith("<math") else None


def plain(mathml: str) -> str:
    """Return an equation as plain text, such as w^⊤x/2."""
    return _plain(ElementTree.fromstring(mathml))


def _plain(element: Element) -> str:
    """Return the text of an element, with signs for fractions and scripts."""
    if element.tag == "annotation":
        return ""
    parts = [element.text] if element.text else []
    parts += [_plain(child) + (child.tail or "") for child in element]
    text = SIGNS.get(element.tag, "").join(parts)
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text))


# Typst

MARK = "@@@"  # a paragraph between two equations
MARK_LINE = re.compile(r"^\\@\\@\\@$", re.MULTILINE)
# Faults of pandoc's Typst, and what mends them: a large delimiter is scaled without
# growing, the space of `\;` has no width, a norm has the space of a relation, a word of
# several letters becomes as many symbols, and a word keeps its distance from a bracket.
MENDED = (
    (re.compile(r"#scale\(x: \d+%, y: \d+%\)\[(\\?\S)\]"), r"\1"),
    (re.compile(r"#h\(0em\)"), "thick"),
    (re.compile(r"\bparallel (.+?) parallel\b"), r"norm(\1)"),
    (re.compile(r'(upright\("[^"]*"\)) (?=\\?[(.,])'), r"\1"),
)
LETTERS = re.compile(r"upright\(([A-Za-z](?: [A-Za-z])+)\)")


def typst(equations: Mapping[str, str], kept: Cache) -> dict[str, str]:
    """Return the Typst of each equation, without its dollar signs, under its TeX.

    One call of pandoc converts all of them, unless an earlier one is `kept`. The value
    of each is its place. Raises a `BookError` as `mathml` does.
    """
    if not equations:
        return {}
    parts = ["typst", version("pypandoc_binary"), *equations]
    return _checked(equations, kept.value(parts, lambda: _to_typst([*equations])))


def _to_typst(equations: Sequence[str]) -> list[str | None]:
    """Return what pandoc makes of each equation, mended; None if it cannot read it."""
    mark = f'Para [Str "{MARK}"]'
    written = _pandoc("typst", (f"{_paragraph(tex)},{mark}" for tex in equations))
    texts = (text.strip() for text in MARK_LINE.split(written)[:-1])
    return [_mended(text.strip("$")) if text[:1] == "$" else None for text in texts]


def _mended(typst: str) -> str:
    typst = LETTERS.sub(lambda m: f'upright("{m[1].replace(" ", "")}")', typst)
    for fault, correction in MENDED:
        typst = fault.sub(correction, typst)
    return typst.strip()
