"""Checks the names that the cells of a section use, and what they import.

The cells of a tab use all names and define them. None names the null device, and none
needs a private module of a framework, unless the framework has no other way.
"""

import ast
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from book.library.marks import IMPORT, saved_statements
from book.text.blocks import Cell
from book.text.book import Book
from book.text.section import Section

RUFF = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
# Unused imports and undefined names.
RULES = ["--select", "F401,F821", "--output-format", "json"]
# A profiler that is given the null device as its file deletes it, if root runs it.
NULL_DEVICE = re.compile(r"""["']/dev/null["']|\bdevnull\b""")
# Modules without a public counterpart that have been the same for many releases; and
# MXNet has no further release.
LASTING = (
    "mxnet.",
    "torch._subclasses.fake_tensor",
    "torch.distributed._functional_collectives",
    "torch.testing._internal.distributed.fake_pg",
    "torch.utils._python_dispatch",
    "torch.utils._pytree",
)


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each unknown or unused name, null device and private module."""
    programs = [
        (section, tab, book.cells(section, tab))
        for section in book.sections
        for tab in book.code_tabs(section)
    ]
    for section, _, cells in programs:
        yield from _uses_of_null_device(section, cells)
        yield from _private_modules(section, cells)
    yield from _unknown_names(programs)


def _uses_of_null_device(section: Section, cells: list[Cell]) -> Iterator[str]:
    for cell in cells:
        for row, line in enumerate(cell.python.split("\n"), start=1):
            if NULL_DEVICE.search(line):
                where = section.at(cell.line_of(row))
                yield f"{where}: a cell names the null device; use a temporary file"


def _private_modules(section: Section, cells: list[Cell]) -> Iterator[str]:
    """Yield each private module without which the rest of a notebook cannot run.

    An import in a function or below `try` stops nothing else.
    """
    for cell in cells:
        for module, row in _imports(cell):
            if "._" in module and not module.startswith(LASTING):
                yield (
                    f"{section.at(cell.line_of(row))}: {module} is private, and other"
                    " releases may lack it; import it below try, in the cell that"
                    " needs it"
                )


def _imports(cell: Cell) -> Iterator[tuple[str, int]]:
    """Yield what a cell imports outside of any block, with its row in the cell."""
    with contextlib.suppress(SyntaxError):  # which another rule reports
        for line in ast.parse(cell.python).body:
            match line:
                case ast.Import():
                    yield from ((each.name, line.lineno) for each in line.names)
                case ast.ImportFrom():
                    start = f"{line.module}."
                    yield from ((start + each.name, line.lineno) for each in line.names)


def _code_to_check(cell: Cell) -> str:
    """Return the code of a cell, whose marked imports need not be used."""
    lines = cell.python.split("\n")
    for node in saved_statements(cell.python):
        if isinstance(node, IMPORT):
            lines[node.lineno - 1] += "  # noqa: F401"
    return "\n".join(lines)


def _unknown_names(programs: list[tuple[Section, str, list[Cell]]]) -> Iterator[str]:
    """Yield each name that ruff finds unused or undefined in the cells of a tab."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, _, cells) in enumerate(programs):
            code = "\n\n".join(map(_code_to_check, cells))
            Path(folder, f"{number}.py").write_text(code, "utf-8")
        command = [*RUFF, *RULES, "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    for problem in json.loads(done.stdout):
        section, tab, cells = programs[int(Path(problem["filename"]).stem)]
        # A blank line follows each cell.
        rows = [row for cell in cells for row in (*cell.rows, cell.rows[-1])]
        where = section.at(rows[problem["location"]["row"] - 1])
        yield f"{where}: {problem['message']} in {tab}; remove or define the name"
