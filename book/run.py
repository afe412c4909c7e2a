"""Runs what is stale, each notebook in its own tab's interpreter, keeps the outputs.

python -m book run [--tab TAB] [--section SECTION] [--machine NAME]
"""

import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbformat import NotebookNode

from book import environments, records
from book.errors import BookError
from book.kernels import Job, execute
from book.sources import Book, Section

# The distributions that a tab's framework may come in, the first one there counts.
DISTRIBUTIONS = {
    "pytorch": ["torch"],
    "tensorflow": ["tensorflow", "tensorflow-cpu"],
}

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


def run(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
    jobs: int | None = None,
    python: Path | None = None,
) -> int:
    """Run the notebooks that are not fresh and keep each record; how many were run.

    Empty `tabs` or `sections` mean all of them. A failure leaves the old record and
    the other notebooks run on; then a `BookError` tells of all failures.
    """
    check_names(book, tabs, sections, machine, python)
    due = plan(book, tabs, sections, machine, force)
    if not due:
        print("all records are fresh: nothing to run")
        return 0
    _tell_plan(due)
    of = interpreters(book, (tab for _, tab in due), python)
    facts = {tab: machine_facts(machine, tab, of[tab]) for tab in of}

    def keep(job: Job, executed: NotebookNode) -> None:
        records.write(job.book, job.section, job.tab, executed, facts[job.tab])

    ready = [Job(book, section, tab, machine, of[tab]) for section, tab in due]
    failures = execute(ready, keep, jobs)
    if failures:
        for failure in failures:
            if failure.traceback:
                print(failure.traceback, file=sys.stderr)
        raise BookError("\n".join(failure.message for failure in failures))
    return len(ready)


# What to run, and with what


def check_names(
    book: Book,
    tabs: Iterable[str],
    sections: Iterable[str],
    machine: str,
    python: Path | None,
) -> None:
    """Refuse what does not exist before anything is done."""
    for tab in tabs:
        book.check_tab(tab)
    for section in sections:
        book.section(section)
    records.check_machine(machine)
    if python is not None and not os.access(python, os.X_OK):
        raise BookError("no interpreter there; name one: PYTHON=FILE", python)


def plan(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    machine: str = "cpu",
    force: bool = False,
) -> list[tuple[Section, str]]:
    """The sections and tabs whose records are not fresh; with `force`, all of them."""
    return [
        (section, tab)
        for section in ([book.section(s) for s in sections] or book.sections)
        for tab in book.code_tabs(section)
        if tab in (tabs or book.tabs)
        and (force or records.state(book, section, tab, machine) != "fresh")
    ]


def _tell_plan(due: list[tuple[Section, str]]) -> None:
    names = ", ".join(f"{section.name} ({tab})" for section, tab in due)
    print(f"to run: {names}", flush=True)


def interpreters(
    book: Book, tabs: Iterable[str], python: Path | None = None
) -> dict[str, Path]:
    """The interpreter of each tab; environments that are not there are built."""
    return {
        tab: python or environments.python(tab, book.root) for tab in sorted(set(tabs))
    }


def machine_facts(machine: str, tab: str, python: Path) -> dict[str, str]:
    """What a record tells of the machine and of the interpreter that ran it."""
    names = DISTRIBUTIONS.get(tab, [tab])
    asked = subprocess.run(
        [python, "-c", FACTS_SCRIPT, *names], capture_output=True, text=True
    )
    if asked.returncode:
        raise BookError("this interpreter does not start", python)
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
