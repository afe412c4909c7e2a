"""What cells mark with `#@save`, and the module that is made of it.

A mark belongs to one statement at the top level of a cell: it stands on any line
of a simple statement, on the decorators or signature of a definition, or on a
line of its own above. A marked `import` saves nothing: the library imports what
its code uses, from whichever cell imports it.

What is saved again replaces the earlier one where that stood, and inherits its
docstring if it has none; so does a method that `@d2l.add_to_class` adds again.
What a statement needs while the library is imported is put before it.
"""

import ast
import builtins
import io
import itertools
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property

import libcst as cst
import libcst.matchers as m
from d2lbook import library as stock
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
from book.sources.book import Book, Section
from book.sources.branches import MAGIC, Statement, parse_cell

MARK = re.compile(r"#\s*@save\b.*")
# In cells that begin with one of these magics, and with no other `%%`, stands Python.
OTHER_LANGUAGE = re.compile(r"%%(?!time\b|timeit\b|capture\b|prun\b)")
ADDS_TO_CLASS = m.Decorator(
    m.Call(
        func=m.Name("add_to_class")
        | m.Attribute(value=m.Name("d2l"), attr=m.Name("add_to_class"))
    )
)
DEFINITION = cst.FunctionDef | cst.ClassDef
IMPORT = m.SimpleStatementLine([m.Import() | m.ImportFrom()])
# They change what is there: saved again, which of it they replace would be a guess.
UNSAVABLE = (
    m.SimpleStatementLine([m.AugAssign() | m.Del()])
    | m.For()
    | m.While()
    | m.With()
    | m.Match()
)
BUILTINS = {*dir(builtins), "__file__", "__class__"}
ALIASES = "Aliases from config.ini"


def module(book: Book, tab: str, header: str) -> str:
    """The library of `tab`, as a Python module that begins with `header`."""
    cells = list(_cells(book, tab))
    imports = _imports(cells)
    saved = _merged(block for cell in cells for block in _saved(cell))
    blocks = [*_aliases(book.config.library[tab], tab), *saved]
    home = _home(blocks)
    for block in blocks:
        _check_names(block, home, imports)
    return _module(header, _in_order(blocks, home), home, imports)


# Cells and what is marked in them


@dataclass(frozen=True)
class Cell:
    """A code cell as one tab has it; `original` is the cell in the Markdown file."""

    section: Section
    source: str
    original: str

    def where(self, row: int) -> str:
        """The file and line that line `row` of the tab's source comes from."""
        before, after = (
            [line.strip() for line in text.splitlines()]
            for text in (self.source, self.original)
        )
        same = SequenceMatcher(None, before, after, autojunk=False)
        shift = 0
        for block in same.get_matching_blocks():
            if block.size and block.a < row:
                shift = block.b - block.a
        line = self.section.line_of(self.original) + row - 1 + shift
        return f"{self.section.name}.md:{line}"

    @cached_property
    def python(self) -> str:
        try:
            return parse_cell(self.source).code
        except SyntaxError as error:
            raise BookError(
                f"not valid Python ({error.msg})", self.where(error.lineno or 1)
            ) from error

    @property
    def note(self) -> str:
        label = next((x for x in self.section.labels if x.startswith("sec_")), None)
        return f"Defined in {self.section.name}.md" + (f" ({label})" if label else "")


@dataclass(frozen=True, eq=False)
class Use:
    """A name that a block takes from outside of it."""

    name: str
    node: cst.Name | cst.Attribute
    by_d2l: bool  # written d2l.name
    at_import: bool  # read when the library is imported, not when a function is called
    hidden: bool  # a local variable of the same name hides it


@dataclass(frozen=True, eq=False)
class Block:
    """A statement of the library; `note` says where it comes from."""

    node: Statement
    note: str
    where: str
    rows: Mapping[cst.CSTNode, tuple[Cell, int]] = field(default_factory=dict)

    @property
    def is_alias(self) -> bool:
        return self.note == ALIASES

    @cached_property
    def names(self) -> frozenset[str]:
        """The names it defines; `_`, as of a registered overload, counts as none."""
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
        return list(_uses(self))

    def where_of(self, node: cst.CSTNode) -> str:
        if node not in self.rows:
            return self.where
        cell, row = self.rows[node]
        return cell.where(row)


def _cells(book: Book, tab: str) -> Iterator[Cell]:
    for section in book.sections:
        originals = book.notebook(section).cells
        for cell in book.code_cells(section, tab):
            if not OTHER_LANGUAGE.match(cell.source):
                original = originals[cell.metadata["origin_pos"]]
                yield Cell(section, cell.source, original.source)


