"""Runs one notebook with nbclient and ipykernel."""

import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil  # ipykernel needs it too
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode

from .kernel_settings import RUN, kernel_settings
from .limits import CELL_SECONDS, MOST_CHARACTERS, TOO_LARGE
from .machine import START_SECONDS
from .signals import report

LOG_CHARACTERS = 2000
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Interpreter:
    """A Python that runs notebooks, with d2l in the folder `library`.

    `machine` is the name under which the outputs are kept.
    """

    python: Path
    library: Path
    machine: str


@dataclass(frozen=True)
class Halt:
    """Why a notebook stopped early: one line, and Python's traceback or last words."""

    cell: int  # counted from 1; 0 if the kernel did not start
    reason: str
    traceback: str = ""
    row: int = 1  # the line of the cell, counted from 1


Progress = Callable[[list[NotebookNode]], Iterable[NotebookNode]]


async def execute(
    notebook: NotebookNode, interpreter: Interpreter, progress: Progress
) -> Halt | None:
    """Run the cells of `notebook` and put their outputs into it.

    Return why it stopped early, or None. `progress` hands the cells on one by one.
    """
    with scratch_folder() as scratch:
        try:
            async with kernel(notebook, interpreter, scratch, LimitedClient) as client:
                return await _run_cells(client, progress(notebook.cells), scratch)
        except RuntimeError as error:
            reason = f"no kernel starts with {interpreter.python} ({error});"
            return Halt(0, f"{reason} is ipykernel installed?", _last_words(scratch))


async def _run_cells(
    client: "LimitedClient", cells: Iterable[NotebookNode], scratch: Path
) -> Halt | None:
    number = 0
    try:
        for number, cell in enumerate(cells, start=1):
            await client.async_execute_cell(cell, number - 1)
    except CellExecutionError as error:
        return _cell_failed(number, error)
    except CellTimeoutError:
        return Halt(number, f"it ran for more than {CELL_SECONDS} s")
    except RuntimeError:  # the kernel died, or the client gave the cell up
        if client.size > MOST_CHARACTERS:
            return Halt(number, TOO_LARGE)
        assert client.km is not None and client.km.provisioner is not None
        reason = _describe_exit(await client.km.provisioner.poll())
        return Halt(number, reason, _last_words(scratch))
    return None


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, which is removed in the end."""
    # The kernel's own children may still write while the folder is removed.
    with tempfile.TemporaryDirectory(
        prefix="book-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


class LimitedClient(NotebookClient):
    """A client that gives up a cell whose outputs are larger than a page can show."""

    cell_index = -1
    size = 0  # of what the current cell has sent, in characters of JSON

    def output(
        self,
        outs: list[NotebookNode],
        msg: dict[str, Any],
        display_id: str | None,
        cell_index: int,
    ) -> NotebookNode | None:
        if cell_index != self.cell_index:
            self.cell_index, self.size = cell_index, 0
        room = MOST_CHARACTERS - self.size
        self.size += len(json.dumps(msg["content"]))
        if self.size <= MOST_CHARACTERS:
            return super().output(outs, msg, display_id, cell_index)
        if msg["msg_type"] == "stream" and room > 0:
            # An endless loop prints in large pieces: keep the beginning of this one.
            msg["content"]["text"] = msg["content"]["text"][:room]
            super().output(outs, msg, display_id, cell_index)
        # nbclient takes this for the death of the kernel, and stops the cell.
        assert self.task_poll_for_reply is not None
        self.task_poll_for_reply.cancel()
        return None


Client = TypeVar("Client", bound=LimitedClient)


@contextlib.asynccontextmanager
async def kernel(
    notebook: NotebookNode,
    interpreter: Interpreter,
    scratch: Path,
    kind: type[Client],
) -> AsyncIterator[Client]:
    """Start a kernel of an interpreter, which works in an empty folder.

    Yields a client of this `kind`. Raises a `RuntimeError` if no kernel starts.
    """
    manager = AsyncKernelManager(
        kernel_name="book",
        kernel_spec_manager=OneInterpreter(interpreter.python),
        connection_file=str(scratch / "kernel.json"),
        transport="ipc",
    )
    client = kind(
        notebook,
        km=manager,
        timeout=CELL_SECONDS,
        startup_timeout=START_SECONDS,
        record_timing=False,
    )
    client.log.disabled = True
    settings = kernel_settings(
        interpreter.python, interpreter.library, interpreter.machine, scratch
    )
    try:
        await _start(client, settings, scratch)
        yield client
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
        end_processes(settings[RUN])


async def _start(
    client: NotebookClient, settings: Mapping[str, str], scratch: Path
) -> None:
    """Start the kernel of a client; what the kernel itself prints goes to a log."""
    work = scratch / "work"
    work.mkdir()
    with open(scratch / "kernel.log", "w") as log:
        await client.async_start_new_kernel(
            cwd=str(work), env=settings, stdout=log, stderr=log
        )
    await client.async_start_new_kernel_client()


def end_processes(run: str) -> None:
    """Kill the processes that the cells of a run started and left behind.

    Those in a session of their own outlive the kernel; their environment names the run.
    """
    for process in psutil.process_iter(["environ"]):
        if (process.info["environ"] or {}).get(RUN) == run:
            with contextlib.suppress(psutil.Error):
                process.kill()


class OneInterpreter(KernelSpecManager):
    """The list of kernels, with one entry: that of `python`."""

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


def _cell_failed(number: int, error: CellExecutionError) -> Halt:
    head = f"{error.ename}: {error.evalue}".strip().splitlines()[0]
    traceback = COLOR.sub("", error.traceback)
    row = re.search(rf"Cell In\[{number}\], line (\d+)", traceback)
    return Halt(number, COLOR.sub("", head), traceback, int(row[1]) if row else 1)


def _describe_exit(status: int | None) -> str:
    """Return how the kernel ended; `status` is negative for a signal."""
    if status is None:
        return "the kernel does not answer any more"
    if status >= 0:
        return f"the kernel exited with status {status}"
    names = {each.value: each.name for each in signal.Signals}
    reason = f"the kernel was killed by {names.get(-status, f'signal {-status}')}"
    return reason + (", probably for lack of memory" if status == -9 else "")


def _last_words(scratch: Path) -> str:
    """Return the end of the kernel's log."""
    try:
        with open(scratch / "kernel.log", "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LOG_CHARACTERS))
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


# Progress


def show_progress(title: str, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells; report each one on a terminal, and at the end their time."""
    start = time.monotonic()
    for number, cell in enumerate(cells, start=1):
        if sys.stderr.isatty():
            report(f"{title}: cell {number} of {len(cells)}", end="\r")
        yield cell
    report(f"{title}: {len(cells)} cells in {time.monotonic() - start:.1f} s")
