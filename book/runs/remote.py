"""Runs notebooks with nbclient and ipykernel, here or on a machine without the book.

`make export` copies this file as run.py into the folder that it writes. In that folder,

    python run.py [--tab TAB] [--section SECTION]

runs the notebooks with the Python that calls it, and keeps each in results/ together
with the facts of the machine. The book runs its own notebooks with the same code (see
book/runs/kernels.py), so this file imports nothing of the book. It needs Python 3.11,
as the library does.
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
from typing import Any, NoReturn

if sys.version_info < (3, 11):  # noqa: UP036  # on another machine it may be
    sys.exit(f"error: Python {platform.python_version()} is too old; use 3.11 or newer")
INSTALL = f"{sys.executable} -m pip install nbclient ipykernel"
try:
    import nbformat
    import psutil  # ipykernel needs it too
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError
    from nbformat import NotebookNode
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"error: {error.name} is missing here; {INSTALL}")

CELL_SECONDS = 20 * 60
START_SECONDS = 120
GPU_SECONDS = 60
# The outputs of one cell, as JSON; `book/records/store.py` has the same limit.
MOST_CHARACTERS = 1_000_000
TOO_LARGE = (
    f"its outputs have more than {MOST_CHARACTERS:,} characters; print or draw less"
)
LOG_CHARACTERS = 2000

KERNEL_SETTINGS = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GLOG_minloglevel": "3",
    "MXNET_SUBGRAPH_VERBOSE": "0",
    "COLUMNS": "80",
}
# Records of a CPU hardly depend on the machine: GPUs are hidden, no kernel is chosen by
# the type of the processor, and one thread adds up sums in order.
CPU_SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "OMP_NUM_THREADS": "1",
}
# The look of plots in records. Axes of 3.5 inches are about 480 pixels wide on a page,
# where 7 points are 13 pixels. Text stays text and takes the typeface of the page. It
# is measured in a font that matplotlib brings along, which is wider than that of the
# page, so it always fits. The colors are those of light pages (static/book.css).
PLOT_STYLE = """\
svg.hashsalt: book
svg.fonttype: none
savefig.pad_inches: 0.02
font.sans-serif: DejaVu Sans
font.size: 7
axes.titlesize: medium
legend.fontsize: medium
text.color: 1c1f23
axes.labelcolor: 1c1f23
xtick.labelcolor: 4a5058
ytick.labelcolor: 4a5058
axes.edgecolor: 838c97
xtick.color: 838c97
ytick.color: 838c97
grid.color: dcdfe4
axes.prop_cycle: cycler(color=["1a56b0", "a84a0b", "1a6b34", "6b3fc0", "a8261c"])
lines.linewidth: 1.1
lines.markersize: 3
axes.linewidth: 0.6
grid.linewidth: 0.6
patch.linewidth: 0.6
hatch.linewidth: 0.6
xtick.major.width: 0.6
ytick.major.width: 0.6
xtick.minor.width: 0.4
ytick.minor.width: 0.4
xtick.major.size: 2.5
ytick.major.size: 2.5
xtick.minor.size: 1.5
ytick.minor.size: 1.5
axes.spines.top: False
axes.spines.right: False
axes.axisbelow: True
legend.edgecolor: none
legend.handlelength: 2.6
figure.subplot.left: 0.11
figure.subplot.right: 0.99
figure.subplot.bottom: 0.15
figure.subplot.top: 0.98
"""
# Records hold static plots, which every reader sees, in place of widgets.
HIDE_WIDGETS = "__import__('sys').modules['ipywidgets'] = None"
WITHOUT_WIDGETS = f"c.InteractiveShellApp.exec_lines = [{HIDE_WIDGETS!r}]\n"
# Settings of the caller's own Python, which a kernel must not inherit.
CALLERS_OWN = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONSTARTUP", "MPLBACKEND")
# Names the run in the environment of its kernel and of all that the kernel starts.
RUN = "BOOK_RUN"
COLOR = re.compile(r"\x1b\[[0-9;]*m")


# One notebook


@dataclass(frozen=True)
class Place:
    """The place where notebooks run: its Python, folder of d2l, and machine's name."""

    python: Path
    root: Path
    machine: str


@dataclass(frozen=True)
class Halt:
    """Why a notebook stopped early: one line, and Python's traceback or last words."""

    cell: int  # counted from 1; 0 if the kernel did not start
    reason: str
    traceback: str = ""
    row: int = 1  # the line of the cell, counted from 1


