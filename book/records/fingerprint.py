"""Fingerprints of code: hashes that differ if the outputs of a record may differ."""

import ast
import functools
import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from book.base import build_paths, environments
from book.library import package
from book.library.declarations import undeclared
from book.runner.freshness import digest
from book.text.book import Book
from book.text.section import Section

ALWAYS = "*"
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
# Of each name: the statements that bind it, and the names that these use.
Definitions = dict[str, list[tuple[str, list[str]]]]
D2L_NAME = re.compile(r"\bd2l\.(\w+)")
OWN_MODULES = re.compile(r"^from d2l import (.+)", re.MULTILINE)


def fingerprint(book: Book, section: Section, tab: str) -> str:
    """Return a hash of everything that determines the outputs of a section in one tab.

    That is its code, the blocks of d2l that it uses, also in modules that d2l imports
    from its own package, the data files of d2l that these name, and the pins of its
    environment.
    """
    sources = [cell.code for cell in book.cells(section, tab)]
    used = {name for source in sources for name in D2L_NAME.findall(source)}
    modules = [package.generated(book, name) for name in (tab, package.COMMON)]
    shared = package.modules(book, "\n".join(modules))
    definitions = _kept_definitions(book.root, *modules, *shared.values())
    parts = [*sources, *_blocks(definitions, used)]
    code = "\n".join(parts)
    parts += [text for name, text in package.data_files(book).items() if name in code]
    parts += environments.pins_on(environments.RECORDING, tab, book.root)
    # Records count characters, and the digest of a list counts bytes.
    return digest("".join(f"{len(part)}:{part}" for part in parts))


@functools.lru_cache(maxsize=8)
def _kept_definitions(root: Path, *modules: str) -> Definitions:
    kept = build_paths.cache(root, "sources")
    return kept.value(
        ["definitions", *modules], lambda: _definitions("\n".join(modules))
    )


def _blocks(definitions: Definitions, names: Iterable[str]) -> list[str]:
    """Return the definitions that `names` need, theirs included, normalized."""
    needed, found = {ALWAYS, *names}, set[str]()
    waiting = [*needed]
    while waiting:
        for source, needs in definitions.get(waiting.pop(), []):
            found.add(source)
            waiting += {*needs} - needed
            needed |= {*needs}
    return sorted(found)


def _definitions(module: str) -> Definitions:
    """Of each top-level name: the statements that bind it, and the names these use.

    Several modules may stand one after the other. Statements that bind no name, such as
    `npx.set_np()`, are listed under `ALWAYS`.
    """
    definitions: Definitions = {}
    modules = {"d2l", *re.findall(r"\w+", " ".join(OWN_MODULES.findall(module)))}
    for statement in _statements(ast.parse(module)):
        used = sorted(set(_used_names(statement, modules)))
        entry = (_normalize(statement), used)
        for name in set(bound_names(statement)) or {ALWAYS}:
            definitions.setdefault(name, []).append(entry)
    return definitions


def _statements(module: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module without docstrings, each import by itself.

    An import from `d2l.common` only says in which file a definition is, and what is
    declared for type checkers does not run.
    """
    for statement in module.body:
        match statement:
            case ast.Expr(ast.Constant()):
                pass  # a docstring
            case ast.ImportFrom("d2l.common"):
                pass
            case ast.ImportFrom(names=names):
                for name in names:
                    yield ast.ImportFrom(statement.module, [name], statement.level)
            case ast.Import(names=names):
                yield from (ast.Import([name]) for name in names)
            case _:
                if code := undeclared(statement):
                    yield code


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a statement binds or changes."""
    if isinstance(statement, FUNCTION | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, FUNCTION | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name):
                yield node.value.id


def _used_names(statement: ast.stmt, modules: Container[str]) -> Iterator[str]:
    """Yield the names that a statement uses, also as `module.name`, as in `d2l.f`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                yield node.attr


def _normalize(statement: ast.stmt) -> str:
    """Return the code of a statement without docstrings, comments and layout.

    Methods are in alphabetical order: the cells that add them to a class may change
    places.
    """
    for node in ast.walk(statement):
        if isinstance(node, FUNCTION | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
        if isinstance(node, ast.ClassDef):
            found = [part for part in node.body if isinstance(part, FUNCTION)]
            methods = iter(sorted(found, key=lambda method: method.name))
            body = (next(methods) if part in found else part for part in node.body)
            node.body = [*body]
    return ast.unparse(statement)
