"""Declares what a type checker cannot find: the attributes that calls make.

`save_hyperparameters` makes an attribute of each argument of a constructor. A `Setting`
is an attribute of a class, and a keyword of its constructor.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from book.library.saved import Line, SavedStatement

# The type of a setting by the function that checks its values; of others, any.
TYPES = {"is_count": "int", "is_limit": "float", "is_switch": "bool"}
Types = dict[str, str]  # by name


def declared(blocks: Sequence[SavedStatement]) -> Iterator[SavedStatement]:
    """Yield the blocks, with declarations in classes and a type for their settings."""
    settings = _settings(blocks)
    for block in blocks:
        match block.nodes:
            case [ast.ClassDef(name=name) as node]:
                if found := settings.get(name):
                    yield _keywords(block, node, found)
                yield _with_declarations(block, node, settings.get(name, {}))
            case _:
                yield block


def _settings(blocks: Iterable[SavedStatement]) -> dict[str, Types]:
    """Return the types of the settings of each class."""
    found: dict[str, Types] = defaultdict(dict)
    for node in (node for block in blocks for node in block.nodes):
        match node:
            case ast.Assign(
                [
                    ast.Attribute(
                        ast.Name(owner) | ast.Attribute(ast.Name("d2l"), owner), name
                    )
                ],
                ast.Call(
                    ast.Name("Setting") | ast.Attribute(attr="Setting"),
                    [_, _, _, _, check, *_],
                ),
            ):
                known = ast.unparse(check).rpartition(".")[2]
                found[owner][name] = TYPES.get(known, "Any")
    return found


def _keywords(
    block: SavedStatement, node: ast.ClassDef, settings: Types
) -> SavedStatement:
    """Return the type of the settings that a constructor takes as `**settings`."""
    constructor = _constructor(node)
    named = {arg.arg for arg in constructor.args.args} if constructor else set()
    lines = [f"class _{node.name}Settings(TypedDict, total=False):"]
    lines += [f'    """The settings of `{node.name}`."""', ""]
    lines += [
        f"    {n}: {kind}" for n, kind in sorted(settings.items()) if n not in named
    ]
    return replace(block, lines=tuple((line, block.where) for line in [*lines, ""]))


def _with_declarations(
    block: SavedStatement, node: ast.ClassDef, settings: Types
) -> SavedStatement:
    """Return a class with declarations below its docstring."""
    constructor = _constructor(node)
    names = dict.fromkeys(settings, "Setting")
    if constructor:
        names = _arguments(constructor) | names
    if not names:
        return block
    first = node.body[0]
    row = (first.end_lineno or 0) if ast.get_docstring(node) else first.lineno - 1
    added: list[Line] = [("", block.where)]
    added += [(f"    {name}: {kind}", block.where) for name, kind in names.items()]
    lines = [*block.lines[:row], *added, *block.lines[row:]]
    if settings:
        lines = [(_with_keywords(text, node.name), where) for text, where in lines]
    return replace(block, lines=tuple(lines))


def _with_keywords(line: str, owner: str) -> str:
    """Return a line of a constructor with the type of its `**settings`."""
    return line.replace("**settings: Any", f"**settings: Unpack[_{owner}Settings]")


def undeclared(statement: ast.stmt) -> ast.stmt | None:
    """Return a statement of the library as it runs; None for the type of keywords."""
    if not isinstance(statement, ast.ClassDef):
        return statement
    if any(
        isinstance(base, ast.Name) and base.id == "TypedDict"
        for base in statement.bases
    ):
        return None
    constructor = _constructor(statement)
    if constructor is None:  # of a dataclass, declarations are fields
        return statement
    statement.body = [
        part
        for part in statement.body
        if not isinstance(part, ast.AnnAssign) or part.value is not None
    ]
    if constructor.args.kwarg:
        constructor.args.kwarg.annotation = ast.Name("Any")
    return statement


def _constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    methods = {
        part.name: part for part in node.body if isinstance(part, ast.FunctionDef)
    }
    return methods.get("__init__")


def _arguments(constructor: ast.FunctionDef) -> Types:
    """Return the types of the arguments that a constructor keeps as attributes."""
    ignored: set[str] | None = None
    for part in ast.walk(constructor):
        match part:
            case ast.Call(ast.Attribute(ast.Name("self"), "save_hyperparameters")):
                values = [keyword.value for keyword in part.keywords]
                ignored = {*ast.literal_eval(values[0])} if values else set()
    if ignored is None:
        return {}
    arguments = [*constructor.args.args[1:], *constructor.args.kwonlyargs]
    return {
        a.arg: ast.unparse(a.annotation)
        for a in arguments
        if a.annotation and a.arg not in ignored and not a.arg.startswith("_")
    }