Progress = Callable[[list[NotebookNode]], Iterable[NotebookNode]]


def is_cpu(machine: str) -> bool:
    """Return whether a machine is, by its name, one whose GPUs are hidden."""
    return machine == "cpu" or machine.startswith("cpu-")


async def execute(
    notebook: NotebookNode, place: Place, progress: Progress
) -> Halt | None:
    """Run the cells of `notebook` and put their outputs into it.

    Return why it stopped early, or None. `progress` hands the cells on one by one.
    """
    with _scratch_folder() as scratch:
        try:
            async with _kernel(notebook, place, scratch) as client:
                return await _run_cells(client, progress(notebook.cells), scratch)
        except RuntimeError as error:
            reason = f"no kernel starts with {place.python} ({error});"
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
def _scratch_folder() -> Iterator[Path]:
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
        self.size += len(json.dumps(msg["content"]))
        if self.size <= MOST_CHARACTERS:
            return super().output(outs, msg, display_id, cell_index)
        # nbclient takes this for the death of the kernel, and stops the cell.
        assert self.task_poll_for_reply is not None
        self.task_poll_for_reply.cancel()
        return None


@contextlib.asynccontextmanager
async def _kernel(
    notebook: NotebookNode, place: Place, scratch: Path
) -> AsyncIterator[LimitedClient]:
    """Start a kernel of the place's interpreter, which works in an empty folder."""
    manager = AsyncKernelManager(
        kernel_name="book",
        kernel_spec_manager=OneInterpreter(place.python),
        connection_file=str(scratch / "kernel.json"),
        transport="ipc",
    )
    client = LimitedClient(
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
        end_processes(settings[RUN])


async def _stop(manager: AsyncKernelManager, client: NotebookClient) -> None:
    if client.kc is not None:
        client.kc.stop_channels()
    if manager.has_kernel:
        await manager.shutdown_kernel(now=True)


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


def kernel_settings(place: Place, scratch: Path) -> dict[str, str]:
    """Return the environment of a kernel, in which no setting of the user shows."""
    rc = scratch / "matplotlibrc"
    rc.write_text(PLOT_STYLE)
    profile = scratch / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text(WITHOUT_WIDGETS)
    inherited = {k: v for k, v in os.environ.items() if k not in CALLERS_OWN}
    return {
        **inherited,
        **KERNEL_SETTINGS,
        **(CPU_SETTINGS if is_cpu(place.machine) else {}),
        RUN: str(scratch),
        "PATH": f"{place.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(place.root),
        "MATPLOTLIBRC": str(rc),
        "IPYTHONDIR": str(scratch / "ipython"),
    }


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


@contextlib.contextmanager
def stopping(tasks: Sequence[asyncio.Future[Any]]) -> Iterator[list[int]]:
    """Cancel `tasks` on the first SIGINT or SIGTERM, and ignore later ones.

    The list that it yields then holds the signal's number.
    """
    interrupted: list[int] = []
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: object) -> None:
        if not interrupted:
            interrupted.append(number)
            for task in tasks:
                loop.call_soon_threadsafe(task.cancel)

    before = {n: signal.signal(n, stop) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if interrupted else handler)


# Facts of the machine

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
    """Return what a record says about this machine and the interpreter `python`.

    The framework is the first of `distributions` that is installed. Raises a
    `SubprocessError` or `ValueError` if the interpreter does not answer, and `Unfit`
    if the machine has no GPU although its name promises one.
    """
    asked = subprocess.run(
        [python, "-c", FACTS_SCRIPT, *distributions],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=START_SECONDS,
    )
    gpu, driver = gpus_of(machine)
    return {
        "machine": machine,
        "machine_name": gpu or "CPU",
        "gpu": gpu,
        "driver": driver,
        "framework": tab,
        "cpu": _cpu_model(),
        "date": datetime.date.today().isoformat(),
        # Something that Python starts with may print lines of its own before.
        **json.loads(asked.stdout.strip().rpartition("\n")[2]),
    }


def gpus_of(machine: str) -> tuple[str, str]:
    """Return the names of the GPUs here and their driver's version.

    Both are empty if `machine` is the name of a CPU. For another name, raise `Unfit`
    if no GPU is found, for the outputs would not be those of that machine.
    """
    if is_cpu(machine):
        return "", ""
    try:
        rows = _ask_nvidia_smi()
    except (OSError, subprocess.SubprocessError) as error:
        rows, reason = [], _describe_failure(error)
    else:
        reason = "nvidia-smi lists none"
    if not rows:
        raise Unfit(
            f"no GPU is found here ({reason}), but '{machine}' names a machine with a"
            " GPU; fix the driver, or use a name that begins with cpu-, as in"
            " MACHINE=cpu-arm"
        )
    count = f"{len(rows)} × " if len(rows) > 1 else ""
    return count + rows[0][0], rows[0][1]


