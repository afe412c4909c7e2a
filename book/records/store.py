"""Records of runs: executed notebooks in `outputs/MACHINE/TAB/SECTION.ipynb`.

A record holds a section's code cells in one tab with their outputs and the facts of
the run: machine, versions, date, and the fingerprint of the code. It is stale if the
code in the sources has another fingerprint now, and damaged if its outputs were edited
or no page can show them. It does not hold prose.
"""

import ast
import copy
import errno
import functools
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import nbformat
from nbformat import NotebookNode

from book.base import environments
from book.base.errors import BookError
from book.base.files import write_whole
from book.base.kept import Kept
from book.library import package
from book.records import cleaning, images
from book.records.cleaning import SHOWN, UNPRINTABLE, clean_outputs
from book.records.images import problem_with_image
from book.sources.blocks import Block, Cell
from book.sources.book import Book
from book.sources.section import Section

State = Literal["fresh", "stale", "missing", "damaged"]

FACTS = (
    "machine",
    "machine_name",
    "gpu",
    "driver",
    "framework",
    "framework_version",
    "python",
    "platform",
    "cpu",
    "date",
    "fingerprint",
    "outputs",
)
# The outputs of one cell, as JSON; `book/runs/remote.py` has the same limit.
MOST_CHARACTERS = 1_000_000
TOO_LARGE = (
    f"its outputs have more than {MOST_CHARACTERS:,} characters; print or draw less"
)
# A longer line fills more than half a page, and TeX may refuse it.
LONGEST_LINE = 2000
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
MACHINE = re.compile(r"[a-z0-9-]+")
# Errors of reading and checking a file that is not a notebook.
UNREADABLE = (
    *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    nbformat.ValidationError,
)
# The distributions that may contain a tab's framework, if not named like the tab; the
# first one that is installed counts.
DISTRIBUTIONS = {
    "pytorch": ["torch"],
    "mxnet": ["mxnet", "mxnet-cu117"],
    "tensorflow": ["tensorflow", "tensorflow-cpu"],
}
PIN = re.compile(r"([\w.-]+)(?:\[[^\]]*\])? *== *([^\s;]+)")
ALWAYS = "*"
# Of each name: the statements that bind it, and the names that these use.
Definitions = dict[str, list[tuple[str, list[str]]]]
D2L_NAME = re.compile(r"\bd2l\.(\w+)")


# Where a record is, and whether it is fresh


def check_machine(machine: str) -> str:
    """Return `machine`; raise a `BookError` if it is not a valid name of one."""
    if not MACHINE.fullmatch(machine):
        raise BookError(
            f"'{machine}' is not a valid name; use a-z, 0-9 and '-', as in h200",
            "MACHINE",
        )
    return machine


def machines(book: Book) -> list[str]:
    """Return the names of the machines with records, `cpu` first."""
    folders = [p.name for p in (book.root / "outputs").glob("*/") if p.is_dir()]
    names = [name for name in folders if MACHINE.fullmatch(name)]
    return sorted(names, key=lambda name: (name != "cpu", name))


def path(book: Book, section: Section, tab: str, machine: str = "cpu") -> Path:
    """Return the path of a record, whether it exists or not."""
    folder = book.root / "outputs" / check_machine(machine) / tab
    return folder / f"{section.name}.ipynb"


def state(book: Book, section: Section, tab: str, machine: str = "cpu") -> State:
    """Return the state of the record of `section` in `tab`.

    A section without code in that tab needs no record and is fresh.
    """
    return _look_up(book, section, tab, machine)[0]


def states(book: Book, machine: str = "cpu") -> Iterator[tuple[Section, str, State]]:
    """Yield the state of each section in each tab in which it has code."""
    for section in book.sections:
        for tab in book.code_tabs(section):
            yield section, tab, state(book, section, tab, machine)


def _look_up(
    book: Book, section: Section, tab: str, machine: str
) -> tuple[State, NotebookNode | None]:
    cells = book.cells(section, tab)
    if not cells:
        return "fresh", None
    file = path(book, section, tab, machine)
    if not file.exists():
        return "missing", None
    record = _read(book, file)
    if record is None:
        return "damaged", None
    module = package.generated(book, tab)
    if record.metadata.book.fingerprint != _fingerprint(book, tab, cells, module):
        return "stale", None
    if [c.source for c in record.cells] != [c.code for c in cells]:
        _warn(file, "its code does not have its fingerprint")
        return "damaged", None
    return "fresh", record


def _read(book: Book, file: Path) -> NotebookNode | None:
    """Return the record in `file`; if it is damaged, warn once and return None."""
    try:
        if not file.is_file():
            raise OSError(errno.EINVAL, "not a file")
        text = file.read_text(encoding="utf-8")
        kept = Kept(book.root / "_build" / "verdicts")
        problem = kept.text([*_rules(), text], lambda: _problem_with_text(text))
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
    except UNREADABLE:
        problem = "not a notebook"
    if problem:
        _warn(file, problem)
        return None
    return nbformat.v4.reads(text)


