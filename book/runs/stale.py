"""Runs the notebooks that are not fresh and keeps their outputs as records.

python -m book run [--tab TAB] [--section SECTION] [--machine NAME]

Several notebooks run at a time, each in a kernel of the interpreter of its own tab;
`book/runner/` runs one notebook.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from book.base import build_paths, environments
from book.base.files import locked
from book.base.progress import counted
from book.checks.quotations import wrong_quotations
from book.library import package
from book.records import fingerprint, store, validation
from book.runner import execution
from book.runner.errors import BookError
from book.runner.execution import Halt, Interpreter
from book.runner.machine import START_SECONDS, ask, gpus_of, is_cpu, machine_facts
from book.text.book import Book
from book.text.section import Section

MAX_KERNELS = 2


@dataclass(frozen=True)
class Job:
    """One section to run in one tab by one interpreter."""

    book: Book
    section: Section
    tab: str
    machine: str
    python: Path
    fingerprint: str = ""  # of the code at the time when the job was planned


Done = Callable[[Job, NotebookNode], None]


def run(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
    jobs: int | None = None,
    python: Path | None = None,
) -> int:
    """Run the notebooks that are not fresh, keep each record, return how many ran.

    Empty `tabs` or `sections` mean all of them. A notebook that fails keeps its old
    record while the others run on; a `BookError` then lists the failures.
    """
    check_names(book, tabs, sections, machine)
    python = python and check_interpreter(python)
    lock = book.root / build_paths.records_lock(machine)
    with locked(lock, f"another process writes outputs/{machine}"):
        # The kernels import the library of today's sources.
        package.write(book)
        due = plan(book, tabs, sections, machine, force)
        if not due:
            print("all records are fresh; there is nothing to run")
            return 0
        gpus_of(machine)  # raises an error if the name promises one that is not there
        print(f"to run: {_titles(due)}", flush=True)
        failures = _record([*_jobs(book, due, machine, python)], jobs)
    if failures:
        raise BookError("\n".join(failure.reason for failure in failures))
    return len(due)


def _jobs(
    book: Book, due: Iterable[tuple[Section, str]], machine: str, python: Path | None
) -> Iterator[Job]:
    """Yield a job for each section and tab, with `python` or that of the tab."""
    for section, tab in due:
        interpreter = python or environments.python(tab, book.root)
        code = fingerprint.fingerprint(book, section, tab)
        yield Job(book, section, tab, machine, interpreter, code)


def _titles(chosen: Iterable[tuple[Section, str]]) -> str:
    return ", ".join(f"{section.name} ({tab})" for section, tab in chosen)


def _record(ready: list[Job], parallel: int | None) -> list[Halt]:
    """Run the jobs, keep their records, print tracebacks, return the failures."""
    book, machine = ready[0].book, ready[0].machine
    facts = {
        tab: machine_facts(machine, tab, python, store.distributions(tab))
        for tab, python in {job.tab: job.python for job in ready}.items()
    }
    kept: list[tuple[Section, str]] = []

    def keep(job: Job, executed: NotebookNode) -> None:
        made_of = {"fingerprint": job.fingerprint}
        store.write(book, job.section, job.tab, executed, facts[job.tab] | made_of)
        kept.append((job.section, job.tab))

    failures = execute(ready, keep, parallel)
    for failure in failures:
        if failure.traceback:
            print(failure.traceback, file=sys.stderr)
    if kept:
        _warn_of_changes(book, machine, kept)
    print_sentences_to_reread(book, kept, machine)
    return failures


def print_sentences_to_reread(
    book: Book, recorded: Iterable[tuple[Section, str]], machine: str
) -> None:
    """Print the sentences with numbers that new records of `machine` do not have."""
    found = [
        line
        for section, tab in recorded
        for line in wrong_quotations(book, section, tab, machine)
    ]
    if found:
        print(f"reread these sentences: the outputs of {machine} have other numbers")
        print("\n".join(found))


def _warn_of_changes(
    book: Book, machine: str, kept: Sequence[tuple[Section, str]]
) -> None:
    """Name the records that are stale already, since their sources have changed."""
    try:
        due = [(s.name, tab) for s, tab in plan(Book(book.root), machine=machine)]
    except BookError:  # sources in the middle of a change cannot be read
        due = [(section.name, tab) for section, tab in kept]
    stale = [(section, tab) for section, tab in kept if (section.name, tab) in due]
    if stale:
        print(
            "warning: the sources changed during the run, so these records are stale:"
            f" {_titles(stale)}; repeat make run",
            file=sys.stderr,
        )


# Running


def execute(jobs: Sequence[Job], done: Done, parallel: int | None = None) -> list[Halt]:
    """Run `jobs`, `parallel` at a time, and return why some of them failed, and where.

    `done` gets each notebook that ran to its end. An interrupt stops the kernels and
    raises `KeyboardInterrupt`.
    """
    if parallel is None:
        # Two kernels would compete for the memory of one GPU.
        on_cpu = all(is_cpu(job.machine) for job in jobs)
        parallel = min(MAX_KERNELS, os.cpu_count() or 1) if on_cpu else 1
    return asyncio.run(_execute_all(jobs, done, parallel))


async def _execute_all(jobs: Sequence[Job], done: Done, parallel: int) -> list[Halt]:
    slots = asyncio.Semaphore(parallel)
    halts = await asyncio.gather(*(_run_job(job, done, slots) for job in jobs))
    return [halt for halt in halts if halt is not None]


async def _run_job(job: Job, done: Done, slots: asyncio.Semaphore) -> Halt | None:
    async with slots:
        notebook = store.blank(job.book, job.section, job.tab)
        progress = partial(execution.show_progress, f"{job.tab}: {job.section.name}")
        interpreter = Interpreter(job.python, job.book.root, job.machine)
        halt = await execution.execute(notebook, interpreter, progress)
    problems = validation.output_problems(store.cleaned(notebook))
    halt = halt or next((Halt(*problem) for problem in problems), None)
    if halt is not None:
        return replace(halt, reason=f"{_place(job, halt)}: {halt.reason}")
    try:
        done(job, notebook)
    except BookError as error:
        return Halt(0, str(error))
    return None


def _place(job: Job, halt: Halt) -> str:
    """Return the file and line at which a notebook stopped, with its tab and cell."""
    if not halt.cell:
        return f"{job.section.name}.md: {job.tab}"
    cell = job.book.cells(job.section, job.tab)[halt.cell - 1]
    # IPython counts the lines of a cell from the first that is not empty.
    empty = len(cell.code) - len(cell.code.lstrip("\n"))
    where = job.section.at(cell.line_of(halt.row + empty))
    return f"{where}: {job.tab}, cell {halt.cell}"


# What to run, and which interpreter runs it


def check_names(
    book: Book, tabs: Iterable[str], sections: Iterable[str], machine: str
) -> None:
    """Raise a `BookError` for a tab, section or machine that cannot be."""
    for tab in tabs:
        book.check_tab(tab)
    for section in sections:
        book.section(section)
    store.check_machine(machine)


def check_interpreter(python: Path) -> Path:
    """Return the absolute path of `python`, which may be on PATH.

    Raises a `BookError` if it does not run Python 3.11 or newer.
    """
    found = shutil.which(python)
    if found is None:
        raise BookError("not an interpreter; name one: PYTHON=FILE", python)
    test = "import sys; print(sys.version_info >= (3, 11))"
    try:
        answer = ask([found, "-c", test], START_SECONDS).strip()
    except (OSError, subprocess.SubprocessError):
        answer = ""
    if answer != "True":
        raise BookError("not Python 3.11 or newer; name one: PYTHON=FILE", found)
    # Not resolved: Python finds its environment through the link.
    return Path(found).absolute()


def plan(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
) -> list[tuple[Section, str]]:
    """Return the sections and tabs whose records are not fresh, or all if `force`."""
    named = [book.section(name) for name in sections]
    return [
        (section, tab)
        for section in counted(named or book.sections, "reading records")
        for tab in book.code_tabs(section)
        if tab in (tabs or book.tabs)
        and (force or store.state(book, section, tab, machine) != "fresh")
    ]
