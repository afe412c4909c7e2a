"""Problems in the sources are reported with their exact lines.

book/text/parsing.py finds many of them, and book/checks/quotations.py those in marks.
"""

import pytest

from book.checks import markup, rules
from book.runner.errors import BookError
from book.text.book import Book

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
    (
        "```{.python .input}\n1\n```\n",
        4,
        "cell without a tab; start it with %%tab and its tabs",
    ),
    (f"{PLAIN}all\n1\n", 3, "unclosed code block; close its fence"),
    (
        f"{PLAIN}all\n1\n\n{PLAIN}all\n2\n```\n",
        3,
        "unclosed code block; close its fence",
    ),
    ("A.\n\n```python\nx\n", 5, "unclosed code block; close its fence"),
    (
        f"{PLAIN}jax\nx = 1\nx = (\n```\n",
        6,
        "not valid Python ('(' was never closed); correct it",
    ),
    (
        f"{PLAIN}jax\n!ls\nx = (\n```\n",
        6,
        "not valid Python ('(' was never closed); correct it",
    ),
    (f"{PLAIN}jax\n%time x\n```\n", 5, "not valid Python (invalid syntax); correct it"),
    (
        f"{PLAIN}all\nif tab.selected('pytorhc'):\n    1\n```\n",
        5,
        "unknown tab 'pytorhc'; choose from pytorch, jax",
    ),
    (
        f"{PLAIN}all\n1\nx = tab.selected('jax')\n```\n",
        6,
        "d2lbook cannot choose these branches; write `if tab.selected('TAB'):`"
        " for each tab, without else, not within another, and indent its body"
        " by four spaces",
    ),
    (
        "```{.python .input .vary}\n%%tab all\n1\n```\n",
        3,
        "unknown class 'vary'; choose from folded, notebook, open, predict, varies",
    ),
    (
        "```{.python}\n%%tab all\n1\n```\n",
        3,
        "not a cell; write {.python .input}, or remove the braces",
    ),
    ("A.\n\n    x = 1\n    y = 2\n", 5, "indented code block; put it between fences"),
    # Tabs
    (
        ":begin_tab:`jxa`\nNo.\n:end_tab:\n",
        4,
        "unknown tab 'jxa'; choose from pytorch, jax, all",
    ),
    (
        ":begin_tab:`jax`\nA.\n\n## No\n:end_tab:\n",
        6,
        "heading inside a tab; move it out of :begin_tab:",
    ),
    (":begin_tab:`jax`\nNo.\n", 3, "unclosed tab; add :end_tab:"),
    ("A.\n:end_tab:\n", 4, ":end_tab: without :begin_tab:; remove it"),
    (":begin_tab:\nA.\n:end_tab:\n", 3, "tab without a name; write :begin_tab:`TAB`"),
    (
        ":begin_tab:`jax`\nA.\n:begin_tab:`jax`\nB.\n:end_tab:\n",
        *(5, "tab inside the tab of line 3; close that tab first"),
    ),
    # Marks
    (
        "A.\nSee :bogus:`x`.\n",
        4,
        "unknown role 'bogus'; use ref, numref, eqref, cite, citet, citep",
    ),
    (
        "A ``b`` and\n:bogus:``x``.\n",
        4,
        "role 'bogus' with two backticks; write one on each side",
    ),
    (
        "A.\n\n:label:`a`\n",
        5,
        "label without a heading, figure or table above it; move it",
    ),
    ("A.\n\n:eqlabel:`a`\n", 5, "equation label without an equation above it; move it"),
    (
        "A.\n:width:`3px`\n",
        4,
        "unknown role 'width'; use ref, numref, eqref, cite, citet, citep",
    ),
    ("A :label:`b` c.\n", 3, "label within text; put it on a line of its own"),
    ("## A\n:label:`b`\n:label:`c`\n", 5, "second label for the same block; remove it"),
    ("### A\n", 3, "a heading of level 3 below level 1; remove a '#'"),
    ("A\nsee :numref:`sec_no`.\n", 4, "no label 'sec_no'; add it or correct the name"),
    (
        "A\nsee :cite:`Williams.2009,No.1`.\n",
        4,
        "'No.1' is not in the bibliography; add it or correct the key",
    ),
    (
        "`Code`\n**is `b` or\n$c$** here.\n",
        4,
        "'`' within bold text; end the bold text before it",
    ),
    (
        f"| A | B |\n|:--|:--|\n| a | b |\n| {'a' * 50} | :numref:`sec_one` |\n",
        *(
            6,
            "a row with a reference has over 72 characters, so stock d2lbook would"
            " break the table; shorten the row",
        ),
    ),
    # Slides and media
    (
        "A\n[**b.\n\nC\n",
        4,
        "slide mark '[**' without its '**]'; close it in this block",
    ),
    (
        "A\n\n(**\n* b\n\n## C\n",
        5,
        "slide mark '(**' without its '**)'; close it before the next one",
    ),
    ("A\n\n**)\n", 5, "'**)' closes no slide mark; remove it"),
    (
        "A\n[Press it.]{.wbe}\n",
        4,
        "unknown mark 'wbe'; choose from web, print, notebook, slide, point,"
        " measured, cited, audited, arithmetic, open, ask, play",
    ),
    ("A\nPress it.]{.web}\n", 4, "']{.web}' without its '['; add the bracket"),
    (
        "A\n[Press [**it**].]{.web}\n",
        4,
        "slide mark within a marked text; move it outside",
    ),
    # Marks of numbers
    (
        "A\n[3 ms]{.measured .cited id=a}.\n",
        4,
        "'measured' and 'cited' mark the same text; keep one of them",
    ),
    ("A\n[3 ms]{.measured id=a}.\n", 4, "unknown setting 'id' of this mark; remove it"),
    (
        "A\n[3 ms]{.web within=3%}.\n",
        4,
        "unknown setting 'within' of this mark; remove it",
    ),
    (
        "A\n[3 ms]{.measured within=3}.\n",
        4,
        "'3' is not a valid within; write one such as 30%",
    ),
    (
        "A\n[3 ms]{.measured value=x}.\n",
        4,
        "'x' is not a valid value; write one such as 2",
    ),
    ("A\n[3 ms]{.cited}.\n", 4, "no id; write one, as in {.cited id=NAME}"),
    (
        "A\n[twice]{.measured}.\n",
        4,
        "no number in 'twice'; name it, as in {.measured value=2}",
    ),
    # Texts that set a figure
    (
        "A\n[now]{.play}.\n",
        4,
        "'now' sets no figure; write it as {.play queue.every=1}",
    ),
    (
        "A\n[now]{.play every=1}.\n",
        4,
        "'now' sets no figure; write it as {.play queue.every=1}",
    ),
    (
        "A\n[now]{.play queue.every=1 plans.zero=3}.\n",
        4,
        "'now' sets no figure; write it as {.play queue.every=1}",
    ),
    (
        "A\n[now]{.play queue.every=1}.\n",
        4,
        "no figure 'queue' in this section; its interactive figures: none",
    ),
    # Equations, links and pictures
    ("A.\n\n$$a\n= b\n\nText.\n", 5, "unclosed equation; add $$"),
    ("A.\nAnd $$a = b.\n", 4, "unclosed equation; add $$"),
    ("See\n[it](nowhere.md).\n", 4, "no file 'nowhere.md'; add it or correct the link"),
    ("![A](../img/no.svg)\n", 3, "no file '../img/no.svg'; add it or correct the link"),
    (
        "[A](../index.md#a)\n",
        3,
        "link to a source, '../index.md'; refer to its label with :numref:",
    ),
    (
        "A [b][c].\n\n[c]: https://d2l.ai\n",
        5,
        "link definition; write the address in the link: [text](address)",
    ),
    (
        "A\nin ![b](../img/a.svg) text.\n",
        4,
        "image '../img/a.svg' within text; put it in a paragraph of its own",
    ),
    (
        "A.\n\n```foo\nx\n```\n",
        5,
        "unknown language 'foo'; write one such as bash or text",
    ),
    # What must not reach a page
    ("A\n<script>alert(1)</script>\n", 4, "raw HTML '<script>'; write Markdown"),
    ("A.\n\n<div onclick='x()'>\nB\n</div>\n", 5, "raw HTML '<div'; write Markdown"),
    (
        "A\n[b](javascript:alert(1))\n",
        4,
        "unsafe link 'javascript:alert(1)'; begin links with http or https or mailto",
    ),
    (
        "A\n[b](JavaScript:alert)\n",
        4,
        "unsafe link 'JavaScript:alert'; begin links with http or https or mailto",
    ),
    (
        "A\n[b](data:text/html,x)\n",
        4,
        "unsafe link 'data:text/html,x'; begin links with http or https or mailto",
    ),
    (
        "A\n![b](https://a.org/b.png)\n",
        4,
        "image 'https://a.org/b.png' is not a file of the book; put the file into img/",
    ),
    (
        "A\n![b](//a.org/b.png)\n",
        4,
        "image '//a.org/b.png' is not a file of the book; put the file into img/",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
def test_broken_markdown_is_reported_with_its_line(make_book, text, line, message):
    above = "# One\n\nText.\n\n* a\n* b\n\n```\nlisting\n```\n\n| a |\n|---|\n| 1 |\n\n"
    book = make_book(one=above + text)
    (book.root / "refs.bib").write_text("@article{Williams.2009, year={2009}}\n")
    line += above.count("\n") - 2
    found = problems(book)[0]
    message = message.replace("line 3", f"line {above.count(chr(10)) + 1}")
    assert found == f"chapter/one.md:{line}: {message}"


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
    message = "the page has no title; begin it with a heading"
    assert found == f"chapter/one.md:1: {message}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# One\n\nCaf\xe9.\n", "3: not UTF-8; save it as UTF-8"),
        (
            b"\xef\xbb\xbf# One\n",
            "1: starts with a byte order mark; save it as UTF-8 without one",
        ),
        (b"# One\n\nA\x00b.\n", "3: contains a NUL character; remove it"),
    ],
)
def test_a_file_that_is_not_plain_text_is_reported(make_book, data, message):
    book = make_book(one="# One\n", two="# Two\n")
    for name in ("one", "two"):
        (book.root / f"chapter/{name}.md").write_bytes(data)
    names = ("one", "two")
    assert problems(book) == [f"chapter/{name}.md:{message}" for name in names]


