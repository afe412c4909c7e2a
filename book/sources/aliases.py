"""Replaces the aliases of config.ini, such as `d2l.zeros`, with each framework's code.

d2lbook replaces simple aliases as text, so `d2l.exp` would also change
`d2l.expand_dims`. This module replaces them as whole names and leaves the aliases that
call a method of their argument to d2lbook.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from importlib.metadata import version

from book.base.cache import Cache


def replace_aliases(
    code: str, settings: Mapping[str, str], kept: Cache
) -> tuple[str, list[int]]:
    """Return `code` without aliases and, for each of its rows, the row it comes from.

    `settings` is the section of config.ini for a tab's library. Raises a `SyntaxError`
    if the code uses an alias but is not Python.
    """
    rows = list(range(1, code.count("\n") + 2))
    if not _may_use(code, settings):
        return code, rows
    made_by = [version("d2lbook"), sys.version]
    parts = [*made_by, *(f"{k}={v}" for k, v in settings.items()), code]
    new = kept.value(parts, lambda: _replaced(code, settings))
    if new.count("\n") != code.count("\n"):
        rows = _original_rows(code, new)
    return new, rows


def _replaced(code: str, settings: Mapping[str, str]) -> str:
    from d2lbook import library  # takes long to import
    from nbformat.v4 import new_code_cell, new_notebook

    others = dict(settings)
    simple = library._parse_mapping_config(others.pop("simple_alias", ""))
    new = code
    for alias, name in simple:
        whole_name = rf"\bd2l\.{re.escape(alias.rstrip('('))}(?!\w)"
        new = re.sub(whole_name, f"{others['lib_name']}.{name.rstrip('(')}", new)
    notebook = new_notebook(cells=[new_code_cell(new)])
    return str(library.replace_alias(notebook, others).cells[0].source)


def _may_use(code: str, settings: Mapping[str, str]) -> bool:
    """Return False if no name that `code` takes from d2l occurs in the settings."""
    names = set(re.findall(r"\bd2l\.(\w+)", code))
    known = re.findall(r"\w+", " ".join(settings.values())) if names else []
    return "reverse_alias" in settings or not names.isdisjoint(known)


def _original_rows(before: str, after: str) -> list[int]:
    """Return, for each row of `after`, the row of `before` that it comes from."""
    rows: list[int] = []
    pairs = zip(_statement_rows(before), _statement_rows(after), strict=True)
    starts = {new: old for old, new in pairs}
    old, new = 1, 1
    for row in range(1, after.count("\n") + 2):
        if row in starts:
            old, new = starts[row], row
        rows.append(old + row - new)
    return rows


def _statement_rows(code: str) -> list[int]:
    """Return the row on which each statement of a cell starts, in a fixed order."""
    nodes = ast.walk(ast.parse(code))
    return [node.lineno for node in nodes if isinstance(node, ast.stmt)]
