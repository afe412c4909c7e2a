"""The `Trainer` of each library stays small enough to read from top to bottom."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from book.library import package
from book.text.book import Book

BOOK = Book(Path(__file__).parents[3])
MOST_LINES, MOST_METHODS = 250, 20
MOST_DEFINITIONS = 2  # of a method


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_the_trainer_fits_in_the_head(tab: str):
    module = ast.parse(package.generated(BOOK, tab))
    (trainer,) = (
        node
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == "Trainer"
    )
    methods = [node for node in trainer.body if isinstance(node, ast.FunctionDef)]
    assert (trainer.end_lineno or 0) - trainer.lineno < MOST_LINES
    assert 10 < len(methods) <= MOST_METHODS


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_a_method_of_the_trainer_is_redefined_at_most_once(tab: str):
    counts = Counter(
        name
        for section in BOOK.sections
        for cell in BOOK.cells(section, tab)
        if "#@save" in cell.code
        for name in methods_of_the_trainer(cell.code)
    )
    assert counts["train_step"] and counts["fit"] == MOST_DEFINITIONS
    assert {name: n for name, n in counts.items() if n > MOST_DEFINITIONS} == {}


def methods_of_the_trainer(code: str) -> list[str]:
    """Return the names of the methods that a cell defines in the class `Trainer`."""
    names = []
    for node in ast.parse(code).body:
        if isinstance(node, ast.ClassDef) and node.name == "Trainer":
            names += [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if any(d.endswith(("(Trainer)", "(d2l.Trainer)")) for d in decorators):
                names.append(node.name)
    return names
