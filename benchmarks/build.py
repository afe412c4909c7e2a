"""Compares the build with that of stock d2lbook, on the same sources and outputs.

    python -m benchmarks.build [--runs 3]

There are three steps: a first build with the outputs in place, a build after an edit of
one section's prose, and a build with nothing to do. After an edit, d2lbook runs the
section again. It cannot do so for several frameworks, so the bench gives it a kernel of
each tab's own environment. The results are in `_build/bench`: the table (`build.md`)
and the seconds (`build.json`).
"""

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import page, peers
from benchmarks.report import spread
from book.base import arguments, environments
from book.base.errors import BookError
from book.text.book import Book

EDITED = "chapter_gpus/trainer.md"
STEPS = {
    "first": "first build, with recorded outputs",
    "edit": "build after an edit of one section's prose",
    "again": "build when nothing has changed",
}
NOTES = """\
Wall time in seconds, median (minimum to maximum) of {runs} alternating runs. {machine};
load at the start {load:.1f}. d2lbook {d2lbook}. {date}. The edit is in `{edited}`.
"""


def main() -> int:
    """Measure both builds, write the results, and return the exit status."""
    parser = arguments.Parser(description=__doc__)
    parser.add_argument("--runs", type=arguments.count, default=3)
    try:
        options = parser.parse_args()
        load = os.getloadavg()[0]
        page.FOLDER.mkdir(parents=True, exist_ok=True)
        _write(measure(Book(page.ROOT), options.runs), options.runs, load)
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def measure(book: Book, runs: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of each step of both builds, one per run."""
    ours = peers.this_book(book, page.FOLDER)
    stock = peers.stock_d2lbook(book, page.FOLDER)
    rerun = _evaluate(book, stock.root)
    seconds: dict[str, dict[str, list[float]]] = {ours.name: {}, stock.name: {}}
    for run in range(runs):
        for peer, evaluate in ((ours, None), (stock, rerun)):
            with page.progress(f"run {run + 1} of {runs}: {peer.name}"):
                for name, value in _measure_steps(peer, evaluate).items():
                    seconds[peer.name].setdefault(name, []).append(value)
    return seconds


def _measure_steps(
    peer: peers.Peer, evaluate: Callable[[], None] | None
) -> dict[str, float]:
    """Return each step's seconds; `evaluate` runs before the build after an edit."""
    peer.prepare()
    first, _ = peer.build()
    again, _ = peer.build()
    source = peer.root / EDITED
    text = source.read_text("utf-8")
    try:
        source.write_text(f"{text}\nAnother sentence.\n", "utf-8")
        start = time.monotonic()
        if evaluate:
            evaluate()
        peer.build()
        edit = time.monotonic() - start
    finally:
        source.write_text(text, "utf-8")
    return {"first": first, "edit": edit, "again": again}


def _evaluate(book: Book, root: Path) -> Callable[[], None]:
    """Return a function in which d2lbook runs outdated sections in all tabs."""
    kernels = {tab: _kernel(tab) for tab in book.tabs}

    def evaluate() -> None:
        for tab, folder in kernels.items():
            command = [sys.executable, "-c", peers.D2LBOOK, "build", "eval"]
            settings = {"JUPYTER_PATH": str(folder), "PYTHONPATH": str(root)}
            result = subprocess.run(
                [*command, "--tab", tab],
                cwd=root,
                env={**os.environ, **settings, "CUDA_VISIBLE_DEVICES": ""},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if result.returncode:
                last_lines = " ".join(result.stdout.split("\n")[-6:])
                raise BookError(f"d2lbook cannot run {tab}: {last_lines}", EDITED)

    return evaluate


def _kernel(tab: str) -> Path:
    """Return a folder in which Jupyter finds the tab's interpreter as `python3`."""
    folder = page.FOLDER / "kernels" / tab
    python = environments.python(tab)
    install = (str(python), "-m", "ipykernel", "install", "--name", "python3")
    command = [*install, "--prefix", str(folder)]
    # The output is hidden, as it warns that Jupyter does not search this folder.
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        last_line = result.stderr.strip().rpartition("\n")[2]
        raise BookError(f"cannot install a kernel: {last_line}", folder)
    return folder / "share/jupyter"


def _write(seconds: dict[str, Any], runs: int, load: float) -> None:
    """Print the table, and write it and the seconds to files."""
    lines = [["step, s", *seconds], ["---"] * (len(seconds) + 1)]
    for name, title in STEPS.items():
        lines.append([title, *(spread(times[name], 1) for times in seconds.values())])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = NOTES.format(
        runs=runs,
        machine=page.machine(),
        load=load,
        d2lbook=page.versions()["d2lbook"],
        date=datetime.date.today().isoformat(),
        edited=EDITED,
    )
    print(f"{table}\n\n{notes}")
    (page.FOLDER / "build.md").write_text(f"{table}\n\n{notes}", "utf-8")
    (page.FOLDER / "build.json").write_text(json.dumps(seconds, indent=1), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
