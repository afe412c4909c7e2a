"""Writes d2l/kernels.csv: what XLA and Triton make of the kernels of kernels.md.

It runs the cells of the JAX tab and keeps each plan that they compile. Run it from the
root, with an interpreter that has JAX and its compiler for GPUs:
`python kernel_plans.py`.
"""

import ast
import csv
import os
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path.cwd()
ROLES = ("registers", "stack", "shared")
COLUMNS = ("call", "card", *ROLES, "instructions", "jax", "digest")
KEPT = re.compile(
    r"(?:mma\.sync|wgmma\.mma|tcgen05\.mma|fma\.rn|(?:ld|st)\.global|cp\.async\.c[ag])"
    r"[\w.:]*"
)


def main() -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["MPLBACKEND"] = "Agg"
    sys.path.insert(0, str(ROOT))
    text = (ROOT / "chapter_gpus/kernels.md").read_text()
    names, rows = {"__name__": "__main__"}, []
    for cell in re.findall(r"^```\{\.python[^}]*\}\n(.*?)^```", text, re.S | re.M):
        head, _, code = cell.partition("\n")
        if head not in ("%%tab jax", "%%tab all"):
            continue
        exec(compile(ast.parse(code), "kernels.md", "exec"), names)
        if "def compile_kernel" in code:
            names["compile_kernel"] = keep_plans(names, rows)
    with (ROOT / "d2l/kernels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def keep_plans(names: dict, rows: list):
    """Return `compile_kernel`, changed to append a row for each new plan."""
    compile_kernel = names["compile_kernel"]

    def keep(function, *args, card="H100", **options):
        import jax

        plan = compile_kernel(function, *args, card=card, **options)
        call, digest = names["describe_call"](function, args, options)
        counts = Counter(KEPT.findall(plan.ptx))
        row = {"call": call, "card": card, "jax": jax.__version__, "digest": digest}
        row |= {key: getattr(plan, key) for key in ROLES}
        row["instructions"] = "; ".join(f"{k} x {n}" for k, n in counts.items())
        if row not in rows:
            rows.append(row)
        return plan

    return keep


if __name__ == "__main__":
    main()