@functools.cache
def _rules() -> list[str]:
    """Return everything that the verdict on a record depends on, but the record."""
    modules = [cleaning.__file__, images.__file__, __file__]
    return [nbformat.__version__, *(Path(m).read_text("utf-8") for m in modules)]


def _problem_with_text(text: str) -> str:
    """Return why a text is not shown as the record of a run; empty if it is."""
    try:
        record = nbformat.v4.reads(text)
        nbformat.validate(record)
        return _problem_with_record(record)
    except UNREADABLE:
        return "not a notebook"


def _problem_with_record(record: NotebookNode) -> str:
    facts = record.metadata.get("book")
    if not isinstance(facts, dict) or not set(FACTS) <= set(facts):
        return "it does not say what made it"
    if not all(map(_is_text, facts.values())):
        return "a fact of its machine is not a text"
    if any(cell.cell_type != "code" for cell in record.cells):
        return "it holds more than code"
    for number, problem in output_problems(record):
        return f"cell {number}: {problem}"
    if facts["outputs"] != _hash_of_outputs(record):
        return "its outputs were edited"
    return ""


def output_problems(nb: NotebookNode) -> Iterator[tuple[int, str]]:
    """Yield the number of each cell, from 1, with outputs that are not shown, and why.

    The outputs are those that `cleaned` returns.
    """
    for number, cell in enumerate(nb.cells, start=1):
        if problem := _problem_with_outputs(cell):
            yield number, problem


def _problem_with_outputs(cell: NotebookNode) -> str:
    if len(json.dumps(cell.outputs)) > MOST_CHARACTERS:
        return TOO_LARGE
    problems = filter(None, map(_problem_with_output, cell.outputs))
    places = [part.get("metadata", {}) for part in [cell, *cell.outputs]]
    if not all(_is_text(place.get("alt", "")) for place in places):
        return "the description of an image is not a text"
    return next(problems, "")


def _problem_with_output(output: NotebookNode) -> str:
    data = output.get("data", {})
    for kind, shown in data.items():
        if kind not in SHOWN:
            return f"it shows {kind}, which no page does"
        if kind.startswith("image/"):
            if problem := problem_with_image(kind, shown):
                return f"an image ({kind}) {problem}"
    texts = [text for kind, text in data.items() if kind.startswith("text/")]
    texts += [output.get("text", "")]
    if not all(map(_is_text, texts)):
        return "it prints what is not text"
    longest = max(len(line) for text in texts for line in text.split("\n"))
    if longest > LONGEST_LINE:
        return f"it prints a line of {longest:,} characters; break it into shorter ones"
    return ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not UNPRINTABLE.search(value)


