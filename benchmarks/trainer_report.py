"""The Trainer bench's numbers as a table and a chart, with the book's targets."""

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import stock_d2l
from benchmarks.report import spread

CHART = Path(__file__).resolve().parents[1] / "img/src/trainer-speed.py"
NAMES = {
    "bare": "bare loop, ms a step",
    "bare, again": "bare loop again",
    "silent": "this Trainer",
    "plotting": "this Trainer, plotting",
    "peer": "Lightning; Keras's fit",
    "d2l 1.0.3": "d2l 1.0.3",
    "d2l 1.0.3, plotting": "d2l 1.0.3, plotting",
}
NOTES = """\
{machine}; {where}; load when it began {load}. {versions}. {date}.

Medians (least to most) of {rounds} rounds, in each of which all variants of a framework
run, in kernels. The bare loop is in milliseconds a minibatch, all others are ratios to
the bare loop of the same round. Linear regression: 1000 examples of 2 numbers, batches
of 32, 10 epochs. MLP: 784-256-10, batches of 256, 50 of them an epoch, 3 epochs.
Validation, as long again for the linear model and a fifth for the MLP, is part of it. A
whole fit begins with what is compiled or drawn first; a steady step is the mean of all
epochs but the first. For it, the bare loop, a second one, and this Trainer, with
plotting and without, train at the same time, an epoch of each in turn, in a new order
each time, so that the speed of the machine, which drifts, is the same for all four. How
far the second bare loop is from 1 is how much the bench can tell apart. Lightning and
Keras have a fit of their own for the steady step, and d2l 1.0.3, which slows down as it
plots, the whole fit. All but d2l 1.0.3 take their minibatches from the book's loaders.

Changed in d2l 1.0.3 so that it runs: {fixes}.
"""


class Target(NamedTuple):
    """The most that a median ratio may be."""

    variant: str
    kind: str  # whole or steady
    limits: dict[str, float]


TARGETS = [
    Target("silent", "steady", {"linear": 1.10, "mlp": 1.03}),
    Target("plotting", "steady", {"linear": 1.5, "mlp": 1.10}),
]
TIMES_FASTER = 3  # than d2l 1.0.3, both plotting, the linear model


def ratios(runs: dict[str, list], variant: str, kind: str, to: str) -> list[float]:
    """The ratio of two variants in each round."""
    pairs = zip(runs[variant], runs[to], strict=True)
    return [a[kind] / b[kind] for a, b in pairs]


def table(found: dict[str, Any]) -> str:
    """A line for each framework, workload and kind of time, a column a variant."""
    head = ["", *NAMES.values()]
    lines = [head, ["---"] * len(head)]
    for tab, measured in found["tabs"].items():
        for workload, runs in measured["runs"].items():
            for kind in ("whole", "steady"):
                what = "whole fit" if kind == "whole" else "steady step"
                lines.append([f"{tab}, {workload}, {what}", *_cells(runs, kind)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(runs: dict[str, list], kind: str) -> Iterator[str]:
    for variant in NAMES:
        if variant == "bare":
            seconds = [1000 * run[kind] for run in runs[variant]]
            yield spread(seconds, 3 if kind == "steady" else 0)
        elif variant in runs:
            yield spread(ratios(runs, variant, kind, "bare"), 2)
        else:
            yield ""


def targets(found: dict[str, Any]) -> Iterator[str]:
    """A line for each target: what was to be reached, what was, if it holds."""
    for tab, measured in found["tabs"].items():
        for target in TARGETS:
            for workload, limit in target.limits.items():
                runs = measured["runs"][workload]
                value = median(ratios(runs, target.variant, target.kind, "bare"))
                what = f"{NAMES[target.variant]}, steady, {workload}"
                yield _told(tab, what, f"at most {limit}", value, value <= limit)
        runs = measured["runs"]["linear"]
        faster = median(ratios(runs, "d2l 1.0.3, plotting", "whole", "plotting"))
        wanted, holds = f"at least {TIMES_FASTER}", faster >= TIMES_FASTER
        yield _told(tab, "times as fast as d2l 1.0.3, plotting", wanted, faster, holds)


def _told(tab: str, what: str, wanted: str, value: float, holds: bool) -> str:
    return f"- {tab}: {what}: {value:.3f}, {wanted}: {'yes' if holds else 'NO'}"


def write(found: dict[str, Any], folder: Path) -> None:
    """Print the table; keep it, what was measured and the chart in `folder`."""
    found = {"date": datetime.date.today().isoformat(), **found}
    versions = [v for tab in found["tabs"].values() for v in tab["versions"].items()]
    notes = NOTES.format(
        **{name: found[name] for name in ("machine", "load", "rounds", "date")},
        where="one GPU" if found["gpus"] else "no GPU",
        versions=", ".join(f"{name} {version}" for name, version in versions),
        fixes=stock_d2l.told(),
    )
    text = f"{table(found)}\n\n" + "\n".join(targets(found)) + f"\n\n{notes}"
    print(text)
    (folder / "trainer.md").write_text(text, "utf-8")
    kept = folder / "trainer.json"
    kept.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    subprocess.run([sys.executable, CHART, kept, folder / "trainer.svg"], check=True)