def _saved(cell: Cell) -> Iterator[Block]:
    """The marked statements of a cell, imports aside."""
    source, marks = _without_marks(cell.python)
    if not marks:
        return
    module = cst.parse_module(source).visit(_Unquoter())
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    rows: dict[cst.CSTNode, tuple[Cell, int]] = {
        node: (cell, where.start.line)
        for node, where in positions.items()
        if isinstance(node, cst.Name | cst.Attribute)
    }
    spans = _spans(module, positions, source)
    for statement in dict.fromkeys(_marked(mark, spans, cell) for mark in marks):
        where = cell.where(spans[statement].first)
        if m.matches(statement, IMPORT):
            continue
        if MAGIC in module.code_for_node(statement):
            raise BookError("a magic cannot be saved; take it out of the block", where)
        if m.matches(statement, UNSAVABLE):
            raise BookError("cannot be saved; put it into a function", where)
        bare = statement.with_changes(leading_lines=[])
        yield Block(bare, cell.note, where, rows)


def _without_marks(source: str) -> tuple[str, list[tuple[int, int]]]:
    """The source without its marks, and the row and column of each."""
    lines = source.split("\n")
    marks = []
    for token in _tokens(source):
        found = MARK.search(token.string)
        if token.type == tokenize.COMMENT and found:
            row, column = token.start
            lines[row - 1] = lines[row - 1][: column + found.start()].rstrip()
            marks.append((row, column))
    return "\n".join(lines) + "\n", marks


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(source).readline)


class _Unquoter(cst.CSTTransformer):
    """Type hints lose their quotes: the library never evaluates them."""

    def leave_Annotation(
        self, original_node: cst.Annotation, updated_node: cst.Annotation
    ) -> cst.Annotation:
        hint = updated_node.annotation
        if not isinstance(hint, cst.SimpleString):
            return updated_node
        try:
            bare = cst.parse_expression(str(hint.evaluated_value))
        except cst.ParserSyntaxError:
            return updated_node
        return updated_node.with_changes(annotation=bare)


@dataclass(frozen=True)
class Span:
    """The rows of a statement; a mark may stand on those from first to header."""

    first: int
    header: int
    last: int


def _spans(
    module: cst.Module, positions: Mapping, source: str
) -> dict[Statement, Span]:
    line_ends = [t.start[0] for t in _tokens(source) if t.type == tokenize.NEWLINE]
    spans = {}
    for statement in _statements(module):
        decorators = getattr(statement, "decorators", ())
        rows = [positions[node].start.line for node in (statement, *decorators)]
        keyword = positions[getattr(statement, "name", statement)].start.line
        header = next(row for row in line_ends if row >= keyword)
        spans[statement] = Span(min(rows), header, positions[statement].end.line)
    return spans


def _marked(
    mark: tuple[int, int], spans: Mapping[Statement, Span], cell: Cell
) -> Statement:
    """The statement that a mark belongs to."""
    row, column = mark
    for statement, span in spans.items():
        if span.first <= row <= span.header:
            return statement
    if column or any(span.first < row <= span.last for span in spans.values()):
        raise BookError("#@save inside a body; put it on the def line", cell.where(row))
    for statement, span in spans.items():
        if row < span.first:
            return statement
    raise BookError("#@save with nothing below it to save", cell.where(row))


# Blocks that replace earlier ones, and methods added to classes


def _merged(blocks: Iterable[Block]) -> list[Block]:
    merged: list[Block] = []
    for block in blocks:
        decorator = _add_to_class(block.node)
        if decorator:
            _add_method(merged, block, decorator)
        else:
            _add(merged, block)
    return merged


def _add_to_class(node: Statement) -> cst.Decorator | None:
    decorators = node.decorators if isinstance(node, cst.FunctionDef) else ()
    return next((d for d in decorators if m.matches(d, ADDS_TO_CLASS)), None)


def _add(merged: list[Block], block: Block) -> None:
    older = [b for b in merged if b.names & block.names]
    if not older:
        merged.append(block)
        return
    for other in older:
        names = ", ".join(sorted(other.names))
        if not other.names <= block.names:
            raise BookError(
                f"replaces a part only of what {other.where} saves ({names});"
                " save them one by one",
                block.where,
            )
        kinds = _kind(other.node), _kind(block.node)
        if len({*kinds}) > 1:
            raise BookError(
                f"{kinds[1]} {names} would replace the {kinds[0]} of that name saved at"
                f" {other.where}; rename one of them, or remove its #@save",
                block.where,
            )
    node = _documented(block.node, older[0].node)
    merged[merged.index(older[0])] = replace(block, node=node)
    merged[:] = [b for b in merged if b not in older]


