"""Compares the predicted with the measured efficiency of training on several GPUs.

    python -m benchmarks.scaling [--gpus 4] [--rounds 20] [--python PYTHON]

A file of `benchmarks/loops` times all-reduces of several sizes on all GPUs, the
training steps of a stack of linear layers with DDP, and the steps of the same shares on
one GPU. The latency and the bandwidth of a link are fitted to the all-reduces. They
predict the efficiency of weak and strong scaling if no communication is hidden. The
table is printed and kept in `_build/bench`. A machine with too few GPUs gets an
error that says so.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from book.base import arguments, environments
from book.runner.errors import BookError, describe_os_error

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build/bench"
LOOP = ROOT / "benchmarks/loops/scaling_pytorch.py"
JOB = {"width": 4096, "depth": 8, "examples": 4096, "largest": 2**28}


def main() -> int:
    """Measure, print the table, and return the exit status."""
    try:
        options = _options()
        python = options.python or environments.python("pytorch")
        report(measure(python, JOB | {"gpus": options.gpus, "rounds": options.rounds}))
    except BookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = arguments.Parser(description=__doc__)
    everything = "how many GPUs; all that there are by default"
    parser.add_argument("--gpus", type=arguments.count, default=0, help=everything)
    parser.add_argument("--rounds", type=arguments.count, default=20, help="of a step")
    needed = "an interpreter with PyTorch for GPUs"
    parser.add_argument("--python", type=arguments.path, help=needed)
    options = parser.parse_args()
    if options.gpus == 1:
        raise BookError("one GPU has nothing to scale to; use 2 or more", "GPUS")
    return options


def measure(python: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Return what the file of `loops` measures for a job."""
    try:
        result = subprocess.run(
            [str(python), str(LOOP), json.dumps(job)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
    except OSError as error:
        reason = describe_os_error(error)
        raise BookError(f"{python} cannot be started: {reason}") from None
    if result.returncode:
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise BookError(f"the measurement of the scaling failed: {reason}")
    return json.loads(result.stdout.splitlines()[-1])


def report(found: dict[str, Any]) -> None:
    """Print the table and keep it; raise a `BookError` if there are too few GPUs."""
    if "found" in found:
        needed, there = found["gpus"], found["found"]
        advice = "use a machine with more, and its Python as PYTHON="
        raise BookError(f"{needed} are needed, and {there} found; {advice}", "GPUS")
    text = table(found)
    print(text)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "scaling.md").write_text(text + "\n")


def fit_link(found: dict[str, Any]) -> tuple[float, float]:
    """Return the latency (s) and the bandwidth (B/s) of a message in a ring.

    The least relative errors decide, as in the book's `fit_copy`.
    """
    n, points = (
        found["gpus"],
        list(zip(found["sizes"], found["all_reduces"], strict=True)),
    )
    weights = [1 / t**2 for _, t in points]
    size, time = (fmean(values, weights) for values in zip(*points, strict=True))
    moments = [(s - size, t - time) for s, t in points]
    slope = fmean([s * t for s, t in moments], weights) / fmean(
        [s * s for s, _ in moments], weights
    )
    constant = time - slope * size
    return max(constant, 0) / (2 * (n - 1)), 2 * (n - 1) / n / slope


def ring_time(nbytes: float, n: int, latency: float, bandwidth: float) -> float:
    """Return the seconds that a ring of `n` devices needs to add up arrays."""
    return 2 * (n - 1) * (latency + nbytes / n / bandwidth)


def table(found: dict[str, Any]) -> str:
    """Return the predicted and the measured efficiencies as a table."""
    latency, bandwidth = fit_link(found)
    lines = [
        f"{found['gpus']} x {found['name']}; {found['versions']}. All-reduce: "
        f"latency {1e6 * latency:.1f} µs and bus bandwidth {bandwidth / 1e9:.1f} GB/s; "
        f"gradients of {found['nbytes'] / 2**20:.0f} MiB. The prediction hides "
        "nothing.",
        "",
        "| scaling | GPUs | predicted | measured | hidden |",
        "|:--|--:|--:|--:|--:|",
    ]
    for scaling, steps in found["steps"].items():
        one = steps["1"]
        for count, step in list(steps.items())[1:]:
            n = int(count)
            share = found["shares"]["1" if scaling == "weak" else count]
            sending = ring_time(found["nbytes"], n, latency, bandwidth)
            ideal = one if scaling == "weak" else one / n
            hidden = min(max(1 - (step - share) / sending, 0), 1)
            lines.append(
                f"| {scaling} | {n} | {ideal / (share + sending):.0%} |"
                f" {ideal / step:.0%} | {hidden:.0%} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
