"""Runs notebooks, several at a time, each in a kernel of its own tab's interpreter.

`book/runs/run.py` decides what to run and keeps the results; `book/runner/` runs one
notebook.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode

from book.base.errors import BookError
from book.records import store, validation
from book.runner import execution
from book.runner.execution import Halt, Interpreter
from book.runner.machine import is_cpu
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

    @property
    def title(self) -> str:
        return f"{self.tab}: {self.section.name}"

    @property
    def interpreter(self) -> Interpreter:
        return Interpreter(self.python, self.book.root, self.machine)


@dataclass(frozen=True)
class Failure:
    """Why a notebook was not recorded: one line, and Python's traceback if any."""

    message: str
    traceback: str = ""


Done = Callable[[Job, NotebookNode], None]


# Running


def execute(
    jobs: Sequence[Job], done: Done, parallel: int | None = None
) -> list[Failure]:
    """Run `jobs`, `parallel` at a time, and return the failures.

    `done` gets each notebook that ran to its end. An interrupt stops the kernels and
    raises `KeyboardInterrupt`.
    """
    if parallel is None:
        # Two kernels would compete for the memory of one GPU.
        on_cpu = all(is_cpu(job.machine) for job in jobs)
        parallel = min(MAX_KERNELS, os.cpu_count() or 1) if on_cpu else 1
    return asyncio.run(_execute_all(jobs, done, parallel))


async def _execute_all(jobs: Sequence[Job], done: Done, parallel: int) -> list[Failure]:
    slots = asyncio.Semaphore(parallel)
    tasks = (_run_job(job, done, slots) for job in jobs)
    results = await asyncio.gather(*tasks)
    return [result for result in results if result is not None]


async def _run_job(job: Job, done: Done, slots: asyncio.Semaphore) -> Failure | None:
    async with slots:
        notebook = store.blank(job.book, job.section, job.tab)
        progress = partial(execution.show_progress, job.title)
        halt = await execution.execute(notebook, job.interpreter, progress)
    if halt is None:
        halt = _problem_with_outputs(notebook)
    if halt is not None:
        where = _describe_place(job, halt)
        return Failure(f"{where}: {halt.reason}", halt.traceback)
    try:
        done(job, notebook)
    except BookError as error:
        return Failure(str(error))
    return None


def _problem_with_outputs(notebook: NotebookNode) -> Halt | None:
    problems = validation.output_problems(store.cleaned(notebook))
    return next((Halt(*problem) for problem in problems), None)


# Failures


def _describe_place(job: Job, halt: Halt) -> str:
    """Return the file and line at which a notebook stopped, with its tab and cell."""
    if not halt.cell:
        return f"{job.section.name}.md: {job.tab}"
    cell = job.book.cells(job.section, job.tab)[halt.cell - 1]
    # IPython counts the lines of a cell from the first that is not empty.
    empty = len(cell.code) - len(cell.code.lstrip("\n"))
    where = job.section.at(cell.line_of(halt.row + empty))
    return f"{where}: {job.tab}, cell {halt.cell}"
