"""Runs notebooks, a few at a time, each in a kernel of its own tab's interpreter.

`book/runs/run.py` decides what is to run and keeps what comes out of it; how one is run
is in `book/runs/remote.py`.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode
from tqdm import tqdm

from book.base.errors import BookError
from book.records import store
from book.runs import remote
from book.sources.book import Book
from book.sources.section import Section

MAX_KERNELS = 2


@dataclass(frozen=True)
class Job:
    """One section to run in one tab by one interpreter."""

    book: Book
    section: Section
    tab: str
    machine: str
    python: Path
    fingerprint: str = ""  # of the code as it was when the job was made

    @property
    def title(self) -> str:
        return f"{self.tab}: {self.section.name}"

    @property
    def place(self) -> remote.Place:
        return remote.Place(self.python, self.book.root, self.machine)


@dataclass(frozen=True)
class Failure:
    """A notebook that did not run to its end: one line, and what Python said."""

    message: str
    traceback: str = ""


Done = Callable[[Job, NotebookNode], None]


# Running


def execute(
    jobs: Sequence[Job], done: Done, parallel: int | None = None
) -> list[Failure]:
    """Run `jobs`, a few at a time; `done` gets each notebook as it ends.

    Interrupted, it stops the kernels and raises `KeyboardInterrupt`.
    """
    if parallel is None:
        # Two kernels would fight for the memory of one GPU.
        on_cpu = all(job.machine == "cpu" for job in jobs)
        parallel = min(MAX_KERNELS, os.cpu_count() or 1) if on_cpu else 1
    return asyncio.run(_execute_all(jobs, done, parallel))


async def _execute_all(jobs: Sequence[Job], done: Done, parallel: int) -> list[Failure]:
    slots = asyncio.Semaphore(parallel)
    tasks = [asyncio.ensure_future(_guarded(job, done, slots)) for job in jobs]
    with remote.stopping(tasks) as interrupted:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    if interrupted:
        raise KeyboardInterrupt
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Failure)]


async def _guarded(job: Job, done: Done, slots: asyncio.Semaphore) -> Failure | None:
    async with slots:
        notebook = store.blank(job.book, job.section, job.tab)
        halt = await remote.execute(notebook, job.place, partial(_progress, job))
    if halt is not None:
        where = _where(job, halt)
        return Failure(f"{where}: {halt.reason}", halt.traceback)
    try:
        done(job, notebook)
    except BookError as error:
        return Failure(str(error))
    return None


def _progress(job: Job, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells and show how far they are: a bar, or a line if no one watches."""
    if sys.stderr.isatty():
        yield from tqdm(cells, desc=job.title, unit=" cells", leave=True)
        return
    start = time.monotonic()
    yield from cells
    seconds = time.monotonic() - start
    print(f"{job.title}: {len(cells)} cells in {seconds:.1f} s", file=sys.stderr)


# Failures


def _where(job: Job, halt: remote.Halt) -> str:
    """Return the file and line at which a notebook stopped, with its tab and cell."""
    if not halt.cell:
        return f"{job.section.name}.md: {job.tab}"
    cell = job.book.cells(job.section, job.tab)[halt.cell - 1]
    # IPython counts the lines of a cell from the first that is not empty.
    empty = len(cell.code) - len(cell.code.lstrip("\n"))
    where = job.section.at(cell.line_of(halt.row + empty))
    return f"{where}: {job.tab}, cell {halt.cell}"
