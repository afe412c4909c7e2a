"""Builds the module of a tab: its saved statements, in order, and their imports.

A statement that others need while the library is imported is placed before them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from d2lbook import library as stock

from book.base.errors import BookError
from book.library.marks import IMPORT
from book.library.merging import merge
from book.library.names import Use, uses
from book.library.saved import (
    ALIASES,
    SavedStatement,
    TabCell,
    edited,
    saved_statements,
    shown_statements,
    tab_cells,
)
from book.text.book import Book

BUILTINS = {*dir(builtins), "__file__", "__class__"}
# Below the line at which d2lbook cuts a library, of which it keeps the upper part.
BELOW = "# Edit the cells, not what is below: `make lib` writes it anew.\n"


def build_module(book: Book, tab: str, header: str) -> str:
    """Return the source of the library of `tab`, which begins with `header`.

    Raises a `BookError` for a mistake in a saved statement or an alias.
    """
    cells = list(tab_cells(book, tab))
    imports = _collect_imports(cells)
    saved = merge(block for cell in cells for block in saved_statements(cell))
    blocks = [*_aliases(book.config.library[tab], tab), *saved]
    owners = _owners(blocks)
    for block in blocks:
        _check_names(block, owners, imports)
    blocks = _sort_for_import(blocks, owners)
    return _source(header, blocks, owners, imports, public_names(book))


@functools.lru_cache(maxsize=1)
def public_names(book: Book) -> frozenset[str]:
    """Return the names that cells of any tab use as d2l.name, and those of config.ini.

    A use in a statement that the library holds does not count.
    """
    cells = (cell for tab in book.tabs for cell in tab_cells(book, tab))
    found = uses(node for cell in cells for node in shown_statements(cell))
    used = {use.name for use in found if use.by_d2l}
    return frozenset(used.union(book.config.library.get("public", "").split()))


class CellImport(NamedTuple):
    """`import module as name` in a cell; `target` is the object that `name` refers to.

    `line` is the statement as Python, and `where` is its file and line. The name is one
    of the library if the statement is `saved`.
    """

    target: str
    line: str
    where: str
    saved: bool = False


def _collect_imports(cells: Iterable[TabCell]) -> dict[str, list[CellImport]]:
    """Return the imports of all cells, saved or not, under the names they define."""
    imports: dict[str, list[CellImport]] = defaultdict(list)
    # The type hints of aliases use `Any`.
    imports["Any"] = [CellImport("typing.Any", "from typing import Any", ALIASES)]
    for cell in cells:
        for node in cell.code.statements:
            if isinstance(node, IMPORT):
                saved = node in cell.code.saved
                for alias in node.names:
                    name, target, line = _import(node, alias)
                    found = CellImport(target, line, cell.where(node.lineno), saved)
                    imports[name].append(found)
    return {name: entries for name, entries in imports.items() if name != "d2l"}


def _import(node: IMPORT, alias: ast.alias) -> tuple[str, str, str]:
    """Return the name that an import defines, its target, and a line of its own."""
    first = alias.name.partition(".")[0]
    if isinstance(node, ast.Import):
        target = alias.name if alias.asname else first
        return alias.asname or first, target, ast.unparse(ast.Import([alias]))
    target = f"{'.' * node.level}{node.module or ''}.{alias.name}"
    line = ast.unparse(ast.ImportFrom(node.module, [alias], node.level))
    return alias.asname or first, target, line


def _owners(blocks: Iterable[SavedStatement]) -> dict[str, SavedStatement]:
    """Return, for each name of the library, the block that defines it."""
    owners: dict[str, SavedStatement] = {}
    for block in blocks:
        for name in sorted(block.names):
            if name in owners:
                where = owners[name].where
                message = f"'{name}' is already an alias in {where}; rename one"
                raise BookError(message, block.where)
            owners[name] = block
    return owners


def _check_names(
    block: SavedStatement,
    owners: Mapping[str, SavedStatement],
    imports: Mapping[str, list[CellImport]],
) -> None:
    """Raise a `BookError` for a name that the library lacks or that is ambiguous."""
    for use in block.uses:
        owner = owners.get(use.name)
        found = [owner.where] if owner else []
        found += [entry.where for entry in imports.get(use.name, [])[:1]]
        is_alias = owner is not None and owner.is_alias and not block.is_alias
        if problem := _problem(use, found, is_alias):
            raise BookError(problem, block.where_of(use.node))


def _problem(use: Use, found: Sequence[str], is_alias: bool) -> str:
    """Return the reason why a block cannot use a name; empty if it can.

    The name is defined or imported where `found` says, perhaps as an alias.
    """
    name = use.name
    if use.by_d2l:
        lacks = f"d2l.{name} is used but not saved; mark its definition #@save"
        return "" if found else lacks
    if name in BUILTINS and found:
        return (
            f"'{name}' is Python's own here, but {found[0]} defines it in the library;"
            f" write d2l.{name} or builtins.{name}"
        )
    if is_alias:
        return f"'{name}' is an alias in {found[0]}; write d2l.{name}"
    match found:
        case [saved, imported]:
            return (
                f"'{name}' is saved at {saved} but imported at {imported}; rename one"
            )
        case [] if name not in BUILTINS:
            return f"name '{name}' is not defined in the library; save it or import it"
    return ""


def _import_lines(name: str, imports: Sequence[CellImport]) -> Iterable[str]:
    """Return the lines that import `name`, such as `import a` and `import a.b` for `a`.

    Raises a `BookError` if two cells import different objects under that name.
    """
    first = imports[0]
    for other in imports:
        if other.target != first.target:
            raise BookError(
                f"'{name}' is `{other.line}` here, but `{first.line}` at {first.where};"
                " import it the same way",
                other.where,
            )
    return dict.fromkeys(entry.line for entry in imports)


# Aliases


def _aliases(settings: Mapping[str, str], tab: str) -> Iterator[SavedStatement]:
    """Yield the definitions of a tab's aliases as blocks of the library."""
    where = f"config.ini [library-{tab}]"
    for source in _alias_sources(settings):
        try:
            statements = ast.parse(source).body
        except SyntaxError as error:
            line = source.splitlines()[0]
            message = f"'{line}' is not valid Python; correct it"
            raise BookError(message, where) from error
        for statement in statements:
            code = ast.unparse(_with_hints(statement))
            lines = tuple((line, where) for line in code.split("\n"))
            yield SavedStatement(lines, ALIASES)


