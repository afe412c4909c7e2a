"""The module of a tab: its saved statements, in order, with what they import.

A statement that is needed while the library is imported is put before those that
need it.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst
from d2lbook import library as stock

from book.base.errors import BookError
from book.library.merging import DEFINITION, merged
from book.library.saved import (
    ALIASES,
    Block,
    TabCell,
    Use,
    saved_blocks,
    statements,
    tab_cells,
)
from book.sources.book import Book

BUILTINS = {*dir(builtins), "__file__", "__class__"}


def module(book: Book, tab: str, header: str) -> str:
    """Return the library of `tab` as a Python module that begins with `header`."""
    cells = list(tab_cells(book, tab))
    imports = _imports(cells)
    saved = merged(block for cell in cells for block in saved_blocks(cell))
    blocks = [*_aliases(book.config.library[tab], tab), *saved]
    home = _home(blocks)
    for block in blocks:
        _check_names(block, home, imports)
    return _module(header, _in_order(blocks, home), home, imports)


@dataclass(frozen=True)
class Import:
    """`import module as name` in a cell; `target` is what `name` is bound to."""

    name: str
    target: str
    module: str
    line: str
    where: str


def _imports(cells: Iterable[TabCell]) -> dict[str, list[Import]]:
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
        for statement in statements(module):
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
