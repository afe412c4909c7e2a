"""Merges saved statements: later definitions replace earlier ones of the same name.

A statement that is saved again takes the place of the earlier one. The same holds for
a method that `@d2l.add_to_class` adds again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from book.library.bindings import bound
from book.library.marks import DEFINITION, first_row
from book.library.saved import Line, SavedStatement
from book.runner.errors import BookError


def merge(blocks: Iterable[SavedStatement]) -> list[SavedStatement]:
    """Return the blocks that remain after later ones have replaced earlier ones.

    Raises a `BookError` for a block that cannot replace or extend an earlier one.
    """
    merged: list[SavedStatement] = []
    for block in blocks:
        decorator = _add_to_class_decorator(block.node)
        if decorator:
            _add_method(merged, block, decorator)
        else:
            _add_block(merged, block)
    return merged


def _add_to_class_decorator(node: ast.stmt) -> ast.Call | None:
    decorators = node.decorator_list if isinstance(node, DEFINITION) else []
    for decorator in decorators:
        match decorator:
            case ast.Call(
                ast.Name("add_to_class")
                | ast.Attribute(ast.Name("d2l"), "add_to_class")
            ):
                return decorator
    return None


def _add_block(merged: list[SavedStatement], block: SavedStatement) -> None:
    """Add a block to `merged`, in place of earlier blocks that define its names."""
    earlier = [b for b in merged if b.names & block.names]
    if not earlier:
        merged.append(block)
        return
    for other in earlier:
        names = ", ".join(sorted(other.names))
        if not other.names <= block.names:
            raise BookError(
                f"replaces only a part of the statement at {other.where} ({names});"
                " save each name in a statement of its own",
                block.where,
            )
        kinds = _kind(other.node), _kind(block.node)
        if len({*kinds}) > 1:
            raise BookError(
                f"{kinds[1]} {names} would replace the {kinds[0]} of that name saved at"
                f" {other.where}; rename one of them, or remove its #@save",
                block.where,
            )
    merged[merged.index(earlier[0])] = block
    merged[:] = [b for b in merged if b not in earlier]


def _kind(node: ast.stmt) -> str:
    """Return what a statement defines: a function, a class or an assignment."""
    kinds = {ast.FunctionDef: "function", ast.ClassDef: "class"}
    return kinds.get(type(node), "assignment")


def _add_method(
    merged: list[SavedStatement], block: SavedStatement, decorator: ast.Call
) -> None:
    """Add a method to the class in `merged` that its decorator names."""
    match decorator.args:
        case [ast.Name(str(name)) | ast.Attribute(ast.Name("d2l"), str(name))]:
            pass
        case _:
            message = "add_to_class takes the name of a saved class"
            raise BookError(message, block.where)
    rows = range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)
    kept = [line for row, line in enumerate(block.lines, 1) if row not in rows]
    method = replace(block, lines=tuple(kept))
    for i, other in enumerate(merged):
        if isinstance(other.node, ast.ClassDef) and other.node.name == name:
            merged[i] = _with_method(other, other.node.body, method, block.where)
            return
    (added,) = block.names
    raise BookError(
        f"class '{name}' is not saved before its method '{added}';"
        " mark the class #@save",
        block.where,
    )


def _with_method(
    owner: SavedStatement, body: list[ast.stmt], method: SavedStatement, where: str
) -> SavedStatement:
    """Return the class with the method in place of its namesake, or at the end."""
    (name,) = method.names
    earlier = [member for member in body if name in bound([member])]
    if len(earlier) > 1:
        raise BookError(
            f"class '{min(owner.names)}' defines '{name}' twice;"
            " save the whole class again",
            where,
        )
    comment = [(f"# {method.note}", where)] if method.note != owner.note else []
    added = _indented([*comment, *method.lines])
    if not earlier:
        empty = [member.lineno for member in body if isinstance(member, ast.Pass)]
        kept = [line for row, line in enumerate(owner.lines, 1) if row not in empty]
        return replace(owner, lines=(*kept, *added))
    start, end = _rows(earlier[0], owner.lines)
    return replace(owner, lines=(*owner.lines[:start], *added, *owner.lines[end:]))


def _rows(member: ast.stmt, lines: Sequence[Line]) -> tuple[int, int]:
    """Return the first row of a member, from 0, with comments above, and its end."""
    start = first_row(member) - 1
    while lines[start - 1][0].strip()[:1] in ("", "#"):
        start -= 1
    return start, member.end_lineno or member.lineno


def _indented(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines of a method as those of a class; texts within strings stay."""
    lines = list(lines)
    tree = ast.parse("\n".join(code for code, _ in lines))
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant | ast.JoinedStr))
    inside = {r for n in texts for r in range(n.lineno, n.end_lineno or n.lineno)}
    for row, (code, where) in enumerate(lines):
        yield (code if row in inside or not code else f"    {code}"), where
