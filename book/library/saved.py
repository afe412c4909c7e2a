"""Finds the statements that cells mark with `#@save`, and the names that they use.

A mark belongs to one statement at the top level of a cell. It may be on any line of a
simple statement, on a decorator or the signature of a definition, or on a line of its
own above. The library imports whatever its code uses, no matter which cell imports it;
the names of a marked `import` become names of the library, too.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst
import libcst.matchers as m
from libcst.metadata import (
    Access,
    BuiltinScope,
    ClassScope,
    ComprehensionScope,
    ExpressionContext,
    ExpressionContextProvider,
    GlobalScope,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from book.base.errors import BookError
from book.text import blocks
from book.text.book import Book
from book.text.section import Section

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
MARK = re.compile(r"#\s*@save\b.*")
IMPORT = m.SimpleStatementLine([m.Import() | m.ImportFrom()])
# These statements change existing objects, so it is not clear which they would replace.
UNSAVABLE = (
    m.SimpleStatementLine([m.AugAssign() | m.Del()])
    | m.For()
    | m.While()
    | m.With()
    | m.Match()
)
ALIASES = "Aliases from config.ini"


# Cells


@dataclass(frozen=True)
class TabCell:
    """A code cell with the code of one tab."""

    section: Section
    cell: blocks.Cell

    def where(self, row: int) -> str:
        """Return the file and line of row `row` of the cell, such as `one.md:12`."""
        return self.section.at(self.cell.line_of(row))

    @cached_property
    def python(self) -> str:
        """The code of the cell, with `pass` for each command of the shell.

        Raises a `BookError` if it is not valid Python.
        """
        code = self.cell.python
        try:
            ast.parse(code)  # its messages say more than those of libcst
            cst.parse_module(code)
        except SyntaxError as error:
            where = self.where(error.lineno or 1)
            raise BookError(f"not valid Python ({error.msg})", where) from error
        except cst.ParserSyntaxError as error:
            where = self.where(error.raw_line)
            raise BookError("libcst cannot parse it", where) from error
        return code

    @property
    def note(self) -> str:
        """The comment in the library that names the section of the cell."""
        labels = (label for label, _ in self.section.labels)
        label = next((label for label in labels if label.startswith("sec_")), None)
        return f"Defined in {self.section.name}.md" + (f" ({label})" if label else "")


def tab_cells(book: Book, tab: str) -> Iterator[TabCell]:
    """Yield the cells of a tab in the order of the book."""
    for section in book.sections:
        for cell in book.cells(section, tab):
            yield TabCell(section, cell)


def marked_rows(cell: TabCell) -> set[int]:
    """Return the rows of a cell that have a mark."""
    return {row for row, _ in _without_marks(cell.python)[1]}


@dataclass(frozen=True, eq=False)
class Use:
    """The use of a name that is defined outside of a block."""

    name: str
    node: cst.Name | cst.Attribute
    by_d2l: bool  # The name is written as d2l.name.
    at_import: bool  # It is read when the library is imported, not in a call.
    hidden: bool  # A local variable of the same name hides it.


@dataclass(frozen=True, eq=False)
class SavedStatement:
    """A statement of the library.

    `note` is the comment on its origin, and `where` is its file and line. `rows` holds
    the cell and the row of each name in the statement.
    """

    node: Statement
    note: str
    where: str
    rows: Mapping[cst.CSTNode, tuple[TabCell, int]] = field(default_factory=dict)

    @property
    def is_alias(self) -> bool:
        """True if the statement defines an alias of config.ini."""
        return self.note == ALIASES

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the block defines, without `_`, the name of overloads."""
        match self.node:
            case (
                cst.FunctionDef(name=cst.Name(value=name))
                | cst.ClassDef(name=cst.Name(value=name))
                | cst.SimpleStatementLine(
                    body=[cst.Assign([cst.AssignTarget(cst.Name(value=name))])]
                )
            ):
                return frozenset({name}) - {"_"}
        wrapper = MetadataWrapper(cst.Module([self.node]), unsafe_skip_copy=True)
        scopes = wrapper.resolve(ScopeProvider)
        assignments = scopes[wrapper.module].assignments  # type: ignore[union-attr]
        return frozenset(a.name for a in assignments) - {"_"}

    @cached_property
    def uses(self) -> list[Use]:
        """The uses of names that are defined outside of the block."""
        return list(_uses(self))

    def where_of(self, node: cst.CSTNode) -> str:
        """Return the file and line of a node of the block."""
        if node not in self.rows:
            return self.where
        cell, row = self.rows[node]
        return cell.where(row)


# Marks


def saved_blocks(cell: TabCell) -> Iterator[SavedStatement]:
    """Yield the marked statements of a cell, except imports.

    Raises a `BookError` for a mark without a statement, or for a statement that cannot
    be saved.
    """
    source, marks = _without_marks(cell.python)
    if not marks:
        return
    module = cst.parse_module(source).visit(_Unquoter())
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    rows: dict[cst.CSTNode, tuple[TabCell, int]] = {
        node: (cell, where.start.line)
        for node, where in positions.items()
        if isinstance(node, cst.Name | cst.Attribute)
    }
    spans = _spans(module, positions, source)
    marked = (_marked_statement(mark, spans, cell) for mark in marks)
    for statement in dict.fromkeys(marked):
        where = cell.where(spans[statement].first)
        if m.matches(statement, IMPORT):
            continue
        if m.matches(statement, UNSAVABLE):
            message = "this statement cannot be saved; put it into a function"
            raise BookError(message, where)
        bare = statement.with_changes(leading_lines=[])
        yield SavedStatement(bare, cell.note, where, rows)


