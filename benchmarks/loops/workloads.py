"""The two workloads of the Trainer's bench, and the clock that measures them.

A kernel of the bench can import `workloads`, one module `in_TAB` per framework, and a
library `d2l`, which is either the book's or d2l 1.0.3. The code here runs with both.
"""

import contextvars
import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from statistics import mean
from types import ModuleType
from typing import Any, NamedTuple

from greenlet import getcurrent, greenlet


class Workload(NamedTuple):
    """A model, its data, and the number of epochs of a whole fit."""

    name: str
    inputs: int
    train: int  # examples
    val: int
    batch: int
    epochs: int

    @property
    def steps(self) -> int:
        """The number of minibatches in an epoch, including validation."""
        return -(-self.train // self.batch) + -(-self.val // self.batch)

    def epochs_in(self, seconds: float, step: float) -> int:
        """Return the number of epochs in so many seconds, if a step takes `step`."""
        return max(3, round(seconds / step / self.steps))


WORKLOADS = {
    "linear": Workload("linear", 2, 1000, 1000, 32, 10),
    "mlp": Workload("mlp", 784, 12_800, 2560, 256, 3),
}
HIDDENS, CLASSES, RATE = 256, 10, 0.1


class Clock:
    """Measures the duration of each epoch, and lets other loops run between epochs."""

    def __init__(self) -> None:
        self.resume: Callable[[float], None] = lambda seconds: None
        self.restart()

    def restart(self) -> None:
        """Forget all epochs and begin to measure now."""
        self.start = time.perf_counter()
        self.begun: float | None = None
        self.epochs: list[float] = []

    def epoch(self, *_: Any) -> None:
        """Begin an epoch; if loops take turns, wait for the turn of this loop."""
        self.stop()
        paused = time.perf_counter()
        if getcurrent().parent:
            getcurrent().parent.switch()
        self.begun = time.perf_counter()
        self.resume(self.begun - paused)

    def stop(self) -> None:
        """End the epoch, if one has begun."""
        if self.begun is not None:
            self.epochs.append(time.perf_counter() - self.begun)
        self.begun = None

    def steady(self) -> float:
        """Return the mean seconds of an epoch, without the first."""
        return mean(self.epochs[1:])


def arrays(workload: Workload) -> tuple[Any, Any]:
    """Return the inputs, and the numbers or classes to predict; always the same."""
    import numpy as np  # The tests of the clock run without NumPy.

    rng = np.random.default_rng(0)
    examples = workload.train + workload.val
    X = rng.normal(size=(examples, workload.inputs)).astype("float32")
    if workload.name == "mlp":
        return X, rng.integers(0, CLASSES, examples)
    y = X @ np.float32([2, -3.4]) + 4.2 + rng.normal(0, 0.01, examples)
    return X, y.astype("float32").reshape(-1, 1)


def dataset(d2l: ModuleType, X: Any, y: Any, workload: Workload) -> Any:
    """Return a data module of the library."""

    class Data(d2l.DataModule):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.batch_size = workload.batch

        def get_dataloader(self, train: bool) -> Any:
            i = slice(0, workload.train) if train else slice(workload.train, None)
            return self.get_tensorloader((X, y), train, i)

    return Data()


def trainers(d2l: ModuleType, MLP: type, data: Callable) -> dict[str, "Run"]:
    """Return the loops that use the Trainer of the library, with and without plots."""

    def run(plot: bool, workload: Workload, clock: Clock, epochs: int) -> None:
        if workload.name == "linear":
            model = d2l.LinearRegression(lr=RATE)
        else:
            model = MLP(num_hiddens=HIDDENS, lr=RATE)
        model.board.display = plot
        trainer = d2l.Trainer(max_epochs=epochs, num_gpus=GPUS)
        watch(trainer, clock, model.board)
        module = data(workload)
        clock.restart()
        trainer.fit(model, module)
        if plot and hasattr(model.board, "replace_picture"):
            model.board.replace_picture()  # as at the end of a cell

    return {"plotting": partial(run, True), "silent": partial(run, False)}


def watch(trainer: Any, clock: Clock, board: Any) -> None:
    """Make the clock measure the epochs of a trainer, and tell its board of pauses."""
    fit_epoch = trainer.fit_epoch
    scope = getattr(trainer, "device_scope", nullcontext)
    # TensorFlow allows only nested scopes, but loops take turns between epochs.
    trainer.device_scope = nullcontext

    def timed_epoch() -> None:
        clock.epoch()
        with scope():
            fit_epoch()
        clock.stop()

    def resume(seconds: float) -> None:
        board.due += seconds  # A pause must not make the board draw more often.

    trainer.fit_epoch = timed_epoch
    if hasattr(board, "due"):
        clock.resume = resume


GPUS = 0
Run = Callable[[Workload, Clock, int], None]


def measure(run: Run, workload: Workload, seconds: float) -> dict[str, float]:
    """Run a loop; return the seconds of a whole fit and of a steady step.

    The steady step is measured in another run of about `seconds`, unless that is 0.
    """
    clock = Clock()
    run(workload, clock, workload.epochs)
    whole, step = time.perf_counter() - clock.start, clock.steady() / workload.steps
    if seconds:
        clock = Clock()
        run(workload, clock, workload.epochs_in(seconds, step))
        step = clock.steady() / workload.steps
    return {"whole": whole, "steady": step}


def take_turns(
    runs: dict[str, Run], workload: Workload, epochs: int
) -> dict[str, float]:
    """Run loops in turns of one epoch; return the seconds of a steady step of each.

    Changes in the speed of the machine thus affect all loops equally.
    """
    clocks = {name: Clock() for name in runs}
    loops = [
        greenlet(partial(run, workload, clocks[name], epochs))
        for name, run in runs.items()
    ]
    for loop in loops:
        loop.gr_context = contextvars.copy_context()  # the context of the notebook
    order = random.Random(0)
    while loops:
        order.shuffle(loops)  # A loop leaves caches behind that affect the next one.
        for loop in loops:
            loop.switch()
        loops = [loop for loop in loops if not loop.dead]
    return {name: clock.steady() / workload.steps for name, clock in clocks.items()}
