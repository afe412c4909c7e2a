"""Measure the build beside stock d2lbook's, on the same sources and kept outputs.

    python -m benchmarks.build [--runs 3]

Three steps: a first build with the outputs in place, a build after an edit of one
section's prose, and one with nothing to do. After an edit d2lbook runs the section
again, which is done here with a kernel of each tab's own environment, as d2lbook alone
cannot. `_build/bench` then holds the table (`build.md`) and the seconds (`build.json`).
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
from book.sources.book import Book

EDITED = "chapter_gpus/trainer.md"
STEPS = {
    "first": "first build, outputs kept",
    "edit": "build after an edit of one section's prose",
    "again": "build when nothing has changed",
}
NOTES = """\
Seconds by the clock, median (least to most) of {runs} runs, which alternate. {machine};
load when it began {load:.1f}. d2lbook {d2lbook}. {date}. The edit is in `{edited}`.
"""


def main() -> int:
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
    """The seconds of each step, of the book's build and of d2lbook's."""
    ours = peers.this_book(book, page.FOLDER)
    stock = peers.stock_d2lbook(book, page.FOLDER)
    rerun = _evaluate(book, stock.root)
    seconds: dict[str, dict[str, list[float]]] = {ours.name: {}, stock.name: {}}
    for run in range(runs):
        for peer, before in ((ours, None), (stock, rerun)):
            with page.step(f"run {run + 1} of {runs}: {peer.name}"):
                for name, value in _steps(peer, before).items():
                    seconds[peer.name].setdefault(name, []).append(value)
    return seconds


def _steps(peer: peers.Peer, before: Callable[[], None] | None) -> dict[str, float]:
    peer.prepare()
    first, _ = peer.build()
    again, _ = peer.build()
    source = peer.root / EDITED
    text = source.read_text("utf-8")
    try:
        source.write_text(f"{text}\nA sentence more.\n", "utf-8")
        start = time.monotonic()
        if before:
            before()
        peer.build()
        edit = time.monotonic() - start
    finally:
        source.write_text(text, "utf-8")
    return {"first": first, "edit": edit, "again": again}


def _evaluate(book: Book, root: Path) -> Callable[[], None]:
    """d2lbook's own run of what is out of date, in each tab with the tab's kernel."""
    kernels = {tab: _kernel(tab) for tab in book.tabs}

    def evaluate() -> None:
        for tab, folder in kernels.items():
            command = [sys.executable, "-c", peers.D2LBOOK, "build", "eval"]
            settings = {"JUPYTER_PATH": str(folder), "PYTHONPATH": str(root)}
            done = subprocess.run(
                [*command, "--tab", tab],
                cwd=root,
                env={**os.environ, **settings, "CUDA_VISIBLE_DEVICES": ""},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if done.returncode:
                last = " ".join(done.stdout.split("\n")[-6:])
                raise BookError(f"d2lbook cannot run {tab}: {last}", EDITED)

    return evaluate


def _kernel(tab: str) -> Path:
    """A folder in which Jupyter finds the tab's interpreter as `python3`."""
    folder = page.FOLDER / "kernels" / tab
    python = environments.python(tab)
    install = (str(python), "-m", "ipykernel", "install", "--name", "python3")
    command = [*install, "--prefix", str(folder)]
    # Where it works, it warns that Jupyter does not look there by itself.
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise BookError(f"no kernel can be installed: {last}", folder)
    return folder / "share/jupyter"


def _write(seconds: dict[str, Any], runs: int, load: float) -> None:
    lines = [["step, s", *seconds], ["---"] * (len(seconds) + 1)]
    for name, what in STEPS.items():
        lines.append([what, *(spread(found[name], 1) for found in seconds.values())])
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