def _ask_nvidia_smi() -> list[list[str]]:
    """Return the name and the driver's version of each GPU."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    asked = subprocess.run(
        query,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=GPU_SECONDS,
    )
    rows = [row.split(", ") for row in asked.stdout.splitlines()]
    return [row for row in rows if len(row) == 2 and all(map(str.isprintable, row))]


def _describe_failure(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"nvidia-smi does not answer within {GPU_SECONDS} s"
    if isinstance(error, FileNotFoundError):
        return "nvidia-smi is not installed"
    return "nvidia-smi fails"


def _cpu_model() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text(errors="replace")
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
    """An exported folder, a result or a machine that cannot be used; says why."""


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
        """The path of the notebook, below notebooks/ and below results/."""
        return f"{self.tab}/{self.section}.ipynb"


@dataclass(frozen=True)
class Manifest:
    """The contents of an exported folder."""

    machine: str
    library: str  # the digest of d2l/
    distributions: dict[str, list[str]]  # what each tab's framework may come in
    notebooks: list[Entry]

    def text(self) -> str:
        """Return the contents of the file."""
        entries = [vars(entry) for entry in self.notebooks]
        whole = {"format": FORMAT} | vars(self) | {"notebooks": entries}
        return json.dumps(whole, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an exported folder; raise `Unfit` if it has none."""
    file = folder / MANIFEST
    if not file.is_file():
        raise Unfit(f"there is no {MANIFEST}; name a folder that was exported")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise Unfit("made by another version of the book; export it again")
        entries = [Entry(**entry) for entry in found.pop("notebooks")]
        manifest = Manifest(**found, notebooks=entries)
        if not _is_sound(manifest):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unfit(f"{MANIFEST} is damaged; export it again") from None
    return manifest


def _is_sound(manifest: Manifest) -> bool:
    entries = manifest.notebooks
    texts = [manifest.machine, manifest.library]
    texts += [text for e in entries for text in (e.tab, e.section, e.fingerprint)]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(manifest.distributions[entry.tab], list) for entry in entries
    )


