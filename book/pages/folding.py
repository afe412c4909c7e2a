"""Finds the part of a cell that a page folds, and a title for it.

A folded cell begins with imports, which are folded without the code below them, or with
definitions, which are folded without the calls below them. If it begins otherwise, or
if there are loops below its definitions, all of its code is folded.
"""

import ast
import itertools

from book.text.blocks import Cell

IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def pieces(cell: Cell) -> list[tuple[str, str, bool]]:
    """Return the pieces of the code of a cell: text, title, whether more follows.

    A piece without a title is not folded.
    """
    if not cell.is_folded:
        return [(cell.code, "", False)] if cell.code.strip() else []
    folded, rest = split(cell.code)
    return [(folded, title(folded), bool(rest)), *([(rest, "", False)] if rest else [])]


def split(code: str) -> tuple[str, str]:
    """Return the folded part of a cell and the rest, which may be empty."""
    statements = _statements(code)
    imports = bool(statements) and isinstance(statements[0], IMPORTS)
    kinds = IMPORTS if imports else DEFINITIONS
    first = [*itertools.takewhile(lambda s: isinstance(s, kinds), statements)]
    calls = all(isinstance(s, ast.Expr | ast.Assign) for s in statements[len(first) :])
    if not first or not (imports or calls):
        return code, ""
    lines, end = code.split("\n"), first[-1].end_lineno
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip("\n")


def title(code: str) -> str:
    """Return a line of HTML that says what folded code contains."""
    statements = _statements(code)
    if statements and isinstance(statements[0], IMPORTS):
        return "Imports"
    if statements and _is_plot(statements[-1]):
        return "Code of the plot"
    defined = [s.name for s in statements if isinstance(s, DEFINITIONS)]
    assigned = [
        ast.unparse(s.targets[0]) for s in statements if isinstance(s, ast.Assign)
    ]
    *others, last = [
        f'<code class="notranslate">{name}</code>' for name in defined or assigned[:2]
    ] or [""]
    names = f"{', '.join(others)} and {last}" if others else last
    return f"Code of {names}" if names else "Code"


def _statements(code: str) -> list[ast.stmt]:
    """Return the statements of a cell; none if it is not plain Python."""
    try:
        return ast.parse(code).body
    except SyntaxError:
        return []


def _is_plot(statement: ast.stmt) -> bool:
    """Return True if a statement calls a function that plots."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return isinstance(function, ast.Attribute) and function.attr.startswith("plot")