def _kind(node: Statement) -> str:
    kinds = {cst.FunctionDef: "function", cst.ClassDef: "class"}
    return kinds.get(type(node), "assignment")


def _add_method(merged: list[Block], block: Block, decorator: cst.Decorator) -> None:
    name = _class_name(decorator, block)
    for i, other in enumerate(merged):
        if isinstance(other.node, cst.ClassDef) and other.node.name.value == name:
            method = _method(block, decorator, other)
            merged[i] = replace(
                other,
                node=_with_method(other.node, method, block.where),
                rows={**other.rows, **block.rows},
            )
            return
    raise BookError(
        f"class '{name}' is saved nowhere before its method"
        f" '{block.node.name.value}'; mark the class #@save",  # type: ignore[union-attr]
        block.where,
    )


def _class_name(decorator: cst.Decorator, block: Block) -> str:
    call = cst.ensure_type(decorator.decorator, cst.Call)
    match [argument.value for argument in call.args]:
        case [
            cst.Name(value=name)
            | cst.Attribute(value=cst.Name(value="d2l"), attr=cst.Name(value=name))
        ]:
            return name
    raise BookError("add_to_class takes the name of a saved class", block.where)


def _method(block: Block, decorator: cst.Decorator, owner: Block) -> cst.FunctionDef:
    method = cst.ensure_type(block.node, cst.FunctionDef)
    comment = cst.EmptyLine(comment=cst.Comment(f"# {block.note}"))
    return method.with_changes(
        decorators=[d for d in method.decorators if d is not decorator],
        leading_lines=[comment] if block.note != owner.note else [],
    )


def _with_method(
    owner: cst.ClassDef, method: cst.FunctionDef, where: str
) -> cst.ClassDef:
    """The class with the method in place of what it called so, or at its end."""
    body = [s for s in _statements(owner.body) if not _is_pass(s)]
    older = [i for i, s in enumerate(body) if _defines(s, method.name.value)]
    if len(older) > 1:
        raise BookError(
            f"class '{owner.name.value}' defines '{method.name.value}' twice;"
            " save the class again in place of a part of it",
            where,
        )
    for i in older:
        body[i] = _documented(method, body[i])
    if not older:
        body.append(method)
    return owner.with_changes(body=cst.IndentedBlock(body))


def _statements(body: cst.Module | cst.BaseSuite) -> list[Statement]:
    if isinstance(body, cst.SimpleStatementSuite):
        return [cst.SimpleStatementLine(body.body)]
    return list(body.body)  # type: ignore[arg-type]


def _is_pass(statement: Statement) -> bool:
    return m.matches(statement, m.SimpleStatementLine([m.Pass()]))


def _defines(statement: Statement, name: str) -> bool:
    return m.matches(
        statement,
        m.FunctionDef(name=m.Name(name))
        | m.ClassDef(name=m.Name(name))
        | m.SimpleStatementLine([m.Assign([m.AssignTarget(m.Name(name))])])
        | m.SimpleStatementLine([m.AnnAssign(target=m.Name(name))]),
    )


def _documented(node: Statement, older: Statement) -> Statement:
    """A definition with the docstring of the one it replaces, if it has none."""
    if not isinstance(node, DEFINITION) or not isinstance(older, DEFINITION):
        return node
    if node.get_docstring() is not None or older.get_docstring() is None:
        return node
    body = [_statements(older.body)[0], *_statements(node.body)]
    return node.with_changes(body=cst.IndentedBlock(body))


# The names that blocks use, and where they come from


@dataclass(frozen=True)
class Import:
    """`import module as name` in a cell; `target` is what `name` is bound to."""

    name: str
    target: str
    module: str
    line: str
    where: str


def _uses(block: Block) -> Iterator[Use]:
    wrapper = MetadataWrapper(cst.Module([block.node]), unsafe_skip_copy=True)
    # Asked for together they take one walk of the tree.
    wrapper.resolve_many([ScopeProvider, ParentNodeProvider, ExpressionContextProvider])
    parents = wrapper.resolve(ParentNodeProvider)
    contexts = wrapper.resolve(ExpressionContextProvider)
    for node, access in _accesses(wrapper):
        early = not access.is_annotation and _runs_at_import(access.scope)
        if node.value != "d2l":
            yield Use(node.value, node, False, early, False)
            continue
        attribute = parents[node]
        if (
            not isinstance(attribute, cst.Attribute)
            or contexts[attribute] != ExpressionContext.LOAD
        ):
            raise BookError("d2l can only be read, as d2l.name", block.where_of(node))
        name = attribute.attr.value
        yield Use(name, attribute, True, early, _is_local(name, access.scope))