def _without_marks(source: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the source without its marks, and the row and column of each mark."""
    lines = source.split("\n")
    marks = []
    for token in _tokens(source):
        mark = MARK.search(token.string)
        if token.type == tokenize.COMMENT and mark:
            row, column = token.start
            lines[row - 1] = lines[row - 1][: column + mark.start()].rstrip()
            marks.append((row, column))
    return "\n".join(lines) + "\n", marks


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(source).readline)


class _Unquoter(cst.CSTTransformer):
    """Removes the quotes around type hints, since the library never evaluates them."""

    def leave_Annotation(
        self, original_node: cst.Annotation, updated_node: cst.Annotation
    ) -> cst.Annotation:
        hint = updated_node.annotation
        if not isinstance(hint, cst.SimpleString):
            return updated_node
        try:
            unquoted = cst.parse_expression(str(hint.evaluated_value))
        except cst.ParserSyntaxError:
            return updated_node
        return updated_node.with_changes(annotation=unquoted)


@dataclass(frozen=True)
class StatementRows:
    """The rows of a statement; marks may be on the rows from `first` to `header`."""

    first: int
    header: int
    last: int


def statements(body: cst.Module | cst.BaseSuite) -> list[Statement]:
    """Return the statements of a module, or of the body of a statement."""
    if isinstance(body, cst.SimpleStatementSuite):
        return [cst.SimpleStatementLine(body.body)]
    return list(body.body)  # type: ignore[arg-type]


def _spans(
    module: cst.Module, positions: Mapping, source: str
) -> dict[Statement, StatementRows]:
    """Return the rows of each top-level statement of a module."""
    line_ends = [t.start[0] for t in _tokens(source) if t.type == tokenize.NEWLINE]
    spans = {}
    for statement in statements(module):
        decorators = getattr(statement, "decorators", ())
        rows = [positions[node].start.line for node in (statement, *decorators)]
        keyword = positions[getattr(statement, "name", statement)].start.line
        header = next(row for row in line_ends if row >= keyword)
        spans[statement] = StatementRows(
            min(rows), header, positions[statement].end.line
        )
    return spans


def _marked_statement(
    mark: tuple[int, int], spans: Mapping[Statement, StatementRows], cell: TabCell
) -> Statement:
    """Return the statement that a mark belongs to."""
    row, column = mark
    for statement, span in spans.items():
        if span.first <= row <= span.header:
            return statement
    if column or any(span.first < row <= span.last for span in spans.values()):
        message = "#@save inside a body; move it to the line of the definition"
        raise BookError(message, cell.where(row))
    for statement, span in spans.items():
        if row < span.first:
            return statement
    raise BookError("#@save without a statement below it; remove it", cell.where(row))


# The names that a block uses


def _uses(block: SavedStatement) -> Iterator[Use]:
    """Yield the uses of names from outside a block, in the order of the text."""
    wrapper = MetadataWrapper(cst.Module([block.node]), unsafe_skip_copy=True)
    # libcst walks the tree once if all providers are resolved together.
    wrapper.resolve_many([ScopeProvider, ParentNodeProvider, ExpressionContextProvider])
    parents = wrapper.resolve(ParentNodeProvider)
    contexts = wrapper.resolve(ExpressionContextProvider)
    for node, access in _nonlocal_accesses(wrapper):
        at_import = not access.is_annotation and _runs_at_import(access.scope)
        if node.value != "d2l":
            yield Use(node.value, node, False, at_import, False)
            continue
        attribute = parents[node]
        if (
            not isinstance(attribute, cst.Attribute)
            or contexts[attribute] != ExpressionContext.LOAD
        ):
            message = "d2l can only be used to read a name, as in d2l.name"
            raise BookError(message, block.where_of(node))
        name = attribute.attr.value
        yield Use(name, attribute, True, at_import, _is_local(name, access.scope))


def _nonlocal_accesses(wrapper: MetadataWrapper) -> Iterator[tuple[cst.Name, Access]]:
    """Yield each access to a name that is not local, in the order of the text."""
    scopes = wrapper.resolve(ScopeProvider)
    accesses = {
        access.node: access
        for scope in dict.fromkeys(scopes.values())
        for access in (scope.accesses if scope else ())
    }
    for node in scopes:
        if isinstance(node, cst.Name) and node in accesses:
            access = accesses[node]
            if not _is_local(node.value, access.scope):
                yield node, access


def _is_local(name: str, scope: Scope) -> bool:
    """Return True if a name is assigned in a function or a class around `scope`."""
    outer = GlobalScope | BuiltinScope
    return any(not isinstance(a.scope, outer) for a in scope[name])


def _runs_at_import(scope: Scope) -> bool:
    """Return True if the code of a scope runs when its module is imported."""
    while isinstance(scope, ClassScope | ComprehensionScope):
        scope = scope.parent
    return isinstance(scope, GlobalScope)
