"""Converts equations: TeX to MathML. No other module calls pandoc."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pypandoc

from book.base.errors import BookError

# Of an equation: its TeX, and whether it is displayed.
Equation = tuple[str, bool]

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
INVISIBLE = re.compile("[\u2061-\u2064]")  # invisible operators of MathML
# The signs for fractions and scripts of MathML in a line of text.
SIGNS = {"mfrac": "/", "msup": "^", "msub": "_"}
THIN_SPACE = r'\1<mspace width="0.167em"></mspace>'


def mathml(equations: Mapping[Equation, str]) -> dict[Equation, str]:
    """Return the MathML of each equation, by one call of pandoc.

    The value of each is its place, such as a file and a line. Raises a `BookError` with
    the places of those whose TeX is not valid.
    """
    found = dict(zip(equations, _to_mathml(list(equations)), strict=True))
    problems = [
        f"{place}: cannot convert the equation '{equation[0]}'; correct its TeX"
        for equation, place in equations.items()
        if found[equation] is None
    ]
    if problems:
        raise BookError("\n".join(problems))
    return {equation: converted or "" for equation, converted in found.items()}


def _to_mathml(equations: Sequence[Equation]) -> list[str | None]:
    """Return the MathML of each equation, or None if its TeX is not valid."""
    if not equations:
        return []
    kinds = {True: "DisplayMath", False: "InlineMath"}
    paragraphs = ",".join(
        f"Para [Math {kinds[display]} {json.dumps(tex, ensure_ascii=False)}]"
        for tex, display in ((align_lines(tex), shown) for tex, shown in equations)
    )
    command = [pypandoc.get_pandoc_path(), "-f", "native", "-t", "html"]
    result = subprocess.run(
        [*command, "--mathml", "--wrap=none"],
        input=f"[{paragraphs}]",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    converted = re.findall(r"<p>(.*?)</p>", result.stdout, re.DOTALL)
    return [
        NEEDLESS.sub("", _space_functions(html)) if html.startswith("<math") else None
        for html in converted
    ]


def _space_functions(mathml: str) -> str:
    """Return MathML with the space around names of functions that pandoc omits."""
    for pattern in (BEFORE_FUNCTION, AFTER_FUNCTION):
        mathml = pattern.sub(THIN_SPACE, mathml)
    return mathml


def align_lines(tex: str) -> str:
    """Return the TeX of an equation, in which several lines are in an environment."""
    tex = tex.strip()
    if r"\\" in tex and r"\begin{" not in tex:
        return rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def plain(mathml: str) -> str:
    """Return an equation as plain text, such as w^⊤x/2."""
    return _plain(ElementTree.fromstring(mathml))


def _plain(element: Element) -> str:
    """Return the text of an element, with signs for fractions and scripts."""
    if element.tag == "annotation":
        return ""
    parts = [element.text or ""]
    parts += [_plain(child) + (child.tail or "") for child in element]
    if element.text is None:
        parts = parts[1:]
    text = SIGNS.get(element.tag, "").join(parts)
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text))
