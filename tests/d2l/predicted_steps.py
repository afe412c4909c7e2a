"""Writes `d2l/predicted_steps.csv`, the predictions that need PyTorch: `make audit`."""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from d2l import audit
from d2l.predictions import KINDS

FILE = Path(audit.__file__).with_name("predicted_steps.csv")


def predicted() -> Iterator[audit.Outcome]:
    """Yield each outcome of such a kind that counts."""
    for name in (name for name, kind in KINDS.items() if kind.needs):
        yield from (each for each in audit.outcomes(name) if not each.why)


def cells(found: audit.Outcome) -> list[str]:
    """Return the line of an outcome; the expectation is empty if there is none."""
    expected = "" if math.isnan(found.expected) else f"{found.expected:.6g}"
    return [found.kind, found.row.id, f"{found.predicted:.6g}", expected]


if __name__ == "__main__":
    lines = [["kind", "id", "predicted", "expected"], *map(cells, predicted())]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
