"""Writes d2l/collectives.csv: what XLA plans to send between GPUs that are not there.

`make plans`, or with an interpreter that has JAX and its compiler for GPUs:
`python -m benchmarks.collectives`. `inputs_digest` tells whether the file is out of
date.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import plans

ROOT = Path(__file__).parents[1]
FILE = ROOT / "d2l/collectives.csv"
LAYOUTS = ("data", "fsdp", "tensor")
CARD, NUMBERS = "H100", (8, 64)
COLUMNS = ("layout", "card", "num_gpus", "kind", "count", "nbytes", "jax", "inputs")
# The collectives depend on these definitions of d2l/jax.py.
DEFINITIONS = {
    *("TARGET", "compile_only_devices", "layout_program"),
    *("array_bytes", "group_size", "read_collectives"),
}


def inputs_digest(root: Path = ROOT) -> str:
    """Return a hash of all that the collectives depend on; this needs no framework."""
    parts = [
        plans.definitions(root / "d2l/jax.py", DEFINITIONS),
        plans.card_properties(root),
        plans.compiler_pins(root),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def rows() -> Iterator[dict]:
    """Yield the row of each layout, number of GPUs and kind, and print it."""
    import jax

    from d2l import jax as d2l

    origin = {"jax": jax.__version__, "inputs": inputs_digest()}
    for layout in LAYOUTS:
        for num_gpus in NUMBERS:
            devices = d2l.compile_only_devices(CARD, num_gpus)
            text = d2l.layout_program(layout, devices)
            for collective in d2l.read_collectives(text):
                row = {"layout": layout, "card": CARD, "num_gpus": num_gpus}
                row |= collective._asdict() | origin
                print(*(row[column] for column in COLUMNS[:-2]), flush=True)
                yield row


def main() -> None:
    """Compile all layouts, and write the file."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        plans.write_table(FILE, COLUMNS, list(rows()))
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
