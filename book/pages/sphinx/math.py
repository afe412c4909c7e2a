"""Converts equations to MathML when the book is built; a part of the extension.

One call of pandoc converts all equations of a page. An equation that pandoc cannot
convert causes a warning, which stops the build.
"""

import json
import re
import subprocess
from html import escape
from typing import Any

import pypandoc
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

# What HTML does not need.
IMPLIED = re.compile(r' display="inline"| xmlns="[^"]*"')
ALIGNMENT_STYLE = re.compile(r' style="[^"]*"')
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


def to_mathml(equations: list[tuple[str, bool]]) -> list[str | None]:
    """Return the MathML of each equation, or None if its TeX is not valid.

    Each equation is a pair of its TeX and a flag that is True if it is displayed.
    """
    kinds = {True: "DisplayMath", False: "InlineMath"}
    paragraphs = ",".join(
        f"Para [Math {kinds[display]} {json.dumps(tex, ensure_ascii=False)}]"
        for tex, display in equations
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
    paragraphs_html = re.findall(r"<p>(.*?)</p>", result.stdout, re.DOTALL)
    return [
        IMPLIED.sub("", space_functions(html)) if html.startswith("<math") else None
        for html in paragraphs_html
    ]


def space_functions(mathml: str) -> str:
    """Return MathML with the space around names of functions that pandoc omits."""
    for pattern in (BEFORE_FUNCTION, AFTER_FUNCTION):
        mathml = pattern.sub(THIN_SPACE, mathml)
    return mathml


def align_lines(tex: str) -> str:
    """Return the TeX of an equation in which several lines are in an environment.

    Sphinx writes the same for LaTeX.
    """
    tex = tex.strip()
    if r"\\" in tex and r"\begin{" not in tex:
        return rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


class ConvertMath(SphinxPostTransform):
    """Stores the MathML of each equation in its node."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Convert all equations of a page, and warn of those that are not valid."""
        math_nodes: list[Any] = list(self.document.findall(_is_math))
        if not math_nodes:
            return
        equations = [
            (align_lines(node.astext()), isinstance(node, nodes.math_block))
            for node in math_nodes
        ]
        for node, mathml in zip(math_nodes, to_mathml(equations), strict=True):
            if mathml is None:
                logger.warning(
                    "cannot convert the equation '%s'", node.astext(), location=node
                )
            # The stylesheet aligns columns by `columnalign`; inline styles are blocked.
            node["mathml"] = ALIGNMENT_STYLE.sub("", mathml or "")


def _is_math(node: nodes.Node) -> bool:
    return isinstance(node, nodes.math | nodes.math_block)


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write an equation within text."""
    # Tables of contents hold copies of headings, made before equations are converted.
    mathml = node.get("mathml") or to_mathml([(node.astext(), False)])[0]
    self.body.append(mathml or escape(node.astext()))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed equation with its number."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(node["mathml"])
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, _("Permalink to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Make MathML the format of equations in HTML."""
    app.add_post_transform(ConvertMath)
    inline: Any = (visit_inline, None)
    block: Any = (visit_block, None)
    app.add_html_math_renderer("mathml", inline, block)
