"""The command of an exported folder: runs its notebooks and keeps the results."""

import argparse
import asyncio
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .errors import BookError
from .execution import Interpreter, execute, show_progress
from .files import write_whole
from .folder import NOTEBOOKS, RESULTS, notebooks, read_notebook
from .machine import gpus_of, machine_facts
from .signals import exit_status, report


def run(folder: Path, tabs: Sequence[str], sections: Sequence[str]) -> int:
    """Run the notebooks of `folder` and return how many of them failed."""
    files = chosen(notebooks(folder), tabs, sections)
    # All of them are read before the first runs, which may take long.
    ready = {file: read_notebook(folder, file) for file in files}
    for machine in {notebook.metadata.book.machine for notebook in ready.values()}:
        gpus_of(machine)
    # One after the other, since two kernels would compete for the memory of one GPU.
    failed = sum([_run_notebook(folder, *entry) for entry in ready.items()])
    print(
        f"{len(files) - failed} of {len(files)} notebooks are in"
        f" {folder / RESULTS}; copy it back, then: make import FROM=FOLDER"
    )
    return failed


def chosen(
    files: Sequence[str], tabs: Sequence[str], sections: Sequence[str]
) -> list[str]:
    """Return the notebooks of `tabs` and `sections`; empty lists mean all of them."""
    if not files:
        raise BookError(f"there is nothing in {NOTEBOOKS}/; export it again")
    sections = [name.removesuffix(".md") for name in sections]
    for part, (kind, wanted) in enumerate((("tab", tabs), ("section", sections))):
        of = {f: f.removesuffix(".ipynb").partition("/")[2 * part] for f in files}
        known = ", ".join(dict.fromkeys(of.values()))
        for name in wanted:
            if not any(_is_name(name, found) for found in of.values()):
                raise BookError(f"no {kind} '{name}' here; there are {known}")
        if wanted:
            files = [f for f in files if any(_is_name(w, of[f]) for w in wanted)]
    return list(files)


def _is_name(name: str, of: str) -> bool:
    """Return whether a tab or a section has this name, or this last part of a name."""
    return name in (of, of.rpartition("/")[2])


def _run_notebook(folder: Path, file: str, notebook: NotebookNode) -> bool:
    """Run one notebook and keep its result; return whether it failed."""
    made_of, distributions = notebook.metadata.book, notebook.metadata.distributions
    title = file.removesuffix(".ipynb").replace("/", ": ", 1)
    # Not resolved: Python finds its environment through the link.
    interpreter = Interpreter(Path(sys.executable), folder, made_of.machine)
    target = folder / RESULTS / file
    log = target.with_suffix(".log")
    progress = functools.partial(show_progress, title)
    halt = asyncio.run(execute(notebook, interpreter, progress))
    if halt is not None:
        write_whole(log, f"{halt.reason}\n\n{halt.traceback}\n")
        cell = f", cell {halt.cell}" if halt.cell else ""
        report(f"error: {title}{cell}: {halt.reason}; see {log}")
        return True
    run_by = made_of.machine, made_of.framework, interpreter.python, distributions
    notebook.metadata = NotebookNode(book=made_of | machine_facts(*run_by))
    # No half of a surrogate pair can stand in a file.
    write_whole(target, nbformat.writes(notebook).encode(errors="replace").decode())
    log.unlink(missing_ok=True)
    return False


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


def main(folder: Path, arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks that the arguments choose and return the exit status."""
    options = _parse_options(arguments)
    return exit_status(lambda: run(folder, options.tab, options.section))
