"""The cells of a section in one tab use all names, and not the null device."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from book.sources.book import Book
from book.sources.magics import MAGIC, hide_magics

BOOK = Book(Path(__file__).resolve().parents[3])
RUFF = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
# Unused imports and undefined names.
RULES = ["--select", "F401,F821", "--output-format", "concise"]
# A profiler that is given the null device as its file deletes it, if root runs it.
NULL_DEVICE = ("/dev/null", "devnull")


def code_of(book: Book, section: str, tab: str) -> str:
    """Return the code of all cells of a section in a tab."""
    cells = book.cells(book.section(section), tab)
    return "\n\n".join(hide_magics(cell.code) for cell in cells if cell.is_python)


CODE = {
    f"{Path(section.name).name}-{tab}": code_of(BOOK, section.name, tab)
    for section in BOOK.sections
    for tab in BOOK.code_tabs(section)
}


def unused_names(folder: Path, code: dict[str, str]) -> str:
    """Write each program to a file, and return what ruff finds in them."""
    for name, text in code.items():
        (folder / f"{name}.py").write_text(f"{MAGIC} = None\n{text}", "utf-8")
    command = [*RUFF, *RULES, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def uses_null_device(code: str) -> bool:
    """Return whether Python code names the null device; shell commands may do so."""
    words: set[object] = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case (
                ast.Attribute(attr=word)
                | ast.Name(id=word)
                | ast.alias(name=word)
                | ast.Constant(value=word)
            ):
                words.add(word)
    return any(name in words for name in NULL_DEVICE)


def test_cells_use_all_names_and_define_them(tmp_path: Path):
    found = unused_names(tmp_path, CODE)
    assert found == "", found


@pytest.mark.parametrize(
    "code", ["import os", "from os import path, sep\nsep", "print(x)"]
)
def test_an_unused_or_undefined_name_is_found(tmp_path: Path, code: str):
    assert unused_names(tmp_path, {"one-jax": code}).startswith("one-jax.py:")


def test_no_cell_writes_to_the_null_device():
    assert [name for name, code in CODE.items() if uses_null_device(code)] == []


@pytest.mark.parametrize(
    "code",
    [
        "open(os.devnull, 'w')",
        "log(filename='/dev/null')",
        "from os import devnull as nothing",
        "open(devnull, 'w')",
    ],
)
def test_the_null_device_is_found(code: str):
    assert uses_null_device(code)
