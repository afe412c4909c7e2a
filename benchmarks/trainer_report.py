"""Reports the results of the Trainer's bench as a table and a chart, with targets."""

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import stock_d2l
from benchmarks.common import spread

CHART = Path(__file__).resolve().parents[1] / "img/src/trainer-speed.py"
NAMES = {
    "bare": "bare loop, ms per step",
    "bare, again": "bare loop again",
    "silent": "this Trainer",
    "plotting": "this Trainer, plotting",
    "peer": "Lightning; Keras's fit",
    "d2l 1.0.3": "d2l 1.0.3",
    "d2l 1.0.3, plotting": "d2l 1.0.3, plotting",
}
NOTES = """\
{machine}; {where}; load at the start {load}. {versions}. {date}.

The numbers are medians (minimum to maximum) of {rounds} rounds. In each round, all
variants of a framework run in kernels. The bare loop is in milliseconds per minibatch,
and all other numbers are ratios to the bare loop of the same round. Linear regression
has 1000 examples of 2 numbers, in batches of 32, for 10 epochs. The MLP has layers of
784, 256 and 10 units, with 50 batches of 256 examples per epoch, for 3 epochs. Times
include validation, with as many examples for the linear model and a fifth for the MLP.

A whole fit includes the first compilation and the first plot. A steady step is the mean
of all epochs but the first. To measure it, the bare loop, a second bare loop, and this
Trainer with and without plots train in turns of one epoch, in a new order each time.
The speed of the machine drifts, and thus affects all four equally. The ratio of the
second bare loop shows the error of the measurement. The steady steps of Lightning and
Keras are from fits of their own. The steady step of d2l 1.0.3, which slows down as it
plots, is from the whole fit. All variants but d2l 1.0.3 use the book's data loaders.

Changes to d2l 1.0.3: {fixes}.
"""


class Target(NamedTuple):
    """The largest median ratio of a variant to the bare loop, for each workload."""

    variant: str
    kind: str  # whole or steady
    limits: dict[str, float]


TARGETS = [
    Target("silent", "steady", {"linear": 1.10, "mlp": 1.03}),
    Target("plotting", "steady", {"linear": 1.5, "mlp": 1.10}),
]
TIMES_FASTER = 3  # than d2l 1.0.3, for the linear model with plots


def ratios(runs: dict[str, list], variant: str, kind: str, to: str) -> list[float]:
    """Return the ratio of the times of two variants in each round."""
    pairs = zip(runs[variant], runs[to], strict=True)
    return [a[kind] / b[kind] for a, b in pairs]


def table(results: dict[str, Any]) -> str:
    """Return a Markdown table with a column for each variant.

    It has a line for each framework, workload and kind of time.
    """
    head = ["", *NAMES.values()]
    lines = [head, ["---"] * len(head)]
    for tab, measured in results["tabs"].items():
        for workload, runs in measured["runs"].items():
            for kind in ("whole", "steady"):
                label = "whole fit" if kind == "whole" else "steady step"
                lines.append([f"{tab}, {workload}, {label}", *_cells(runs, kind)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(runs: dict[str, list], kind: str) -> Iterator[str]:
    """Yield the cell of each variant, which is empty if it was not measured."""
    for variant in NAMES:
        if variant == "bare":
            seconds = [1000 * run[kind] for run in runs[variant]]
            yield spread(seconds, 3 if kind == "steady" else 0)
        elif variant in runs:
            yield spread(ratios(runs, variant, kind, "bare"), 2)
        else:
            yield ""


def targets(results: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each target, with the measured value and "yes" or "NO"."""
    for tab, measured in results["tabs"].items():
        for target in TARGETS:
            for workload, limit in target.limits.items():
                runs = measured["runs"][workload]
                value = median(ratios(runs, target.variant, target.kind, "bare"))
                name = f"{NAMES[target.variant]}, steady, {workload}"
                yield _target_line(tab, name, f"at most {limit}", value, value <= limit)
        runs = measured["runs"]["linear"]
        faster = median(ratios(runs, "d2l 1.0.3, plotting", "whole", "plotting"))
        name, limit_text = (
            "times as fast as d2l 1.0.3, plotting",
            f"at least {TIMES_FASTER}",
        )
        yield _target_line(tab, name, limit_text, faster, faster >= TIMES_FASTER)


def _target_line(tab: str, name: str, limit: str, value: float, met: bool) -> str:
    return f"- {tab}: {name}: {value:.3f}, {limit}: {'yes' if met else 'NO'}"


def write(results: dict[str, Any], folder: Path) -> None:
    """Print the table, and write it, the results and the chart to `folder`."""
    results = {"date": datetime.date.today().isoformat(), **results}
    versions = [v for tab in results["tabs"].values() for v in tab["versions"].items()]
    notes = NOTES.format(
        **{name: results[name] for name in ("machine", "load", "rounds", "date")},
        where="one GPU" if results["gpus"] else "no GPU",
        versions=", ".join(f"{name} {version}" for name, version in versions),
        fixes=stock_d2l.describe_fixes(),
    )
    text = f"{table(results)}\n\n" + "\n".join(targets(results)) + f"\n\n{notes}"
    print(text)
    (folder / "trainer.md").write_text(text, "utf-8")
    data = folder / "trainer.json"
    data.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    subprocess.run([sys.executable, CHART, data, folder / "trainer.svg"], check=True)
