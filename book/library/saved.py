"""Finds the statements that cells mark with `#@save`, and the names that they use.

The library imports whatever its code uses, no matter which cell imports it; the names
of a marked `import` become names of the library, too, if anything uses them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from book.library.bindings import Use, bound, uses
from book.library.marks import IMPORT, Mark, MarkedCode, first_row
from book.runner.errors import BookError
from book.text import blocks
from book.text.book import Book
from book.text.section import Section

# These statements change existing objects, so it is not clear which they would replace.
UNSAVABLE = ast.AugAssign | ast.Delete | ast.For | ast.While | ast.With | ast.Match
ALIASES = "Aliases from config.ini"
Line = tuple[str, str]  # of code, and the file and line that it comes from


@dataclass(frozen=True)
class TabCell:
    """A code cell with the code of one tab."""

    section: Section
    cell: blocks.Cell

    def where(self, row: int) -> str:
        """Return the file and line of row `row` of the cell, such as `one.md:12`."""
        return self.section.at(self.cell.line_of(row))

    @cached_property
    def code(self) -> MarkedCode:
        """The Python of the cell, with `pass` for each command of the shell.

        Raises a `BookError` if it is not valid Python.
        """
        code = MarkedCode(self.cell.python)
        try:
            assert code.statements is not None
        except SyntaxError as error:
            where = self.where(error.lineno or 1)
            raise BookError(f"not valid Python ({error.msg})", where) from error
        return code

    @property
    def note(self) -> str:
        """The comment in the library that names the section of the cell."""
        labels = (label for label, _ in self.section.labels)
        label = next((label for label in labels if label.startswith("sec_")), None)
        return f"Defined in {self.section.name}.md" + (f" ({label})" if label else "")


def library_tabs(book: Book) -> list[str]:
    """Return the tabs that have a library."""
    return [tab for tab in book.tabs if tab in book.config.library]


def tab_cells(book: Book, tab: str) -> Iterator[TabCell]:
    """Yield the cells of a tab in the order of the book."""
    for section in book.sections:
        for cell in book.cells(section, tab):
            yield TabCell(section, cell)


@dataclass(frozen=True, eq=False)
class SavedStatement:
    """A statement of the library, or several on one line; `note` names its origin."""

    lines: tuple[Line, ...]
    note: str

    @property
    def code(self) -> str:
        """The Python of the statement."""
        return "\n".join(text for text, _ in self.lines)

    @property
    def where(self) -> str:
        """The file and line on which the statement begins."""
        return self.lines[0][1]

    @property
    def is_alias(self) -> bool:
        """True if the statement defines an alias of config.ini."""
        return self.note == ALIASES

    @cached_property
    def nodes(self) -> list[ast.stmt]:
        """The statement as Python parses it; more than one if a line has several."""
        return ast.parse(self.code).body

    @property
    def node(self) -> ast.stmt:
        """The statement, or the first one of its line."""
        return self.nodes[0]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the statement defines, without `_`, the name of overloads."""
        return frozenset(bound(self.nodes) - {"_"})

    @cached_property
    def uses(self) -> list[Use]:
        """The uses of names that are defined outside of it, in the order of the text.

        Raises a `BookError` for a use of `d2l` other than to read a name.
        """
        found = list(uses(self.nodes))
        for use in found:
            if use.name == "d2l" or use.node.lineno != use.node.end_lineno:
                message = "d2l can only be used to read a name, as in d2l.name"
                raise BookError(message, self.where_of(use.node))
        return found

    def where_of(self, node: ast.expr | ast.stmt) -> str:
        """Return the file and line of a node of the statement."""
        return self.lines[node.lineno - 1][1]


def edited(code: str, edits: Iterable[tuple[ast.expr, str]]) -> str:
    """Return `code` with other texts in place of nodes, each within one line."""
    lines = [line.encode() for line in code.split("\n")]  # ast counts columns in bytes
    for node, text in sorted(edits, key=lambda edit: edit[0].col_offset, reverse=True):
        line = lines[node.lineno - 1]
        before, after = line[: node.col_offset], line[node.end_col_offset :]
        lines[node.lineno - 1] = before + text.encode() + after
    return b"\n".join(lines).decode()


# Marks


def saved_statements(cell: TabCell) -> Iterator[SavedStatement]:
    """Yield the marked statements of a cell, except imports.

    Raises a `BookError` for a mark without a statement, or for a statement that cannot
    be saved.
    """
    if not cell.code.marks:
        return
    lines = cell.cell.python.split("\n")
    for row, column in cell.code.marks:
        lines[row - 1] = lines[row - 1][:column].rstrip()
    unquoted = edited("\n".join(lines), _quoted_hints(cell)).split("\n")
    marked = (_marked_statement(mark, cell) for mark in cell.code.marks)
    for node in dict.fromkeys(marked):
        rows = range(first_row(node), (node.end_lineno or node.lineno) + 1)
        if isinstance(node, IMPORT):
            continue
        if isinstance(node, UNSAVABLE):
            message = "this statement cannot be saved; put it into a function"
            raise BookError(message, cell.where(rows[0]))
        code = tuple((unquoted[row - 1], cell.where(row)) for row in rows)
        yield SavedStatement(code, cell.note)


def shown_statements(cell: TabCell) -> list[ast.stmt]:
    """Return the statements of a cell that are not part of the library."""
    marked = [_marked_statement(mark, cell) for mark in cell.code.marks]
    return [node for node in cell.code.statements if node not in marked]


def _quoted_hints(cell: TabCell) -> Iterator[tuple[ast.expr, str]]:
    """Yield the type hints in quotes, which the library never evaluates, without."""
    for node in (node for tree in cell.code.statements for node in ast.walk(tree)):
        for hint in (getattr(node, name, None) for name in ("annotation", "returns")):
            match hint:
                case ast.Constant(value=str(text)) if hint.lineno == hint.end_lineno:
                    yield hint, text


def _marked_statement(mark: Mark, cell: TabCell) -> ast.stmt:
    """Return the statement that a mark belongs to."""
    if node := cell.code.statement_of(mark):
        return node
    row, column = mark
    if column or cell.code.is_inside(row):
        message = "#@save inside a body; move it to the line of the definition"
    else:
        message = "#@save without a statement below it; remove it"
    raise BookError(message, cell.where(row))
