"""The tables of the quick guide agree with its cells."""

import re
from pathlib import Path

import pytest

from book.sources.book import Book

BOOK = Book(Path(__file__).resolve().parents[2])
GUIDE = BOOK.section("quick-guide")
ROW = re.compile(r"^\|(.*)\|$", re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
TABS = {
    "PyTorch": "pytorch",
    "MXNet": "mxnet",
    "JAX": "jax",
    "TensorFlow": "tensorflow",
}


def tables() -> list[list[list[str]]]:
    """The tables of the guide: rows of cells, without the lines of dashes."""
    found = []
    for table in TABLE.findall(GUIDE.text):
        rows = [[cell.strip() for cell in row.split("|")] for row in ROW.findall(table)]
        found.append([rows[0], *rows[2:]])
    return found


def squeezed(code: str) -> str:
    """Code with one blank for each run of white space, line ends included."""
    return " ".join(code.split())


def test_there_are_tables():
    assert len(tables()) > 10


@pytest.mark.parametrize("table", tables(), ids=lambda table: table[0][1])
def test_a_table_has_the_four_frameworks(table: list[list[str]]):
    assert [row[0] for row in table[1:]] == list(TABS)
    assert {len(row) for row in table} == {len(table[0])}


@pytest.mark.parametrize("tab", TABS.values())
def test_what_a_table_says_is_run(tab: str):
    run = squeezed("\n".join(cell.code for cell in BOOK.cells(GUIDE, tab)))
    rows = [row for table in tables() for row in table[1:] if TABS[row[0]] == tab]
    claims = [code for row in rows for cell in row[1:] for code in CODE.findall(cell)]
    assert len(claims) >= len(rows)
    assert [code for code in claims if squeezed(code) not in run] == []
