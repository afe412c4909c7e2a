"""Finds the part of a cell that a page folds, and a title for it.

What a cell saves to the library is folded, without the code below it that uses it,
unless the cell is marked `.open`.
A cell that is marked `.folded` begins with imports, which are folded without the code
below them, or with definitions, which are folded without the calls below them. If it
begins otherwise, or if there are loops below its definitions, all code is folded.
"""

import ast
import html
import itertools
import re

from book.library.marks import saved_statements
from book.render.code import without_marks
from book.text.blocks import Cell

IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
ADD_TO_CLASS = "d2l.add_to_class"
CODE = re.compile(r"`([^`]+)`")
SHORT = 2  # lines of saved code that are not worth a fold


def pieces(cell: Cell) -> list[tuple[str, str, bool]]:
    """Return the pieces of the code of a cell: text, title, whether more follows.

    A piece without a title is not folded.
    """
    is_open = "open" in cell.classes
    parts = ("", cell.code) if is_open else split(cell.code, "folded" in cell.classes)
    folded, rest = map(without_marks, parts)
    if not folded:
        return [(rest, "", False)] if rest.strip() else []
    return [(folded, title(folded), bool(rest)), *([(rest, "", False)] if rest else [])]


def split(code: str, is_marked: bool) -> tuple[str, str]:
    """Return the folded start of a cell and the rest, of which either may be empty."""
    lines = code.split("\n")
    end = max((node.end_lineno or 0 for node in saved_statements(code)), default=0)
    end = end if end > SHORT else 0
    if not end and is_marked:
        end = _end_of_start(_statements(code)) or len(lines)
    if not end:
        return "", code
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip("\n")


def _end_of_start(statements: list[ast.stmt]) -> int:
    """Return the last line of the imports or definitions; 0 to fold all code."""
    imports = bool(statements) and isinstance(statements[0], IMPORTS)
    kinds = IMPORTS if imports else DEFINITIONS
    first = [*itertools.takewhile(lambda s: isinstance(s, kinds), statements)]
    calls = all(isinstance(s, ast.Expr | ast.Assign) for s in statements[len(first) :])
    return (first[-1].end_lineno or 0) if first and (imports or calls) else 0


def title(code: str) -> str:
    """Return a line of HTML that says what folded code contains, and what for."""
    statements = _statements(code)
    definitions = [s for s in statements if isinstance(s, DEFINITIONS)]
    defined = [_name(s) for s in definitions]
    if statements and isinstance(statements[0], IMPORTS) and not defined:
        return "Imports"
    if statements and _is_plot(statements[-1]):
        return "Code of the plot"
    assigned = [
        ast.unparse(s.targets[0]) for s in statements if isinstance(s, ast.Assign)
    ]
    *others, last = [
        f'<code class="notranslate">{name}</code>' for name in defined or assigned[:2]
    ] or [""]
    names = f"{', '.join(others)} and {last}" if others else last
    purpose = _purpose(definitions[0]) if len(definitions) == 1 else ""
    return f"Code of {names}{purpose}" if names else "Code"


def _purpose(definition: ast.FunctionDef | ast.ClassDef) -> str:
    """Return a colon and the first line of a docstring as HTML, if there is one."""
    first, *_ = (ast.get_docstring(definition) or "").partition("\n")
    if not first:
        return ""
    first, word = first.rstrip("."), first.split()[0]
    if not any(map(str.isupper, word[1:])):  # unlike a name, such as ResNet
        first = first[0].lower() + first[1:]
    text = html.escape(first, quote=False)
    return ": " + CODE.sub(r'<code class="notranslate">\1</code>', text)


def _name(definition: ast.FunctionDef | ast.ClassDef) -> str:
    """Return the name of a function or a class, after the class that it extends."""
    extended = [
        f"{ast.unparse(d.args[0])}."
        for d in definition.decorator_list
        if isinstance(d, ast.Call) and ast.unparse(d.func) == ADD_TO_CLASS
    ]
    return "".join([*extended, definition.name])


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
