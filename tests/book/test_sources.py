"""Reading the sources: tabs, aliases, order, and what is refused, with its line."""

import pytest

from book.errors import BookError
from book.sources import Book

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```{.python .input}\n%%tab torch\n1\n```\n", "no tab 'torch'"),
        ("```{.python .input}\n1\n```\n", "code without a tab"),
        (":begin_tab:`jax`\n## No\n:end_tab:\n", "a heading inside a tab"),
        (":begin_tab:`jax`\nNo.\n", "1 :begin_tab: but 0 :end_tab:"),
    ],
)
def test_what_is_wrong_with_a_tab_is_told(make_book, text, message):
    (problem,) = problems(make_book(one=f"# One\n\n{text}"))
    assert problem.startswith("chapter/one.md")
    assert message in problem


def test_code_in_a_tabs_text_is_no_heading(make_book):
    make_book(
        one="# One\n\n:begin_tab:`jax`\n```\n# no heading\n```\n:end_tab:\n"
    ).check()


def test_a_cell_that_is_not_python_is_told_with_its_line(make_book):
    text = "# One\n\n```{.python .input}\n%%tab jax\nx = d2l.reshape(\n```\n"
    book = make_book(one=text)
    config = book.root / "config.ini"
    config.write_text(config.read_text() + "fluent_alias = reshape\n")
    with pytest.raises(BookError, match=r"chapter/one\.md:\d+: not Python"):
        cells(Book(book.root), "jax")


@pytest.mark.parametrize("damage", ["no section header", "[build]\n[build]\n"])
def test_damaged_settings_are_told_in_one_line(make_book, damage):
    book = make_book(one="# One\n")
    (book.root / "config.ini").write_text(damage)
    with pytest.raises(BookError) as error:
        Book(book.root)
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_index_is_told(make_book):
    book = make_book(one="# One\n")
    (book.root / "index.md").unlink()
    with pytest.raises(BookError, match="index page that is missing"):
        Book(book.root)
