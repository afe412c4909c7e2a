"""Aliases of config.ini, such as `d2l.zeros`, written as each framework writes them.

d2lbook replaces the simple ones as text, so `d2l.exp` would hit `d2l.expand_dims` too;
they are replaced here. Those that call a method of their argument are left to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from d2lbook import library
from nbformat.v4 import new_code_cell, new_notebook


def replaced(code: str, settings: Mapping[str, str]) -> tuple[str, list[int]]:
    """Return `code` without aliases, and the row that each of its rows comes from.

    Raises a `SyntaxError` for code that is not Python but uses an alias.
    """
    rows = list(range(1, code.count("\n") + 2))
    if "d2l." not in code:
        return code, rows
    others = dict(settings)
    simple = library._parse_mapping_config(others.pop("simple_alias", ""))
    new = code
    for alias, name in simple:
        whole = rf"\bd2l\.{re.escape(alias.rstrip('('))}(?!\w)"
        new = re.sub(whole, f"{others['lib_name']}.{name.rstrip('(')}", new)
    notebook = new_notebook(cells=[new_code_cell(new)])
    new = library.replace_alias(notebook, others).cells[0].source
    return new, rows if new.count("\n") == code.count("\n") else _rows(code, new)


def _rows(before: str, after: str) -> list[int]:
    """Return for each row of `after` the row of `before` that its statement is on."""
    rows: list[int] = []
    pairs = zip(_statements(before), _statements(after), strict=True)
    starts = {new: old for old, new in pairs}
    old, new = 1, 1
    for row in range(1, after.count("\n") + 2):
        if row in starts:
            old, new = starts[row], row
        rows.append(old + row - new)
    return rows


def _statements(code: str) -> list[int]:
    """Return the rows on which the statements of a cell start, in order."""
    nodes = ast.walk(ast.parse(code))
    return [node.lineno for node in nodes if isinstance(node, ast.stmt)]
