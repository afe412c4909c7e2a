"""Prints the predictions that need PyTorch, for `d2l/predicted_steps.csv`.

PYTHONPATH=. .venvs/pytorch/bin/python tests/d2l/predicted_steps.py > predicted_steps
mv predicted_steps d2l/predicted_steps.csv
"""

import csv
import sys
from collections.abc import Iterator

from d2l import audit
from d2l.predictions import KINDS


def predicted() -> Iterator[tuple[str, str, float]]:
    """Yield the kind, the row and the prediction of each row of such a kind."""
    for name in (name for name, kind in KINDS.items() if kind.needs):
        for each in audit.outcomes(name):
            if not each.why:
                yield name, each.row.id, each.predicted


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["kind", "id", "predicted"])
    writer.writerows((name, row, f"{found:.6g}") for name, row, found in predicted())