def _accesses(wrapper: MetadataWrapper) -> Iterator[tuple[cst.Name, Access]]:
    """Where names are read that are not local, in the order of the text."""
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
    outer = GlobalScope | BuiltinScope
    return any(not isinstance(a.scope, outer) for a in scope[name])


def _runs_at_import(scope: Scope) -> bool:
    while isinstance(scope, ClassScope | ComprehensionScope):
        scope = scope.parent
    return isinstance(scope, GlobalScope)


def _imports(cells: Iterable[Cell]) -> dict[str, list[Import]]:
    """What the cells import, saved or not, by the name that they give it."""
    found = defaultdict(list)
    hint = Import("Any", "typing.Any", "typing.Any", "from typing import Any", ALIASES)
    found["Any"].append(hint)
    for cell in cells:
        for node in ast.parse(cell.python).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    entry = _import(node, alias, cell.where(node.lineno))
                    found[entry.name].append(entry)
    return {name: entries for name, entries in found.items() if name != "d2l"}


def _import(node: ast.Import | ast.ImportFrom, alias: ast.alias, where: str) -> Import:
    name = alias.asname or alias.name.partition(".")[0]
    if isinstance(node, ast.ImportFrom):
        module = f"{'.' * node.level}{node.module or ''}.{alias.name}"
        line = ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
        return Import(name, module, module, line, where)
    target = alias.name if alias.asname else name
    return Import(name, target, alias.name, ast.unparse(ast.Import([alias])), where)


def _home(blocks: Iterable[Block]) -> dict[str, Block]:
    """The block that defines each name of the library."""
    home: dict[str, Block] = {}
    for block in blocks:
        for name in sorted(block.names):
            if name in home:
                raise BookError(
                    f"'{name}' is an alias in {home[name].where}; rename one of them",
                    block.where,
                )
            home[name] = block
    return home


def _check_names(
    block: Block, home: Mapping[str, Block], imports: Mapping[str, list[Import]]
) -> None:
    """Raise a `BookError` for a name that the library has not, or has twice."""
    for use in block.uses:
        problem = _problem(use, block, home.get(use.name), imports.get(use.name, []))
        if problem:
            raise BookError(problem, block.where_of(use.node))


def _problem(
    use: Use, block: Block, owner: Block | None, imports: list[Import]
) -> str | None:
    name = use.name
    if use.by_d2l:
        if owner or imports:
            return None
        return f"d2l.{name} is used but saved nowhere; mark its definition #@save"
    if name in BUILTINS:
        other = owner.where if owner else imports[0].where if imports else None
        return other and (
            f"'{name}' is Python's here but another in the library, by {other};"
            f" write d2l.{name} or builtins.{name}"
        )
    if owner and owner.is_alias and not block.is_alias:
        return f"'{name}' is an alias in {owner.where}; write d2l.{name}"
    if owner and imports:
        return f"'{name}' is saved at {owner.where} but imported at {imports[0].where}"
    if not owner and not imports:
        return f"name '{name}' is not defined in the library; save it or import it"
    return None


def _import_lines(name: str, imports: Sequence[Import]) -> Iterable[str]:
    """The lines that import `name`: several for `import a.b` beside `import a`."""
    first = imports[0]
    for other in imports:
        if other.target != first.target:
            raise BookError(
                f"'{name}' is `{other.line}` here but `{first.line}` at {first.where};"
                " import it the same way",
                other.where,
            )
    return {i.module: i.line for i in reversed(imports)}.values()


# Aliases


