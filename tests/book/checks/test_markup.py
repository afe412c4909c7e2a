"""Problems in the sources are reported with their exact lines.

book/text/parsing.py finds many of them.
"""

import pytest

from book.base.errors import BookError
from book.checks import rules

PLAIN = "```{.python .input}\n%%tab "


def problems(book):
    with pytest.raises(BookError) as error:
        rules.check_for_build(book)
    return str(error.value).splitlines()


# The text follows "# One" and an empty line, so its first line is line 3.
BROKEN = [
    # Code
    (
        f"{PLAIN}torch\n1\n```\n",
        3,
        "unknown tab 'torch'; choose from pytorch, jax, all",
    ),
    ("```{.python .input}\n1\n```\n", 4, "cell without a tab"),
    (f"{PLAIN}all\n1\n", 3, "unclosed code block"),
    (f"{PLAIN}all\n1\n\n{PLAIN}all\n2\n```\n", 3, "unclosed code block"),
    ("A.\n\n```python\nx\n", 5, "unclosed code block"),
    (f"{PLAIN}jax\nx = 1\nx = (\n```\n", 6, "not valid Python ('(' was never closed)"),
    (f"{PLAIN}jax\n!ls\nx = (\n```\n", 6, "not valid Python"),
    (f"{PLAIN}jax\n%time x\n```\n", 5, "not valid Python"),
    (
        f"{PLAIN}all\nif tab.selected('pytorhc'):\n    1\n```\n",
        5,
        "unknown tab 'pytorhc'",
    ),
    (
        f"{PLAIN}all\n1\nx = tab.selected('jax')\n```\n",
        6,
        "d2lbook cannot choose these",
    ),
    ("```{.python .input .vary}\n%%tab all\n1\n```\n", 3, "unknown class 'vary'"),
    ("```{.python}\n%%tab all\n1\n```\n", 3, "not a cell"),
    ("A.\n\n    x = 1\n    y = 2\n", 5, "indented code block"),
    # Tabs
    (":begin_tab:`jxa`\nNo.\n:end_tab:\n", 4, "unknown tab 'jxa'"),
    (":begin_tab:`jax`\nA.\n\n## No\n:end_tab:\n", 6, "heading inside a tab"),
    (":begin_tab:`jax`\nNo.\n", 3, "unclosed tab"),
    ("A.\n:end_tab:\n", 4, ":end_tab: without :begin_tab:"),
    (":begin_tab:\nA.\n:end_tab:\n", 3, "tab without a name"),
    (
        ":begin_tab:`jax`\nA.\n:begin_tab:`jax`\nB.\n:end_tab:\n",
        *(5, "tab inside the tab of line 3"),
    ),
    # Marks
    ("A.\nSee :bogus:`x`.\n", 4, "unknown role 'bogus'"),
    ("A ``b`` and\n:bogus:``x``.\n", 4, "role 'bogus' with two backticks"),
    ("A.\n\n:label:`a`\n", 5, "label without a heading, figure or table"),
    ("A.\n\n:eqlabel:`a`\n", 5, "equation label without an equation"),
    ("A.\n:width:`3px`\n", 4, "unknown role 'width'"),
    ("A :label:`b` c.\n", 3, "label within text"),
    ("## A\n:label:`b`\n:label:`c`\n", 5, "second label for the same block"),
    ("### A\n", 3, "a heading of level 3 below level 1; remove a '#'"),
    ("A\nsee :numref:`sec_no`.\n", 4, "no label 'sec_no'"),
    ("A\nsee :cite:`Williams.2009,No.1`.\n", 4, "'No.1' is not in the bibliography"),
    ("It\n**is `b` or\n$c$** here.\n", 4, "'`' within bold text"),
    (
        f"| A | B |\n|:--|:--|\n| a | b |\n| {'a' * 50} | :numref:`sec_one` |\n",
        *(6, "a row with a reference has over 72 characters"),
    ),
    # Slides and media
    ("A\n[**b.\n\nC\n", 4, "slide mark '[**' without its '**]'"),
    ("A\n\n(**\n* b\n\n## C\n", 5, "slide mark '(**' without its '**)'"),
    ("A\n\n**)\n", 5, "'**)' closes no slide mark"),
    ("A\n[Press it.]{.wbe}\n", 4, "unknown mark 'wbe'"),
    ("A\nPress it.]{.web}\n", 4, "']{.web}' without its '['"),
    ("A\n[Press [**it**].]{.web}\n", 4, "slide mark within a marked text"),
    # Marks of numbers
    ("A\n[3 ms]{.measured .cited id=a}.\n", 4, "'measured' and 'cited' mark the same"),
    ("A\n[3 ms]{.measured id=a}.\n", 4, "unknown setting 'id' of this mark"),
    ("A\n[3 ms]{.web within=3%}.\n", 4, "unknown setting 'within' of this mark"),
    ("A\n[3 ms]{.measured within=3}.\n", 4, "'3' is not a valid within"),
    ("A\n[3 ms]{.measured value=x}.\n", 4, "'x' is not a valid value"),
    ("A\n[3 ms]{.cited}.\n", 4, "no id; write one, as in {.cited id=NAME}"),
    ("A\n[twice]{.measured}.\n", 4, "no number in 'twice'; name it, as in {.measured"),
    # Texts that set a figure
    ("A\n[now]{.play}.\n", 4, "'now' sets no figure; write it as {.play queue"),
    ("A\n[now]{.play every=1}.\n", 4, "'now' sets no figure"),
    ("A\n[now]{.play queue.every=1 plans.zero=3}.\n", 4, "'now' sets no figure"),
    ("A\n[now]{.play queue.every=1}.\n", 4, "no figure 'queue' in this section"),
    # Equations, links and pictures
    ("A.\n\n$$a\n= b\n\nText.\n", 5, "unclosed equation"),
    ("A.\nAnd $$a = b.\n", 4, "unclosed equation"),
    ("See\n[it](nowhere.md).\n", 4, "no file 'nowhere.md'"),
    ("![A](../img/no.svg)\n", 3, "no file '../img/no.svg'"),
    ("[A](../index.md#a)\n", 3, "link to a source, '../index.md'"),
    ("A [b][c].\n\n[c]: https://d2l.ai\n", 5, "link definition"),
    ("A\nin ![b](../img/a.svg) text.\n", 4, "image '../img/a.svg' within text"),
    ("A.\n\n```foo\nx\n```\n", 5, "unknown language 'foo'"),
    # What must not reach a page
    ("A\n<script>alert(1)</script>\n", 4, "raw HTML '<script>'"),
    ("A.\n\n<div onclick='x()'>\nB\n</div>\n", 5, "raw HTML '<div'"),
    ("A\n[b](javascript:alert(1))\n", 4, "unsafe link 'javascript:alert(1)'"),
    ("A\n[b](JavaScript:alert)\n", 4, "unsafe link 'JavaScript:alert'"),
    ("A\n[b](data:text/html,x)\n", 4, "unsafe link 'data:text/html,x'"),
    ("A\n![b](https://a.org/b.png)\n", 4, "image 'https://a.org/b.png'"),
    ("A\n![b](//a.org/b.png)\n", 4, "image '//a.org/b.png'"),
]


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_broken_markdown_is_reported_with_its_line(make_book, text, line, message):
    book = make_book(one=f"# One\n\n{text}")
    (book.root / "refs.bib").write_text("@article{Williams.2009, year={2009}}\n")
    found = problems(book)
    assert found[0].startswith(f"chapter/one.md:{line}: {message}"), found


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_mistakes_below_other_blocks_have_exact_lines(make_book, text, line, message):
    above = "# One\n\nText.\n\n* a\n* b\n\n```\nlisting\n```\n\n| a |\n|---|\n| 1 |\n\n"
    book = make_book(one=above + text)
    (book.root / "refs.bib").write_text("@article{Williams.2009, year={2009}}\n")
    line += above.count("\n") - 2
    found = problems(book)[0]
    message = message.replace("line 3", f"line {above.count(chr(10)) + 1}")
    assert found.startswith(f"chapter/one.md:{line}: {message}"), found


