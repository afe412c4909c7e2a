"""Tests marked `shared` run in one framework: their code is the same in all four."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("torch", "jax", "mxnet", "tensorflow")
FILES = sorted((ROOT / "tests/d2l").glob("test_*.py"))


def definitions(library: str) -> dict[str, str]:
    """Return the code of each definition of a library, without comments.

    Of what it imports from a module of the package, that is the name of the module.
    """
    found: dict[str, str] = {}
    for node in ast.parse((ROOT / f"d2l/{library}.py").read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.ImportFrom) and f"{node.module}".startswith("d2l."):
            found |= {alias.name: f"from {node.module}" for alias in node.names}
    return found


def shared_code(file: Path) -> Iterator[ast.AST]:
    """Yield the code that is marked as shared: all of a file, or functions."""
    tree = ast.parse(file.read_text("utf-8"))
    marks = [node for node in tree.body if isinstance(node, ast.Assign)]
    if any("pytest.mark.shared" in ast.unparse(node) for node in marks):
        yield tree
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if "pytest.mark.shared" in map(ast.unparse, node.decorator_list):
                yield node


def names_of_library(code: ast.AST) -> Iterator[str]:
    """Yield each name that code takes from d2l."""
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "d2l":
                yield node.attr


TESTED = {
    file.stem: {name for code in shared_code(file) for name in names_of_library(code)}
    for file in FILES
}


@pytest.mark.parametrize("file", [file for file, names in TESTED.items() if names])
def test_the_code_of_shared_tests_is_the_same_in_all_libraries(file: str):
    first, *others = map(definitions, LIBRARIES)
    tested = TESTED[file] & set(first)
    assert tested
    different = [n for n in tested for other in others if other.get(n) != first[n]]
    assert different == []


def test_there_are_shared_tests():
    assert {"test_occupancy", "test_pipeline", "test_report"} <= {
        file for file, names in TESTED.items() if names
    }
