"""Chooses the branches of a cell, such as `if tab.selected("jax"):`, for one tab.

It works on the syntax tree, so branches may be nested, have `elif` and `else`, and
appear in functions and classes. The chosen body keeps its comments and formatting.
"""

import ast
from collections.abc import Iterator, Sequence

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

from book.base.errors import BookError

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Lines = Sequence[cst.EmptyLine]

SELECTED = m.Call(func=m.Attribute(value=m.Name("tab"), attr=m.Name("selected")))


def select_branches(source: str, tab: str, where: str) -> tuple[str, list[int]]:
    """Return a cell's source with only the branches of `tab`, and the rows it is from.

    The second value holds, for each row of the result, the row of `source` that it
    comes from, counted from 1. Raises a `BookError` at `where` if the source is not
    valid Python or uses `tab.selected` in a way that cannot be decided.
    """
    try:
        module = parse_cell(source)
    except SyntaxError as error:
        code = (error.text or "").strip()
        raise BookError(f"not valid Python ({error.msg}): {code}", where) from error
    chooser = _Chooser(tab, where, _first_rows(module))
    chosen = module.visit(chooser)
    if m.findall(chosen, SELECTED):
        message = "tab.selected outside an if; use it as the condition of an if"
        raise BookError(message, where)
    return chosen.code, _origins(chosen, chooser.rows)


def _first_rows(module: cst.Module) -> dict[cst.CSTNode, int]:
    """Return the row on which each node of a tree starts."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    return {node: place.start.line for node, place in positions.items()}


def _origins(chosen: cst.Module, rows: dict[cst.CSTNode, int]) -> list[int]:
    """Return, for each row of `chosen`, the row that the nodes on it come from."""
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
    """Return the syntax tree of a cell; raise a `SyntaxError` if it is not Python."""
    ast.parse(source)  # its messages say more than those of libcst
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        row = min(error.raw_line, source.count("\n") + 1)
        place = ("", row, error.raw_column, source.split("\n")[row - 1])
        raise SyntaxError("libcst cannot parse it", place) from error


class _Chooser(cst.CSTTransformer):
    """Keeps the branches of one tab and adds the rows of new nodes to `rows`."""

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
        """Return the statements that remain and the comments after the last of them."""
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
        """Return the statements that replace one statement, and their last comments."""
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
        """Return the arms that remain, and the arm to take if none of them applies.

        The arms that remain have conditions other than tabs, so they are decided when
        the cell runs.
        """
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
        """Return the value of a condition on tabs."""
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
            f"tab.selected cannot be combined with '{_code(test)}'; nest two ifs",
            self.where,
        )

    def _tab_name(self, argument: cst.BaseExpression) -> str:
        """Return the tab that an argument of `tab.selected` names."""
        if isinstance(argument, cst.SimpleString):
            return str(argument.evaluated_value)
        raise BookError(
            f"tab.selected takes names in quotes, not '{_code(argument)}'", self.where
        )


def _arms(node: cst.If | cst.Else | None) -> Iterator[cst.If | cst.Else]:
    """Yield the `if`, each `elif` and the `else` of a statement."""
    while node:
        yield node
        node = node.orelse if isinstance(node, cst.If) else None


def _chain(
    arms: Sequence[cst.If], last: cst.If | cst.Else | None, above: Lines
) -> cst.If:
    """Return `arms` as one if statement, with the body of `last` as its else.

    The lines `above` precede the statement.
    """
    orelse: cst.If | cst.Else | None = None
    if last:
        orelse = last if isinstance(last, cst.Else) else cst.Else(last.body)
    for arm in reversed(arms):
        orelse = chain = arm.with_changes(orelse=orelse)
    return chain.with_changes(leading_lines=above)


def _contents(
    arm: cst.If | cst.Else, above: Lines
) -> tuple[Sequence[cst.BaseStatement], Lines]:
    """Return the statements of an arm, below the lines `above`, and its last comments.

    An arm that is only `pass` has no statements.
    """
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
    """Return the statements with the lines `above` before the first of them."""
    if not statements or not above:
        return statements
    first, *others = statements
    assert isinstance(first, Statement)
    lines = [*above, *first.leading_lines]  # type: ignore[attr-defined]
    return [first.with_changes(leading_lines=lines), *others]


def _code(node: cst.CSTNode) -> str:
    """Return the source of a node."""
    return cst.Module([]).code_for_node(node)
