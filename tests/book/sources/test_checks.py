"""What is wrong with the sources is reported with its exact line."""

import pytest

from book.base.errors import BookError

PLAIN = "```{.python .input}\n%%tab "


def problems(book):
    with pytest.raises(BookError) as error:
        book.check()
    return str(error.value).splitlines()


# The text stands below "# One" and an empty line, so its first line is line 3.
BROKEN = [
    # Code
    (f"{PLAIN}torch\n1\n```\n", 3, "no tab 'torch'; there are pytorch, jax, all"),
    ("```{.python .input}\n1\n```\n", 4, "code without a tab"),
    (f"{PLAIN}all\n1\n", 3, "a code block that does not end"),
    (f"{PLAIN}all\n1\n\n{PLAIN}all\n2\n```\n", 3, "a code block that does not end"),
    ("A.\n\n```python\nx\n", 5, "a code block that does not end"),
    (f"{PLAIN}jax\nx = 1\nx = (\n```\n", 6, "not valid Python ('(' was never closed)"),
    (f"{PLAIN}jax\n%%time\nx = (\n```\n", 6, "not valid Python"),
    (f"{PLAIN}all\nif tab.selected('pytorhc'):\n    1\n```\n", 5, "no tab 'pytorhc'"),
    (f"{PLAIN}all\n1\nx = tab.selected('jax')\n```\n", 6, "tab.selected outside"),
    ("```{.python .input .vary}\n%%tab all\n1\n```\n", 3, "no class 'vary'"),
    ("```{.python}\n%%tab all\n1\n```\n", 3, "a code block that is no cell"),
    ("A.\n\n    x = 1\n    y = 2\n", 5, "an indented code block"),
    # Tabs
    (":begin_tab:`jxa`\nNo.\n:end_tab:\n", 4, "no tab 'jxa'"),
    (":begin_tab:`jax`\nA.\n\n## No\n:end_tab:\n", 6, "a heading inside a tab"),
    (":begin_tab:`jax`\nNo.\n", 3, "a tab that does not end"),
    ("A.\n:end_tab:\n", 4, ":end_tab: without :begin_tab:"),
    (":begin_tab:\nA.\n:end_tab:\n", 3, "a tab without a name"),
    (
        ":begin_tab:`jax`\nA.\n:begin_tab:`jax`\nB.\n:end_tab:\n",
        *(5, "a tab inside that of line 3"),
    ),
    # Marks
    ("A.\nSee :bogus:`x`.\n", 4, "no role 'bogus'"),
    ("A ``b`` and\n:bogus:``x``.\n", 4, "no role 'bogus'"),
    ("A.\n\n:label:`a`\n", 5, "a label that is below no heading, figure or table"),
    ("A.\n\n:eqlabel:`a`\n", 5, "an equation's label that is below no equation"),
    ("A.\n:width:`3px`\n", 4, "a width that is below no figure"),
    ("A :label:`b` c.\n", 3, "a label within text"),
    ("## A\n:label:`b`\n:label:`c`\n", 5, "a second label of the same block"),
    ("A\nsee :numref:`sec_no`.\n", 4, "no label 'sec_no'"),
    ("A\nsee :cite:`Williams.2009,No.1`.\n", 4, "no work 'No.1' in the bibliography"),
    ("It\n**is `b` or\n$c$** here.\n", 4, "a '`' within bold text"),
    # Slides and media
    ("A\n[**b.\n\nC\n", 4, "a slide mark '[**' without its '**]'"),
    ("A\n\n(**\n* b\n\n## C\n", 5, "a slide mark '(**' without its '**)'"),
    ("A\n\n**)\n", 5, "a '**)' that ends no slide mark"),
    ("A\n[Press it.]{.wbe}\n", 4, "no medium 'wbe'"),
    ("A\nPress it.]{.web}\n", 4, "a ']{.web}' without its '['"),
    ("A\n[Press [**it**].]{.web}\n", 4, "a slide mark in a text for one medium"),
    # Equations, links and pictures
    ("A.\n\n$$a\n= b\n\nText.\n", 5, "an equation that does not end"),
    ("A.\nAnd $$a = b.\n", 4, "an equation that does not end"),
    ("See\n[it](nowhere.md).\n", 4, "no file 'nowhere.md'"),
    ("![A](../img/no.svg)\n", 3, "no file '../img/no.svg'"),
    ("[A](../index.md#a)\n", 3, "the site has no '../index.md'"),
    ("![A](../refs.bib)\n:width:`wide`\n", 4, "no width 'wide'"),
    ("A [b][c].\n\n[c]: https://d2l.ai\n", 5, "an address apart from its link"),
    (
        "A.\n\n"
        + "| a " * 50
        + "|\n"
        + "|---" * 50
        + "|\n"
        + ("| 1 " * 50 + "|\n") * 39,
        5,
        "a table of 2,050 cells; show at most 2,000",
    ),
    # What must not reach a page
    ("A\n<script>alert(1)</script>\n", 4, "raw HTML '<script>'"),
    ("A.\n\n<div onclick='x()'>\nB\n</div>\n", 5, "raw HTML '<div'"),
    ("A\n[b](javascript:alert(1))\n", 4, "a link that begins with 'javascript:'"),
    ("A\n[b](JavaScript:alert)\n", 4, "a link that begins with 'JavaScript:'"),
    ("A\n[b](data:text/html,x)\n", 4, "a link that begins with 'data:'"),
    ("A\n![b](https://a.org/b.png)\n", 4, "an image from elsewhere"),
    ("A\n![b](//a.org/b.png)\n", 4, "an image from elsewhere"),
    ("A.\n\n```eval_rst\n.. raw:: html\n\n   <b>\n```\n", 5, "raw HTML in eval_rst"),
]


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_broken_markdown_is_reported_with_its_line(make_book, text, line, message):
    book = make_book(one=f"# One\n\n{text}")
    (book.root / "refs.bib").write_text("@article{Williams.2009, year={2009}}\n")
    found = [p for p in problems(book) if not p.startswith("chapter/one.md:0")]
    assert found[0].startswith(f"chapter/one.md:{line}: {message}"), found


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_a_mistake_further_down_has_its_line_too(make_book, text, line, message):
    above = "# One\n\nText.\n\n* a\n* b\n\n```\nlisting\n```\n\n| a |\n|---|\n| 1 |\n\n"
    book = make_book(one=above + text)
    (book.root / "refs.bib").write_text("@article{Williams.2009, year={2009}}\n")
    line += above.count("\n") - 2
    found = problems(book)[0]
    message = message.replace("line 3", f"line {above.count(chr(10)) + 1}")
    assert found.startswith(f"chapter/one.md:{line}: {message}"), found


