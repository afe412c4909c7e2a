"""Prints how well each kind predicts published measurements, for test_audit.py.

PYTHONPATH=. python3 tests/d2l/audit_quantiles.py > tests/d2l/audit_quantiles.csv
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from d2l import audit
from d2l.predictions import KINDS

FILE = Path(__file__).with_suffix(".csv")
COLUMNS = ["kind", "rows", "low", "median", "high"]


def measured() -> Iterator[list[str]]:
    """Yield the kind, the number of rows, and three quantiles of the ratios."""
    for name in (name for name, kind in KINDS.items() if not kind.needs):
        found = audit.summary(name)
        ratios = found.low, found.median, found.high
        yield [name, str(found.rows), *[f"{ratio:.4f}" for ratio in ratios]]


def stored() -> dict[str, list[float]]:
    """Return the numbers of the file by the kind."""
    rows = csv.reader(FILE.read_text("utf-8").splitlines()[1:])
    return {name: [float(cell) for cell in cells] for name, *cells in rows}


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *measured()])
