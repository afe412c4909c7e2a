"""A record is fresh as long as what it follows from is as it was."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_output

from book.library import package
from book.records import fingerprint, store, validation
from book.runner.errors import BookError
from book.text.book import Book
from book.text.section import Section

TEXT = """\
# One
:label:`sec_one`

Some prose.

```{.python .input}
%%tab pytorch
from d2l import pytorch as d2l
d2l.used(1)
```

```{.python .input .varies}
%%tab jax
1 + 1
```
"""
LIBRARY = '''\
# The Library
:label:`sec_lib`

```{.python .input}
%%tab pytorch
import os
```

```{.python .input}
%%tab pytorch
def used(x):  #@save
    """What it does."""
    return d2l.also_used(x)  # a comment

def also_used(x):  #@save
    return os.path.join(x)

class Unused:  #@save
    def method(self):
        return used
```
'''
FACTS = dict.fromkeys(validation.FACTS, "") | {
    "machine": "cpu",
    "machine_name": "CPU",
    "framework": "pytorch",
    "python": "3.11.2",
    "date": "2026-01-02",
}


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    two = TEXT.replace("sec_one", "sec_two")
    book = make_book(one=TEXT, two=two, lib=LIBRARY)
    record_all(book)
    return book


def record_all(book: Book) -> None:
    for section in book.sections:
        for tab in book.code_tabs(section):
            record(book, section, tab)


def record(book: Book, section: Section, tab: str, **facts: str) -> Path:
    nb = store.blank(book, section, tab)
    for cell in nb.cells:
        cell.outputs = [new_output("stream", name="stdout", text="│ \\ <a> *b*   \n")]
    made_of = {"fingerprint": fingerprint.fingerprint(book, section, tab)}
    return store.write(book, section, tab, nb, FACTS | made_of | facts)


def edit(book: Book, file: str, old: str, new: str) -> dict[str, store.State]:
    """The states after one edit, by `section/tab`."""
    path = book.root / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return states(Book(book.root))


def states(book: Book) -> dict[str, store.State]:
    return {
        f"{Path(section).name}/{tab}": state
        for section, tab, _, state in store.states(book)
    }


def stale(found: dict[str, store.State]) -> set[str]:
    assert set(found.values()) <= {"fresh", "stale"}
    return {name for name, state in found.items() if state == "stale"}


# What makes a record stale


def test_fresh_when_nothing_changed(book: Book):
    assert set(states(Book(book.root)).values()) == {"fresh"}


def test_prose_makes_nothing_stale(book: Book):
    assert stale(edit(book, "chapter/one.md", "Some prose", "Other prose")) == set()


def test_code_makes_its_section_and_tab_stale(book: Book):
    assert stale(edit(book, "chapter/one.md", "1 + 1", "1 + 2")) == {"one/jax"}


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("return d2l.also_used(x)", "return d2l.also_used(x, x)", True),
        ("os.path.join(x)", "os.path.join(x, x)", True),
        ("import os\n", "import posix as os\n", True),
        ("import os\n", "import os\nos.nice(0)  #@save\n", True),
        ("return used", "return None", False),
        ("# a comment", "# another", False),
        ("What it does", "What it is for", False),
        ("class Unused", "def new(): pass  #@save\n\nclass Unused", False),
    ],
)
def test_used_blocks_of_d2l_count(book: Book, old: str, new: str, expected: bool):
    users = {"one/pytorch", "two/pytorch"} if expected else set()
    assert stale(edit(book, "chapter/lib.md", old, new)) - {"lib/pytorch"} == users


def test_the_methods_of_a_class_may_change_places(book: Book):
    first, last = "    def first(self): pass\n", "    def last(self): pass\n"
    pair = f"class Pair:  #@save\n{first}{last}\n"
    edit(book, "chapter/lib.md", "class Unused", f"{pair}class Unused")
    edit(book, "chapter/lib.md", "os.path.join(x)", "os.path.join(Pair())")
    record_all(Book(book.root))
    library = "chapter/lib.md"
    assert stale(edit(book, library, first + last, last + first)) == {"lib/pytorch"}
    found = edit(book, library, "last(self): pass", "last(self): return 1")
    assert stale(found) == {"one/pytorch", "two/pytorch", "lib/pytorch"}


def test_only_what_the_sources_save_counts(book: Book):
    """Not what `make lib` wrote at some time."""
    (book.root / "d2l/pytorch.py").write_text("def used(x): return 'other'\n")
    assert set(states(Book(book.root)).values()) == {"fresh"}


def test_data_files_make_the_sections_stale_that_read_them(book: Book):
    data = book.root / "d2l/numbers.csv"
    data.write_text("1\n")
    assert set(states(Book(book.root)).values()) == {"fresh"}
    edit(book, "chapter/lib.md", "os.path.join(x)", "os.path.join('numbers.csv')")
    record_all(Book(book.root))
    found = edit(book, "d2l/numbers.csv", "1", "2")
    assert stale(found) == {f"{name}/pytorch" for name in ("one", "two", "lib")}


def test_modules_written_by_hand_make_the_sections_stale_that_use_them(book: Book):
    (book.root / "d2l/parts.py").write_text("def join(x): return x\n\nother = 1\n")
    assert set(states(Book(book.root)).values()) == {"fresh"}
    edit(book, "chapter/lib.md", "import os", "import os\nfrom d2l import parts")
    edit(book, "chapter/lib.md", "os.path.join(x)", "parts.join(x)")
    record_all(Book(book.root))
    assert not stale(edit(book, "d2l/parts.py", "other = 1", "other = 2"))
    found = edit(book, "d2l/parts.py", "return x", "return x + x")
    assert stale(found) == {f"{name}/pytorch" for name in ("one", "two", "lib")}


def test_another_name_of_an_import_makes_nothing_stale(book: Book):
    found = edit(book, "chapter/lib.md", "import os", "import os\nimport re, sys")
    assert stale(found) == {"lib/pytorch"}
    (book.root / "d2l/parts.py").write_text("from math import sin\ndef join(x): ...\n")
    edit(book, "chapter/lib.md", "import os", "import os\nfrom d2l.parts import join")
    edit(book, "chapter/lib.md", "os.path.join(x)", "join(x)")
    record_all(Book(book.root))
    assert not stale(edit(book, "d2l/parts.py", "import sin", "import cos, sin"))


def test_pins_make_their_tab_stale(book: Book):
    found = edit(book, "environments/jax.txt", "7.4.0", "7.5.0")
    assert stale(found) == {"one/jax", "two/jax"}
    assert not stale(edit(book, "environments/jax.txt", "7.5.0", "7.4.0  # why"))


def test_a_definition_may_move_to_the_module_of_all_tabs(book: Book):
    found = edit(book, "chapter/lib.md", "%%tab pytorch", "%%tab all")
    assert "def used(x)" in package.generated(Book(book.root), package.COMMON)
    assert found.pop("lib/jax") == "missing"
    assert stale(found) == set()
    found = edit(book, "chapter/lib.md", "os.path.join(x)", "os.path.join(x, x)")
    assert found.pop("lib/jax") == "missing"
    assert stale(found) == {"one/pytorch", "two/pytorch", "lib/pytorch"}


def test_a_broken_save_is_told(book: Book):
    with pytest.raises(BookError, match="chapter/lib.md:11: not valid Python"):
        edit(book, "chapter/lib.md", "def used(x):", "def used(x:")


def test_a_machine_has_to_run_what_is_not_fresh(book: Book):
    """Machines other than the CPU may have no record."""
    text = TEXT.replace("1 + 1", "1 + 2")
    (book.root / "chapter/two.md").write_text(text.replace("sec_one", "sec_two"))
    new = Book(book.root)
    store.path(book, book.section("one"), "jax").write_text("")
    store.path(book, book.section("one"), "pytorch").unlink()
    record(book, book.section("two"), "jax", machine="h200")
    record(book, book.section("one"), "jax", machine="a100")
    assert store.notes(store.states(new, new.section("one"), new.section("two"))) == [
        "without outputs: chapter/one (pytorch, missing), chapter/one (jax, damaged),"
        " chapter/two (jax, stale); make run",
        "without outputs: chapter/two (jax, stale); make run MACHINE=h200",
    ]


# Damage


def damage(book: Book, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the problems of a record that contains `text`."""
    store._warn.cache_clear()
    section = book.section("one")
    store.path(book, section, "jax").write_text(text)
    assert store.state(book, section, "jax") == "damaged"
    shown = store.shown(book, section, "jax")
    assert shown is not None and (shown.state, shown.facts) == ("damaged", {})
    assert not any(cell.outputs for cell in shown.cells)
    return capsys.readouterr().err


