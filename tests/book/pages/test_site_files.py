"""The parts of a page that are worked out: times, code's colours, the policy."""

import base64
import hashlib
import json
import re

import pytest
from docutils import nodes
from pygments import highlight
from pygments.lexers import PythonLexer

from book.pages.sphinx import code_styles
from book.pages.sphinx import front as sphinx_front
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx.tabs import tab_panel, tab_rules, tab_set


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
    found = tab_set()
    for index, number in enumerate(numbers):
        found += tab_panel("", words(number), tabs=[f"tab{index}"])
    return found


def test_reading_takes_as_long_as_words_and_code_are_many():
    assert sphinx_front.minutes(section(words(4000)), 4) == 20
    assert sphinx_front.minutes(section(words(2000), code(150)), 4) == 20
    assert sphinx_front.minutes(section(words(10)), 4) == 5


def test_a_reader_reads_the_text_of_one_framework():
    everything = section(panels(4000, 4000, 4000, 4000))
    assert sphinx_front.minutes(everything, 4) == 20


def test_what_code_printed_takes_no_time():
    printed = code(1500, "output")
    assert sphinx_front.minutes(section(words(1000), printed), 4) == 5


def test_one_rule_for_all_kinds_of_token_that_look_alike():
    rules = sphinx_site.code_rules(code_styles.Light, code_styles.Dark).splitlines()
    looks = [rule.partition("{")[2] for rule in rules]
    assert len(looks) == len(set(looks)) <= 12
    keyword = next(rule for rule in rules if ".highlight .k," in rule)
    assert "light-dark(#b3202c, #ff8a80)" in keyword


def test_code_has_marks_only_where_it_has_a_colour():
    formatter = sphinx_site.CodeFormatter(style=code_styles.Light)
    page = highlight("def f(x):\n    return x.y + 1\n", PythonLexer(), formatter)
    marked = re.findall(r'<span class="(\w+)">([^<]+)</span>', page)
    assert marked == [("k", "def"), ("nf", "f"), ("k", "return"), ("mi", "1")]


def test_the_policy_names_the_script():
    digest = hashlib.sha256(b"let x").digest()
    assert f"sha256-{base64.b64encode(digest).decode()}'" in sphinx_site.policy("let x")


@pytest.mark.parametrize("machines", [["cpu"], ["cpu", "h200"]])
def test_the_inline_script_knows_the_choices(machines: list[str]):
    choices = {"tab": ["jax"], "machine": machines, "theme": ["auto"]}
    assert json.dumps(choices) in sphinx_site.early_script(choices)


def test_a_tab_hides_the_others_but_not_when_all_are_printed():
    rules = tab_rules(["jax"])
    assert '[data-tab="jax"]' in rules and ':not([data-choices~="jax"])' in rules
    assert all('.js:not([data-print="all"])' in r for r in rules.split(",\n"))
