"""Runs what is stale, each notebook in its own tab's interpreter, keeps the outputs.

python -m book run [--tab TAB] [--section SECTION] [--machine NAME]
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbformat import NotebookNode

from book.base import environments
from book.base.errors import BookError
from book.base.files import locked
from book.library import package
from book.records import store
from book.runs import remote
from book.runs.kernels import Failure, Job, execute
from book.sources.book import Book
from book.sources.section import Section


def run(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
    jobs: int | None = None,
    python: Path | None = None,
) -> int:
    """Run the notebooks that are not fresh and keep each record; how many were run.

    Empty `tabs` or `sections` mean all of them. A failure leaves the old record and
    the other notebooks run on; then a `BookError` tells of all failures.
    """
    check_names(book, tabs, sections, machine)
    python = python and check_interpreter(python)
    lock = book.root / "_build" / "locks" / f"outputs-{machine}.lock"
    with locked(lock, f"another process fills outputs/{machine}"):
        # The kernels import what the sources say now.
        package.write(book)
        due = plan(book, tabs, sections, machine, force)
        if not due:
            print("all records are fresh: nothing to run")
            return 0
        _tell_plan(due)
        ready = _jobs(book, due, machine, python)
        failures = _execute(ready, jobs)
    if failures:
        raise BookError("\n".join(failure.message for failure in failures))
    return len(ready)


def _jobs(
    book: Book, due: list[tuple[Section, str]], machine: str, python: Path | None
) -> list[Job]:
    of = interpreters(book, (tab for _, tab in due), python)
    return [
        Job(
            *(book, section, tab, machine, of[tab]),
            fingerprint=store.fingerprint(book, section, tab),
        )
        for section, tab in due
    ]


def _execute(ready: list[Job], parallel: int | None) -> list[Failure]:
    """Run the jobs and keep their records; what failed is told and returned."""
    of = {job.tab: job for job in ready}
    facts = {
        tab: machine_facts(job.machine, tab, job.python) for tab, job in of.items()
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
    _tell_changed(kept)
    return failures


def _tell_changed(kept: list[Job]) -> None:
    """Say which records are stale already: their sources changed while they ran."""
    changed = [f"{job.section.name} ({job.tab})" for job in _changed(kept)]
    if changed:
        print(
            "warning: the sources changed while they ran, so these records are stale:"
            f" {', '.join(changed)}; make run",
            file=sys.stderr,
        )


def _changed(kept: list[Job]) -> list[Job]:
    """The jobs whose code the sources, read again, do not say any more."""
    if not kept:
        return []
    try:
        book = Book(kept[0].book.root)
        now = {section.name: section for section in book.sections}
        return [
            job
            for job in kept
            if job.section.name not in now
            or job.fingerprint
            != store.fingerprint(book, now[job.section.name], job.tab)
        ]
    except BookError:
        # In the middle of a change, they say nothing that was run.
        return kept


# What to run, and with what


def check_names(
    book: Book, tabs: Iterable[str], sections: Iterable[str], machine: str
) -> None:
    """Refuse what does not exist before anything is done."""
    for tab in tabs:
        book.check_tab(tab)
    for section in sections:
        book.section(section)
    store.check_machine(machine)


def check_interpreter(python: Path) -> Path:
    """The whole path of `python`, looked for on PATH; refused if it runs no Python."""
    found = shutil.which(python)
    if found is None:
        raise BookError("no interpreter there; name one: PYTHON=FILE", python)
    test = "import sys; print(sys.version_info >= (3, 11))"
    try:
        asked = subprocess.run(
            [found, "-c", test],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=remote.START_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        asked = None
    if asked is None or asked.stdout.strip() != b"True":
        raise BookError("this is no Python 3.11 or newer; name one: PYTHON=FILE", found)
    # Not resolved: the link of an environment is what makes it one.
    return Path(found).absolute()


def plan(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
) -> list[tuple[Section, str]]:
    """The sections and tabs whose records are not fresh; with `force`, all of them."""
    return [
        (section, tab)
        for section in ([book.section(s) for s in sections] or book.sections)
        for tab in book.code_tabs(section)
        if tab in (tabs or book.tabs)
        and (force or store.state(book, section, tab, machine) != "fresh")
    ]


def _tell_plan(due: list[tuple[Section, str]]) -> None:
    names = ", ".join(f"{section.name} ({tab})" for section, tab in due)
    print(f"to run: {names}", flush=True)


def interpreters(
    book: Book, tabs: Iterable[str], python: Path | None = None
) -> dict[str, Path]:
    """The interpreter of each tab; environments that are not there are built."""
    return {
        tab: python or environments.python(tab, book.root) for tab in sorted(set(tabs))
    }


def machine_facts(machine: str, tab: str, python: Path) -> dict[str, str]:
    """What a record tells of the machine and of the interpreter that ran it."""
    names = store.DISTRIBUTIONS.get(tab, [tab])
    try:
        return remote.machine_facts(machine, tab, python, names)
    except subprocess.CalledProcessError:
        raise BookError("this interpreter does not start", python) from None
