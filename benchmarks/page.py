"""Measure a page of the book beside the same page by stock d2lbook and Jupyter Book 1.

    make bench

All three are built from the sources and the kept outputs, in `_build/bench`, which
then holds the table (`page.md`), a chart (`page.svg`) and what was measured
(`page.json`). Nothing is asserted: the table says which budgets the book holds.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

from benchmarks import audits, measures, peers, report
from benchmarks.measures import Place
from benchmarks.peers import Peer
from benchmarks.serving import served
from book.base import arguments
from book.base.errors import BookError
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build/bench"
PAGE, NEXT_PAGE = "chapter_gpus/use-gpu.html", "chapter_gpus/trainer.html"
NOTES = """\
{machine}; load when it began {load:.1f}. {versions}. {date}.

Median (least to most) of {runs} runs, which alternate between the tools. No other host
can be reached: a request to one is counted, and its weight and time are in no number.
{hosts}
The host here answers in HTTP/1.1 and gzip. Lighthouse simulates a phone on a slow
network, scaled from the load of this machine: other work makes it worse. axe's nodes
are those found with any of the four frameworks chosen. Panels are those of frameworks;
this book shares one between frameworks that have the same text. A build makes all pages
of the book from kept outputs; this book's command also makes the library of its
sources, which d2lbook does by another and Jupyter Book does not. Processor time decides
whether the budget is held.
"""


def main() -> int:
    try:
        options = _options()
        load = os.getloadavg()[0]
        audits.check_tools()
        book = Book(ROOT)
        FOLDER.mkdir(parents=True, exist_ok=True)
        made = [
            make(book, FOLDER)
            for make in (peers.this_book, peers.stock_d2lbook, peers.jupyter_book)
        ]
        measured: dict[str, Any] = {peer.name: {} for peer in made}
        _time_builds(made, options.runs, measured)
        _measure_pages(made, book.tabs, options, measured)
        _write(measured, options.runs, load)
    except (BookError, BrowserError) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = arguments.Parser(description=__doc__)
    parser.add_argument(
        "--runs", type=arguments.count, default=3, help="of builds and Lighthouse"
    )
    parser.add_argument(
        "--vnu", type=arguments.path, help="the Nu HTML checker, vnu.jar"
    )
    return parser.parse_args()


@contextlib.contextmanager
def progress(name: str) -> Iterator[None]:
    """Report on stderr what is being done, and how long it took."""
    start = time.monotonic()
    print(f"{name} ...", end="", file=sys.stderr, flush=True)
    yield
    print(f" {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def _time_builds(made: list[Peer], runs: int, measured: dict[str, Any]) -> None:
    for run in range(runs):
        for peer in made:
            with progress(f"build {run + 1} of {runs}: {peer.name}"):
                for name, seconds in _builds(peer).items():
                    measured[peer.name].setdefault(name, []).append(seconds)


def _builds(peer: Peer) -> dict[str, tuple[float, float]]:
    """A first build, one of the pages alone, and one with nothing to do."""
    peer.prepare()
    first = pages = peer.build()
    if peer.no_page:
        # This book's command also makes its library of the sources, and checks it.
        peer.forget_pages()
        pages = peer.build()
    return {"first": first, "pages": pages, "again": peer.build()}


def _measure_pages(
    made: list[Peer],
    names: list[str],
    options: argparse.Namespace,
    measured: dict[str, Any],
) -> None:
    with contextlib.ExitStack() as stack:
        places = [
            Place(stack.enter_context(served(peer.site)), PAGE, NEXT_PAGE)
            for peer in made
        ]
        for run in range(options.runs):
            for peer, place in zip(made, places, strict=True):
                with progress(f"Lighthouse {run + 1} of {options.runs}: {peer.name}"):
                    scores = audits.lighthouse(place.base + place.page)
                    measured[peer.name].setdefault("lighthouse", []).append(scores)
        browser = measures.launch(stack.enter_context(sync_playwright()))
        for peer, place in zip(made, places, strict=True):
            with progress(f"browser: {peer.name}"):
                measured[peer.name] |= _in_browser(browser, peer, place, names)
            measured[peer.name] |= _html_errors(peer, options.vnu)
        browser.close()


def _in_browser(browser: Any, peer: Peer, place: Place, names: list[str]) -> dict:
    asked, last = (browser, peer, place), names[2]
    return {
        "load": measures.load(*asked),
        "panels": measures.panels(*asked),
        "tab_sets": measures.tab_sets(*asked, names),
        "memory": measures.memory(*asked, last),
        "reading": measures.reading(*asked, last),
        "from_disk": measures.from_disk(*asked, last),
        "axe": measures.violations(*asked, names),
    }


def _html_errors(peer: Peer, jar: Path | None) -> dict[str, int]:
    page = peer.site / PAGE
    found = {"html_validate": audits.html_validate(page)}
    return found | ({"nu_checker": audits.nu_checker(page, jar)} if jar else {})


def _write(measured: dict[str, Any], runs: int, load: float) -> None:
    """The table on stdout and in files, and the chart."""
    notes = NOTES.format(
        machine=machine(),
        versions=", ".join(f"{n} {v}" for n, v in versions().items()),
        date=datetime.date.today().isoformat(),
        runs=runs,
        load=load,
        hosts="\n".join(_hosts(measured)),
    )
    text = f"{report.table(measured)}\n\n{notes}"
    print(text)
    (FOLDER / "page.md").write_text(text, "utf-8")
    found = {"told": notes.partition("\n")[0], "measured": measured}
    (FOLDER / "page.json").write_text(json.dumps(found, indent=1), "utf-8")
    python = FOLDER / "environment/bin/python"
    chart = Path(__file__).with_name("chart.py")
    subprocess.run([python, chart, "page.json", "page.svg"], cwd=FOLDER, check=True)


def _hosts(measured: dict[str, Any]) -> Iterator[str]:
    for name, found in measured.items():
        if found["load"]["hosts"]:
            yield f"{name} asks {', '.join(found['load']['hosts'])}."


def machine() -> str:
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    d2lbook = {"d2lbook": importlib.metadata.version("d2lbook")}
    return audits.versions() | d2lbook | peers.versions()


if __name__ == "__main__":
    sys.exit(main())
