"""Runs notebooks, a few at a time, each in a kernel of its own tab's interpreter.

`book/run.py` decides what is to run and keeps what comes out of it.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat import NotebookNode
from tqdm import tqdm

from book import records
from book.errors import BookError
from book.hygiene import TERMINAL_CODE
from book.sources import Book, Section

CELL_SECONDS = 20 * 60
START_SECONDS = 120
MAX_KERNELS = 2

KERNEL_SETTINGS = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GLOG_minloglevel": "3",
    "MXNET_SUBGRAPH_VERBOSE": "0",
    "COLUMNS": "80",
}
# The records of `cpu` are the same wherever they are made: no GPU is seen, no kernel
# is chosen by the processor at hand, and sums are added up by one thread, in order.
CPU_SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "OMP_NUM_THREADS": "1",
}
# A record holds what everybody sees: the static plot, where widgets would answer.
HIDE_WIDGETS = "__import__('sys').modules['ipywidgets'] = None"
WITHOUT_WIDGETS = f"c.InteractiveShellApp.exec_lines = [{HIDE_WIDGETS!r}]\n"
# Settings of the caller's own Python, which a kernel must not inherit.
CALLERS_OWN = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONSTARTUP", "MPLBACKEND")


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
    with _stopping(tasks) as interrupted:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    if interrupted:
        raise KeyboardInterrupt
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Failure)]


@contextlib.contextmanager
def _stopping(tasks: Sequence[asyncio.Future[Failure | None]]) -> Iterator[list[int]]:
    """Cancel `tasks` on the first SIGINT or SIGTERM; what it yields tells of that."""
    interrupted: list[int] = []

    def stop(number: int) -> None:
        if not interrupted:
            interrupted.append(number)
            for task in tasks:
                task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield interrupted
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _guarded(job: Job, done: Done, slots: asyncio.Semaphore) -> Failure | None:
    async with slots:
        notebook = records.blank(job.book, job.section, job.tab)
        failure = await _execute(job, notebook)
    if failure is None:
        try:
            done(job, notebook)
        except BookError as error:
            return Failure(str(error))
    return failure


async def _execute(job: Job, notebook: NotebookNode) -> Failure | None:
    """Run the cells of `notebook` in place."""
    number = 0
    with _scratch_folder() as scratch:
        log = scratch / "kernel.log"
        try:
            async with _kernel(job, notebook, scratch) as client:
                for number, cell in enumerate(_progress(job, notebook.cells), start=1):
                    await client.async_execute_cell(cell, number - 1)
        except CellExecutionError as error:
            return _cell_failed(job, number, error)
        except CellTimeoutError:
            return Failure(f"{_where(job, number)}: ran over {CELL_SECONDS} s")
        except (DeadKernelError, RuntimeError) as error:
            return _kernel_died(job, number, error, log)
    return None


@contextlib.contextmanager
def _scratch_folder() -> Iterator[Path]:
    # A kernel's own children may still write when the folder goes.
    with tempfile.TemporaryDirectory(
        prefix="book-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _progress(job: Job, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells and show how far they are: a bar, or a line if no one watches."""
    if sys.stderr.isatty():
        yield from tqdm(cells, desc=job.title, unit=" cells", leave=True)
        return
    start = time.monotonic()
    yield from cells
    seconds = time.monotonic() - start
    print(f"{job.title}: {len(cells)} cells in {seconds:.1f} s", file=sys.stderr)


@contextlib.asynccontextmanager
async def _kernel(
    job: Job, notebook: NotebookNode, scratch: Path
) -> AsyncIterator[NotebookClient]:
    """A kernel of the job's interpreter, working in an empty folder of its own."""
    manager = AsyncKernelManager(
        kernel_name=job.tab,
        kernel_spec_manager=OneInterpreter(job.python),
        connection_file=str(scratch / "kernel.json"),
        transport="ipc",
    )
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_SECONDS,
        startup_timeout=START_SECONDS,
        record_timing=False,
    )
    client.log.disabled = True
    work = scratch / "work"
    work.mkdir()
    try:
        with open(scratch / "kernel.log", "w") as log:
            await client.async_start_new_kernel(
                cwd=str(work), env=kernel_settings(job, scratch), stdout=log, stderr=log
            )
        await client.async_start_new_kernel_client()
        yield client
    finally:
        await _stop(manager, client)


async def _stop(manager: AsyncKernelManager, client: NotebookClient) -> None:
    if client.kc is not None:
        client.kc.stop_channels()
    if manager.has_kernel:
        await manager.shutdown_kernel(now=True)


class OneInterpreter(KernelSpecManager):
    """Knows one kernel, that of `python`, whatever else is installed."""

    def __init__(self, python: Path):
        super().__init__()
        self.python = python

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        launch = [str(self.python), "-m", "ipykernel_launcher"]
        return KernelSpec(
            argv=[*launch, "-f", "{connection_file}"],
            display_name=kernel_name,
            language="python",
        )


def kernel_settings(job: Job, scratch: Path) -> dict[str, str]:
    """The environment of a job's kernel: nothing of the user's own set-up shows."""
    rc = scratch / "matplotlibrc"
    rc.write_text("svg.hashsalt: book\n")
    profile = scratch / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text(WITHOUT_WIDGETS)
    inherited = {k: v for k, v in os.environ.items() if k not in CALLERS_OWN}
    return {
        **inherited,
        **KERNEL_SETTINGS,
        **(CPU_SETTINGS if job.machine == "cpu" else {}),
        "PATH": f"{job.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(job.book.root),
        "MATPLOTLIBRC": str(rc),
        "IPYTHONDIR": str(scratch / "ipython"),
    }


# Failures


def _cell_failed(job: Job, number: int, error: CellExecutionError) -> Failure:
    head = f"{error.ename}: {error.evalue}".strip().splitlines()[0]
    return Failure(
        f"{_where(job, number)}: {TERMINAL_CODE.sub('', head)}",
        TERMINAL_CODE.sub("", error.traceback),
    )


def _kernel_died(job: Job, number: int, error: Exception, log: Path) -> Failure:
    last = log.read_text(errors="replace")[-2000:] if log.exists() else ""
    if number:
        reason = "the kernel died, as it does when memory runs out"
    else:
        reason = f"no kernel starts with {job.python} ({error}); is ipykernel there?"
    return Failure(f"{_where(job, number)}: {reason}", last)


def _where(job: Job, number: int) -> str:
    """The file and line of a tab's cell, counted from 1; 0 is the notebook as such."""
    if not number:
        return f"{job.section.name}.md: {job.tab}"
    line = cell_lines(job.book, job.section, job.tab)[number - 1]
    return f"{job.section.name}.md:{line}: {job.tab}, cell {number}"


def cell_lines(book: Book, section: Section, tab: str) -> list[int]:
    """The line on which the code of each of a tab's cells starts in the Markdown."""
    line_of: dict[int, int] = {}
    position = 0
    for index, cell in enumerate(book.notebook(section).cells):
        if cell.cell_type == "code":
            position = max(section.text.find(cell.source, position), 0)
            line_of[index] = section.text.count("\n", 0, position) + 1
            position += len(cell.source)
    return [line_of[c.metadata.origin_pos] for c in book.code_cells(section, tab)]