def test_correct_markdown_that_looks_wrong_is_accepted(make_book):
    text = "# One\n\n`[a](b.md)` and `` :bogus:`x` `` and $f[i](x)$, a price of \\$5,\n"
    text += (
        "[a](HTTP://d2l.ai), [b](#one), <https://d2l.ai> and\n$$f[i](y)\n= `` $$\n\n"
    )
    text += "```\n:begin_tab:`no`\n$$ [c](d.md) :bogus:`x` <script>\n```\n\n"
    text += "**a** `b` **c**, (**a `b`**) and [**`c` d**], `2**3` `2**4` `<b>`.\n\n"
    text += "`f(**x)`.\n\n```python\nf(**x)\n```\n\n"
    text += "<!-- a comment\n\nfor authors -->\n\nIn text <!-- too -->.\n\n"
    text += ":begin_tab:`jax`\n```\n# no heading\n```\n:end_tab:\n\n"
    text += f"{PLAIN}all\n!ls\nx = 1\n```\n"
    rules.check_for_build(make_book(one=text))


def test_a_text_sets_a_figure_of_its_section(make_book):
    book = make_book(
        one="# One\n\n[Now]{.play queue.every=1}.\n\n![A](../img/queue.svg)\n"
    )
    (book.root / "img").mkdir(exist_ok=True)
    (book.root / "img/queue.svg").write_text("<svg/>")
    rules.check_for_build(book)


