"""Compares the book's Trainer with a bare loop, d2l 1.0.3, and Lightning or Keras.

    python -m benchmarks.trainer [--tab TAB] [--rounds 7] [--gpus 1]

All variants of a framework run in alternation in kernels of one environment, as in a
reader's notebook. The results are in `_build/bench`: a table (`trainer.md`), a chart
(`trainer.svg`) and the measurements (`trainer.json`). The table lists which targets the
Trainer meets, but a missed target is not an error.
"""

import argparse
import contextlib
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

from benchmarks import common, stock_d2l, trainer_report
from book.base import arguments, environments
from book.runner import execution
from book.runner.errors import BookError
from book.runner.freshness import Product, digest
from book.text.book import Book

FOLDER = common.FOLDER
LOOPS = Path(__file__).resolve().parent / "loops"
WORKLOADS = ("linear", "mlp")
# The variants of d2l 1.0.3, and the same variants of the book's library.
STOCK = {"d2l 1.0.3, plotting": "plotting", "d2l 1.0.3": "silent"}
# The bare loop runs twice, to show how much two measurements of the same loop differ.
TWICE = {"bare, again": "bare"}
# Since the speed of the machine drifts, the steady steps of these variants are measured
# in turns of one epoch. Each variant has SECONDS of a round, in which a plot is drawn a
# few times.
IN_TURN = ("bare", "bare, again", "silent", "plotting")
SECONDS = 6
# The seconds of an additional run that measures the steady step of other variants. d2l
# 1.0.3 has none, because each of its epochs is slower than the one before.
ALONE = {"peer": 1}
# The packages for taking turns, d2l 1.0.3 and its loaders, beside environments/TAB.txt.
PACKAGES = ("greenlet==3.5.6", "pandas==2.3.3", "pillow", "requests", "scipy")
EXTRA = {
    "pytorch": ("lightning==2.6.6",),
    "jax": ("tensorflow-cpu==2.21.0", "tensorflow-datasets==4.9.9"),
}
SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
ON_CPU = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}

Evaluate = Callable[[str], Any]  # returns the value of an expression in a kernel


def main() -> int:
    """Measure the chosen tabs, write the results, and return the exit status."""
    try:
        options = _options()
        load = os.getloadavg()[0]
        book = Book(common.ROOT)
        tabs = [book.check_tab(tab) for tab in options.tab] or book.tabs
        FOLDER.mkdir(parents=True, exist_ok=True)
        results = {
            "machine": common.machine(),
            "gpus": int(options.gpus),
            "load": round(load, 1),
            "rounds": options.rounds,
            "tabs": {tab: measure_tab(tab, options) for tab in tabs},
        }
        trainer_report.write(results, FOLDER)
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    """Return the options of the command line."""
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
    needed = f"an interpreter with the framework and {', '.join(PACKAGES)}"
    parser.add_argument("--python", type=arguments.path, help=needed)
    return parser.parse_args()


def measure_tab(tab: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of all variants and workloads of a framework, in seconds."""
    python = options.python or environment(tab)
    with contextlib.ExitStack() as stack:
        ours, stock = (
            stack.enter_context(kernel(tab, python, library, int(options.gpus)))
            for library in libraries(tab, python)
        )
        variants = ours("list(loops.VARIANTS)")
        runs: dict[str, Any] = {w: {} for w in WORKLOADS}
        # The first round only compiles code and fills caches, and is not counted.
        for number in range(options.rounds + 1):
            for workload in WORKLOADS:
                # The order changes with each round, because a variant leaves caches and
                # threads behind that affect the next one.
                names = deque([*variants, *TWICE, *STOCK])
                names.rotate(number)
                with common.progress(f"{tab}, {workload}, round {number}"):
                    times = measure_round(list(names), workload, ours, stock)
                for name in names if number else ():
                    runs[workload].setdefault(name, []).append(times[name])
        return {"versions": ours("loops.VERSIONS"), "runs": runs}


def measure_round(
    names: list[str], workload: str, ours: Evaluate, stock: Evaluate
) -> dict[str, dict[str, float]]:
    """Return the seconds of a whole fit and of a steady step of each variant."""
    times = {}
    for name in names:
        evaluate = stock if name in STOCK else ours
        times[name] = evaluate(_measure_call(name, workload))
    in_turn = [name for name in names if name in IN_TURN]
    steady = ours(_take_turns_call(in_turn, workload, times["bare"]["steady"]))
    return {
        name: seconds | ({"steady": steady[name]} if name in steady else {})
        for name, seconds in times.items()
    }


# Environments and kernels


def environment(tab: str) -> Path:
    """Return the interpreter of the bench's environment, which is built if need be."""
    pins = environments.pins_file(tab)
    extra = [*PACKAGES, *EXTRA.get(tab, ())]
    inputs = digest(pins.read_bytes() + repr(extra).encode())
    folder = FOLDER / "environments" / tab
    python = folder / "bin/python"
    product = Product(python, folder / environments.STAMP)
    if not product.is_fresh(inputs):
        building = common.progress(f"building an environment for {tab}")
        with building, product.made_from(inputs):
            shutil.rmtree(folder, ignore_errors=True)
            common.uv("venv", "--python", environments.PYTHON_VERSION, folder)
            common.uv("pip", "install", "--python", python, "-r", pins, *extra)
    return python


def libraries(tab: str, python: Path) -> tuple[Path, Path]:
    """Return two folders with a package `d2l`: the book's, and d2l 1.0.3."""
    ours = FOLDER / "libraries" / tab / "book"
    shutil.rmtree(ours, ignore_errors=True)
    shutil.copytree(common.ROOT / "d2l", ours / "d2l")
    return ours, stock_d2l.install(python, FOLDER / "libraries" / tab / "stock")


@contextlib.contextmanager
def kernel(tab: str, python: Path, library: Path, gpus: int) -> Iterator[Evaluate]:
    """Start a kernel and yield a function that evaluates expressions in it.

    The kernel sends its plots to this process, as it would to a notebook.
    """
    paths = os.pathsep.join([str(LOOPS), str(library)])
    settings = {**os.environ, **SETTINGS, **({} if gpus else ON_CPU)}
    with tempfile.TemporaryDirectory() as work:
        manager = KernelManager(
            kernel_spec_manager=execution.OneInterpreter(python),
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


# The code that runs in kernels


def _measure_call(name: str, workload: str) -> str:
    """Return the code that measures a variant."""
    seconds = ALONE.get(name, 0)
    return f"workloads.measure({_loop(name)}, {_workload(workload)}, {seconds})"


def _take_turns_call(names: list[str], workload: str, step: float) -> str:
    """Return the code that measures variants in turns; a step takes `step` seconds."""
    loops = ", ".join(f"{name!r}: {_loop(name)}" for name in names)
    epochs = f"{_workload(workload)}.epochs_in({SECONDS}, {step})"
    return f"workloads.take_turns({{{loops}}}, {_workload(workload)}, {epochs})"


def _loop(name: str) -> str:
    return f"loops.VARIANTS[{(STOCK | TWICE).get(name, name)!r}]"


def _workload(name: str) -> str:
    return f"workloads.WORKLOADS[{name!r}]"


def _run(client: Any, code: str) -> str:
    """Run a cell and return the last line that it prints.

    Raises a `BookError` if the cell raises an error.
    """
    printed: list[str] = []

    def collect(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=collect, timeout=1200)
    if reply["content"]["status"] != "ok":
        content = reply["content"]
        raise BookError(f"a cell failed: {content['ename']}: {content['evalue']}")
    return "".join(printed).strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main())
