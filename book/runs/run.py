"""Runs the notebooks that are not fresh and keeps their outputs as records.

python -m book run [--tab TAB] [--section SECTION] [--machine NAME]

Each notebook runs in the interpreter of its own tab.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbformat import NotebookNode

from book.base import build_paths, environments
from book.base.errors import BookError
from book.base.files import locked
from book.checks.numbers import wrong_quotations
from book.library import package
from book.records import fingerprint, store
from book.runner.machine import START_SECONDS, ask, gpus_of, machine_facts
from book.runs.kernels import Failure, Job, execute
from book.text.book import Book
from book.text.section import Section


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
        _print_plan(due)
        ready = _plan_jobs(book, due, machine, python)
        failures = _execute(ready, jobs)
    if failures:
        raise BookError("\n".join(failure.message for failure in failures))
    return len(ready)


def _plan_jobs(
    book: Book, due: list[tuple[Section, str]], machine: str, python: Path | None
) -> list[Job]:
    of = interpreters(book, (tab for _, tab in due), python)
    return [
        Job(
            *(book, section, tab, machine, of[tab]),
            fingerprint=fingerprint.fingerprint(book, section, tab),
        )
        for section, tab in due
    ]


def _execute(ready: list[Job], parallel: int | None) -> list[Failure]:
    """Run the jobs, keep their records, print tracebacks, return the failures."""
    of = {job.tab: job for job in ready}
    facts = {
        tab: machine_facts(job.machine, tab, job.python, store.distributions(tab))
        for tab, job in of.items()
    }
    kept: list[Job] = []

    def keep(job: Job, executed: NotebookNode) -> None:
        made_of = {"fingerprint": job.fingerprint}
        store.write(job.book, job.section, job.tab, executed, facts[job.tab] | made_of)
        kept.append(job)

    failures = execute(ready, keep, parallel)
    for failure in failures:
        if failure.traceback:
            print(failure.traceback, file=sys.stderr)
    if kept:
        _warn_of_changes(kept)
        recorded = [(job.section, job.tab) for job in kept]
        print_sentences_to_reread(kept[0].book, recorded, kept[0].machine)
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


def _warn_of_changes(kept: list[Job]) -> None:
    """Name the records that are stale already, since their sources have changed."""
    try:
        states = store.states(Book(kept[0].book.root), kept[0].machine)
        fresh = {(section.name, tab) for section, tab, how in states if how == "fresh"}
    except BookError:
        fresh = set()  # sources in the middle of a change cannot be read
    stale = [job for job in kept if (job.section.name, job.tab) not in fresh]
    if stale:
        names = ", ".join(f"{job.section.name} ({job.tab})" for job in stale)
        print(
            "warning: the sources changed during the run, so these records are stale:"
            f" {names}; repeat make run",
            file=sys.stderr,
        )


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
    return [
        (section, tab)
        for section in ([book.section(s) for s in sections] or book.sections)
        for tab in book.code_tabs(section)
        if tab in (tabs or book.tabs)
        and (force or store.state(book, section, tab, machine) != "fresh")
    ]


def _print_plan(due: list[tuple[Section, str]]) -> None:
    names = ", ".join(f"{section.name} ({tab})" for section, tab in due)
    print(f"to run: {names}", flush=True)


def interpreters(
    book: Book, tabs: Iterable[str], python: Path | None = None
) -> dict[str, Path]:
    """Return the interpreter of each tab; build the environments that are missing."""
    return {
        tab: python or environments.python(tab, book.root) for tab in sorted(set(tabs))
    }
