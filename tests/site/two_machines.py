"""A copy of the book with the records of a second, made-up machine, for tests alone.

No such machine exists and nothing ran on it: its outputs are the CPU's, edited.
"""

import shutil
from copy import deepcopy
from pathlib import Path

from nbformat import NotebookNode

from book.records import store, validation
from book.text.book import Book
from book.text.section import Section

NO_SOURCES = shutil.ignore_patterns(
    *(".*", "__pycache__", "node_modules", "tests", "benchmarks")
)
TABS = ("pytorch", "jax")
FACTS = {
    "machine": "h200",
    "machine_name": "NVIDIA TEST",
    "gpu": "NVIDIA TEST",
    "driver": "000.00",
    "cpu": "TEST",
    "date": "2000-01-01",
}
# Edits that a reader can see: a device in place of the CPU, a text, a plot's line.
EDITS = (
    ("CpuDevice", "CudaDevice"),
    ("device(type='cpu')", "device(type='cuda', index=0)"),
    ("There is no NVIDIA driver on this machine.", "NVIDIA TEST"),
    ("stroke: #1a56b0", "stroke: #a84a0b"),
)


def not_copied(folder: str, names: list[str]) -> set[str]:
    """The folders that a copy of the book omits: all built ones but the library."""
    if Path(folder).name == "_build":
        return set(names) - {"library"}
    return set(NO_SOURCES(folder, names))


def write_two_machines(root: Path, into: Path) -> Book:
    """The book in `root`, copied to `into`, with records of `h200` for `use-gpu`.

    That of JAX was made with a version that the book does not install.
    """
    shutil.copytree(root, into, ignore=not_copied, dirs_exist_ok=True)
    book = Book(into)
    section = book.section("use-gpu")
    for tab in TABS:
        version = {"framework_version": "0.0.1"} if tab == "jax" else {}
        _write_record(book, section, tab, version)
    return book


def _write_record(
    book: Book, section: Section, tab: str, version: dict[str, str]
) -> None:
    shown = store.shown(book, section, tab)
    assert shown is not None and shown.state == "fresh", "make run"
    of_cpu = {fact: shown.facts[fact] for fact in validation.FACTS}
    executed = store.blank(book, section, tab)
    for cell, ran in zip(executed.cells, shown.cells, strict=True):
        cell.outputs = [_edited(deepcopy(output)) for output in ran.outputs]
        cell.execution_count = ran.count
    store.write(book, section, tab, executed, of_cpu | FACTS | version)


def _edited(output: NotebookNode) -> NotebookNode:
    if "text" in output:
        output.text = _replaced(output.text)
    for kind, data in output.get("data", {}).items():
        output.data[kind] = _replaced(data)
    return output


def _replaced(text: str) -> str:
    for old, new in EDITS:
        text = text.replace(old, new)
    return text
