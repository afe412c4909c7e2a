"""Decides the branches of a cell, such as `if tab.selected("jax"):`, for one tab.

Works on the syntax tree, so branches may nest, have `elif` and `else`, and stand
in functions and classes; the chosen body keeps its comments and formatting.
"""

import re
from collections.abc import Iterator, Sequence

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

from book.base.errors import BookError
from book.sources.magics import MAGIC, hide_magics

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Lines = Sequence[cst.EmptyLine]

SELECTED = m.Call(func=m.Attribute(value=m.Name("tab"), attr=m.Name("selected")))

HIDDEN_LINE = re.compile(rf"{MAGIC}  #(.*)$", re.MULTILINE)


def select_branches(source: str, tab: str, where: str) -> tuple[str, list[int]]:
    """Return a cell's source as `tab` sees it, each `if tab.selected(...)` decided.

    The numbers say which row of `source`, counted from 1, each row comes from.
    """
    try:
        module = parse_cell(source)
    except SyntaxError as error:
        code = (error.text or "").strip()
        raise BookError(f"not valid Python ({error.msg}): {code}", where) from error
    chooser = _Chooser(tab, where, _first_rows(module))
    chosen = module.visit(chooser)
    if m.findall(chosen, SELECTED):
        raise BookError("tab.selected outside an if; write it as an if", where)
    return HIDDEN_LINE.sub(r"\1", chosen.code), _origins(chosen, chooser.rows)


def _first_rows(module: cst.Module) -> dict[cst.CSTNode, int]:
    """Return the row on which each node of a tree starts."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    return {node: place.start.line for node, place in positions.items()}


def _origins(chosen: cst.Module, rows: dict[cst.CSTNode, int]) -> list[int]:
    """Return the row that each row of `chosen` comes from, by the nodes on it."""
    known: dict[int, int] = {}
    for node, row in _first_rows(chosen).items():
        if node in rows and not isinstance(node, cst.Module):
            known.setdefault(row, rows[node])
    origins, shift = [], 0
    for row in range(1, chosen.code.count("\n") + 2):
        # A row without a node of its own follows the one above.
        shift = known[row] - row if row in known else shift
        origins.append(row + shift)
    return origins


def parse_cell(source: str) -> cst.Module:
    """Return the tree of a cell, in which lines such as `%magic` are a bare name.

    Raises a `SyntaxError` if what remains is not Python.
    """
    source = hide_magics(source)
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        row = min(error.raw_line, source.count("\n") + 1)
        place = ("", row, error.raw_column, source.split("\n")[row - 1])
        raise SyntaxError("libcst cannot parse it", place) from error


class _Chooser(cst.CSTTransformer):
    """Decides branches; `rows` gains the rows that new nodes come from."""

    def __init__(self, tab: str, where: str, rows: dict[cst.CSTNode, int]):
        super().__init__()
        self.tab = tab
        self.where = where
        self.rows = rows

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        left = super().on_leave(original_node, updated_node)
        if original_node in self.rows and isinstance(left, cst.CSTNode):
            self.rows[left] = self.rows[original_node]
        return left

    def leave_Module(
        self, original_node: cst.Module, updated_node: cst.Module
    ) -> cst.Module:
        body, rest = self._decide_all(updated_node.body)
        return updated_node.with_changes(
            body=body, footer=[*rest, *updated_node.footer]
        )

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body, rest = self._decide_all(updated_node.body)
        return updated_node.with_changes(
            body=body or [cst.parse_statement("pass")],
            footer=[*rest, *updated_node.footer],
        )

    def _decide_all(
        self, body: Sequence[cst.BaseStatement]
    ) -> tuple[list[cst.BaseStatement], Lines]:
        """The statements that stay, and the comments after the last of them."""
        statements: list[cst.BaseStatement] = []
        comments: Lines = []
        for statement in body:
            chosen, after = self._decide(statement)
            statements += _preceded(chosen, comments)
            comments = after if chosen else [*comments, *after]
        return statements, comments

    def _decide(
        self, statement: cst.BaseStatement
    ) -> tuple[Sequence[cst.BaseStatement], Lines]:
        """What one statement becomes, and the comments that followed in its body."""
        if not isinstance(statement, cst.If):
            return [statement], []
        arms = list(_arms(statement))
        if not any(isinstance(a, cst.If) and m.findall(a.test, SELECTED) for a in arms):
            return [statement], []
        undecided, chosen = self._choose(arms)
        if undecided:
            return [_chain(undecided, chosen, statement.leading_lines)], []
        return _contents(chosen, statement.leading_lines) if chosen else ([], [])

    def _choose(
        self, arms: Sequence[cst.If | cst.Else]
    ) -> tuple[list[cst.If], cst.If | cst.Else | None]:
        """The arms to be decided when the cell runs, and the one taken otherwise."""
        undecided: list[cst.If] = []
        for arm in arms:
            if isinstance(arm, cst.Else):
                return undecided, arm
            if not m.findall(arm.test, SELECTED):
                undecided.append(arm)
            elif self._is_selected(arm.test):
                return undecided, arm
        return undecided, None

    def _is_selected(self, test: cst.BaseExpression) -> bool:
        match test:
            case cst.Call(args=arguments) if m.matches(test, SELECTED):
                return self.tab in [self._tab_name(a.value) for a in arguments]
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return not self._is_selected(inner)
            case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
                return self._is_selected(left) & self._is_selected(right)
            case cst.BooleanOperation(left=left, right=right):
                return self._is_selected(left) | self._is_selected(right)
        raise BookError(
            f"tab.selected cannot be mixed with '{_code(test)}'; nest two ifs",
            self.where,
        )

    def _tab_name(self, argument: cst.BaseExpression) -> str:
        if isinstance(argument, cst.SimpleString):
            return str(argument.evaluated_value)
        raise BookError(
            f"tab.selected takes tabs in quotes, not '{_code(argument)}'", self.where
        )


def _arms(node: cst.If | cst.Else | None) -> Iterator[cst.If | cst.Else]:
    while node:
        yield node
        node = node.orelse if isinstance(node, cst.If) else None


def _chain(
    arms: Sequence[cst.If], last: cst.If | cst.Else | None, above: Lines
) -> cst.If:
    """`arms` as one if-elif, with the body of `last` as its else."""
    orelse: cst.If | cst.Else | None = None
    if last:
        orelse = last if isinstance(last, cst.Else) else cst.Else(last.body)
    for arm in reversed(arms):
        orelse = chain = arm.with_changes(orelse=orelse)
    return chain.with_changes(leading_lines=above)


def _contents(
    arm: cst.If | cst.Else, above: Lines
) -> tuple[Sequence[cst.BaseStatement], Lines]:
    """The statements of an arm, with the lines `above` it, and its last comments."""
    match arm.body:
        case cst.SimpleStatementSuite(body=body, trailing_whitespace=after):
            statement = cst.SimpleStatementLine(body, trailing_whitespace=after)
            return _preceded([statement], above), []
        case cst.IndentedBlock(body=[statement], footer=footer) if m.matches(
            statement, m.SimpleStatementLine([m.Pass()])
        ):
            return [], footer
        case cst.IndentedBlock(body=body, footer=footer):
            return _preceded(body, above), footer
    raise TypeError(arm.body)


def _preceded(
    statements: Sequence[cst.BaseStatement], above: Lines
) -> Sequence[cst.BaseStatement]:
    if not statements or not above:
        return statements
    first, *others = statements
    assert isinstance(first, Statement)
    lines = [*above, *first.leading_lines]  # type: ignore[attr-defined]
    return [first.with_changes(leading_lines=lines), *others]


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
