"""Merges saved statements: later definitions replace earlier ones of the same name.

A statement that is saved again takes the place of the earlier one and inherits its
docstring if it has none. The same holds for a method that `@d2l.add_to_class` adds
again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from book.base.errors import BookError
from book.library.saved import DEFINITION, Line, SavedStatement, first_row


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
    new = _inherit_docstring(block, earlier[0], earlier[0].node)
    merged[merged.index(earlier[0])] = new
    merged[:] = [b for b in merged if b not in earlier]


def _kind(node: ast.stmt) -> str:
    """Return what a statement defines: a function, a class or an assignment."""
    kinds = {ast.FunctionDef: "function", ast.ClassDef: "class"}
    return kinds.get(type(node), "assignment")


def _add_method(
    merged: list[SavedStatement], block: SavedStatement, decorator: ast.Call
) -> None:
    """Add a method to the class in `merged` that its decorator names."""
    name = _class_name(decorator, block)
    rows = range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)
    kept = [line for row, line in enumerate(block.lines, 1) if row not in rows]
    method = replace(block, lines=tuple(kept))
    for i, other in enumerate(merged):
        if isinstance(other.node, ast.ClassDef) and other.node.name == name:
            merged[i] = _with_method(_with_body_below(other), method, block.where)
            return
    (added,) = block.names
    raise BookError(
        f"class '{name}' is not saved before its method '{added}';"
        " mark the class #@save",
        block.where,
    )


def _class_name(decorator: ast.Call, block: SavedStatement) -> str:
    """Return the name of the class that `add_to_class` extends."""
    match decorator.args:
        case [ast.Name(str(name)) | ast.Attribute(ast.Name("d2l"), str(name))]:
            return name
    raise BookError("add_to_class takes the name of a saved class", block.where)


def _with_method(
    owner: SavedStatement, method: SavedStatement, where: str
) -> SavedStatement:
    """Return the class with the method in place of its namesake, or at the end."""
    (name,) = method.names
    earlier = [member for member in _body(owner) if _defines(member, name)]
    if len(earlier) > 1:
        raise BookError(
            f"class '{min(owner.names)}' defines '{name}' twice;"
            " save the whole class again",
            where,
        )
    comment = [(f"# {method.note}", where)] if method.note != owner.note else []
    if not earlier:
        empty = [m.lineno for m in _body(owner) if isinstance(m, ast.Pass)]
        kept = [line for row, line in enumerate(owner.lines, 1) if row not in empty]
        return replace(owner, lines=(*kept, *_indented([*comment, *method.lines])))
    method = _inherit_docstring(method, owner, earlier[0])
    start, end = _rows(earlier[0], owner.lines)
    added = _indented([*comment, *method.lines])
    return replace(owner, lines=(*owner.lines[:start], *added, *owner.lines[end:]))


def _rows(member: ast.stmt, lines: Sequence[Line]) -> tuple[int, int]:
    """Return the first row of a member, from 0, with comments above, and its end."""
    start = first_row(member) - 1
    while lines[start - 1][0].strip()[:1] in ("", "#"):
        start -= 1
    return start, member.end_lineno or member.lineno


def _defines(statement: ast.stmt, name: str) -> bool:
    match statement:
        case (
            ast.FunctionDef(str(found))
            | ast.ClassDef(str(found))
            | ast.Assign([ast.Name(str(found))])
            | ast.AnnAssign(ast.Name(str(found)))
        ):
            return found == name
    return False


def _indented(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines of a method as those of a class; texts within strings stay."""
    lines = list(lines)
    tree = ast.parse("\n".join(code for code, _ in lines))
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant | ast.JoinedStr))
    inside = {r for n in texts for r in range(n.lineno, n.end_lineno or n.lineno)}
    for row, (code, where) in enumerate(lines):
        yield (code if row in inside or not code else f"    {code}"), where


def _inherit_docstring(
    block: SavedStatement, other: SavedStatement, earlier: ast.stmt
) -> SavedStatement:
    """Return a block with the docstring of an earlier definition if it has none."""
    if not isinstance(block.node, DEFINITION) or not isinstance(earlier, DEFINITION):
        return block
    if ast.get_docstring(block.node) is not None or ast.get_docstring(earlier) is None:
        return block
    block = _with_body_below(block)
    first = _body(block)[0]
    text = ast.get_source_segment(other.code, earlier.body[0]) or ""
    where = other.where_of(earlier)
    added = [(line, where) for line in (" " * first.col_offset + text).split("\n")]
    row = first_row(first) - 1
    return replace(block, lines=(*block.lines[:row], *added, *block.lines[row:]))


def _with_body_below(block: SavedStatement) -> SavedStatement:
    """Return a definition whose body begins on a line of its own."""
    first = _body(block)[0]
    code, where = block.lines[first.lineno - 1]
    head, rest = code.encode()[: first.col_offset], code.encode()[first.col_offset :]
    if not head.strip():
        return block
    split = (head.decode().rstrip(), where), (f"    {rest.decode()}", where)
    above, below = block.lines[: first.lineno - 1], block.lines[first.lineno :]
    return replace(block, lines=(*above, *split, *below))


def _body(block: SavedStatement) -> list[ast.stmt]:
    return block.node.body if isinstance(block.node, DEFINITION) else []
