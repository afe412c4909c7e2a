"""The command of an exported folder: runs its notebooks and keeps the results."""

import argparse
import asyncio
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from nbformat import NotebookNode

from . import signals
from .execution import Halt, Interpreter, execute, report, show_progress, stopping
from .files import write_whole
from .folder import (
    LIBRARY,
    NOTEBOOKS,
    RESULTS,
    ExportedNotebook,
    Manifest,
    library_digest,
    read_manifest,
    read_notebook,
    seal_result,
)
from .machine import Unfit, gpus_of, machine_facts


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
) -> list[ExportedNotebook]:
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


def _run_entry(folder: Path, manifest: Manifest, entry: ExportedNotebook) -> bool:
    """Run one notebook and keep its result; return whether it failed."""
    # Not resolved: Python finds its environment through the link.
    interpreter = Interpreter(Path(sys.executable), folder, manifest.machine)
    try:
        notebook = read_notebook(folder / NOTEBOOKS / entry.file)
    except Unfit as error:
        report(f"error: {error}")
        return True
    result = folder / RESULTS / entry.file
    log = result.with_suffix(".log")
    halt = asyncio.run(_execute(notebook, interpreter, entry.title))
    if halt is not None:
        write_whole(log, f"{halt.reason}\n\n{halt.traceback}\n")
        cell = f", cell {halt.cell}" if halt.cell else ""
        report(f"error: {entry.title}{cell}: {halt.reason}; see {log}")
        return True
    names = manifest.distributions[entry.tab]
    facts = machine_facts(manifest.machine, entry.tab, interpreter.python, names)
    write_whole(result, seal_result(notebook, manifest, entry, facts))
    log.unlink(missing_ok=True)
    return False


async def _execute(
    notebook: NotebookNode, interpreter: Interpreter, title: str
) -> Halt | None:
    progress = functools.partial(show_progress, title)
    task = asyncio.ensure_future(execute(notebook, interpreter, progress))
    with stopping([task]) as interrupted:
        await asyncio.wait([task])
    # nbclient reports a cancelled task as the death of the kernel.
    if interrupted:
        raise KeyboardInterrupt
    return task.result()


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
    signals.listen()
    try:
        return 1 if run(folder, options.tab, options.section) else 0
    except Unfit as error:
        report(f"error: {error}")
    except OSError as error:
        report(f"error: {error.filename or folder}: {error.strerror or error}")
    except KeyboardInterrupt:
        report("interrupted: finished work is kept")
        return 130
    return 1
