"""Books are read correctly, and mistakes in them are reported with their lines."""

import pytest

from book.checks import rules
from book.runner.errors import BookError
from book.text.book import Book

ALIASES = """
simple_alias = exp, zeros
fluent_alias = expand_dims -> unsqueeze, reshape
"""


def cells(book, tab, name="one"):
    return [cell.code for cell in book.cells(book.section(name), tab)]


def problems(book):
    with pytest.raises(BookError) as error:
        rules.check_for_build(book)
    return str(error.value).splitlines()


def test_sections_come_in_the_order_of_the_contents(make_book):
    book = make_book(zebra="# Zebra\n", ant="# Ant\n")
    assert [s.name for s in book.sections] == ["index", "chapter/zebra", "chapter/ant"]


def test_a_tab_has_its_own_cells_and_the_cells_for_all_tabs(make_book):
    text = "# One\n\n```{.python .input}\n%%tab pytorch, mxnet\n1\n```\n\n"
    text += "```{.python .input}\n%%tab all\n2\n```\n"
    two = text.replace("all", "jax").replace("pytorch, mxnet", "jax")
    book = make_book(tabs=("pytorch", "mxnet", "jax"), one=text, two=two)
    assert book.code_tabs(book.section("two")) == ["jax"]
    assert [cells(book, tab) for tab in book.tabs] == [["1", "2"], ["1", "2"], ["2"]]


def test_an_alias_is_replaced_but_not_at_the_start_of_another_name(make_book):
    text = "# One\n\n```{.python .input}\n%%tab pytorch\nd2l.exp(d2l.reshape(x, 2))\n"
    book = make_book(one=f"{text}```\n", two=f"{text}d2l.expand_dims(x, 0)\n```\n")
    config = book.root / "config.ini"
    setting = "lib_name = pytorch\n"
    config.write_text(config.read_text().replace(setting, setting + ALIASES.lstrip()))
    book = Book(book.root)
    assert cells(book, "pytorch") == ["pytorch.exp(x.reshape(2))"]
    assert problems(book) == [
        "chapter/two.md:6: d2lbook takes 'd2l.expand_dims' for its alias 'exp'; rename"
        " it, or move 'exp' to `alias` in config.ini [library-pytorch]"
    ]


def test_a_section_is_found_by_the_last_part_of_its_name(make_book):
    book = make_book(one="# One\n")
    assert book.section("one") == book.section("chapter/one.md")
    with pytest.raises(BookError, match="unknown section 'two'; choose from index,"):
        book.section("two")


def test_in_a_large_book_the_error_names_the_nearest_sections(make_book):
    names = ["memory", "memories", "kernels", *(f"section-{n}" for n in range(20))]
    book = make_book(**{name: f"# {name.title()}\n" for name in names})
    with pytest.raises(BookError) as raised:
        book.section("memoris")
    assert str(raised.value) == (
        "SECTION: unknown section 'memoris'; the nearest are memories, memory and"
        " kernels; ls chapter lists all"
    )


def test_an_ambiguous_name_is_refused(make_book):
    book = make_book(one="# One\n", **{"more/one": "# Another\n"})
    assert book.section("chapter/more/one").name == "chapter/more/one"
    with pytest.raises(BookError, match="'one' is ambiguous; write chapter/one or"):
        book.section("one")


def test_the_first_list_below_a_heading_of_the_index_begins_a_part(make_book):
    names = ("one", "two", "three", "four")
    book = make_book(**{n: f"# {n.title()}\n:label:`sec_{n}`\n" for n in names})
    index = book.root / "index.md"
    lists = ["## A", "* :ref:`sec_two`", "Also:", "* :ref:`sec_three`"]
    lists += ["## B", "Text.", "* :ref:`sec_four`"]
    index.write_text("\n\n".join([index.read_text(), *lists]))
    parts = [(t, [s.path.stem for s in part]) for t, part in Book(book.root).parts]
    assert parts == [("", ["one"]), ("A", ["two", "three"]), ("B", ["four"])]


def test_missing_and_repeated_files_in_the_contents_are_reported(make_book):
    book = make_book(one="# One\n\n```toc\n:maxdepth: 1\n\ntwo\none\n```\n")
    assert problems(book) == [
        "chapter/one.md:6: no file 'two.md'; write it, or correct the name",
        "chapter/one.md:7: 'one' is already in the contents; list it once",
    ]


def test_broken_code_with_an_alias_is_reported_with_its_line(make_book):
    text = "# One\n\n```{.python .input}\n%%tab jax\nx = d2l.reshape(\n```\n"
    book = make_book(one=text)
    config = book.root / "config.ini"
    config.write_text(config.read_text() + "fluent_alias = reshape\n")
    with pytest.raises(BookError, match=r"chapter/one\.md:5: not valid Python"):
        cells(Book(book.root), "jax")


def test_rows_of_a_cell_map_to_lines_of_its_file(make_book):
    code = (
        "import os\nif tab.selected('jax'):\n    x = 1\ny = d2l.reshape(\n"
        "    os,\n    2)\nz = 3"
    )
    text = f"# One\n\n```{{.python .input}}\n%%tab all\n{code}\n```\n"
    book = make_book(one=text)
    config = book.root / "config.ini"
    config.write_text(config.read_text() + "fluent_alias = reshape\n")
    book, lines = Book(book.root), text.split("\n")
    for tab in book.tabs:
        (cell,) = book.cells(book.section("one"), tab)
        for row, line in enumerate(cell.code.split("\n"), start=1):
            if "reshape" not in line:
                assert lines[cell.line_of(row) - 1].strip() == line.strip(), tab


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"no section header", "no section headers"),
        (b"[build]\n[build]\n", "already exists"),
        (b"", "no tabs"),
        (b"[build]\ntabs =\n", "no tabs"),
        (b"[build]\ntabs = jax,,\n", "no tabs"),
        (b"[build]\ntabs = jax, Jax\n", "tab 'jax' is listed twice; list it once"),
        (b"[build]\ntabs = jaxx\n", "unknown tab 'jaxx'; choose from pytorch"),
        (b"[project]\ntitle = %(x\n[build]\ntabs = jax\n", "bad interpolation"),
        (b"[build]\ntabs = jax # \xe9\n", "not UTF-8; save it as UTF-8"),
    ],
)
def test_damaged_settings_are_reported_in_one_line(make_book, damage, message):
    book = make_book(one="# One\n")
    (book.root / "config.ini").write_bytes(damage)
    with pytest.raises(BookError, match=message) as error:
        Book(book.root)
    assert len(str(error.value).splitlines()) == 1
    assert "config.ini: " in str(error.value)


def test_a_missing_index_is_reported_and_nothing_is_logged(make_book, caplog):
    book = make_book(one="# One\n")
    (book.root / "index.md").unlink()
    with pytest.raises(BookError, match=r"^index\.md: the index page is missing"):
        Book(book.root)
    assert not caplog.records
