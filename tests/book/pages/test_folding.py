"""Pages fold imports and helper cells that are marked, and no other format does."""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import test_html
from bs4 import BeautifulSoup

from book.pages import html
from book.pages.folding import split, title
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
    assert split(code) == parts


@pytest.mark.parametrize(
    "code, wanted",
    [
        (IMPORTS, "Imports"),
        ("x = 1\nd2l.plot(x)", "Code of the plot"),
        (HELPER, "Code of ``fit``"),
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


SECTION = """\
# One

```{.python .input .folded}
%%tab pytorch
import torch

torch.manual_seed(0)
```

```{.python .input .folded}
%%tab jax
def fit():
    pass
```
"""


@pytest.fixture
def page(make_site_book: Make) -> BeautifulSoup:
    book = make_site_book(index=test_html.INDEX.split("Read")[0] + TOC, one=SECTION)
    html.build(book, functools.partial(test_html.shown, book))
    return test_html.soup(book, "chapter/one")


TOC = "```toc\n\nchapter/one\n```\n"


def test_a_folded_cell_can_be_opened(page: BeautifulSoup):
    imports, helper = page.select("details.folded")
    assert [d.summary and d.summary.get_text() for d in (imports, helper)] == [
        "Imports",
        "Code of fit",
    ]
    assert not imports.has_attr("open") and "import torch" in imports.get_text()
    rest = imports.find_next_sibling()
    assert rest and "manual_seed" in rest.get_text()
    assert "head" in imports["class"] and "head" not in helper["class"]


def test_search_finds_folded_code_but_not_its_title(page: BeautifulSoup):
    data = Path("_build/html/_static/search-data.js").read_text("utf-8")
    records = json.loads(data.partition(" = ")[2].rstrip(";\n"))["entries"]
    codes = "\n".join(record.get("code", "") for record in records)
    assert "import torch" in codes and "def fit" in codes
    assert not any("Imports" in record.get("text", "") for record in records)


def test_each_section_folds_its_long_imports():
    """Otherwise, a page of code without a point precedes the section's own."""
    long = {
        section.at(cell.line): cell.is_folded
        for section in BOOK.sections
        for cell in section.cells
        if title(cell.code) == "Imports" and split(cell.code)[0].count("\n") >= 4
    }
    assert long and [place for place, folded in long.items() if not folded] == []


def test_marking_a_cell_as_folded_keeps_its_record(make_book: Make):
    sections = {"marked": SECTION, "plain": SECTION.replace(" .folded", "")}
    kept = []
    for folder, text in sections.items():
        book = make_book(folder=folder, one=text)
        one = book.section("one")
        notebook, key = (
            store.blank(book, one, "jax"),
            fingerprint.fingerprint(book, one, "jax"),
        )
        kept.append((notebook, key))
    assert kept[0] == kept[1]
