"""Writes d2l/turns.csv: the inner loops that Triton compiles for products of tiles.md.

`make plans`, or `python -m benchmarks.turns`, which needs the environment of PyTorch.
`tests/benchmarks/test_turns.py` compiles the loops again, and fails if the file is out
of date.
"""

import json
import os
import subprocess

from benchmarks import kernels, plans
from book.base import environments

FILE = kernels.ROOT / "d2l/turns.csv"
SIZES = ("rows", "columns", "terms")
COLUMNS = ("card", *SIZES, "warps", "stages", "loop")
# Tiles with 64 terms come by descriptors. With three stages, those of 256 columns would
# exceed the shared memory of an H100.
PLANS = """
A100  64  64 32 4 3
A100 128 128 32 4 3
A100 128 128 32 8 3
H100  64  64 32 4 3
H100 128 128 32 4 3
H100 128 128 64 4 3
H100 128 256 64 8 2
B200  64  64 32 4 3
B200 128 128 64 4 3
B200 128 256 64 8 2
"""


# It runs beside the functions of the section, which Triton reads from a file.
PROGRAM = """
import json, sys
import section_turns
for plan in json.load(sys.stdin):
    print(json.dumps(section_turns.compile_turn(*plan)))
"""


def compile_loops(found: list[tuple]) -> list[list[str]]:
    """Return the loop of each plan, compiled in the environment of PyTorch."""
    kernels.FOLDER.mkdir(parents=True, exist_ok=True)
    code = kernels.definitions(kernels.SECTIONS[1], "pytorch")
    (kernels.FOLDER / "section_turns.py").write_text(code)
    paths = os.pathsep.join(map(str, [kernels.ROOT, kernels.FOLDER]))
    printed = subprocess.run(
        [environments.python("pytorch"), "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": paths},
        input=json.dumps(found),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return [json.loads(line) for line in printed.splitlines()]


def rows() -> list[dict]:
    """Return the row of each plan."""
    table = [line.split() for line in PLANS.strip().splitlines()]
    found = [
        (card, tuple(map(int, tile)), int(warps), int(stages))
        for card, *tile, warps, stages in table
    ]
    return [
        dict(zip(COLUMNS, [*row, "; ".join(loop)], strict=True))
        for row, loop in zip(table, compile_loops(found), strict=True)
    ]


if __name__ == "__main__":
    plans.write_table(FILE, COLUMNS, rows())