def test_damaged_records_are_told_of_and_run_again(
    book: Book, capsys: pytest.CaptureFixture[str]
):
    good = store.path(book, book.section("one"), "jax").read_text()
    nb = json.loads(good)
    no_facts = nb | {"metadata": {}}
    wrong_schema = nb | {"cells": [{"cell_type": "code"}]}
    tampered = good.replace("1 + 1", "1 + 3")
    broken = ["", good[:200], "[]", "null", '{"nbformat": 4}', "\ufeff{", tampered]
    for text in [*broken, json.dumps(no_facts), json.dumps(wrong_schema)]:
        said = damage(book, text, capsys)
        assert said.startswith(
            "warning: outputs/cpu/jax/chapter/one.ipynb: damaged rec"
        )
        assert said.count("\n") == 1


def test_a_missing_record(book: Book):
    section = book.section("one")
    store.path(book, section, "jax").unlink()
    assert store.state(book, section, "jax") == "missing"
    shown = store.shown(book, section, "jax")
    assert shown is not None and shown.state == "missing"


# One transparent pixel.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)


@pytest.fixture
def plotted(book: Book) -> dict:
    """The record of a cell that printed, and showed an image with a description."""
    section = book.section("one")
    made_of = {"fingerprint": fingerprint.fingerprint(book, section, "jax")}
    nb = store.blank(book, section, "jax")
    nb.cells[0].outputs = [
        new_output("stream", name="stdout", text="1\n2\n"),
        new_output("display_data", {"image/png": PIXEL}, metadata={"alt": "A dot"}),
    ]
    file = store.write(book, section, "jax", nb, FACTS | made_of)
    assert store.state(book, section, "jax") == "fresh"
    return json.loads(file.read_text())


