"""Compares the kernels of the chapter with the framework's own operations, on a GPU.

    python -m benchmarks.kernels [--tab TAB] [--rounds 7] [--python PYTHON]

The kernels are the functions that the sections `kernels.md` and `tiles.md` define. A
file of `benchmarks/loops` times them in an interpreter with the framework, in turn with
the framework's operations. The table of ratios is printed and kept in `_build/bench`.
Times in an interpreter of kernels would say nothing about a GPU, so a machine without
one gets an error that says so. `--python` needs a `--tab`, whose framework it has.
"""

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from book.base import arguments, environments
from book.runner.errors import BookError, describe_os_error
from book.text.section import Section

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build/bench"
SECTIONS = [
    Section(f"chapter_gpus/{name}", ROOT / f"chapter_gpus/{name}.md")
    for name in ("kernels", "tiles")
]
LOOPS = {  # the file that times the kernels of a tab
    tab: ROOT / f"benchmarks/loops/kernels_{name}.py"
    for tab, name in [
        ("pytorch", "pytorch"),
        ("mxnet", "numba"),
        ("jax", "jax"),
        ("tensorflow", "numba"),
    ]
}
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def main() -> int:
    """Measure the chosen tabs, print the results, and return the exit status."""
    try:
        options = _options()
        FOLDER.mkdir(parents=True, exist_ok=True)
        without = [tab for tab in options.tab if not report(tab, options)]
        if without:
            advice = "use a machine with one, and its Python as PYTHON="
            raise BookError(f"no GPU for the kernels; {advice}", " ".join(without))
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = arguments.Parser(description=__doc__)
    parser.add_argument("--tab", type=arguments.names, default=list(LOOPS))
    parser.add_argument(
        "--rounds", type=arguments.count, default=7, help="of each kernel"
    )
    needed = "an interpreter with the framework and its kernel language"
    parser.add_argument("--python", type=arguments.path, help=needed)
    options = parser.parse_args()
    for tab in options.tab:
        if tab not in LOOPS:
            known = ", ".join(LOOPS)
            raise BookError(f"no kernels for '{tab}'; choose from {known}", "TAB")
    if options.python and len(options.tab) > 1:
        advice = "add TAB=, such as TAB=pytorch"
        raise BookError(f"one Python has one framework; {advice}", "PYTHON")
    return options


def report(tab: str, options: argparse.Namespace) -> bool:
    """Print and keep the ratios of a tab; return False if there is no GPU for it."""
    found = measure(tab, options.python or environments.python(tab), options.rounds)
    if found["gpu"] is None:
        return False
    text = table(found)
    print(text)
    (FOLDER / f"kernels-{tab}.md").write_text(text + "\n")
    return True


def measure(tab: str, python: Path, rounds: int) -> dict[str, Any]:
    """Return the name of the GPU, versions, and pairs of times of each kernel."""
    module = FOLDER / f"section_kernels_{tab}.py"
    module.write_text("\n".join(definitions(each, tab) for each in SECTIONS))
    paths = os.pathsep.join([str(ROOT), str(FOLDER)])
    try:
        result = subprocess.run(
            [str(python), str(LOOPS[tab]), tab, module.stem, str(rounds)],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
    except OSError as error:
        reason = describe_os_error(error)
        raise BookError(f"{python} cannot be started: {reason}") from None
    if result.returncode:
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise BookError(f"the kernels of {tab} failed: {reason}")
    return json.loads(result.stdout.splitlines()[-1])


def definitions(section: Section, tab: str) -> str:
    """Return the imports, functions and classes that a section defines in a tab."""
    nodes = [
        node
        for cell in section.cells
        if cell.is_for(tab)
        for node in ast.parse(cell.python).body
    ]
    return "\n\n".join(map(ast.unparse, filter(_is_definition, nodes))) + "\n"


def _is_definition(node: ast.stmt) -> bool:
    """Return whether a statement defines something without running anything."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) == "namedtuple"
    return isinstance(node, DEFINITIONS)


def table(found: dict[str, Any]) -> str:
    """Return the ratios of the times as a table; less than 1 is faster."""
    lines = [
        f"{found['gpu']}; {found['versions']}. Time of the chapter's kernel over the"
        " time of the framework's operation: median (least to most) of"
        f" {found['rounds']} rounds.",
        "",
        "| kernel | ratio | framework |",
        "|:--|--:|--:|",
    ]
    for name, pairs in found["times"].items():
        ratios = [ours / theirs for ours, theirs in pairs]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        theirs = statistics.median(theirs for _, theirs in pairs)
        ratio = f"{statistics.median(ratios):.2f} ({spread})"
        lines.append(f"| {name} | {ratio} | {theirs:.3f} ms |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
