"""The two workloads of the Trainer's bench, and the clock that measures them.

This folder is what a kernel of the bench can import: `workloads`, one module `in_TAB`
a framework, and one library `d2l`, the book's or that of d2l 1.0.3. Nothing here knows
which of the two it is.
"""

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple


class Workload(NamedTuple):
    """A model and its data, and how many epochs are a whole fit."""

    name: str
    inputs: int
    train: int  # examples
    val: int
    batch: int
    epochs: int

    @property
    def steps(self) -> int:
        """Minibatches in an epoch, those of the validation too."""
        return -(-self.train // self.batch) + -(-self.val // self.batch)


WORKLOADS = {
    "linear": Workload("linear", 2, 1000, 1000, 32, 10),
    "mlp": Workload("mlp", 784, 12_800, 2560, 256, 3),
}
HIDDENS, CLASSES, RATE = 256, 10, 0.1


class Clock:
    """Notes when the training starts, each epoch begins, and it ends."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Leave out what came before."""
        self.start = self.end = time.perf_counter()
        self.epochs: list[float] = []

    def epoch(self, *_: Any) -> None:
        self.epochs.append(time.perf_counter())

    def stop(self) -> None:
        self.end = time.perf_counter()

    def steady(self) -> float:
        """Return the seconds of an epoch, the first left out."""
        return (self.end - self.epochs[1]) / (len(self.epochs) - 1)


def arrays(workload: Workload) -> tuple[Any, Any]:
    """Return the same examples for all: inputs, and numbers or classes to predict."""
    import numpy as np  # the tests of the clock have none

    rng = np.random.default_rng(0)
    examples = workload.train + workload.val
    X = rng.normal(size=(examples, workload.inputs)).astype("float32")
    if workload.name == "mlp":
        return X, rng.integers(0, CLASSES, examples)
    y = X @ np.float32([2, -3.4]) + 4.2 + rng.normal(0, 0.01, examples)
    return X, y.astype("float32").reshape(-1, 1)


def dataset(d2l: ModuleType, X: Any, y: Any, workload: Workload) -> Any:
    """Return a data module of the library that is there."""

    class Data(d2l.DataModule):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.batch_size = workload.batch

        def get_dataloader(self, train: bool) -> Any:
            i = slice(0, workload.train) if train else slice(workload.train, None)
            return self.get_tensorloader((X, y), train, i)

    return Data()


def trainers(d2l: ModuleType, MLP: type, data: Callable) -> dict[str, "Run"]:
    """Return the loops of a Trainer, the book's or that of d2l 1.0.3."""

    def run(plot: bool, workload: Workload, clock: Clock, epochs: int) -> None:
        if workload.name == "linear":
            model = d2l.LinearRegression(lr=RATE)
        else:
            model = MLP(num_hiddens=HIDDENS, lr=RATE)
        model.board.display = plot
        trainer = d2l.Trainer(max_epochs=epochs, num_gpus=GPUS)
        _time(trainer, clock)
        module = data(workload)
        clock.restart()
        trainer.fit(model, module)
        if plot and hasattr(model.board, "replace_picture"):
            model.board.replace_picture()  # what the end of the cell would draw

    return {"plotting": partial(run, True), "silent": partial(run, False)}


def _time(trainer: Any, clock: Clock) -> None:
    """Let the clock note the epochs of a trainer."""
    fit_epoch = trainer.fit_epoch

    def timed() -> None:
        clock.epoch()
        fit_epoch()
        clock.stop()

    trainer.fit_epoch = timed


GPUS = 0
Run = Callable[[Workload, Clock, int], None]


def measure(run: Run, workload: Workload, seconds: float) -> dict[str, float]:
    """Run; return the seconds of a whole fit, and of a steady step.

    The steady step is that of another run of about so many seconds, if there are any.
    """
    clock = Clock()
    run(workload, clock, workload.epochs)
    whole = time.perf_counter() - clock.start
    if seconds:
        clock = Clock()
        run(workload, clock, max(3, round(seconds * workload.epochs / whole)))
    return {"whole": whole, "steady": clock.steady() / workload.steps}
