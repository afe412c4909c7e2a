"""Selects the part of a library that some names need."""

import ast
import functools
import re
from collections.abc import Container, Iterable, Iterator

# `from module import names  #@save`, also with the names in brackets.
MARKED_IMPORT = re.compile(
    r"^from \S+ import (?:\(\s*#\s*@save\n([^)]*)\)|([^(\n]*?)\s*#\s*@save)",
    re.MULTILINE,
)


def needed_part(module: str, names: Iterable[str]) -> str:
    """Return the source of `module` without what `names` do not need.

    Statements that bind no name, such as `npx.set_np()`, stay.
    """
    statements, binding = _index(module)
    needed: set[int] = {i for i, (_, bound, _) in enumerate(statements) if not bound}
    waiting = [used for i in needed for used in statements[i][2]] + list(names)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for i in binding.get(name, []):
                needed.add(i)
                waiting += statements[i][2]
    return "\n".join(statements[i][0] for i in sorted(needed))


Indexed = tuple[list[tuple[str, set[str], list[str]]], dict[str, list[int]]]


@functools.lru_cache(maxsize=8)
def _index(module: str) -> Indexed:
    """Return each statement's source, names that it binds, and names that it uses.

    The second value lists, for each name, the statements that bind it.
    """
    lines = module.splitlines()
    statements: list[tuple[str, set[str], list[str]]] = []
    binding: dict[str, list[int]] = {}
    end = 0  # comments and blank lines above a statement belong to it
    for node in ast.parse(module).body:
        source = "\n".join(lines[end : node.end_lineno])
        end = node.end_lineno or end
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        bound = set() if is_future else set(bound_names(node))
        for name in bound:
            binding.setdefault(name, []).append(len(statements))
        statements.append((source, bound, list(used_names(node))))
    return statements, binding


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
