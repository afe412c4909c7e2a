"""Tokens become HTML that says what the text says."""

import re

import pytest
from bs4 import BeautifulSoup
from markdown_it.token import Token

from book.render import math
from book.render.texts import Texts, add_class, plain, raw
from book.runner.errors import BookError
from book.text.tokens import equations, parse, parse_line, walk

REFERENCE = '<a class="reference internal" href="a">1 &lt;</a>'
LINK = '<a class="reference external" href="{0}">{0}</a>'


def address(reference: Token) -> str:
    return reference.meta["to"]


def html(text: str) -> str:
    tokens = parse(text)
    for role in (token for token in walk(tokens) if token.type == "role"):
        words = [Token("text", "", 0, content="1 <")]
        link = Token("reference", "", 0, meta={"to": role.content}, children=words)
        role.children = [*words, link]
    shown = math.mathml(dict.fromkeys(equations(tokens), "here"))
    return Texts(address, shown).html(tokens)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("**a** *b* <c&d>", "<p><strong>a</strong> <em>b</em> &lt;c&amp;d&gt;</p>\n"),
        ("`x < 1`", '<p><code class="notranslate">x &lt; 1</code></p>\n'),
        (":ref:`a`, b", f"<p>1 &lt;{REFERENCE}, b</p>\n"),
        ("a\\\nb", "<p>a<br>b</p>\n"),
        (
            "[a](https://b.c?d&e)",
            '<p><a class="reference external" href="https://b.c?d&amp;e">a</a></p>\n',
        ),
        (
            "[a](?b.c=1&b.d=2)",
            '<p><a class="play" data-play="b.c=1&amp;b.d=2">a</a></p>\n',
        ),
        ("* a\n* b", "<ul>\n<li><p>a</p>\n</li>\n<li><p>b</p>\n</li>\n</ul>\n"),
        ("3. a", '<ol start="3">\n<li><p>a</p>\n</li>\n</ol>\n'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        ("a <!-- b --> c", "<p>a  c</p>\n"),
        ("<!-- b -->", ""),
        ("<https://a--b.c>", f"<p>{LINK.format('https://a--b.c')}</p>\n"),
    ],
)
def test_a_text_is_the_html_that_it_means(text: str, wanted: str):
    assert html(text) == wanted


def test_a_listing_is_a_box_of_code_in_its_language():
    shown = html("```bash\nls -l\n```")
    assert 'class="highlight-bash notranslate"' in shown and "ls -l\n</pre>" in shown
    assert "<pre>a &lt; b\n</pre>" in html("* c\n\n      a < b\n")


def test_a_table_marks_the_columns_of_frameworks_and_breaks_code():
    shown = html("| a | JAX |\n|---|:-:|\n| `f(x=1)` | `jax.tree_util` |\n\n`f(x)`")
    assert shown.count('data-framework="jax"') == 2
    assert "<th><p>a</p></th>" in shown and "style" not in shown
    assert "f(<wbr>x=<wbr>1)" in shown and "jax.<wbr>tree_util" in shown
    assert shown.endswith('<p><code class="notranslate">f(x)</code></p>\n')


def test_what_ends_an_equation_is_not_parted_from_it():
    shown = html("so $x$ ms, then")
    assert shown.startswith('<p>so <span class="unbroken"><math>')
    assert shown.endswith("</math>\xa0ms,</span> then</p>\n")


def test_mentions_of_terms_are_links():
    tokens = parse("a warp&c & a warp")
    [_, inline, _] = tokens
    [text] = inline.children or []
    match = re.search("warp&c", text.content)
    assert match
    texts = Texts(address, {}, {id(text): [(match, "g.html#term-warp")]})
    link = '<a class="term reference internal" href="g.html#term-warp">warp&amp;c</a>'
    assert texts.html(tokens) == f"<p>a {link} &amp; a warp</p>\n"


def test_a_reference_without_an_address_is_no_link():
    words = [Token("text", "", 0, content="a")]
    reference = Token("reference", "", 0, meta={"to": ""}, children=words)
    assert Texts(address, {}).html([reference]) == "a"


def test_html_of_ours_is_written_as_it_is():
    [inline] = parse_line("a")
    inline.children = [raw("<b>&"), *(inline.children or [])]
    assert Texts(address, {}).line([inline]) == "<b>&a"


def test_a_class_is_added_to_the_first_element():
    assert add_class("<p>a</p><p>b</p>", "c") == '<p class="c">a</p><p>b</p>'
    assert add_class('<p id="b" class="a">', "c") == '<p id="b" class="c a">'
    assert add_class("<p>a</p>", "") == "<p>a</p>" and add_class("", "c") == ""


def test_plain_text_has_no_tags_and_no_entities():
    assert plain("<b>a &amp; b</b> &lt;c&gt;") == "a & b <c>"


# Equations


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"w^\top x/2", "w^⊤x/2"),
        (r"\frac{n}{B}", "n/B"),
        (r"a_b", "a_b"),
        (r"2 \cdot 10^9", "2⋅10^9"),
    ],
)
def test_an_equation_can_be_read_in_a_line(tex: str, text: str):
    [shown] = math.mathml({(tex, False): "here"}).values()
    assert math.plain(shown) == text


@pytest.mark.parametrize(
    "tex, spaces",
    [
        (r"k \max(h, d)", 1),
        (r"2 \log_2 n", 2),
        (r"(a)\min(b)", 1),
        (r"\frac{1}{2}\max(a)", 1),
        (r"\max(h, d)", 0),
        (r"x = \max(h)", 0),
        (r"1 - \tanh^2 x", 1),
    ],
)
def test_the_name_of_a_function_touches_no_symbol(tex: str, spaces: int):
    [shown] = math.mathml({(tex, False): "here"}).values()
    assert shown.count('<mspace width="0.167em">') == spaces


@pytest.mark.parametrize("tex", [r"\tanh^2 x", r"a \tanh^2", r"\log_2 n", r"n \log_2"])
def test_a_power_and_an_index_have_two_parts(tex: str):
    [shown] = math.mathml({(tex, False): "here"}).values()
    [script] = BeautifulSoup(shown, "html.parser").select("msup, msub")
    assert len(script.find_all(recursive=False)) == 2


def test_each_wrong_equation_is_reported_with_its_place():
    found = {
        (r"\foo{x}", False): "a.md:1",
        ("x", False): "b",
        (r"\bar", True): "c.md:2",
    }
    with pytest.raises(BookError) as error:
        math.mathml(found | {(r"\oops{", True): "d.md:3"})
    lines = str(error.value).splitlines()
    assert lines[0].startswith(r"a.md:1: cannot convert the equation '\foo{x}'")
    assert lines[-1].startswith(r"d.md:3: cannot convert the equation '\oops{'")


def test_no_equations_need_no_conversion(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(math, "subprocess", None)
    assert math.mathml({}) == {}


def test_lines_of_an_equation_are_aligned():
    assert math.align_lines(r" a \\ b ") == r"\begin{aligned}a \\ b\end{aligned}"
    assert math.align_lines(r"\begin{cases}a \\ b\end{cases}").startswith(r"\begin{c")
