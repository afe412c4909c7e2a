"""Converts equations from TeX, all of them by one call of pandoc."""

import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import pypandoc

from book.base.cache import Cache

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


def align_lines(tex: str) -> str:
    """Return the TeX of an equation in which several lines are in an environment."""
    tex = tex.strip()
    if r"\\" in tex and r"\begin{" not in tex:
        return rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def to_typst(equations: Sequence[str], cache: Cache) -> dict[str, str | None]:
    """Return the Typst of each equation, without its dollar signs, under its TeX.

    An equation whose TeX is not valid has None. One call of pandoc converts all of
    them, unless `cache` holds the result of an earlier one.
    """
    if not equations:
        return {}
    parts = ["typst", version("pypandoc_binary"), *equations]
    made = cache.value(parts, lambda: _typst_of_pandoc(equations))
    return dict(zip(equations, made, strict=True))


def _typst_of_pandoc(equations: Sequence[str]) -> list[str | None]:
    """Return what pandoc makes of each equation, mended; None if it cannot read it."""
    quoted = (json.dumps(align_lines(tex), ensure_ascii=False) for tex in equations)
    mark = f'Para [Str "{MARK}"]'
    written = _pandoc("typst", (f"Para [Math InlineMath {q}],{mark}" for q in quoted))
    texts = (text.strip() for text in MARK_LINE.split(written)[:-1])
    return [_mended(text.strip("$")) if text[:1] == "$" else None for text in texts]


def _mended(typst: str) -> str:
    typst = LETTERS.sub(lambda m: f'upright("{m[1].replace(" ", "")}")', typst)
    for fault, correction in MENDED:
        typst = fault.sub(correction, typst)
    return typst.strip()


def _pandoc(target: str, paragraphs: Iterable[str]) -> str:
    """Return paragraphs in pandoc's own notation as `target`."""
    result = subprocess.run(
        [pypandoc.get_pandoc_path(), "-f", "native", "-t", target, "--wrap=none"],
        input=f"[{','.join(paragraphs)}]",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return result.stdout