def _with_hints(statement: ast.stmt) -> ast.stmt:
    """Return an alias whose parameters and result, if any, have the type `Any`."""
    if isinstance(statement, ast.FunctionDef):
        statement.returns = ast.Name("Any")
        for node in ast.iter_child_nodes(statement.args):
            if isinstance(node, ast.arg):
                node.annotation = ast.Name("Any")
    return statement


def _alias_sources(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the source of each alias of a tab, read as d2lbook reads it."""
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
    """Return the name and the target of each alias in an option."""
    pairs = stock._parse_mapping_config(settings.get(option, ""))
    return [(name.rstrip("("), target.rstrip("(")) for name, target in pairs]


# The module


def _sort_for_import(
    blocks: Sequence[SavedStatement], owners: Mapping[str, SavedStatement]
) -> list[SavedStatement]:
    """Return the blocks in their order, but each after those it needs at import.

    Settings such as `npx.set_np()` come first, and aliases that are functions last.
    """
    placed: dict[SavedStatement, None] = {}

    def place(block: SavedStatement, waiting: tuple[SavedStatement, ...] = ()) -> None:
        if block in waiting:
            names = ", ".join(f"'{name}'" for name in sorted(block.names))
            raise BookError(
                f"{names} is needed at import before it is defined;"
                " give the definition that replaces it another name",
                block.where,
            )
        for needed in _needed_at_import(block, owners):
            if needed not in placed:
                place(needed, (*waiting, block))
        placed[block] = None

    for block in sorted(blocks, key=lambda block: _rank(block, owners)):
        if block not in placed:
            place(block)
    return list(placed)


def _rank(block: SavedStatement, owners: Mapping[str, SavedStatement]) -> int:
    """Return 0 for a setting, 1 or 3 for an alias, and 2 for other blocks."""
    if block.is_alias:
        return 3 if isinstance(block.node, ast.FunctionDef) else 1
    is_setting = not block.names and not any(u.name in owners for u in block.uses)
    return 0 if is_setting else 2


def _needed_at_import(
    block: SavedStatement, owners: Mapping[str, SavedStatement]
) -> Iterator[SavedStatement]:
    """Yield the blocks whose names a block reads when the library is imported."""
    # It may define a name and then read it, as in `a = 1; b = a`.
    has_parts = len(block.nodes) > 1 or isinstance(block.node, ast.If | ast.Try)
    for use in block.uses:
        owner = owners.get(use.name)
        if use.at_import and owner and not (owner is block and has_parts):
            yield owner


def _source(
    header: str,
    blocks: Sequence[SavedStatement],
    owners: Mapping[str, SavedStatement],
    imports: Mapping[str, list[CellImport]],
    public: frozenset[str],
) -> str:
    """Return the source of a module with these blocks and the imports they use.

    `__all__` has those of its names that are `public`.

    `d2lbook build lib` keeps what is above its mark and writes the blocks anew, which
    then use each other as `d2l.name`.
    """
    uses = [use for block in blocks for use in block.uses]
    hidden = {use.name for use in uses if use.hidden}
    saved = {name for name, all_of in imports.items() if any(i.saved for i in all_of)}
    used = {use.name for use in uses if use.name in imports}
    imported = sorted((used | saved) - owners.keys())
    lines = [header, "from __future__ import annotations", "import sys"]
    for name in imported:
        lines += _import_lines(name, imports[name])
    names = _filled(sorted((owners.keys() | saved) & public))
    lines += ["# fmt: off", "__all__ = [", *names, "]", "# fmt: on"]
    lines.append("d2l = sys.modules[__name__]")
    lines += [*_stand_ins(hidden.intersection(imported)), f"{stock.HEADER}{BELOW}"]
    for note, group in itertools.groupby(blocks, key=lambda block: block.note):
        lines.append(f"\n# {note}")
        for block in group:
            code = _code(block)
            lines.append(code.rstrip("\n") if block.is_alias else code)
            lines += _stand_ins(hidden & block.names)
    return "\n".join(lines)


def _filled(names: Sequence[str]) -> list[str]:
    """Return lines of Python with these names as texts."""
    text = ", ".join(f'"{name}"' for name in names)
    lines = textwrap.wrap(text, 84, break_on_hyphens=False)
    return [f"    {line}" for line in lines]


def _code(block: SavedStatement) -> str:
    """Return the source of a block as it is in the module, without `d2l.`."""
    names = ((u.node, _stand_in(u.name) if u.hidden else u.name) for u in block.uses)
    return edited(block.code, names) + "\n"


def _stand_in(name: str) -> str:
    """Return another name for `name`, which no local variable hides."""
    return f"_d2l_{name}"


def _stand_ins(names: Iterable[str]) -> list[str]:
    """Return the lines that define stand-ins for `names`."""
    return [f"{_stand_in(name)} = {name}" for name in sorted(names)]
