"""Saved statements that replace earlier ones, and methods added to classes.

A statement that is saved again replaces the earlier one where that stood, and inherits
its docstring if it has none; so does a method that `@d2l.add_to_class` adds again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst
import libcst.matchers as m

from book.base.errors import BookError
from book.library.saved import Block, statements
from book.sources.branches import Statement

ADDS_TO_CLASS = m.Decorator(
    m.Call(
        func=m.Name("add_to_class")
        | m.Attribute(value=m.Name("d2l"), attr=m.Name("add_to_class"))
    )
)
DEFINITION = cst.FunctionDef | cst.ClassDef


def merged(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks that remain when later ones have replaced earlier ones."""
    kept: list[Block] = []
    for block in blocks:
        decorator = _add_to_class(block.node)
        if decorator:
            _add_method(kept, block, decorator)
        else:
            _add(kept, block)
    return kept


def _add_to_class(node: Statement) -> cst.Decorator | None:
    decorators = node.decorators if isinstance(node, cst.FunctionDef) else ()
    return next((d for d in decorators if m.matches(d, ADDS_TO_CLASS)), None)


def _add(kept: list[Block], block: Block) -> None:
    older = [b for b in kept if b.names & block.names]
    if not older:
        kept.append(block)
        return
    for other in older:
        names = ", ".join(sorted(other.names))
        if not other.names <= block.names:
            raise BookError(
                f"replaces a part only of what {other.where} saves ({names});"
                " save them one by one",
                block.where,
            )
        kinds = _kind(other.node), _kind(block.node)
        if len({*kinds}) > 1:
            raise BookError(
                f"{kinds[1]} {names} would replace the {kinds[0]} of that name saved at"
                f" {other.where}; rename one of them, or remove its #@save",
                block.where,
            )
    node = _documented(block.node, older[0].node)
    kept[kept.index(older[0])] = replace(block, node=node)
    kept[:] = [b for b in kept if b not in older]


def _kind(node: Statement) -> str:
    kinds = {cst.FunctionDef: "function", cst.ClassDef: "class"}
    return kinds.get(type(node), "assignment")


def _add_method(kept: list[Block], block: Block, decorator: cst.Decorator) -> None:
    name = _class_name(decorator, block)
    for i, other in enumerate(kept):
        if isinstance(other.node, cst.ClassDef) and other.node.name.value == name:
            method = _method(block, decorator, other)
            kept[i] = replace(
                other,
                node=_with_method(other.node, method, block.where),
                rows={**other.rows, **block.rows},
            )
            return
    raise BookError(
        f"class '{name}' is saved nowhere before its method"
        f" '{block.node.name.value}'; mark the class #@save",  # type: ignore[union-attr]
        block.where,
    )


def _class_name(decorator: cst.Decorator, block: Block) -> str:
    call = cst.ensure_type(decorator.decorator, cst.Call)
    match [argument.value for argument in call.args]:
        case [
            cst.Name(value=name)
            | cst.Attribute(value=cst.Name(value="d2l"), attr=cst.Name(value=name))
        ]:
            return name
    raise BookError("add_to_class takes the name of a saved class", block.where)


def _method(block: Block, decorator: cst.Decorator, owner: Block) -> cst.FunctionDef:
    method = cst.ensure_type(block.node, cst.FunctionDef)
    comment = cst.EmptyLine(comment=cst.Comment(f"# {block.note}"))
    return method.with_changes(
        decorators=[d for d in method.decorators if d is not decorator],
        leading_lines=[comment] if block.note != owner.note else [],
    )


def _with_method(
    owner: cst.ClassDef, method: cst.FunctionDef, where: str
) -> cst.ClassDef:
    """The class with the method in place of what it called so, or at its end."""
    body = [s for s in statements(owner.body) if not _is_pass(s)]
    older = [i for i, s in enumerate(body) if _defines(s, method.name.value)]
    if len(older) > 1:
        raise BookError(
            f"class '{owner.name.value}' defines '{method.name.value}' twice;"
            " save the class again in place of a part of it",
            where,
        )
    for i in older:
        body[i] = _documented(method, body[i])
    if not older:
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


def _documented(node: Statement, older: Statement) -> Statement:
    """A definition with the docstring of the one it replaces, if it has none."""
    if not isinstance(node, DEFINITION) or not isinstance(older, DEFINITION):
        return node
    if node.get_docstring() is not None or older.get_docstring() is None:
        return node
    body = [statements(older.body)[0], *statements(node.body)]
    return node.with_changes(body=cst.IndentedBlock(body))
