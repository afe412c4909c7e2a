"""Reading times, the colors of code and the security policy are correct."""

import base64
import hashlib
import json
import re

import pytest
from docutils import nodes
from pygments import highlight
from pygments.lexers import PythonLexer

from book.pages.sphinx import front as sphinx_front
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx.tabs import tab_panel, tab_rules, tab_set
from book.render import code_styles


def section(*children: nodes.Node) -> nodes.document:
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document.extend(children)
    return document


def words(number: int) -> nodes.paragraph:
    return nodes.paragraph(text=" ".join(["word"] * number))


def code(lines: int, kind: str = "input") -> nodes.literal_block:
    block = nodes.literal_block(text="\n".join(["x = 1"] * lines))
    block["classes"].append(kind)
    return block


def panels(*numbers: int) -> tab_set:
    panels = tab_set()
    for index, number in enumerate(numbers):
        panels += tab_panel("", words(number), tabs=[f"tab{index}"])
    return panels


def test_the_reading_time_counts_words_and_code():
    assert sphinx_front.reading_minutes(section(words(4000)), 4) == 20
    assert sphinx_front.reading_minutes(section(words(2000), code(150)), 4) == 20
    assert sphinx_front.reading_minutes(section(words(10)), 4) == 5


def test_the_reading_time_counts_one_framework():
    everything = section(panels(4000, 4000, 4000, 4000))
    assert sphinx_front.reading_minutes(everything, 4) == 20


def test_the_reading_time_excludes_outputs():
    printed = code(1500, "output")
    assert sphinx_front.reading_minutes(section(words(1000), printed), 4) == 5


def test_tokens_that_look_the_same_share_a_rule():
    rules = sphinx_site.code_rules(code_styles.Light, code_styles.Dark).splitlines()
    looks = [rule.partition("{")[2] for rule in rules]
    assert len(looks) == len(set(looks)) <= 12
    keyword = next(rule for rule in rules if ".highlight .k," in rule)
    assert "light-dark(#b3202c, #ff8a80)" in keyword


def test_only_colored_tokens_have_elements():
    formatter = sphinx_site.CodeFormatter(style=code_styles.Light)
    page = highlight("def f(x):\n    return x.y + 1\n", PythonLexer(), formatter)
    marked = re.findall(r'<span class="(\w+)">([^<]+)</span>', page)
    assert marked == [("k", "def"), ("nf", "f"), ("k", "return"), ("mi", "1")]


def test_the_policy_holds_the_hash_of_the_script():
    digest = hashlib.sha256(b"let x").digest()
    assert f"sha256-{base64.b64encode(digest).decode()}'" in sphinx_site.policy("let x")


@pytest.mark.parametrize("machines", [["cpu"], ["cpu", "h200"]])
def test_the_inline_script_knows_the_choices(machines: list[str]):
    choices = {"tab": ["jax"], "machine": machines, "theme": ["auto"]}
    assert json.dumps(choices) in sphinx_site.early_script(choices)


SET = '.tab-set[data-axis="tab"]'


def test_a_tab_hides_the_others_unless_all_are_printed():
    hidden, shown, end = tab_rules(["jax", "mxnet"]).split(" }\n")
    assert hidden.endswith("{ display: none;") and shown.endswith("{ display: revert;")
    rules = (hidden + ",\n" + shown).split(",\n")
    assert end == "" and all(r.startswith('.js:not([data-print="all"])') for r in rules)
    for tab in ("jax", "mxnet"):
        panel = f'> .tab-panel[data-choices~="{tab}"]'
        assert f'[data-tab="{tab}"] {SET}:not([data-shown]) {panel}' in shown
        assert f'{SET}[data-shown="{tab}"] {panel}' in shown
