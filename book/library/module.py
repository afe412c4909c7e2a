"""Builds the module of a tab: its saved statements, in order, and their imports.

A statement that others need while the library is imported is placed before them. What
is the same in all tabs is in a module of its own, which those of the tabs import.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from d2lbook import library as stock

from book.library.bindings import Use, uses
from book.library.declarations import declared
from book.library.marks import IMPORT
from book.library.merging import merge
from book.library.saved import (
    ALIASES,
    SavedStatement,
    TabCell,
    edited,
    library_tabs,
    saved_statements,
    shown_statements,
    tab_cells,
)
from book.runner.errors import BookError
from book.text.book import Book

BUILTINS = {*dir(builtins), "__file__", "__class__"}
# Below the line at which d2lbook cuts a library, of which it keeps the upper part.
BELOW = "# Edit the cells, not what is below: `make lib` writes it anew.\n"


def build_module(book: Book, tab: str, header: str) -> str:
    """Return the source of the library of `tab`, which begins with `header`.

    Raises a `BookError` for a mistake in a saved statement or an alias.
    """
    return _source(header, _library(book, tab), common_names(book), public_names(book))


def build_common(book: Book, header: str) -> str:
    """Return the source of the module that the libraries of all tabs import."""
    library, names = _library(book, library_tabs(book)[0]), common_names(book)
    blocks = [block for block in library.blocks if block.names & names]
    imports = library.imports_of(blocks)
    lines = [header, "from __future__ import annotations"]
    return "\n".join([*lines, *library.import_lines(imports), *_body(blocks, imports)])


class _Library(NamedTuple):
    """The statements of a tab's library in order, their names, and its imports."""

    blocks: list[SavedStatement]
    owners: dict[str, SavedStatement]
    imports: dict[str, list[CellImport]]

    def imports_of(self, blocks: Iterable[SavedStatement]) -> set[str]:
        """Return the names that these statements use and that cells import."""
        used = {use.name for block in blocks for use in block.uses}
        return used & self.imports.keys() - self.owners.keys()

    def import_lines(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the lines that import these names."""
        for name in sorted(names):
            yield from _import_lines(name, self.imports[name])

    def targets(self, name: str) -> set[str]:
        """Return the objects that a name of the library refers to if it is imported."""
        return {entry.target for entry in self.imports.get(name, ())}


@functools.lru_cache(maxsize=8)
def _library(book: Book, tab: str) -> _Library:
    """Return the library of a tab, with what others have, too."""
    cells = list(tab_cells(book, tab))
    imports = _collect_imports(cells)
    merged = merge(block for cell in cells for block in saved_statements(cell))
    saved = list(declared(merged))
    blocks = [*_aliases(book.config.library[tab], tab), *saved]
    owners = _owners(blocks)
    for block in blocks:
        _check_names(block, owners, imports)
    return _Library(_sort_for_import(blocks, owners), owners, imports)


@functools.lru_cache(maxsize=1)
def common_names(book: Book) -> frozenset[str]:
    """Return the names of the statements that are the same in all tabs.

    They use only each other and what is imported alike. What cells change outside of
    the library is not among them: the change must not reach the libraries of others.
    """
    first, *others = (_library(book, tab) for tab in library_tabs(book))
    changed = {name for tab in book.tabs for name in _changed_names(book, tab)}
    same = {
        block
        for block in first.blocks
        if _is_stateless(block) and not block.names & changed
        if others and all(_is_alike(block, first, other) for other in others)
    }
    needs = {
        block: {first.owners.get(use.name, block) for use in block.uses}
        for block in same
    }
    while different := {block for block in same if needs[block] - same}:
        same -= different
    return frozenset(name for block in same for name in block.names)


def _is_stateless(block: SavedStatement) -> bool:
    """Return whether a statement keeps nothing that one library could change."""
    match block.nodes:
        case [ast.FunctionDef() | ast.ClassDef() as node]:
            parts = [*ast.walk(node)]
            own = any(use.name.startswith("__") for use in block.uses)  # `__name__`
            return not own and not any(isinstance(part, ast.Global) for part in parts)
        case [ast.Assign(value=ast.Call(ast.Name("namedtuple")))]:
            return True
    return False


def _is_alike(block: SavedStatement, first: _Library, other: _Library) -> bool:
    """Return whether a statement of one library is also in another."""
    found = other.owners.get(min(block.names, default=""))
    if found is None or (found.note, _code(found)) != (block.note, _code(block)):
        return False
    names = {use.name for use in block.uses} - first.owners.keys()
    return all(first.targets(name) == other.targets(name) for name in names)


def _changed_names(book: Book, tab: str) -> Iterator[str]:
    """Yield the names of the library that cells bind anew, and classes they extend."""
    shown = (node for cell in tab_cells(book, tab) for node in shown_statements(cell))
    for node in (part for statement in shown for part in ast.walk(statement)):
        match node:
            case (
                ast.Attribute(ast.Name("d2l"), name, ast.Store())
                | ast.Attribute(ast.Attribute(ast.Name("d2l"), name), _, ast.Store())
                | ast.Call(
                    ast.Name("add_to_class") | ast.Attribute(attr="add_to_class"),
                    [ast.Name(name) | ast.Attribute(attr=name)],
                )
            ):
                yield name


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
    # The type hints of aliases and declarations use these.
    for name in "Any", "TypedDict", "Unpack":
        line = f"from typing import {name}"
        imports[name] = [CellImport(f"typing.{name}", line, ALIASES)]
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
            code = ast.unparse(_documented(statement))
            lines = tuple((line, where) for line in code.split("\n"))
            yield SavedStatement(lines, ALIASES)


def _documented(statement: ast.stmt) -> ast.stmt:
    """Return an alias; a function says what it returns, and all its types are `Any`."""
    if isinstance(statement, ast.FunctionDef):
        result = ast.unparse(statement.body[-1]).removeprefix("return ")
        statement.body.insert(0, ast.Expr(ast.Constant(f"Return `{result}`.")))
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
    header: str, library: _Library, common: frozenset[str], public: frozenset[str]
) -> str:
    """Return the source of the module of a tab, with the imports that it uses.

    `__all__` has those of its names that are `public`, and `common` are those that it
    imports from the module of all tabs.

    `d2lbook build lib` keeps what is above its mark and writes all blocks anew, which
    then use each other as `d2l.name`. So it needs the imports of the common ones, too.
    """
    own = [block for block in library.blocks if not block.names & common]
    entries = library.imports.items()
    saved = {name for name, all_of in entries if any(i.saved for i in all_of)}
    imported = library.imports_of(own) | saved - library.owners.keys()
    shared = common | library.imports_of(library.blocks) - imported
    lines = [header, "from __future__ import annotations", "import sys"]
    lines += library.import_lines(imported)
    texts = [f'"{name}"' for name in sorted((library.owners.keys() | saved) & public)]
    lines += ["# fmt: off", "__all__ = [", *_filled(texts), "]"]
    if shared:
        lines += ["from d2l.common import (  # noqa: F401, I001"]
        lines += [*_filled(sorted(shared)), ")"]
    lines += ["# fmt: on", "d2l = sys.modules[__name__]"]
    return "\n".join([*lines, *_body(own, imported | shared, stock.HEADER + BELOW)])


def _body(
    blocks: Sequence[SavedStatement], imported: AbstractSet[str], mark: str = ""
) -> Iterator[str]:
    """Yield the lines below the imports of a module with these blocks, after `mark`."""
    hidden = {use.name for block in blocks for use in block.uses if use.hidden}
    yield from [*_stand_ins(hidden & imported), mark]
    for note, group in itertools.groupby(blocks, key=lambda block: block.note):
        yield f"\n# {note}"
        for block in group:
            code = _code(block)
            yield code.rstrip("\n") if block.is_alias else code
            yield from _stand_ins(hidden & block.names)


def _filled(words: Sequence[str]) -> list[str]:
    """Return lines of Python with these words."""
    lines = textwrap.wrap(", ".join(words), 84, break_on_hyphens=False)
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
