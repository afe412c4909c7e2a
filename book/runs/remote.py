"""Runs notebooks, with what a machine has beside its framework: nbclient, ipykernel.

`make export` copies this file, as run.py, into the folder that it writes; there,

    python run.py [--tab TAB] [--section SECTION]

runs the folder's notebooks by the Python that it is called with, and keeps each in
results/ with what made it. The book runs its own notebooks by the same code, see
book/runs/kernels.py; so nothing of the book is imported here, and Python 3.10 will do.
"""

import argparse
import asyncio
import contextlib
import datetime
import functools
import hashlib
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info < (3, 10):  # noqa: UP036  # where it is copied to, it may be
    sys.exit(f"error: Python {platform.python_version()} is too old; use 3.10 or newer")
INSTALL = f"{sys.executable} -m pip install nbclient ipykernel"
try:
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import (
        CellExecutionError,
        CellTimeoutError,
        DeadKernelError,
    )
    from nbformat import NotebookNode
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"error: {error.name} is missing here; {INSTALL}")

CELL_SECONDS = 20 * 60
START_SECONDS = 120

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
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


# One notebook


@dataclass(frozen=True)
class Place:
    """Where notebooks run: by which Python, with d2l from which folder."""

    python: Path
    root: Path
    machine: str


@dataclass(frozen=True)
class Halt:
    """Why a notebook did not run to its end: one line, and what Python said."""

    cell: int  # counted from 1; 0 if it did not come to the first
    reason: str
    traceback: str = ""
    row: int = 1  # the line of the cell, counted from 1


Progress = Callable[[list[NotebookNode]], Iterable[NotebookNode]]


async def execute(
    notebook: NotebookNode, place: Place, progress: Progress
) -> Halt | None:
    """Run the cells of `notebook` in place; `progress` hands them on one by one."""
    number = 0
    with _scratch_folder() as scratch:
        try:
            async with _kernel(notebook, place, scratch) as client:
                for number, cell in enumerate(progress(notebook.cells), start=1):
                    await client.async_execute_cell(cell, number - 1)
        except CellExecutionError as error:
            return _cell_failed(number, error)
        except CellTimeoutError:
            return Halt(number, f"ran over {CELL_SECONDS} s")
        except (DeadKernelError, RuntimeError) as error:
            return _kernel_died(number, error, place.python, scratch / "kernel.log")
    return None


