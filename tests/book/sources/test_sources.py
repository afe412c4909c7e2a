"""Reading the sources: tabs, aliases, order, and what is refused, with its line."""

import pytest

from book.base.errors import BookError
from book.sources.book import Book

ALIASES = """
simple_alias = exp, zeros
fluent_alias = expand_dims -> unsqueeze, reshape
"""


def cells(book, tab, name="one"):
    return [c.source for c in book.code_cells(book.section(name), tab)]


def problems(book):
    with pytest.raises(BookError) as error:
        book.check()
    return str(error.value).splitlines()


def test_sections_come_in_the_order_of_the_contents(make_book):
    book = make_book(zebra="# Zebra\n", ant="# Ant\n")
    assert [s.name for s in book.sections] == ["index", "chapter/zebra", "chapter/ant"]


def test_a_tab_has_its_cells_and_those_of_all(make_book):
    text = "# One\n\n```{.python .input}\n%%tab pytorch, mxnet\n1\n```\n\n"
    text += "```{.python .input}\n%%tab all\n2\n```\n"
    book = make_book(tabs=("pytorch", "mxnet", "jax"), one=text)
    assert [cells(book, tab) for tab in book.tabs] == [["1", "2"], ["1", "2"], ["2"]]


def test_an_alias_ends_where_its_name_ends(make_book):
    code = "d2l.exp(x), d2l.expand_dims(x, 0), d2l.zeros_of(x), d2l.reshape(x, 2)"
    text = f"# One\n\n```{{.python .input}}\n%%tab pytorch\n{code}\n```\n"
    book = make_book(one=text)
    config = book.root / "config.ini"
    setting = "lib_name = pytorch\n"
    config.write_text(config.read_text().replace(setting, setting + ALIASES.lstrip()))
    (source,) = cells(Book(book.root), "pytorch")
    assert source == ("pytorch.exp(x), x.unsqueeze(0), d2l.zeros_of(x), x.reshape(2)")


def test_a_section_is_found_by_the_last_part_of_its_name(make_book):
    book = make_book(one="# One\n")
    assert book.section("one") == book.section("chapter/one.md")
    with pytest.raises(BookError, match="no section 'two'; there are index, one"):
        book.section("two")


def test_labels_are_unique_and_references_lead_somewhere(make_book):
    book = make_book(
        one="# One\n:label:`sec_one`\n\nSee :numref:`sec_three`.\n",
        two="# Two\n:label:`sec_two`\n\n## Again\n:label:`sec_one`\n",
    )
    assert problems(book) == [
        "chapter/two.md:5: label 'sec_one' stands already at chapter/one.md:2;"
        " rename one",
        "chapter/one.md:4: no label 'sec_three'; add it or mend the name",
    ]


def test_an_equations_label_counts(make_book):
    text = "# One\n\n$$a = b$$\n:eqlabel:`eq_a`\n\nSee :eqref:`eq_a`.\n"
    make_book(one=text).check()


