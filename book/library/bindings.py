"""Finds the names that statements of a library bind, use and import."""

import ast
import re
from collections.abc import Container, Iterator

# `from module import names  #@save`, also with the names in brackets.
MARKED_IMPORT = re.compile(
    r"^from \S+ import (?:\(\s*#\s*@save\n([^)]*)\)|([^(\n]*?)\s*#\s*@save)",
    re.MULTILINE,
)


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a statement binds or changes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name):
                yield node.value.id


def used_names(
    statement: ast.stmt, modules: Container[str] = ("d2l",)
) -> Iterator[str]:
    """Yield the names that a statement uses, also as `module.name`, as in `d2l.f`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                yield node.attr


def imported_names(code: str) -> list[str]:
    """Return the names that marked imports of a cell make names of the library."""
    return [
        name
        for many, few in MARKED_IMPORT.findall(code)
        for name in re.findall(r"\w+", many or few)
    ]
