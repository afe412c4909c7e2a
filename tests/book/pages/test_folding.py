"""Imports and helper cells that are marked are folded on pages, and nowhere else."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from book.pages.folding import pieces, split, title
from book.records import fingerprint, store
from book.text.book import Book

BOOK = Book(Path(__file__).resolve().parents[3])
IMPORTS = "import a\nfrom b import (\n    c)  # why"
HELPER = "def fit(x):\n    return x"
Make = Callable[..., Book]


@pytest.mark.parametrize(
    "code, parts",
    [
        (f"{IMPORTS}\n\nseed(0)", (IMPORTS, "seed(0)")),
        (IMPORTS, (IMPORTS, "")),
        (HELPER, (HELPER, "")),
        (f"{HELPER}\n\nfit(1)", (HELPER, "fit(1)")),
        (f"{HELPER}\n\ny = fit(1)\ny", (HELPER, "y = fit(1)\ny")),
        (f"{HELPER}\nfor i in x: fit(i)", (f"{HELPER}\nfor i in x: fit(i)", "")),
        ("a = 1\nfit(a)", ("a = 1\nfit(a)", "")),
        ("import a\nseed(0)\nimport b", ("import a", "seed(0)\nimport b")),
        ("!ls", ("!ls", "")),
    ],
)
def test_imports_or_definitions_are_folded_or_all_code(
    code: str, parts: tuple[str, str]
):
    assert split(code, is_marked=True) == parts


@pytest.mark.parametrize(
    "code, wanted",
    [
        (IMPORTS, "Imports"),
        ("x = 1\nd2l.plot(x)", "Code of the plot"),
        (HELPER, "Code of ``fit``"),
        (
            'def fit(a, b):\n    """Return `a < b`, or None.\n\n    Slowly."""',
            "Code of ``fit``: return ``a &lt; b``, or None",
        ),
        (
            'class Net:\n    """ResNet-18, without its head."""',
            "Code of ``Net``: ResNet-18, without its head",
        ),
        (
            f"{HELPER}\nclass A:\n    b = 1",
            "Code of ``fit`` and ``A``",
        ),
        (
            f"{HELPER}\ndef g(): 0\ndef h(): 0",
            "Code of ``fit``, ``g`` and ``h``",
        ),
        (
            "A.b = 1\nc = 2\nd = 3\nprint(d)",
            "Code of ``A.b`` and ``c``",
        ),
        ("print(1)", "Code"),
        ("!ls", "Code"),
    ],
)
def test_a_title_says_what_is_folded(code: str, wanted: str):
    shown = re.sub(r"</?code[^>]*>", "``", title(code))
    assert shown == wanted


SAVED = """\
def two():  #@save
    return 2

@d2l.add_to_class(Trainer)  #@save
def fit(self):
    return two()"""


@pytest.mark.parametrize(
    "code, parts",
    [
        (SAVED, (SAVED, "")),
        (f"{SAVED}\n\ntwo(), 3", (SAVED, "two(), 3")),
        (f"import a\n\n{SAVED}\nfor i in x: fit(i)", None),
        (HELPER, ("", HELPER)),
        ("x = 1  #@save\ny = 2", ("", "x = 1  #@save\ny = 2")),
    ],
)
def test_what_a_cell_saves_is_folded_without_what_follows(
    code: str, parts: tuple[str, str] | None
):
    wanted = parts or (f"import a\n\n{SAVED}", "for i in x: fit(i)")
    assert split(code, is_marked=False) == wanted
    if wanted[0]:
        assert split(code, is_marked=True) == wanted


@pytest.mark.parametrize("mark, is_folded", [("", True), (" .open", False)])
def test_what_a_cell_saves_stays_in_sight_if_it_is_marked_as_open(
    make_book: Make, mark: str, is_folded: bool
):
    text = f"# One\n\n```{{.python .input{mark}}}\n%%tab all\n{SAVED}\n```\n"
    book = make_book(one=text)
    (cell,) = book.cells(book.section("one"), "jax")
    ((code, title, _),) = pieces(cell)
    assert "@save" not in code and code.startswith("def two():")
    assert bool(title) == is_folded


def test_a_method_is_named_after_its_class():
    assert (
        re.sub(r"</?code[^>]*>", "``", title(SAVED))
        == "Code of ``two`` and ``Trainer.fit``"
    )


def test_each_section_folds_its_long_imports():
    """Otherwise, a page of code without a point precedes the section's own."""
    long = {
        section.at(cell.line): "folded" in cell.classes
        for section in BOOK.sections
        for cell in section.cells
        if title(cell.code) == "Imports" and split(cell.code, True)[0].count("\n") >= 4
    }
    assert long and [place for place, folded in long.items() if not folded] == []


SECTION = """\
# One

```{.python .input .folded}
%%tab all
import torch
```
"""


def test_marking_a_cell_as_folded_keeps_its_record(make_book: Make):
    sections = {"marked": SECTION, "plain": SECTION.replace(" .folded", "")}
    kept = []
    for folder, text in sections.items():
        book = make_book(folder=folder, one=text)
        one = book.section("one")
        key = fingerprint.fingerprint(book, one, "jax")
        kept.append((store.blank(book, one, "jax"), key))
    assert kept[0] == kept[1]