class _AnyHints(cst.CSTTransformer):
    """What an alias takes and returns is the framework's to say."""

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Param(
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        return updated_node.with_changes(annotation=cst.Annotation(cst.Name("Any")))

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        return updated_node.with_changes(returns=cst.Annotation(cst.Name("Any")))


def _aliases(settings: Mapping[str, str], tab: str) -> Iterator[Block]:
    where = f"config.ini [library-{tab}]"
    for source in _alias_sources(settings):
        try:
            module = cst.parse_module(source).visit(_AnyHints())
        except cst.ParserSyntaxError as error:
            line = source.splitlines()[0]
            raise BookError(f"'{line}' is not valid Python", where) from error
        for statement in _statements(module):
            yield Block(statement, ALIASES, where)


def _alias_sources(settings: Mapping[str, str]) -> Iterator[str]:
    """The aliases of a tab as Python, read as d2lbook reads them."""
    library = settings.get("lib_name")
    yield from settings.get("alias", "").splitlines()
    for name, target in _pairs(settings, "simple_alias"):
        yield f"{name} = {library}.{target}"
    for name, target in _pairs(settings, "fluent_alias"):
        call = f"x.{target}(*args, **kwargs)"
        yield f"def {name}(x, *args, **kwargs):\n    return {call}\n"
    for signature, result in stock._parse_mapping_config(
        settings.get("args_alias", ""), split_line=False
    ):
        yield f"def {signature}:\n    return {result}\n"


def _pairs(settings: Mapping[str, str], option: str) -> list[tuple[str, str]]:
    pairs = stock._parse_mapping_config(settings.get(option, ""))
    return [(name.rstrip("("), target.rstrip("(")) for name, target in pairs]


# From blocks to a module


def _in_order(blocks: Sequence[Block], home: Mapping[str, Block]) -> list[Block]:
    """The blocks as they were saved, but each after what it needs at import.

    Settings such as `npx.set_np()` come first, aliases that are functions last.
    """
    placed: dict[Block, None] = {}

    def place(block: Block, waiting: tuple[Block, ...] = ()) -> None:
        if block in waiting:
            raise BookError(
                f"{_title(block)} is needed at import before it is defined;"
                " give what replaces it another name",
                block.where,
            )
        for needed in _needs(block, home):
            if needed not in placed:
                place(needed, (*waiting, block))
        placed[block] = None

    for block in sorted(blocks, key=lambda block: _rank(block, home)):
        if block not in placed:
            place(block)
    return list(placed)


def _rank(block: Block, home: Mapping[str, Block]) -> int:
    if block.is_alias:
        return 3 if isinstance(block.node, cst.FunctionDef) else 1
    is_setting = not block.names and not any(u.name in home for u in block.uses)
    return 0 if is_setting else 2


def _needs(block: Block, home: Mapping[str, Block]) -> Iterator[Block]:
    """The blocks whose names a block reads when the library is imported."""
    for use in block.uses:
        owner = home.get(use.name)
        if use.at_import and owner and not (owner is block and _reads_own(block)):
            yield owner


def _reads_own(block: Block) -> bool:
    """Whether it may define a name and then read it, as `a = 1; b = a` does."""
    node = block.node
    if isinstance(node, cst.SimpleStatementLine):
        return len(node.body) > 1
    return not isinstance(node, DEFINITION)


def _title(block: Block) -> str:
    return ", ".join(f"'{name}'" for name in sorted(block.names))


def _module(
    header: str,
    blocks: Sequence[Block],
    home: Mapping[str, Block],
    imports: Mapping[str, list[Import]],
) -> str:
    uses = [use for block in blocks for use in block.uses]
    hidden = {use.name for use in uses if use.hidden}
    imported = sorted({u.name for u in uses if u.name in imports} - home.keys())
    lines = [header, "from __future__ import annotations"]
    for name in imported:
        lines += _import_lines(name, imports[name])
    lines.append(f"__all__ = {sorted(n for n in home if not n.startswith('_'))}")
    lines += _stand_ins(hidden.intersection(imported))
    for note, group in itertools.groupby(blocks, key=lambda block: block.note):
        for i, block in enumerate(group):
            if i == 0 or not block.is_alias:
                lines.append(f"\n# {note}")
            lines.append(_code(block))
            lines += _stand_ins(hidden & block.names)
    return "\n".join(lines)


class _Renamer(cst.CSTTransformer):
    """`d2l.name` becomes `name`, or its stand-in where a local variable hides it."""

    def __init__(self, uses: Iterable[Use]):
        super().__init__()
        self.names = {
            use.node: _stand_in(use.name) if use.hidden else use.name
            for use in uses
            if use.by_d2l
        }

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Name | cst.Attribute:
        if original_node not in self.names:
            return updated_node
        name = self.names[original_node]
        return cst.Name(name, lpar=updated_node.lpar, rpar=updated_node.rpar)


def _code(block: Block) -> str:
    return cst.Module([block.node]).visit(_Renamer(block.uses)).code


def _stand_in(name: str) -> str:
    return f"_d2l_{name}"


def _stand_ins(names: Iterable[str]) -> list[str]:
    return [f"{_stand_in(name)} = {name}" for name in sorted(names)]
