"""Merges saved statements: later definitions replace earlier ones of the same name.

A statement that is saved again takes the place of the earlier one and inherits its
docstring if it has none. The same holds for a method that `@d2l.add_to_class` adds
again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst
import libcst.matchers as m

from book.base.errors import BookError
from book.library.saved import SavedStatement, Statement, statements

ADDS_TO_CLASS = m.Decorator(
    m.Call(
        func=m.Name("add_to_class")
        | m.Attribute(value=m.Name("d2l"), attr=m.Name("add_to_class"))
    )
)
DEFINITION = cst.FunctionDef | cst.ClassDef


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


def _add_to_class_decorator(node: Statement) -> cst.Decorator | None:
    decorators = node.decorators if isinstance(node, cst.FunctionDef) else ()
    return next((d for d in decorators if m.matches(d, ADDS_TO_CLASS)), None)


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
    node = _inherit_docstring(block.node, earlier[0].node)
    merged[merged.index(earlier[0])] = replace(block, node=node)
    merged[:] = [b for b in merged if b not in earlier]


def _kind(node: Statement) -> str:
    """Return what a statement defines: a function, a class or an assignment."""
    kinds = {cst.FunctionDef: "function", cst.ClassDef: "class"}
    return kinds.get(type(node), "assignment")


def _add_method(
    merged: list[SavedStatement], block: SavedStatement, decorator: cst.Decorator
) -> None:
    """Add a method to the class in `merged` that its decorator names."""
    name = _class_name(decorator, block)
    for i, other in enumerate(merged):
        if isinstance(other.node, cst.ClassDef) and other.node.name.value == name:
            method = _method(block, decorator, other)
            merged[i] = replace(
                other,
                node=_with_method(other.node, method, block.where),
                rows={**other.rows, **block.rows},
            )
            return
    raise BookError(
        f"class '{name}' is not saved before its method"
        f" '{block.node.name.value}'; mark the class #@save",  # type: ignore[union-attr]
        block.where,
    )


def _class_name(decorator: cst.Decorator, block: SavedStatement) -> str:
    """Return the name of the class that `add_to_class` extends."""
    call = cst.ensure_type(decorator.decorator, cst.Call)
    match [argument.value for argument in call.args]:
        case [
            cst.Name(value=name)
            | cst.Attribute(value=cst.Name(value="d2l"), attr=cst.Name(value=name))
        ]:
            return name
    raise BookError("add_to_class takes the name of a saved class", block.where)


def _method(
    block: SavedStatement, decorator: cst.Decorator, owner: SavedStatement
) -> cst.FunctionDef:
    """Return the method without its decorator, below a comment on its origin."""
    method = cst.ensure_type(block.node, cst.FunctionDef)
    comment = cst.EmptyLine(comment=cst.Comment(f"# {block.note}"))
    return method.with_changes(
        decorators=[d for d in method.decorators if d is not decorator],
        leading_lines=[comment] if block.note != owner.note else [],
    )


def _with_method(
    owner: cst.ClassDef, method: cst.FunctionDef, where: str
) -> cst.ClassDef:
    """Return the class with the method in place of its namesake, or at the end."""
    body = [s for s in statements(owner.body) if not _is_pass(s)]
    earlier = [i for i, s in enumerate(body) if _defines(s, method.name.value)]
    if len(earlier) > 1:
        raise BookError(
            f"class '{owner.name.value}' defines '{method.name.value}' twice;"
            " save the whole class again",
            where,
        )
    for i in earlier:
        body[i] = _inherit_docstring(method, body[i])
    if not earlier:
        body.append(method)
    return owner.with_changes(body=cst.IndentedBlock(body))


def _is_pass(statement: Statement) -> bool:
    return m.matches(statement, m.SimpleStatementLine([m.Pass()]))


def _defines(statement: Statement, name: str) -> bool:
    return m.matches(
        statement,
        m.FunctionDef(name=m.Name(name))
        | m.ClassDef(name=m.Name(name))
        | m.SimpleStatementLine([m.Assign([m.AssignTarget(m.Name(name))])])
        | m.SimpleStatementLine([m.AnnAssign(target=m.Name(name))]),
    )


def _inherit_docstring(node: Statement, earlier: Statement) -> Statement:
    """Return `node`, with the docstring of the `earlier` definition if it has none."""
    if not isinstance(node, DEFINITION) or not isinstance(earlier, DEFINITION):
        return node
    if node.get_docstring() is not None or earlier.get_docstring() is None:
        return node
    body = [statements(earlier.body)[0], *statements(node.body)]
    return node.with_changes(body=cst.IndentedBlock(body))
