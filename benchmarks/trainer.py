"""Measure the book's Trainer beside a bare loop, d2l 1.0.3, and Lightning or Keras.

    python -m benchmarks.trainer [--tab TAB] [--rounds 7] [--gpus 1]

All of one framework run in alternation, in kernels of one environment: what a reader's
notebook does. `_build/bench` then holds a table (`trainer.md`), a chart (`trainer.svg`)
and what was measured (`trainer.json`). Nothing is asserted: the table says which
targets the Trainer holds.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from benchmarks import page, peers, stock_d2l, trainer_report
from book.base import arguments, environments
from book.base.errors import BookError
from book.runs import remote
from book.sources.book import Book

FOLDER = page.FOLDER
LOOPS = Path(__file__).resolve().parent / "loops"
WORKLOADS = ("linear", "mlp")
# The book's library runs all but these two, which are the same of d2l 1.0.3.
STOCK = {"d2l 1.0.3, plotting": "plotting", "d2l 1.0.3": "silent"}
# The bare loop runs twice, to show how far apart two measurements of the same are.
TWICE = {"bare, again": "bare"}
# The steady step of these is found an epoch of each in turn, as the machine's speed
# drifts. Each has so many seconds of a round; a plot is drawn a few times in them.
IN_TURN = ("bare", "bare, again", "silent", "plotting")
SECONDS = 6
# The others have a longer run of their own, of so many seconds. That of d2l 1.0.3 takes
# longer with each epoch, so that a longer run would only harm it: it has none.
ALONE = {"peer": 1}
# What taking turns, d2l 1.0.3 and its loaders need, beside environments/TAB.txt.
NEEDS = ("greenlet==3.5.6", "pandas==2.3.3", "pillow", "requests", "scipy")
EXTRA = {
    "pytorch": ("lightning==2.6.6",),
    "jax": ("tensorflow-cpu==2.21.0", "tensorflow-datasets==4.9.9"),
}
SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
ON_CPU = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}

Ask = Callable[[str], Any]  # evaluates an expression in a kernel


def main() -> int:
    try:
        options = _options()
        load = os.getloadavg()[0]
        book = Book(page.ROOT)
        tabs = [book.check_tab(tab) for tab in options.tab] or book.tabs
        FOLDER.mkdir(parents=True, exist_ok=True)
        found = {
            "machine": page.machine(),
            "gpus": int(options.gpus),
            "load": round(load, 1),
            "rounds": options.rounds,
            "tabs": {tab: measure_tab(tab, options) for tab in tabs},
        }
        trainer_report.write(found, FOLDER)
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = arguments.Parser(description=__doc__)
    parser.add_argument(
        "--tab",
        type=arguments.names,
        default=[],
        help="one or more, such as 'jax mxnet'",
    )
    parser.add_argument(
        "--rounds", type=arguments.count, default=7, help="of each variant"
    )
    parser.add_argument(
        "--gpus", type=arguments.yes_or_no, default=False, help="1 to train on a GPU"
    )
    needed = f"one that has the framework, {', '.join(NEEDS)}"
    parser.add_argument("--python", type=arguments.path, help=needed)
    return parser.parse_args()


def measure_tab(tab: str, options: argparse.Namespace) -> dict[str, Any]:
    """All variants and workloads of a framework, in alternation."""
    python = options.python or environment(tab)
    with contextlib.ExitStack() as stack:
        own, stock = (
            stack.enter_context(kernel(tab, python, library, int(options.gpus)))
            for library in libraries(tab, python)
        )
        variants = own("list(loops.VARIANTS)")
        runs: dict[str, Any] = {w: {} for w in WORKLOADS}
        # The first round compiles, caches and warms up, and counts for nothing.
        for number in range(options.rounds + 1):
            for workload in WORKLOADS:
                # Each round begins with another: what one leaves behind, caches
                # and threads, meets each of the others.
                names = deque([*variants, *TWICE, *STOCK])
                names.rotate(number)
                with page.step(f"{tab}, {workload}, round {number}"):
                    found = measure_round(list(names), workload, own, stock)
                for name in names if number else ():
                    runs[workload].setdefault(name, []).append(found[name])
        return {"versions": own("loops.VERSIONS"), "runs": runs}


def measure_round(
    names: list[str], workload: str, own: Ask, stock: Ask
) -> dict[str, dict[str, float]]:
    """Return the seconds of a whole fit and of a steady step of each variant."""
    found = {}
    for name in names:
        ask = stock if name in STOCK else own
        found[name] = ask(_alone(name, workload))
    in_turn = [name for name in names if name in IN_TURN]
    steady = own(_in_turn(in_turn, workload, found["bare"]["steady"]))
    return {
        name: seconds | ({"steady": steady[name]} if name in steady else {})
        for name, seconds in found.items()
    }


# Environments and kernels


def environment(tab: str) -> Path:
    """The interpreter of an environment with the framework and what is beside it."""
    pins = environments.pins_file(tab)
    extra = [*NEEDS, *EXTRA.get(tab, ())]
    digest = hashlib.sha256(pins.read_bytes() + repr(extra).encode()).hexdigest()
    folder = FOLDER / "environments" / tab
    stamp = folder / "built-from.sha256"
    python = folder / "bin/python"
    if not stamp.exists() or stamp.read_text() != digest:
        with page.step(f"building an environment for {tab}"):
            shutil.rmtree(folder, ignore_errors=True)
            peers.uv("venv", "--python", environments.PYTHON_VERSION, folder)
            peers.uv("pip", "install", "--python", python, "-r", pins, *extra)
            stamp.write_text(digest)
    return python


def libraries(tab: str, python: Path) -> tuple[Path, Path]:
    """Folders that hold the package `d2l`: that of the book, and d2l 1.0.3."""
    own = FOLDER / "libraries" / tab / "book"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(page.ROOT / "d2l", own / "d2l")
    return own, stock_d2l.install(python, FOLDER / "libraries" / tab / "stock")


@contextlib.contextmanager
def kernel(tab: str, python: Path, library: Path, gpus: int) -> Iterator[Ask]:
    """A kernel that measures; its cells' pictures come to this process, as they would
    to a notebook."""
    paths = os.pathsep.join([str(LOOPS), str(library)])
    settings = {**os.environ, **SETTINGS, **({} if gpus else ON_CPU)}
    with tempfile.TemporaryDirectory() as work:
        manager = KernelManager(
            kernel_spec_manager=remote.OneInterpreter(python),
            connection_file=f"{work}/kernel.json",
            transport="ipc",
        )
        manager.start_kernel(cwd=work, env={**settings, "PYTHONPATH": paths})
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=120)
        _run(client, f"import json, workloads; workloads.GPUS = {gpus}")
        _run(client, f"import in_{tab} as loops")
        try:
            yield lambda code: json.loads(_run(client, f"print(json.dumps({code}))"))
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _alone(name: str, workload: str) -> str:
    seconds = ALONE.get(name, 0)
    return f"workloads.measure({_loop(name)}, {_workload(workload)}, {seconds})"


def _in_turn(names: list[str], workload: str, step: float) -> str:
    loops = ", ".join(f"{name!r}: {_loop(name)}" for name in names)
    epochs = f"{_workload(workload)}.epochs_in({SECONDS}, {step})"
    return f"workloads.take_turns({{{loops}}}, {_workload(workload)}, {epochs})"


def _loop(name: str) -> str:
    return f"loops.VARIANTS[{(STOCK | TWICE).get(name, name)!r}]"


def _workload(name: str) -> str:
    return f"workloads.WORKLOADS[{name!r}]"


def _run(client: Any, code: str) -> str:
    """Run a cell and return the last line that it prints."""
    printed: list[str] = []

    def note(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=note, timeout=1200)
    if reply["content"]["status"] != "ok":
        content = reply["content"]
        raise BookError(f"a kernel fails: {content['ename']}: {content['evalue']}")
    return "".join(printed).strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main())
