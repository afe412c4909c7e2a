"""Finds the marks `#@save` in the code of a cell, and the statements that they mark.

A mark belongs to one statement at the top level of a cell. It may be on any line of a
simple statement, on a decorator or the signature of a definition, or on a line of its
own above.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

MARK = re.compile(r"[ \t]*#[ \t]*@save\b.*")
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
IMPORT = ast.Import | ast.ImportFrom
Mark = tuple[int, int]  # its row, counted from 1, and its column


@dataclass(frozen=True)
class MarkedCode:
    """The Python of a cell; most of its properties raise SyntaxError if it is wrong."""

    python: str

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """The statements of the cell."""
        return ast.parse(self.python).body

    @cached_property
    def marks(self) -> list[Mark]:
        """The place of each mark."""
        comments = (t for t in self._tokens if t.type == tokenize.COMMENT)
        found = ((MARK.search(token.string), *token.start) for token in comments)
        return [(row, column + mark.start()) for mark, row, column in found if mark]

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        """The tokens of the cell; none if it has no mark."""
        code = self.python if "@save" in self.python else ""
        return list(tokenize.generate_tokens(io.StringIO(code).readline))

    @cached_property
    def saved(self) -> list[ast.stmt]:
        """The marked statements, in the order of their marks."""
        marked = filter(None, map(self.statement_of, self.marks))
        return list(dict.fromkeys(marked))

    def statement_of(self, mark: Mark) -> ast.stmt | None:
        """Return the statement that a mark belongs to; None if it belongs to none."""
        row, column = mark
        for node in self.statements:
            if first_row(node) <= row <= self._last_row_of_header(node):
                return node
        if column or self.is_inside(row):
            return None
        return next((node for node in self.statements if row < node.lineno), None)

    def is_inside(self, row: int) -> bool:
        """Return whether a row is within a statement, below its first row."""
        return any(n.lineno < row <= (n.end_lineno or 0) for n in self.statements)

    def _last_row_of_header(self, node: ast.stmt) -> int:
        """Return the row on which a statement, or a definition's signature, ends."""
        ends = (t.start[0] for t in self._tokens if t.type == tokenize.NEWLINE)
        return next(row for row in ends if row >= node.lineno)


def first_row(node: ast.stmt) -> int:
    """Return the first row of a statement, counted from 1, decorators included."""
    decorators = getattr(node, "decorator_list", ())
    return min(part.lineno for part in (node, *decorators))


def saved_statements(code: str) -> list[ast.stmt]:
    """Return the marked statements of code; none if it is not Python."""
    try:
        return MarkedCode(code).saved
    except (SyntaxError, tokenize.TokenError):
        return []


def saved_names(code: str) -> Iterator[str]:
    """Yield the names of the library that marked statements define, without modules."""
    for node in saved_statements(code):
        if isinstance(node, ast.ImportFrom):
            yield from (name.asname or name.name for name in node.names)
        elif isinstance(node, DEFINITION) and not _extends_class(node):
            yield node.name


def saved_methods(code: str) -> Iterator[str]:
    """Yield the names of the methods that code saves, except those like `__init__`."""
    for node in saved_statements(code):
        parts = node.body if isinstance(node, ast.ClassDef) else [node]
        for part in parts:
            is_method = part is not node or _extends_class(part)
            if isinstance(part, DEFINITION) and is_method and part.name[:2] != "__":
                yield part.name


def _extends_class(node: ast.stmt) -> bool:
    """Return whether a definition is added to a class, by `d2l.add_to_class`."""
    decorators = getattr(node, "decorator_list", ())
    return any("add_to_class" in ast.unparse(part) for part in decorators)
