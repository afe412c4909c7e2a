"""Records of runs: executed notebooks in `outputs/MACHINE/TAB/SECTION.ipynb`.

A record holds a section's code cells in one tab with their outputs and the facts of
the run: machine, versions, date, and the fingerprint of the code. It is stale if the
code in the sources has another fingerprint now, and damaged if its outputs were edited
or no page can show them. It does not hold prose.
"""

import copy
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import nbformat
from nbformat import NotebookNode

from book.base import build_paths, environments
from book.base.progress import counted
from book.records.cleaning import clean_outputs
from book.records.fingerprint import fingerprint
from book.records.validation import hash_of_outputs, problem_with_text
from book.runner.errors import BookError
from book.runner.files import write_whole
from book.text.blocks import Block, Cell
from book.text.book import Book
from book.text.section import Section

State = Literal["fresh", "stale", "missing", "damaged"]
RecordState = tuple[str, str, str, State]  # of a section in a tab on a machine

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
MACHINE = re.compile(r"[a-z0-9-]+")
# The distributions that may contain a tab's framework, if not named like the tab; the
# first one that is installed counts.
DISTRIBUTIONS = {
    "pytorch": ["torch"],
    "mxnet": ["mxnet", "mxnet-cu117"],
    "tensorflow": ["tensorflow", "tensorflow-cpu"],
}


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
    """Return `cpu`, and the names of other machines with records."""
    folders = sorted(p.name for p in (book.root / "outputs").glob("*/") if p.is_dir())
    return list(dict.fromkeys(["cpu", *filter(MACHINE.fullmatch, folders)]))


def path(book: Book, section: Section, tab: str, machine: str = "cpu") -> Path:
    """Return the path of a record, whether it exists or not."""
    folder = book.root / "outputs" / check_machine(machine) / tab
    return folder / f"{section.name}.ipynb"


def state(book: Book, section: Section, tab: str, machine: str = "cpu") -> State:
    """Return the state of the record of `section` in `tab`.

    A section without code in that tab needs no record and is fresh.
    """
    return _look_up(book, section, tab, machine)[0]


def states(book: Book, *sections: Section) -> Iterator[RecordState]:
    """Yield the state of each record of some sections, or of all if none is named."""
    for section in counted(sections or book.sections, "reading records"):
        for machine in machines(book):
            for tab in book.code_tabs(section):
                yield section.name, tab, machine, state(book, section, tab, machine)


def notes(states: Iterable[RecordState]) -> list[str]:
    """Return a line for each machine that has to run sections to record outputs."""
    due: dict[str, list[str]] = {}
    for section, tab, machine, how in states:
        # Machines other than the CPU may record only a part of the book.
        if how in ("stale", "damaged") or (how == "missing" and machine == "cpu"):
            due.setdefault(machine, []).append(f"{section} ({tab}, {how})")
    options = {machine: f" MACHINE={machine}" for machine in due} | {"cpu": ""}
    return sorted(
        f"without outputs: {', '.join(names)}; make run{options[machine]}"
        for machine, names in due.items()
    )


def _look_up(
    book: Book, section: Section, tab: str, machine: str
) -> tuple[State, NotebookNode | None]:
    """Return the state of a record, and the record itself if it is fresh."""
    file = path(book, section, tab, machine)
    if not book.cells(section, tab):
        return "fresh", None
    if not file.exists():
        return "missing", None
    try:
        problem, record = _judge(book, section, tab, file.read_text("utf-8"))
    except OSError as error:
        problem, record = f"it cannot be read: {error.strerror}", None
    except UnicodeDecodeError:
        problem, record = "not a notebook", None
    if problem:
        _warn(file.relative_to(book.root), problem)
        return "damaged", None
    return ("fresh" if record else "stale"), record


@functools.cache  # a build looks at each record several times
def _judge(
    book: Book, section: Section, tab: str, text: str
) -> tuple[str, NotebookNode | None]:
    """Return the damage of a record, if any, and the record if it is fresh."""
    verdicts = build_paths.cache(book.root, "sources")
    if problem := verdicts.value(["verdict", text], lambda: problem_with_text(text)):
        return problem, None
    record = nbformat.v4.reads(text)
    if record.metadata.book.fingerprint != fingerprint(book, section, tab):
        return "", None
    today = [cell.code for cell in book.cells(section, tab)]
    if [cell.source for cell in record.cells] != today:
        return "its code does not have its fingerprint", None
    return "", record


@functools.cache
def _warn(file: Path, reason: str) -> None:
    print(
        f"warning: {file}: damaged record ({reason}); replace it with make run",
        file=sys.stderr,
    )


# Reading and writing


@dataclass(frozen=True)
class Shown:
    """The blocks that a tab shows, whose cells have the outputs of a fresh record.

    `facts`, empty without a fresh record, say what made the outputs and which version
    of the framework `installs` from the tab's pins.
    """

    tab: str
    blocks: list[Block]
    state: State = "fresh"
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells in order."""
        return (block for block in self.blocks if isinstance(block, Cell))


def shown(book: Book, section: Section, tab: str, machine: str = "cpu") -> Shown | None:
    """Return what `tab` shows of a section; None if all of its code is for others."""
    blocks = book.blocks(section, tab)
    if not blocks:
        return None
    found, record = _look_up(book, section, tab, machine)
    if record is None:
        return Shown(tab, blocks, found)
    recorded = iter(record.cells)
    blocks = [
        _with_outputs(block, next(recorded)) if isinstance(block, Cell) else block
        for block in blocks
    ]
    facts = {**record.metadata.book, "installs": pinned_version(book, tab)}
    return Shown(tab, blocks, found, facts)


def _with_outputs(cell: Cell, recorded: NotebookNode) -> Cell:
    outputs, count = tuple(recorded.outputs), recorded.execution_count
    return replace(cell, outputs=outputs, count=count)


def pinned_version(book: Book, tab: str) -> str:
    """Return the framework's version in a tab's environment; empty if not pinned."""
    pins = environments.pins_on(environments.RECORDING, tab, book.root)
    versions = dict(pin.split("==") for pin in pins if "==" in pin)
    names = distributions(tab)
    return next((versions[name] for name in names if name in versions), "")


def distributions(tab: str) -> list[str]:
    """Return the distributions that may contain the framework of a tab."""
    return DISTRIBUTIONS.get(tab, [tab])


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
        for section in counted(book.sections, "reading records")
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
    write_whole(file, nbformat.writes(new_record(executed, facts)) + "\n")
    return file


def new_record(executed: NotebookNode, facts: dict[str, str]) -> NotebookNode:
    """Return the record of an executed notebook, its outputs cleaned."""
    record = cleaned(executed)
    record.metadata = NotebookNode(
        book=facts | {"outputs": hash_of_outputs(record)},
        kernelspec=KERNEL,
        language_info={"name": "python", "version": facts["python"]},
    )
    return record


def cleaned(executed: NotebookNode) -> NotebookNode:
    """Return a copy of an executed notebook, its outputs cleaned."""
    nb = copy.deepcopy(executed)
    for cell in nb.cells:
        cell.outputs = clean_outputs(cell.outputs)
    return nb
