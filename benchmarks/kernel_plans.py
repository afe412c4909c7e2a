"""Writes d2l/kernels.csv: what XLA and Triton make of the kernels of tiles.md.

`make plans`, or with an interpreter that has JAX and its compiler for GPUs:
`python -m benchmarks.kernel_plans`. It runs the code of the JAX tab that compiles
kernels, in the section and in its solutions, and stores each plan. `inputs_digest`
tells whether the file is out of date.
"""

import ast
import contextlib
import hashlib
import io
import os
import re
import symtable
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import plans
from book.text.section import Section

ROOT = Path(__file__).parents[1]
FILE = ROOT / "d2l/kernels.csv"
SECTIONS = ("chapter_gpus/tiles", "chapter_gpus/solutions-tiles")
ROLES = ("registers", "stack", "shared")
COLUMNS = ("call", "card", *ROLES, "instructions", "jax", "digest", "inputs")
# A stored plan has only the instructions for products, loads and stores.
KEPT = re.compile(
    r"(?:mma\.sync|wgmma\.mma|tcgen05\.mma|fma\.rn|(?:ld|st)\.global|cp\.async\.c[ag]|"
    r"cp\.async\.bulk\.tensor)[\w.:]*"
)
# Plans depend on these definitions of d2l/jax.py, and on `compiling_code`.
DEFINITIONS = {
    *("TARGET", "compile_only_devices", "run_kernel", "lower_kernel"),
    *("compile_kernel", "read_plan", "assemble", "find_ptxas", "describe_call"),
}


def inputs_digest(root: Path = ROOT) -> str:
    """Return a hash of all that the plans depend on; this needs no framework."""
    parts = [
        *([ast.unparse(node) for node in compiling_code(s, root)] for s in SECTIONS),
        plans.definitions(root / "d2l/jax.py", DEFINITIONS),
        plans.card_properties(root),
        plans.compiler_pins(root),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def compiling_code(name: str, root: Path = ROOT) -> list[ast.stmt]:
    """Return the statements of a section that compile kernels.

    They are those of the JAX tab that call `d2l.compile_kernel`, and those that define
    the names that they need, in the order of the section, without docstrings.
    """
    section = Section(name, root / f"{name}.md")
    cells = [cell.code for cell in section.cells if cell.is_for("jax")]
    statements = [node for code in cells for node in ast.parse(code).body]
    scopes = [_names(statement) for statement in statements]
    chosen: set[int] = set()
    new = {i for i, statement in enumerate(statements) if _compiles(statement)}
    while new:
        chosen |= new
        wanted = {name for i in new for name in scopes[i][1]}
        new = {i for i, (made, _) in enumerate(scopes) if made & wanted} - chosen
    return [plans.without_docstring(statements[i]) for i in sorted(chosen)]


def _compiles(statement: ast.stmt) -> bool:
    """Return whether a statement uses `compile_kernel` of the library."""
    names = [getattr(node, "attr", None) for node in ast.walk(statement)]
    return "compile_kernel" in names


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement defines, and the others that it needs."""
    table = symtable.symtable(ast.unparse(statement), "<cell>", "exec")
    made = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    return made, {*_globals(table)} - made


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that a scope and the scopes within it refer to."""
    for symbol in table.get_symbols():
        if symbol.is_global() or table.get_type() == "module":
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


def rows() -> list[dict]:
    """Return the row of each plan, and print it as soon as it is known."""
    from d2l import jax as d2l

    table: list[dict] = []
    compile_kernel = d2l.compile_kernel
    d2l.compile_kernel = _storing(compile_kernel, table)
    for section in SECTIONS:
        names: dict[str, Any] = {"__name__": "__main__"}
        for statement in compiling_code(section):
            code = compile(ast.unparse(statement), f"{section}.md", "exec")
            with contextlib.redirect_stdout(io.StringIO()):  # what the section prints
                exec(code, names)
    d2l.compile_kernel = compile_kernel
    return table


def _storing(compile_kernel: Callable, table: list[dict]) -> Callable:
    """Return `compile_kernel`, changed to add the row of each new plan to a table."""
    import jax

    from d2l import jax as d2l

    origin = inputs_digest()

    def store(function: Callable, *args: Any, card: str = "H100", **options: Any):
        plan = compile_kernel(function, *args, card=card, **options)
        call, digest = d2l.describe_call(function, args, options)
        counts = Counter(KEPT.findall(plan.ptx))
        row = {"call": call, "card": card} | {r: getattr(plan, r) for r in ROLES}
        row["instructions"] = "; ".join(f"{k} x {n}" for k, n in counts.items())
        row |= {"jax": jax.__version__, "digest": digest, "inputs": origin}
        if row not in table:
            print(
                *(row[column] for column in COLUMNS[:5]),
                file=sys.__stdout__,
                flush=True,
            )
            table.append(row)
        return plan

    return store


def main() -> None:
    """Write the file, whole or not at all."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["MPLBACKEND"] = "Agg"
    from d2l import jax as d2l

    try:
        d2l.compile_only_devices("H100")  # else the section reads the stored plans
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}")
    plans.write_table(FILE, COLUMNS, rows())


if __name__ == "__main__":
    main()