def test_what_only_looks_wrong_is_accepted(make_book):
    text = "# One\n\n`[a](b.md)` and `` :bogus:`x` `` and $f[i](x)$, a price of \\$5,\n"
    text += (
        "[a](https://d2l.ai), [b](#one), <https://d2l.ai> and\n$$f[i](y)\n= `` $$\n\n"
    )
    text += "```\n:begin_tab:`no`\n$$ [c](d.md) :bogus:`x` <script>\n```\n\n"
    text += "**a** `b` **c**, (**a `b`**) and [**`c` d**], `2**3` `2**4` `<b>`.\n\n"
    text += "<!-- a comment\n\nfor authors -->\n\nIn text <!-- too -->.\n\n"
    text += ":begin_tab:`jax`\n```\n# no heading\n```\n:end_tab:\n\n"
    text += f"{PLAIN}all\n%matplotlib inline\n!ls\nx = 1\n```\n"
    make_book(one=text).check()


def test_labels_are_unique_and_references_lead_somewhere(make_book):
    book = make_book(
        one="# One\n:label:`sec_one`\n\nSee\n:numref:`sec_three`.\n",
        two="# Two\n:label:`sec_two`\n\n## Again\n:label:`sec_one`\n",
    )
    assert problems(book) == [
        "chapter/two.md:5: label 'sec_one' is already at chapter/one.md:2; rename one",
        "chapter/one.md:5: no label 'sec_three'; add it or correct the name",
    ]


def test_labels_of_equations_count(make_book):
    text = "# One\n\n$$a = b$$\n:eqlabel:`eq_a`\n\nSee :eqref:`eq_a`.\n"
    make_book(one=text).check()


def test_equal_cells_have_lines_of_their_own(make_book):
    text = "# One\n\nSame.\n\n" + f"{PLAIN}all\nx = 1\n```\n\n" * 2
    text += ":begin_tab:`jax`\nSame.\n``` python\nx = 1\n```\n:end_tab:\n\nSame.\n\n"
    text += f"{PLAIN}jax\nx = 1\n```"
    book = make_book(one=text)
    assert [cell.line for cell in book.section("one").cells] == [5, 10, 24]


def test_an_empty_page_is_reported(make_book):
    book = make_book(one="\n")
    assert problems(book) == ["chapter/one.md:1: the page is empty; write something"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# One\n\nCaf\xe9.\n", "3: not UTF-8; save it as UTF-8"),
        (b"\xef\xbb\xbf# One\n", "1: starts with a byte order mark"),
        (b"# One\n\nA\x00b.\n", "3: holds a NUL character"),
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
