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
EXPECTED = ["expected_rows", "expected_low", "expected_median", "expected_high"]
OTHERS = [
    "others",
    "others_within_quarter",
]  # of sources that no constant was fitted on
COLUMNS = ["kind", "rows", "low", "median", "high", *EXPECTED, *OTHERS]


def measured() -> Iterator[list[str]]:
    """Yield the kind, the number of rows, and three quantiles of the ratios.

    The same of the expectations follows, and the share of the rows of other sources
    that are within 25 percent.
    """
    for name in (name for name, kind in KINDS.items() if not kind.needs):
        yield [name, *cells(audit.summary(name)), *cells(audit.expected(name)),
               *others(name)]  # fmt: skip


def cells(found: audit.Summary) -> list[str]:
    """Return the number of rows and the quantiles of a summary."""
    ratios = found.low, found.median, found.high
    return [str(found.rows), *[f"{ratio:.4f}" for ratio in ratios]]


def others(name: str) -> list[str]:
    """Return how many rows no constant has seen, and which share of them is near."""
    try:
        found = audit.expected(name, is_fitted=False)
    except ValueError:
        return ["0", "0"]
    return [str(found.rows), f"{found.within_quarter:.4f}"]


def stored() -> dict[str, list[float]]:
    """Return the numbers of the file by the kind."""
    rows = csv.reader(FILE.read_text("utf-8").splitlines()[1:])
    return {name: [float(cell) for cell in cells] for name, *cells in rows}


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *measured()])
