"""Times pairs of functions in turn: a kernel of the chapter and the framework's own.

The files `kernels_*.py` beside this one call `run`. `benchmarks/kernels.py` starts them
with the arguments TAB, MODULE and ROUNDS; MODULE holds the functions that the sections
define in a tab. The last line that is printed is a JSON object with `gpu`, which is
null if this machine has no GPU that runs the kernels.
"""

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

Function = Callable[..., Any]
Pair = tuple[Function, Function]
Time = Callable[[Callable], float]
BATCH = 20  # calls that are queued before the clock waits for them
SECONDS = 0.5


class Sizes(NamedTuple):
    """The sizes of the inputs of the four kernels."""

    numbers: int = 2**26
    n: int = 4096
    rows: int = 8192
    columns: int = 4096
    positions: int = 8192
    width: int = 64

    def names(self, bits: int) -> list[str]:
        """Return the names of the pairs, in the order of `cases` of each file.

        `bits` are those of the inputs of the product and of the attention.
        """
        return [
            f"addition, {self.numbers:,} numbers, 32 bits",
            f"product, {self.n} x {self.n}, {bits} bits",
            f"softmax, {self.rows} x {self.columns}, 32 bits",
            f"attention, {self.positions} x {self.width}, {bits} bits",
        ]


def check(pairs: dict[str, Pair], to_numpy: Callable) -> None:
    """Raise an error if the two functions of a pair return different results."""
    import numpy as np  # which the tests of the rest do not need

    for name, pair in pairs.items():
        ours, theirs = (np.asarray(to_numpy(f()), "float64") for f in pair)
        difference = abs(ours - theirs).max() / abs(theirs).max()
        if not difference < 0.01:
            raise ValueError(f"{name}: the results differ by {difference:.2g}")


def timer(wait: Callable) -> Time:
    """Return a function that returns the milliseconds of a call.

    `wait` is called with the result of the last call of a batch, and returns when it
    has been computed. The time is the median of the batches of half a second.
    """

    def seconds(function: Callable) -> float:
        start = time.perf_counter()
        for _ in range(BATCH):
            result = function()
        wait(result)
        return (time.perf_counter() - start) / BATCH

    def milliseconds(function: Callable) -> float:
        seconds(function)  # compiles, and fills the pool of memory
        times: list[float] = []
        end = time.perf_counter() + SECONDS
        while not times or time.perf_counter() < end:
            times.append(seconds(function))
        return 1000 * statistics.median(times)

    return milliseconds


def measure(pairs: dict[str, Pair], rounds: int, milliseconds: Time) -> dict[str, list]:
    """Return the times of both functions of each pair, for each round."""
    times: dict[str, list] = {name: [] for name in pairs}
    for _ in range(rounds):
        for name, pair in pairs.items():
            times[name].append([milliseconds(f) for f in pair])
    return times


def run(
    gpu: str,
    versions: str,
    cases: Callable[[ModuleType, Sizes], list[Pair]],
    to_numpy: Callable,
    milliseconds: Time,
    bits: int = 16,
    more: Callable[[ModuleType, Sizes], dict[str, Pair]] = lambda *_: {},
) -> None:
    """Compare the results of the pairs and of `more`, and print their times as JSON."""
    _, module, rounds = sys.argv[1:]
    kernels, sizes = importlib.import_module(module), Sizes()
    pairs = dict(zip(sizes.names(bits), cases(kernels, sizes), strict=True))
    pairs |= more(kernels, sizes)
    check(pairs, to_numpy)
    times = measure(pairs, int(rounds), milliseconds)
    found = {"gpu": gpu, "versions": versions, "rounds": int(rounds), "times": times}
    print(json.dumps(found))


def report_no_gpu() -> None:
    """Print that this machine has no GPU that runs the kernels."""
    print(json.dumps({"gpu": None}))
