"""A text is parsed into tokens that every format writes."""

import pytest

from book.text.blocks import Figure, Prose, Table
from book.text.tokens import body, caption, equations, parse, parse_line, walk


def kinds(text: str) -> list[str]:
    [inline] = parse_line(text)
    return [token.type for token in inline.children or []]


def words(text: str) -> str:
    [inline] = parse_line(text)
    return "".join(token.content for token in inline.children or [])


def test_roles_and_equations_are_tokens():
    [inline] = parse_line("See :numref:`sec_a` and $a_b$, not `:ref:` or \\$5.")
    found = [(t.type, t.info, t.content) for t in inline.children or []]
    assert found == [
        ("text", "", "See "),
        ("role", "numref", "sec_a"),
        ("text", "", " and "),
        ("math", "", "a_b"),
        ("text", "", " not "),
        ("code_inline", "", ":ref:"),
        ("text", "", " or $5."),
    ]


def test_emphasis_around_an_equation_is_closed():
    assert kinds("*a $b*c$ d*") == ["em_open", "text", "math", "text", "em_close"]


@pytest.mark.parametrize(
    "text, ending, rest",
    [
        ("$n$ ms.", "\xa0ms.", ""),
        ("$n$, and", ",", " and"),
        ("$n$ GB/s: fast", "\xa0GB/s:", " fast"),
        ("$n$) or", ")", " or"),
        ("$n$ apples", None, " apples"),
        ("$n$ msx", None, " msx"),
    ],
)
def test_what_follows_an_equation_stays_with_it(
    text: str, ending: str | None, rest: str
):
    [inline] = parse_line(text)
    equation, *after = inline.children or []
    assert equation.meta.get("ending") == ending
    assert "".join(token.content for token in after) == rest


@pytest.mark.parametrize(
    "text, shown",
    [
        ("64 MB at 2.5 GB/s", "64\xa0MB at 2.5\xa0GB/s"),
        ("2.5\nGB/s", "2.5\xa0GB/s"),
        ("64 KiB in 2 h", "64\xa0KiB in 2\xa0h"),
        ("1 B, 2 kB/s, 3 GiB", "1\xa0B, 2\xa0kB/s, 3\xa0GiB"),
        ("4 Mbit/s, 5 FLOP/s, 6 TFLOPs", "4\xa0Mbit/s, 5\xa0FLOP/s, 6\xa0TFLOPs"),
        ("7 s, 8 ms, 9 µs, 1 ns", "7\xa0s, 8\xa0ms, 9\xa0µs, 1\xa0ns"),
        ("2 GHz, 3 W, 4 %, 5 W/m", "2\xa0GHz, 3\xa0W, 4\xa0%, 5 W/m"),
        ("4 MBit and 3 skis", "4 MBit and 3 skis"),
        ("16 000 and 5 0000", "16\xa0000 and 5 0000"),
        ("a -- b --- c...", "a – b — c…"),
        ("\"It's\" 'so'", "“It’s” ‘so’"),
        ('c\\--d \\"e\\"', 'c--d "e"'),
    ],
)
def test_signs_and_spaces_are_typographic(text: str, shown: str):
    assert words(text) == shown


def test_equations_are_found_wherever_they_are():
    tokens = parse("A $b$.\n\n* *c $d$*\n\n| $e$ |\n|---|\n| `$f$` |\n")
    assert [tex for tex, _ in equations(tokens)] == ["b", "d", "e"]


def test_a_block_has_a_caption_and_a_text_for_each_medium():
    figure = Figure(line=1, source="", path="a.svg", caption="[A]{.web} *b*")
    assert [t.content for t in walk(caption(figure, "web")) if t.type == "text"] == [
        *("A ", "b")
    ]
    assert body(figure, "web") == []
    table = Table(line=1, source="", rows="| a |\n|---|\n| b |", caption="c")
    assert caption(table, "web")[0].content == "c"
    assert body(table, "print")[0].type == "table_open"
    prose = Prose(line=1, source="(**Here.**) [There.]{.print}")
    texts = {m: body(prose, m)[1].content for m in ("web", "print")}  # type: ignore[arg-type]
    assert texts == {"web": "Here.", "print": "Here. There."}
    assert body(Prose(line=1, source="Not here", sign="(~~"), "web") == []
