"""Finds the names that Python code binds, and those that it takes from outside."""

import ast
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, eq=False)
class Use:
    """The use of a name that is defined outside of a statement of the library."""

    name: str
    node: ast.Name | ast.Attribute
    by_d2l: bool  # The name is written as d2l.name.
    at_import: bool  # It is read when the library is imported, not in a call.
    hidden: bool  # A local variable of the same name hides it.


@dataclass(frozen=True)
class Scope:
    """The local names where code stands, and those of a class directly around it."""

    local: frozenset[str] = frozenset()
    of_class: frozenset[str] = frozenset()
    at_import: bool = True

    def __contains__(self, name: str) -> bool:
        return name in self.local or name in self.of_class


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that code binds in its own scope, not in one within it."""
    names: set[str] = set()
    outer: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
                continue
            case ast.Lambda():
                continue
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.Global():
                outer.update(node.names)
            case (
                ast.Name(id=str(name), ctx=ast.Store())
                | ast.arg(arg=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                names.add(name)
        if not isinstance(node, COMPREHENSION):
            waiting += ast.iter_child_nodes(node)
    return names - outer


def uses(nodes: Iterable[ast.AST]) -> list[Use]:
    """Return the uses of names from outside of these statements, as the text has them.

    A use of `d2l` itself has the name `d2l`.
    """
    found: dict[ast.AST, Use] = {}
    for use in (use for node in nodes for use in _uses(node, Scope())):
        found.setdefault(use.node, use)
    place = operator.attrgetter("node.lineno", "node.col_offset")
    return sorted(found.values(), key=place)


def _uses(node: ast.AST, scope: Scope) -> Iterator[Use]:
    match node:
        case ast.Attribute(ast.Name("d2l"), str(name), ast.Load()) if (
            "d2l" not in scope
        ):
            yield Use(name, node, True, scope.at_import, name in scope)
        case ast.Name(str(name), ast.Load()) if name not in scope:
            yield Use(name, node, False, scope.at_import, False)
        case _:
            for child, inner in _parts(node, scope):
                yield from _uses(child, inner)


def _parts(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """Yield the parts of a node, each with the scope in which it is evaluated."""
    if isinstance(node, COMPREHENSION):
        yield node.generators[0].iter, scope  # before there are local names
    within, inner = _inner(node, scope)
    hints = [getattr(node, name, None) for name in ("annotation", "returns")]
    for part in ast.iter_child_nodes(node):
        if part in hints:
            yield part, replace(scope, at_import=False)
        elif part not in within:
            yield part, scope
    for number, part in enumerate(within):
        if isinstance(node, ast.ClassDef):  # it may read a global name, then bind it
            inner = replace(scope, of_class=frozenset(bound(within[:number])))
        yield part, inner


def _inner(node: ast.AST, scope: Scope) -> tuple[Sequence[ast.AST], Scope]:
    """Return the parts of a node that have a scope of their own, and this scope."""
    if isinstance(node, FUNCTION):
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        local = scope.local | bound([node.args, *body])
        return body, Scope(local, at_import=False)
    if isinstance(node, ast.ClassDef):
        return node.body, scope
    if isinstance(node, COMPREHENSION):
        local = scope.local | bound(node.generators)
        return [*ast.iter_child_nodes(node)], replace(scope, local=local)
    return [], scope