@contextlib.contextmanager
def _scratch_folder() -> Iterator[Path]:
    # A kernel's own children may still write when the folder goes.
    with tempfile.TemporaryDirectory(
        prefix="book-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@contextlib.asynccontextmanager
async def _kernel(
    notebook: NotebookNode, place: Place, scratch: Path
) -> AsyncIterator[NotebookClient]:
    """A kernel of the place's interpreter, working in an empty folder of its own."""
    manager = AsyncKernelManager(
        kernel_name="book",
        kernel_spec_manager=OneInterpreter(place.python),
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
    settings = kernel_settings(place, scratch)
    try:
        with open(scratch / "kernel.log", "w") as log:
            await client.async_start_new_kernel(
                cwd=str(work), env=settings, stdout=log, stderr=log
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


def kernel_settings(place: Place, scratch: Path) -> dict[str, str]:
    """The environment of a kernel: nothing of the user's own set-up shows."""
    rc = scratch / "matplotlibrc"
    rc.write_text("svg.hashsalt: book\n")
    profile = scratch / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text(WITHOUT_WIDGETS)
    inherited = {k: v for k, v in os.environ.items() if k not in CALLERS_OWN}
    return {
        **inherited,
        **KERNEL_SETTINGS,
        **(CPU_SETTINGS if place.machine == "cpu" else {}),
        "PATH": f"{place.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(place.root),
        "MATPLOTLIBRC": str(rc),
        "IPYTHONDIR": str(scratch / "ipython"),
    }


def _cell_failed(number: int, error: CellExecutionError) -> Halt:
    head = f"{error.ename}: {error.evalue}".strip().splitlines()[0]
    traceback = COLOUR.sub("", error.traceback)
    row = re.search(rf"Cell In\[{number}\], line (\d+)", traceback)
    return Halt(number, COLOUR.sub("", head), traceback, int(row[1]) if row else 1)


def _kernel_died(number: int, error: Exception, python: Path, log: Path) -> Halt:
    last = log.read_text(errors="replace")[-2000:] if log.exists() else ""
    if number:
        reason = "the kernel died, as it does when memory runs out"
    else:
        reason = f"no kernel starts with {python} ({error}); is ipykernel there?"
    return Halt(number, reason, last)


@contextlib.contextmanager
def stopping(tasks: Sequence[asyncio.Future[Any]]) -> Iterator[list[int]]:
    """Cancel `tasks` on the first SIGINT or SIGTERM; what it yields tells of that."""
    interrupted: list[int] = []

    def stop(number: int) -> None:
        if not interrupted:
            interrupted.append(number)
            for task in tasks:
                task.cancel()

    loop = asyncio.get_running_loop()
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, stop, number)
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


# What a record tells of the machine

FACTS_SCRIPT = """
import importlib.metadata as metadata, json, platform, sys
def version():
    for name in sys.argv[1:]:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return ""
print(json.dumps({"python": platform.python_version(), "framework_version": version(),
                  "platform": platform.system() + " " + platform.machine()}))
"""


def machine_facts(
    machine: str, tab: str, python: Path, distributions: Sequence[str]
) -> dict[str, str]:
    """What a record tells of this machine and of the interpreter that runs there.

    The framework may come in any of `distributions`. An interpreter that does not
    start raises a `CalledProcessError`.
    """
    asked = subprocess.run(
        [python, "-c", FACTS_SCRIPT, *distributions],
        capture_output=True,
        text=True,
        check=True,
    )
    gpu, driver = ("", "") if machine == "cpu" else _gpu()
    return {
        "machine": machine,
        "machine_name": gpu or "CPU",
        "gpu": gpu,
        "driver": driver,
        "framework": tab,
        "cpu": _cpu_model(),
        "date": datetime.date.today().isoformat(),
        **json.loads(asked.stdout),
    }


def _gpu() -> tuple[str, str]:
    """The names of the GPUs here and their driver's version; empty without any."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "", ""
    rows = [row.split(", ") for row in asked.stdout.splitlines() if ", " in row]
    if not rows:
        return "", ""
    count = f"{len(rows)} × " if len(rows) > 1 else ""
    return count + rows[0][0], rows[0][1]


def _cpu_model() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    model = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    return model[1].strip() if model else ""


# The exported folder

FORMAT = 1
MANIFEST = "manifest.json"
NOTEBOOKS = "notebooks"
RESULTS = "results"
LIBRARY = "d2l"


class Unfit(Exception):
    """An exported folder, or a result in one, that is not as it was made."""


@dataclass(frozen=True)
class Entry:
    """One notebook of an exported folder."""

    tab: str
    section: str
    fingerprint: str  # of the code and of what it uses, when it was exported
    varies: list[int]  # the cells, from 1, whose outputs cannot repeat

    @property
    def title(self) -> str:
        return f"{self.tab}: {self.section}"

    @property
    def file(self) -> str:
        """Where it stands, in notebooks/ and in results/."""
        return f"{self.tab}/{self.section}.ipynb"


@dataclass(frozen=True)
class Manifest:
    """What an exported folder holds."""

    machine: str
    library: str  # the digest of d2l/
    distributions: dict[str, list[str]]  # what each tab's framework may come in
    notebooks: list[Entry]

    def text(self) -> str:
        """As the file has it."""
        entries = [vars(entry) for entry in self.notebooks]
        whole = {"format": FORMAT} | vars(self) | {"notebooks": entries}
        return json.dumps(whole, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an exported folder, or `Unfit`."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise Unfit("made by another version of the book; export anew")
        entries = [Entry(**entry) for entry in found.pop("notebooks")]
        manifest = Manifest(**found, notebooks=entries)
        if not _is_sound(manifest):
            raise ValueError
    except FileNotFoundError:
        raise Unfit(f"no {MANIFEST} there; name a folder that was exported") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unfit(f"{MANIFEST} is damaged; export anew") from None
    return manifest


def _is_sound(manifest: Manifest) -> bool:
    entries = manifest.notebooks
    texts = [manifest.machine, manifest.library]
    texts += [text for e in entries for text in (e.tab, e.section, e.fingerprint)]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(manifest.distributions[entry.tab], list) for entry in entries
    )


def library_digest(folder: Path) -> str:
    """A hash of the package d2l in `folder`."""
    digest = hashlib.sha256()
    for file in sorted((folder / LIBRARY).glob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def seal(result: NotebookNode) -> str:
    """A hash of what a result holds, by which damage on the way shows."""
    cells = [[c.source, c.execution_count, c.outputs] for c in result.cells]
    text = json.dumps([result.metadata.book, cells], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# The command


def run(folder: Path, tabs: Sequence[str], sections: Sequence[str]) -> int:
    """Run the notebooks of `folder`; how many of them did not run to their end."""
    manifest = read_manifest(folder)
    entries = chosen(manifest, tabs, sections)
    if library_digest(folder) != manifest.library:
        raise Unfit(f"{LIBRARY}/ is not what was exported; export anew")
    # One after the other: two kernels would fight for the memory of one GPU.
    failed = sum([_run_one(folder, manifest, entry) for entry in entries])
    print(
        f"{len(entries) - failed} of {len(entries)} notebooks are in"
        f" {folder / RESULTS}; copy it back, then: make import FROM=FOLDER"
    )
    return failed


def chosen(
    manifest: Manifest, tabs: Sequence[str], sections: Sequence[str]
) -> list[Entry]:
    """The notebooks to run: those of `tabs` and `sections`, where such are given."""
    entries = manifest.notebooks
    known_tabs = dict.fromkeys(e.tab for e in entries)
    known_sections = dict.fromkeys(e.section for e in entries)
    names = [s.removesuffix(".md") for s in sections]
    for tab in tabs:
        if tab not in known_tabs:
            raise Unfit(f"no tab '{tab}' here; there are {', '.join(known_tabs)}")
    for name in names:
        if not any(_is_called(section, name) for section in known_sections):
            known = ", ".join(known_sections)
            raise Unfit(f"no section '{name}' here; there are {known}")
    return [
        entry
        for entry in entries
        if (not tabs or entry.tab in tabs)
        and (not names or any(_is_called(entry.section, name) for name in names))
    ]


def _is_called(section: str, name: str) -> bool:
    return name in (section, section.rsplit("/", 1)[-1])


def _run_one(folder: Path, manifest: Manifest, entry: Entry) -> bool:
    """Run one notebook and keep its result; tells whether that failed."""
    # Not resolved: the link of an environment is what makes it one.
    place = Place(Path(sys.executable), folder, manifest.machine)
    try:
        notebook = _read_notebook(folder / NOTEBOOKS / entry.file)
    except Unfit as error:
        _say(f"error: {error}")
        return True
    result = folder / RESULTS / entry.file
    log = result.with_suffix(".log")
    halt = asyncio.run(_execute(notebook, place, entry.title))
    if halt is not None:
        _write_whole(log, f"{halt.reason}\n\n{halt.traceback}\n")
        cell = f", cell {halt.cell}" if halt.cell else ""
        _say(f"error: {entry.title}{cell}: {halt.reason}; see {log}")
        return True
    names = manifest.distributions[entry.tab]
    facts = machine_facts(manifest.machine, entry.tab, place.python, names)
    _write_whole(result, _sealed(notebook, manifest, entry, facts))
    log.unlink(missing_ok=True)
    return False


async def _execute(notebook: NotebookNode, place: Place, title: str) -> Halt | None:
    progress = functools.partial(_shown, title)
    task = asyncio.ensure_future(execute(notebook, place, progress))
    with stopping([task]) as interrupted:
        await asyncio.wait([task])
    # nbclient takes the end of its task for that of the kernel.
    if interrupted:
        raise KeyboardInterrupt
    return task.result()


def _read_notebook(file: Path) -> NotebookNode:
    try:
        return nbformat.read(file, as_version=4)
    except FileNotFoundError:
        raise Unfit(f"{file}: it is missing; export anew") from None
    except (ValueError, nbformat.ValidationError):
        raise Unfit(f"{file}: it is damaged; export anew") from None


def _shown(title: str, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells and show how far they are, on a terminal one by one."""
    start = time.monotonic()
    for number, cell in enumerate(cells, start=1):
        if sys.stderr.isatty():
            _say(f"{title}: cell {number} of {len(cells)}", end="\r")
        yield cell
    _say(f"{title}: {len(cells)} cells in {time.monotonic() - start:.1f} s")


def _sealed(
    notebook: NotebookNode, manifest: Manifest, entry: Entry, facts: dict[str, str]
) -> str:
    """The text of a result: an executed notebook that tells what made it."""
    made_by = facts | {"fingerprint": entry.fingerprint, "library": manifest.library}
    notebook.metadata = NotebookNode(book=made_by)
    # What is sealed is what the file says, not what the client left in memory.
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)
    notebook.metadata["seal"] = seal(notebook)
    return nbformat.writes(notebook) + "\n"


def _write_whole(file: Path, text: str) -> None:
    """Write `text` to `file`; a write that fails leaves the old contents."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)


def _say(line: str, end: str = "\n") -> None:
    clear = "\033[K" if sys.stderr.isatty() else ""  # what an `end` of "\r" left
    print(f"{clear}{line}", end=end, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py", description="Run the notebooks of this folder, keep the results."
    )
    for name in ("tab", "section"):
        parser.add_argument(
            f"--{name}",
            type=lambda value: value.replace(",", " ").split(),
            default=[],
            help=f"these {name}s alone, with commas between them",
        )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; what it returns is the exit status."""
    options = _options(arguments)
    folder = Path(__file__).resolve().parent
    # `kill` ends it as Ctrl-C does: kernels stop, nothing stays half-written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if importlib.util.find_spec("ipykernel") is None:
            raise Unfit(f"ipykernel is missing here; {INSTALL}")
        return 1 if run(folder, options.tab, options.section) else 0
    except Unfit as error:
        _say(f"error: {error}")
    except OSError as error:
        _say(f"error: {error.filename or folder}: {error.strerror or error}")
    except KeyboardInterrupt:
        _say("interrupted: what was finished is kept")
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