def resealed(nb: dict) -> dict:
    """As one who edits a record and mends its hash would leave it."""
    whole = store.hash_of_outputs(nbformat.v4.reads(json.dumps(nb)))
    nb["metadata"]["book"]["outputs"] = whole
    return nb


def test_edited_outputs_are_not_shown(
    book: Book, plotted: dict, capsys: pytest.CaptureFixture[str]
):
    plotted["cells"][0]["outputs"][0]["text"] = ["1\n", "3\n"]
    said = damage(book, json.dumps(plotted), capsys)
    assert "(its outputs were edited)" in said
    del plotted["cells"][0]["outputs"][0]
    assert "(its outputs were edited)" in damage(book, json.dumps(plotted), capsys)


@pytest.mark.parametrize("data", ["no base64!", "iVBOR", ["iVBOR"]])
def test_broken_images_are_not_shown(
    book: Book, plotted: dict, data: object, capsys: pytest.CaptureFixture[str]
):
    plotted["cells"][0]["outputs"][1]["data"]["image/png"] = data
    said = damage(book, json.dumps(resealed(plotted)), capsys)
    assert "(cell 1: an image (image/png) is broken)" in said


def test_a_verdict_is_kept_until_the_record_changes(
    book: Book,
    plotted: dict,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    plotted["cells"][0]["outputs"][1]["data"]["image/png"] = "no base64!"
    text = json.dumps(resealed(plotted))
    assert "is broken" in damage(book, text, capsys)
    monkeypatch.setattr(store, "problem_with_text", lambda text: "it was read anew")
    assert "is broken" in damage(book, text, capsys)
    assert "it was read anew" in damage(book, text + "\n", capsys)


def test_a_description_is_a_text(
    book: Book, plotted: dict, capsys: pytest.CaptureFixture[str]
):
    plotted["cells"][0]["outputs"][1]["metadata"]["alt"] = 3
    said = damage(book, json.dumps(resealed(plotted)), capsys)
    assert "(cell 1: the description of an image is not a text)" in said


@pytest.mark.parametrize("fact", ["gpu", "date", "outputs", "fingerprint", "more"])
def test_facts_are_texts(
    book: Book, plotted: dict, fact: str, capsys: pytest.CaptureFixture[str]
):
    plotted["metadata"]["book"][fact] = ["h200"]
    said = damage(book, json.dumps(plotted), capsys)
    assert "(a fact of its machine is not a text)" in said


def test_a_record_without_a_hash_is_none(
    book: Book, plotted: dict, capsys: pytest.CaptureFixture[str]
):
    del plotted["metadata"]["book"]["outputs"]
    assert "does not say what made it" in damage(book, json.dumps(plotted), capsys)


def test_something_else_in_place_of_a_record(
    book: Book, capsys: pytest.CaptureFixture[str]
):
    section = book.section("one")
    file = store.path(book, section, "jax")
    file.unlink()
    file.mkdir()
    assert store.state(book, section, "jax") == "damaged"
    assert "(it cannot be read: Is a directory)" in capsys.readouterr().err


# What is shown and kept


def test_shown_text_is_todays_and_outputs_are_the_records(book: Book):
    edit(book, "chapter/one.md", "Some prose", "New prose")
    book = Book(book.root)
    shown = store.shown(book, book.section("one"), "pytorch")
    assert shown is not None
    assert any("New prose" in block.source for block in shown.blocks)
    ((output,),) = (cell.outputs for cell in shown.cells)
    assert output.text == "│ \\ <a> *b*   \n"
    assert (shown.state, shown.facts["date"]) == ("fresh", "2026-01-02")


def test_stale_outputs_are_not_shown(book: Book):
    edit(book, "chapter/one.md", "1 + 1", "1 + 2")
    book = Book(book.root)
    shown = store.shown(book, book.section("one"), "jax")
    assert shown is not None and (shown.state, shown.facts) == ("stale", {})
    assert not any(cell.outputs for cell in shown.cells)


def test_a_page_without_code_needs_no_record(book: Book):
    index = book.section("index")
    assert store.state(book, index, "jax") == "fresh"


def test_a_record_is_the_same_bytes_again(book: Book):
    section = book.section("one")
    path = store.path(book, section, "pytorch")
    before = path.read_bytes()
    record(book, section, "pytorch")
    assert path.read_bytes() == before


def test_a_record_is_a_plain_notebook_of_code(book: Book):
    nb = json.loads(store.path(book, book.section("one"), "jax").read_text())
    assert (nb["nbformat"], nb["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in nb["cells"]] == ["cell-01"]
    assert nb["cells"][0]["metadata"] == {"tags": ["varies"]}
    metadata = nb["metadata"]
    assert set(validation.FACTS) == set(metadata["book"])
    assert metadata["language_info"] == {"name": "python", "version": "3.11.2"}
    assert metadata["kernelspec"]["name"] == "python3"


def test_machines(book: Book):
    record(book, book.section("one"), "jax", machine="h200")
    assert store.machines(book) == ["cpu", "h200"]
    assert store.state(book, book.section("two"), "jax", "h200") == "missing"
    for name in ("../cpu", "H200", "", "a b"):
        with pytest.raises(BookError, match="MACHINE: .* is not a valid name"):
            store.path(book, book.section("one"), "jax", name)


# Writing


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_record(
    book: Book, step: str, monkeypatch: pytest.MonkeyPatch
):
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    section = book.section("one")
    path = store.path(book, section, "jax")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(BookError, match="No space left on device") as caught:
            record(book, section, "jax", date="2026-02-03")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert {p.name for p in path.parent.iterdir()} == {"one.ipynb", "two.ipynb"}
