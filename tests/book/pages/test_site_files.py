"""Reading times, the colors of code and the security policy are correct."""

import base64
import hashlib
import json
import re

import pytest

from book.pages import html, page
from book.pages.search import Index
from book.pages.sets import tab_rules
from book.render import code as code_module
from book.render.math import mathml
from book.render.texts import Texts
from book.text.blocks import Cell
from book.text.tokens import equations, parse


def minutes(*texts: tuple[str, float]) -> float:
    """Return the reading time of texts, each with the share of readers who see it."""
    index = Index(["pytorch", "mxnet", "jax", "tensorflow"])
    for text, share in texts:
        with index.panel("panel-1-jax", index.tabs[: round(4 * share)]):
            if text.startswith("x = 1"):
                cell = Cell(line=1, source="", number=1, code=text, rows=(1,))
                index.add_code(cell)
            else:
                tokens = parse(text)
                shown = mathml(dict.fromkeys(equations(tokens), "here"))
                index.add(tokens, Texts(lambda reference: "", shown))
    return html.reading_time(index)


def words(number: int) -> str:
    return " ".join(["word"] * number)


def code(lines: int) -> str:
    return "\n".join(["x = 1"] * lines)


def test_the_reading_time_counts_words_and_code():
    assert minutes((words(4000), 1)) == 20
    assert minutes((words(2000), 1), (code(150), 1)) == 20
    assert minutes((words(10), 1)) == 5


def test_the_reading_time_counts_kernels_to_write():
    index = Index(["pytorch"])
    assert html.reading_time(index, ["task-sum", "task-copy", "kernel-ladder"]) == 20


def test_an_equation_takes_as_long_as_its_words():
    assert minutes((f"${' + '.join(['a'] * 500)}$", 1)) == minutes((words(999), 1))


def test_the_reading_time_counts_one_framework():
    assert minutes(*[(words(4000), 1 / 4)] * 4) == 20
    assert minutes(*[(code(300), 1 / 4)] * 4) == 20


def test_tokens_that_look_the_same_share_a_class():
    rules = dict(rule.split(" { ") for rule in code_module.rules().splitlines())
    assert rules.pop(".highlight .sd") == rules[".highlight .s"]  # docstrings
    assert len(set(rules.values())) == len(rules) <= 6
    assert "light-dark(#b3202c, #ff8a80)" in rules[".highlight .k"]
    shown = code_module.colored('x = f"a" "b"  # c\n', "python")
    assert '<span class="s">f"a"</span> <span class="s">"b"</span>' in shown


def test_only_colored_tokens_have_elements():
    shown = code_module.colored("def f(x):\n    return x.y + 1\n", "python")
    marked = re.findall(r'<span class="(\w+)">([^<]+)</span>', shown)
    assert marked == [("k", "def"), ("nc", "f"), ("k", "return"), ("kc", "1")]


def test_the_policy_holds_the_hash_of_the_script():
    digest = hashlib.sha256(b"let x").digest()
    assert f"sha256-{base64.b64encode(digest).decode()}'" in page.policy("let x")


@pytest.mark.parametrize("machines", [["cpu"], ["cpu", "h200"]])
def test_the_inline_script_knows_the_choices(machines: list[str]):
    choices = {"tab": ["jax"], "machine": machines, "theme": ["auto"]}
    assert json.dumps(choices) in page.early_script(choices)


SET = '.tab-set[data-axis="tab"]'


def test_a_tab_hides_the_others():
    hidden, shown, end = tab_rules(["jax", "mxnet"]).split(" }\n")
    assert hidden.endswith("{ display: none;") and shown.endswith("{ display: revert;")
    rules = (hidden + ",\n" + shown).split(",\n")
    assert end == "" and all(r.startswith(".js") for r in rules)
    for tab in ("jax", "mxnet"):
        panel = f'> .tab-panel[data-choices~="{tab}"]'
        assert f'[data-tab="{tab}"] {SET} {panel}' in shown