def _hash_of_outputs(record: NotebookNode) -> str:
    outputs = [cell.outputs for cell in record.cells]
    text = json.dumps(outputs, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@functools.cache
def _warn(file: Path, reason: str) -> None:
    print(
        f"warning: {file}: damaged record ({reason}); replace it with make run",
        file=sys.stderr,
    )


# Reading and writing


@dataclass(frozen=True)
class Shown:
    """Return the blocks that a tab shows, with the outputs of a record that is fresh.

    `outputs` has a list for each cell; `facts`, empty without a fresh record, say what
    made them and which version of the framework `installs` from the tab's pins.
    """

    tab: str
    blocks: list[Block]
    state: State
    facts: dict[str, str]
    outputs: list[list[NotebookNode]]
    counts: list[int | None]


def shown(book: Book, section: Section, tab: str, machine: str = "cpu") -> Shown | None:
    """Return what `tab` shows of a section; None if all of its code is for others."""
    blocks = book.blocks(section, tab)
    if not blocks:
        return None
    found, record = _look_up(book, section, tab, machine)
    if record is None:
        cells = book.cells(section, tab)
        return Shown(tab, blocks, found, {}, [[] for _ in cells], [None for _ in cells])
    facts = {**record.metadata.book, "installs": pinned_version(book, tab)}
    outputs = [cell.outputs for cell in record.cells]
    counts = [cell.execution_count for cell in record.cells]
    return Shown(tab, blocks, found, facts, outputs, counts)


def pinned_version(book: Book, tab: str) -> str:
    """Return the framework's version in a tab's environment; empty if not pinned."""
    pinned = filter(None, map(PIN.match, environments.pins(tab, book.root)))
    versions = {found[1]: found[2] for found in pinned}
    names = DISTRIBUTIONS.get(tab, [tab])
    return next((versions[name] for name in names if name in versions), "")


def titles(book: Book) -> dict[str, str]:
    """Return a distinct title, for readers, of each machine with a fresh record."""
    found = {machine: _title(book, machine) for machine in machines(book)}
    bearers = Counter(found.values())
    unclear = {m for m, title in found.items() if bearers[title] > 1} - {"cpu"}
    return {
        machine: f"{title} ({machine})" if machine in unclear else title
        for machine, title in found.items()
        if title
    }


def _title(book: Book, machine: str) -> str:
    """Return the GPUs in a machine's fresh records; empty if it has no such record."""
    found = (
        _look_up(book, section, tab, machine)[1]
        for section in book.sections
        for tab in book.tabs
    )
    facts = (record.metadata.book for record in found if record is not None)
    if machine == "cpu":
        return "CPU" if any(facts) else ""
    names = (f["gpu"] or f["machine_name"] or machine for f in facts)
    return " / ".join(dict.fromkeys(names))


def blank(book: Book, section: Section, tab: str) -> NotebookNode:
    """Return the code cells of a section in one tab, without outputs."""
    nb = nbformat.v4.new_notebook()
    for number, cell in enumerate(book.cells(section, tab), start=1):
        new = nbformat.v4.new_code_cell(cell.code, id=f"cell-{number:02}")
        if cell.varies:
            new.metadata["tags"] = ["varies"]
        nb.cells.append(new)
    return nb


def varies(cell: NotebookNode) -> bool:
    """Return whether a recorded cell's output differs from run to run."""
    return "varies" in cell.metadata.get("tags", [])


def write(
    book: Book,
    section: Section,
    tab: str,
    executed: NotebookNode,
    facts: dict[str, str],
) -> Path:
    """Keep an executed `blank` notebook as a record and return the record's path.

    `facts["machine"]` is the machine that it belongs to; `facts["fingerprint"]` is that
    of the code, taken before it ran.
    """
    file = path(book, section, tab, facts["machine"])
    record = cleaned(executed)
    record.metadata = NotebookNode(
        book=facts | {"outputs": _hash_of_outputs(record)},
        kernelspec=KERNEL,
        language_info={"name": "python", "version": facts["python"]},
    )
    write_whole(file, nbformat.writes(record) + "\n")
    return file


def cleaned(executed: NotebookNode) -> NotebookNode:
    """Return a copy of an executed notebook, its outputs cleaned."""
    nb = copy.deepcopy(executed)
    for cell in nb.cells:
        cell.outputs = clean_outputs(cell.outputs)
    return nb


# What a record depends on


def fingerprint(
    book: Book, section: Section, tab: str, module: str | None = None
) -> str:
    """Return a hash of everything that determines the outputs of a section in one tab.

    That is its code, the blocks of d2l that it uses, the data files of d2l that these
    name, and the pins of its environment.
    The blocks come from `module`, or from today's sources if it is None.
    """
    if module is None:
        module = package.generated(book, tab)
    return _fingerprint(book, tab, book.cells(section, tab), module)


def _fingerprint(book: Book, tab: str, cells: list[Cell], module: str) -> str:
    sources = [cell.code for cell in cells]
    used = {name for source in sources for name in D2L_NAME.findall(source)}
    definitions = _kept_definitions(book.root, module)
    parts = [*sources, *_blocks(definitions, used)]
    code = "\n".join(parts)
    parts += [text for name, text in package.data_files(book).items() if name in code]
    parts += environments.pins(tab, book.root)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=8)
def _kept_definitions(root: Path, module: str) -> Definitions:
    kept = Kept(root / "_build" / "definitions")
    made_by = Path(__file__).read_text("utf-8")
    text = kept.text([made_by, module], lambda: json.dumps(_definitions(module)))
    found: Definitions = json.loads(text)
    return found


def _blocks(definitions: Definitions, names: Iterable[str]) -> list[str]:
    """Return the definitions that `names` need, theirs included, normalized."""
    seen: set[str] = set()
    found: set[str] = set()
    waiting = [ALWAYS, *names] if definitions else []
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for source, needs in definitions.get(name, []):
            found.add(source)
            waiting += needs
    return sorted(found)


def _definitions(module: str) -> Definitions:
    """Of each top-level name: the statements that bind it, and the names these use.

    Statements that bind no name, such as `npx.set_np()`, are listed under `ALWAYS`.
    """
    definitions: Definitions = {}
    for statement in ast.parse(module).body:
        if _is_docstring(statement):
            continue
        names = set(_bound_names(statement)) or {ALWAYS}
        used = sorted(set(_used_names(statement)))
        entry = (_normalize(statement), used)
        for name in names:
            definitions.setdefault(name, []).append(entry)
    return definitions


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name):
                yield node.value.id


def _used_names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "d2l":
                yield node.attr


def _normalize(statement: ast.stmt) -> str:
    """Return the code of a statement without docstrings, comments and layout."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
    return ast.unparse(statement)
