"""Converts the cells of a section to one tab by d2lbook's own functions.

They choose the branches of the tab, such as `if tab.selected("jax"):`, by line, and
replace the aliases of config.ini, such as `d2l.zeros`, as text. Where that makes other
code than the author wrote, the cell has a problem.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

from d2lbook import library, notebook
from nbformat import NotebookNode

from book.runner.errors import BookError
from book.text.blocks import Cell

SELECTED = "tab.selected"
BRANCHES = (
    "d2lbook cannot choose these branches; write `if tab.selected('TAB'):` for each"
    " tab, without else, not within another, and indent its body by four spaces"
)


class TabCode(NamedTuple):
    """The code of a cell in one tab.

    `rows` holds, for each row of the code, the row of the cell that it comes from, and
    `problems` pairs each problem with its row of the cell.
    """

    code: str
    rows: list[int]
    problems: list[tuple[int, str]]


def convert(
    cells: Iterable[Cell], tab: str, settings: Mapping[str, str]
) -> dict[int, TabCode]:
    """Return the code of each cell that a tab has, under the number of the cell.

    `settings` is the section of config.ini for the tab's library. Raises a `BookError`
    if d2lbook cannot read it.
    """
    try:
        library.replace_alias(NotebookNode(cells=[]), settings)
    except Exception as error:
        message = f"wrong alias; {_reason(error)}; correct it"
        raise BookError(message, f"config.ini [library-{tab}]") from None
    codes = {cell.number: _convert(cell, tab, settings) for cell in cells}
    return {number: code for number, code in codes.items() if code}


def _convert(cell: Cell, tab: str, settings: Mapping[str, str]) -> TabCode | None:
    """Return the code of a cell in a tab, or None if the tab does not have the cell."""
    source = f"%%tab {', '.join(cell.tabs) or 'all'}\n{cell.code}"
    node = NotebookNode(cell_type="code", metadata=NotebookNode(), source=source)
    whole = NotebookNode(cells=[node], metadata=NotebookNode())
    code = cell.code
    try:
        nb = notebook.get_tab_notebook(whole, tab, default_tab=tab)
        if nb is None:
            return None
        problems = list(_problems(cell, nb.cells[0].source, tab, settings))
        code = nb.cells[0].source
        code = library.replace_alias(nb, settings).cells[0].source
    except Exception as error:
        origins = _origins(cell.code, code)
        row = origins[min(getattr(error, "lineno", None) or 1, len(origins)) - 1]
        problems = [(row, f"{_reason(error)}; correct it")]
    return TabCode(code, _origins(cell.code, code), problems)


def _reason(error: Exception) -> str:
    """Return why d2lbook's functions fail, on one line."""
    if isinstance(error, SyntaxError):
        return f"not valid Python ({error.msg})"
    return f"d2lbook fails ({type(error).__name__}: {' '.join(str(error).split())})"


def _origins(before: str, after: str) -> list[int]:
    """Return, for each row of `after`, the row of `before` that it comes from."""
    old, new = ([line.strip() for line in t.split("\n")] for t in (before, after))
    rows: list[int] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        others = range(start + 1, start + 1 + new_end - new_start)
        rows += [max(min(row, end), 1) for row in others]
    return rows


def _problems(
    cell: Cell, chosen: str, tab: str, settings: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Yield what d2lbook misreads in a cell, of which it has `chosen` the branches."""
    if SELECTED in cell.code and not _has_branches(cell, chosen, tab):
        yield _row_of(SELECTED, cell.code), BRANCHES
    aliases = dict(library._parse_mapping_config(settings.get("simple_alias", "")))
    for name in re.findall(r"\bd2l\.(\w+)", chosen):
        alias = next((alias for alias in aliases if name.startswith(alias)), name)
        replaced = aliases.get(alias, "") + name.removeprefix(alias)
        if alias in aliases and replaced != aliases.get(name):
            message = f"d2lbook takes 'd2l.{name}' for its alias '{alias}'; rename it,"
            remedy = f"or move '{alias}' to `alias` in config.ini [library-{tab}]"
            yield _row_of(f"d2l.{name}", cell.code), f"{message} {remedy}"


def _row_of(text: str, code: str) -> int:
    """Return the row of `code` on which a text first occurs."""
    return code.count("\n", 0, code.index(text)) + 1


def _has_branches(cell: Cell, chosen: str, tab: str) -> bool:
    """Return True if `chosen` is a cell with the branches of a tab and no others."""
    expected = _Branches(tab).visit(ast.parse(cell.python))
    try:
        found = ast.parse(replace(cell, code=chosen).python)
    except SyntaxError:
        return False
    return SELECTED not in chosen and ast.dump(found) == ast.dump(expected)


class _Branches(ast.NodeTransformer):
    """Replaces each `if tab.selected(...):` by the statements that a tab runs."""

    def __init__(self, tab: str):
        self.tab = tab

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Call) and ast.unparse(node.test.func) == SELECTED:
            names = [ast.unparse(name).strip("'") for name in node.test.args]
            return node.body if self.tab in names else node.orelse
        return node