def test_a_missing_bibliography_is_reported_once(make_book):
    book = make_book(one="# One\n\n:cite:`A` and :cite:`B`.\n")
    (book.root / "refs.bib").unlink()
    assert problems(book) == [
        "refs.bib is missing; restore it, or correct `bibfile` in config.ini"
    ]


# What a section depends on, each with a mistake and what is then reported.
BESIDES = {
    "img/b.txt": (None, "no file '../img/b.txt'"),
    "refs.bib": ("@article{B, year={2026}}\n", "'A' is not in the bibliography"),
    "chapter/two.md": ("# Two\n", "no label 'sec_two'"),
    "config.ini": ("tabs = pytorch", "unknown tab 'jax'"),
    "d2l/cited.csv": ("id,value,unit,hardware,source\nq,9,ms,T4,A\n", "not the value"),
    "chapter/one.md": ("# One\n\n:bogus:`x`\n", "unknown role 'bogus'"),
}


def test_an_unchanged_section_is_judged_by_what_is_beside_it_today(make_book):
    text = "# One\n\n[B](../img/b.txt) :cite:`A` :ref:`sec_two`"
    text += " [8 ms]{.cited id=q} on a T4.\n\n" + f"{PLAIN}jax\n1\n```\n"
    root = make_book(one=text, two="# Two\n:label:`sec_two`\n").root
    (root / "img").mkdir()
    (root / "img/b.txt").touch()
    (root / "refs.bib").write_text("@article{A, year={2026}}\n")
    (root / "d2l/cited.csv").write_text("id,value,unit,hardware,source\nq,8,ms,T4,A\n")
    rules.check_for_build(Book(root))
    for name, (mistake, message) in BESIDES.items():
        good = (root / name).read_text()
        if name == "config.ini":
            mistake = good.replace("tabs = pytorch, jax", mistake)
        (root / name).unlink() if mistake is None else (root / name).write_text(mistake)
        assert message in "\n".join(problems(Book(root))), name
        (root / name).write_text(good)
        rules.check_for_build(Book(root))


def test_an_unchanged_section_is_not_read_again(make_book, monkeypatch):
    book = make_book(one="# One\n\nText.\n", two="# Two\n\n:bogus:`x`\n")
    before = problems(book)
    read = []
    monkeypatch.setattr(markup, "_section_problems", lambda *args: read.append(args))
    assert problems(Book(book.root)) == before and not read