def library_digest(folder: Path) -> str:
    """Return a hash of the package d2l in `folder`."""
    digest = hashlib.sha256()
    for file in sorted((folder / LIBRARY).glob("*")):
        if file.suffix in (".py", ".csv") and file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def seal(result: NotebookNode) -> str:
    """Return a hash of a result's contents, which shows damage on the way."""
    cells = [[c.source, c.execution_count, c.outputs] for c in result.cells]
    text = json.dumps([result.metadata.book, cells], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# The command


def run(folder: Path, tabs: Sequence[str], sections: Sequence[str]) -> int:
    """Run the notebooks of `folder` and return how many of them failed."""
    manifest = read_manifest(folder)
    entries = chosen(manifest, tabs, sections)
    if library_digest(folder) != manifest.library:
        raise Unfit(f"{LIBRARY}/ is not what was exported; export it again")
    gpus_of(manifest.machine)
    # One after the other, since two kernels would compete for the memory of one GPU.
    failed = sum([_run_entry(folder, manifest, entry) for entry in entries])
    print(
        f"{len(entries) - failed} of {len(entries)} notebooks are in"
        f" {folder / RESULTS}; copy it back, then: make import FROM=FOLDER"
    )
    return failed


def chosen(
    manifest: Manifest, tabs: Sequence[str], sections: Sequence[str]
) -> list[Entry]:
    """Return the notebooks of `tabs` and `sections`; empty lists mean all of them."""
    entries = manifest.notebooks
    known_tabs = dict.fromkeys(e.tab for e in entries)
    known_sections = dict.fromkeys(e.section for e in entries)
    names = [s.removesuffix(".md") for s in sections]
    for tab in tabs:
        if tab not in known_tabs:
            raise Unfit(f"no tab '{tab}' here; there are {', '.join(known_tabs)}")
    for name in names:
        if not any(_has_name(section, name) for section in known_sections):
            known = ", ".join(known_sections)
            raise Unfit(f"no section '{name}' here; there are {known}")
    return [
        entry
        for entry in entries
        if (not tabs or entry.tab in tabs)
        and (not names or any(_has_name(entry.section, name) for name in names))
    ]


def _has_name(section: str, name: str) -> bool:
    return name in (section, section.rsplit("/", 1)[-1])


def _run_entry(folder: Path, manifest: Manifest, entry: Entry) -> bool:
    """Run one notebook and keep its result; return whether it failed."""
    # Not resolved: Python finds its environment through the link.
    place = Place(Path(sys.executable), folder, manifest.machine)
    try:
        notebook = _read_notebook(folder / NOTEBOOKS / entry.file)
    except Unfit as error:
        _report(f"error: {error}")
        return True
    result = folder / RESULTS / entry.file
    log = result.with_suffix(".log")
    halt = asyncio.run(_execute(notebook, place, entry.title))
    if halt is not None:
        _write_whole(log, f"{halt.reason}\n\n{halt.traceback}\n")
        cell = f", cell {halt.cell}" if halt.cell else ""
        _report(f"error: {entry.title}{cell}: {halt.reason}; see {log}")
        return True
    names = manifest.distributions[entry.tab]
    facts = machine_facts(manifest.machine, entry.tab, place.python, names)
    _write_whole(result, seal_result(notebook, manifest, entry, facts))
    log.unlink(missing_ok=True)
    return False


async def _execute(notebook: NotebookNode, place: Place, title: str) -> Halt | None:
    progress = functools.partial(_show_progress, title)
    task = asyncio.ensure_future(execute(notebook, place, progress))
    with stopping([task]) as interrupted:
        await asyncio.wait([task])
    # nbclient reports a cancelled task as the death of the kernel.
    if interrupted:
        raise KeyboardInterrupt
    return task.result()


def _read_notebook(file: Path) -> NotebookNode:
    try:
        return nbformat.read(file, as_version=4)
    except FileNotFoundError:
        raise Unfit(f"{file}: missing; export it again") from None
    except (ValueError, nbformat.ValidationError):
        raise Unfit(f"{file}: damaged; export it again") from None


def _show_progress(title: str, cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells; report each one on a terminal, and at the end their time."""
    start = time.monotonic()
    for number, cell in enumerate(cells, start=1):
        if sys.stderr.isatty():
            _report(f"{title}: cell {number} of {len(cells)}", end="\r")
        yield cell
    _report(f"{title}: {len(cells)} cells in {time.monotonic() - start:.1f} s")


def seal_result(
    notebook: NotebookNode, manifest: Manifest, entry: Entry, facts: dict[str, str]
) -> str:
    """Return the text of a result: an executed notebook and the facts of its run."""
    made_by = facts | {"fingerprint": entry.fingerprint, "library": manifest.library}
    notebook.metadata = NotebookNode(book=made_by)
    # The seal is that of the notebook as the file has it, where no half of a surrogate
    # pair can stand.
    text = nbformat.writes(notebook).encode(errors="replace").decode()
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata["seal"] = seal(notebook)
    return nbformat.writes(notebook) + "\n"


def _write_whole(file: Path, text: str) -> None:
    """Write `text` to `file`; if that fails, the old file stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)


def _report(line: str, end: str = "\n") -> None:
    clear = "\033[K" if sys.stderr.isatty() else ""  # the rest of a line of progress
    print(f"{clear}{line}", end=end, file=sys.stderr, flush=True)


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py",
        description="Run the notebooks of this folder and keep the results.",
    )
    for name in ("tab", "section"):
        parser.add_argument(
            f"--{name}",
            type=lambda value: value.replace(",", " ").split(),
            default=[],
            help=f"run only these {name}s, separated by commas",
        )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks that the arguments choose and return the exit status."""
    options = _parse_options(arguments)
    folder = Path(__file__).resolve().parent
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        if importlib.util.find_spec("ipykernel") is None:
            raise Unfit(f"ipykernel is missing here; {INSTALL}")
        return 1 if run(folder, options.tab, options.section) else 0
    except Unfit as error:
        _report(f"error: {error}")
    except OSError as error:
        _report(f"error: {error.filename or folder}: {error.strerror or error}")
    except KeyboardInterrupt:
        _report("interrupted: finished work is kept")
        return 130
    return 1


def interrupt(number: int, frame: object) -> NoReturn:
    """Raise `KeyboardInterrupt` for a signal, and ignore the signals after it.

    The first one stops the kernels. More may follow: make sends on what it gets.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