PLAIN = "```{.python .input}\n%%tab "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{PLAIN}torch\n1\n```\n", "4: no tab 'torch'; there are pytorch, jax, all"),
        ("```{.python .input}\n1\n```\n", "4: code without a tab"),
        (":begin_tab:`jxa`\nNo.\n:end_tab:\n", "3: no tab 'jxa'"),
        (":begin_tab:`jax`\nA.\n\n## No\n:end_tab:\n", "6: a heading inside a tab"),
        (":begin_tab:`jax`\nNo.\n", "3: a tab that does not end"),
        ("A.\n:end_tab:\n", "4: :end_tab: without :begin_tab:"),
        (":begin_tab:\nA.\n:end_tab:\n", "3: a tab without a name"),
        (
            ":begin_tab:`jax`\nA.\n:begin_tab:`jax`\n:end_tab:\n",
            "5: a tab inside that of line 3",
        ),
        (f"{PLAIN}all\n1\n", "3: a code block that does not end"),
        (
            f"{PLAIN}all\n1\n\n{PLAIN}all\n2\n```\n",
            "3: a code block that does not end",
        ),
        (f"{PLAIN}jax\nx = 1\nx = (\n```\n", "6: not valid Python ('(' was never"),
        (
            f"{PLAIN}all\nif tab.selected('pytorhc'):\n    1\n```\n",
            "5: no tab 'pytorhc'; there are pytorch, jax",
        ),
        (f"{PLAIN}all\nx = tab.selected('jax')\n```\n", "4: tab.selected outside"),
        ("A.\nSee :bogus:`x`.\n", "4: no role 'bogus'"),
        ("A ``b`` and\n:bogus:``x``.\n", "4: no role 'bogus'"),
        ("A.\n\n$$a\n= b\n\nText.\n", "5: an equation that does not end"),
        ("It\n**is `b` or\n$c$** here.\n", "4: a '`' within bold text"),
        ("See\n[it](nowhere.md).\n", "4: no file 'nowhere.md'"),
        ("![A](../img/no.svg)\n", "3: no file '../img/no.svg'"),
        ("[A](../index.md#a)\n", "3: the site has no '../index.md'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(make_book, text, message):
    (problem,) = problems(make_book(one=f"# One\n\n{text}"))
    assert problem.startswith(f"chapter/one.md:{message}")


def test_what_only_looks_wrong_is_none(make_book):
    text = "# One\n\n`[a](b.md)` and `` :bogus:`x` `` and $f[i](x)$, a price of \\$5,\n"
    text += "[a](https://d2l.ai), [b](#one) and\n$$f[i](y)\n= `` $$\n\n"
    text += "```\n:begin_tab:`no`\n$$ [c](d.md) :bogus:`x`\n```\n\n"
    text += "**a** `b` **c**, (**a `b`**) and [**`c` d**], `2**3` `2**4`.\n\n"
    text += f"{PLAIN}all\n%matplotlib inline\n!ls\nx = 1\n```\n"
    make_book(one=text).check()


def test_equal_cells_have_lines_of_their_own(make_book):
    text = "# One\n\nSame.\n\n" + f"{PLAIN}all\nx = 1\n```\n\n" * 2
    text += ":begin_tab:`jax`\nSame.\n``` python\nx = 1\n```\n:end_tab:\n\nSame.\n\n"
    text += f"{PLAIN}jax\nx = 1\n```"
    book = make_book(one=text)
    lines = [c.metadata["line"] for c in book.notebook(book.section("one")).cells]
    assert lines == [1, 6, 11, 15, 22, 25]


def test_an_empty_page_is_told(make_book):
    book = make_book(one="\n")
    assert problems(book) == ["chapter/one.md:1: the page is empty; write something"]
    with pytest.raises(BookError, match=r"chapter/one\.md:1: the page is empty"):
        book.notebook(book.section("one"))


def test_a_page_that_is_not_utf_8_is_told_with_its_line(make_book):
    book = make_book(one="# One\n", two="# Two\n")
    for name in ("one", "two"):
        (book.root / f"chapter/{name}.md").write_bytes(b"# One\n\nCaf\xe9.\n")
    assert problems(book) == [
        "chapter/one.md:3: not UTF-8; save it so",
        "chapter/two.md:3: not UTF-8; save it so",
    ]


def test_the_contents_name_files_that_are_there_once(make_book):
    book = make_book(one="# One\n\n```toc\n:maxdepth: 1\n\ntwo\none\n```\n")
    assert problems(book) == [
        "chapter/one.md:6: no file 'two.md'; write it, or mend the name",
        "chapter/one.md:7: 'one' is in the contents already; name it once",
    ]


def test_a_missing_bibliography_is_told_once(make_book):
    book = make_book(one="# One\n\n:cite:`A` and :cite:`B`.\n")
    (book.root / "refs.bib").unlink()
    assert problems(book) == [
        "refs.bib is missing; restore it, or mend `bibfile` in config.ini"
    ]


def test_code_in_a_tabs_text_is_no_heading(make_book):
    make_book(
        one="# One\n\n:begin_tab:`jax`\n```\n# no heading\n```\n:end_tab:\n"
    ).check()


def test_a_cell_that_is_not_python_is_told_with_its_line(make_book):
    text = "# One\n\n```{.python .input}\n%%tab jax\nx = d2l.reshape(\n```\n"
    book = make_book(one=text)
    config = book.root / "config.ini"
    config.write_text(config.read_text() + "fluent_alias = reshape\n")
    with pytest.raises(BookError, match=r"chapter/one\.md:5: not Python"):
        cells(Book(book.root), "jax")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"no section header", "no section headers"),
        (b"[build]\n[build]\n", "already exists"),
        (b"", "no tabs"),
        (b"[build]\ntabs =\n", "no tabs"),
        (b"[build]\ntabs = jax,,\n", "no tabs"),
        (b"[build]\ntabs = jax, Jax\n", "tab 'jax' is listed twice; list it once"),
        (b"[build]\ntabs = jaxx\n", "no framework 'jaxx' for a tab; there are pytorch"),
        (b"[project]\ntitle = %(x\n[build]\ntabs = jax\n", "bad interpolation"),
        (b"[build]\ntabs = jax # \xe9\n", "not UTF-8; save it so"),
    ],
)
def test_damaged_settings_are_told_in_one_line(make_book, damage, message):
    book = make_book(one="# One\n")
    (book.root / "config.ini").write_bytes(damage)
    with pytest.raises(BookError, match=message) as error:
        Book(book.root)
    assert len(str(error.value).splitlines()) == 1
    assert "config.ini: " in str(error.value)


def test_a_missing_index_is_told_and_nothing_logged(make_book, caplog):
    book = make_book(one="# One\n")
    (book.root / "index.md").unlink()
    with pytest.raises(BookError, match=r"^index\.md: the index page is missing"):
        Book(book.root)
    assert not caplog.records