def test_duplicate_labels_and_broken_references_are_reported(make_book):
    book = make_book(
        one="# One\n:label:`sec_one`\n\nSee\n:numref:`sec_three`.\n",
        two="# Two\n:label:`sec_two`\n\n## Again\n:label:`sec_one`\n",
    )
    assert problems(book) == [
        "chapter/two.md:5: label 'sec_one' is already used at chapter/one.md:2;"
        " rename one",
        "chapter/one.md:5: no label 'sec_three'; add it or correct the name",
    ]


def test_equations_can_be_referenced(make_book):
    text = "# One\n\n$$a = b$$\n:eqlabel:`eq_a`\n\nSee :eqref:`eq_a`.\n"
    rules.check_for_build(make_book(one=text))


def test_identical_cells_keep_their_own_lines(make_book):
    text = "# One\n\nSame.\n\n" + f"{PLAIN}all\nx = 1\n```\n\n" * 2
    text += ":begin_tab:`jax`\nSame.\n``` python\nx = 1\n```\n:end_tab:\n\nSame.\n\n"
    text += f"{PLAIN}jax\nx = 1\n```"
    book = make_book(one=text)
    assert [cell.line for cell in book.section("one").cells] == [5, 10, 24]


def test_an_empty_page_is_reported(make_book):
    book = make_book(one="\n")
    assert problems(book) == ["chapter/one.md:1: the page is empty; write something"]


def test_a_page_without_a_title_is_reported(make_book):
    (found,) = problems(make_book(one="Text.\n"))
    assert found.startswith("chapter/one.md:1: the page has no title")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# One\n\nCaf\xe9.\n", "3: not UTF-8; save it as UTF-8"),
        (b"\xef\xbb\xbf# One\n", "1: starts with a byte order mark"),
        (b"# One\n\nA\x00b.\n", "3: contains a NUL character"),
    ],
)
def test_a_file_that_is_not_plain_text_is_reported(make_book, data, message):
    book = make_book(one="# One\n", two="# Two\n")
    for name in ("one", "two"):
        (book.root / f"chapter/{name}.md").write_bytes(data)
    found = problems(book)
    assert [p.partition(":")[0] for p in found] == ["chapter/one.md", "chapter/two.md"]
    assert all(p.partition(":")[2].startswith(message) for p in found)


def test_a_missing_bibliography_is_reported_once(make_book):
    book = make_book(one="# One\n\n:cite:`A` and :cite:`B`.\n")
    (book.root / "refs.bib").unlink()
    assert problems(book) == [
        "refs.bib is missing; restore it, or correct `bibfile` in config.ini"
    ]
