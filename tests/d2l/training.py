"""Short training runs that the tests stop, resume and compare, in each framework."""

# The library is a module that mypy does not know.
# mypy: disable-error-code="name-defined"

import random
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 8  # minibatches in an epoch of `Noisy` data


class PowerCut(Exception):
    """The power fails."""


def cut_power() -> None:
    raise PowerCut


def at_step(fw: Any, step: int | None, act: Callable, rank: int = 0) -> Any:
    """Return a callback that calls `act` before a training step, in one rank."""

    class AtStep(fw.d2l.Callback):
        def before_step(self, trainer, batch):
            if trainer.train_batch_idx == step and trainer.ranks.rank == rank:
                act()

    return AtStep()


class Disturbed:
    """Minibatches with noise from the generators of Python and NumPy."""

    def __init__(self, loader: Any):
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Any:
        return map(self.disturb, self.loader)

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # while it is copied
            raise AttributeError(name)
        return getattr(self.loader, name)

    def disturb(self, batch: Any) -> tuple:
        X, y = batch
        return X * random.choice([0.9, 1.1]) + 0.1 * float(np.random.normal()), y


def noisy(fw: Any, num_batches: int = STEPS) -> Any:
    """Return shuffled, disturbed digits in minibatches of 25."""

    class Noisy(fw.d2l.DataModule):
        def __init__(self):
            super().__init__()
            digits, self.batch_size = fw.d2l.Digits(), 25
            self.arrays = digits.X, digits.y

        def get_dataloader(self, train):
            rows = slice(0, 25 * num_batches) if train else slice(1500, 1550)
            loader = self.get_tensorloader(self.arrays, train, rows)
            return Disturbed(loader) if train else loader

    return Noisy()


def parts(fw: Any, *sizes: int, shuffled: bool = False, names: str = "") -> Any:
    """Return digits in minibatches of given sizes, tuples or dicts with `names`."""

    class Parts(fw.d2l.DataModule):
        def get_dataloader(self, train):
            digits, ends = fw.d2l.Digits(), np.cumsum([0, *sizes]).tolist()
            pairs = zip(ends, ends[1:], strict=False)
            items: list = [(digits.X[i:j], digits.y[i:j]) for i, j in pairs]
            if names:
                items = [dict(zip(names, pair, strict=True)) for pair in items]
            order = np.random.permutation(len(items)) if shuffled else range(len(items))
            return [items[i] for i in order]

    return Parts()


def named(fw: Any, kind: type) -> type:
    """Return a class of models whose minibatches are dicts of "X" and "y"."""

    def unpacked(args: tuple) -> list:
        i = 1 if fw.tab == "jax" else 0
        return [*args[:i], (args[i]["X"], args[i]["y"]), *args[i + 1 :]]

    class Named(kind):  # type: ignore[misc, valid-type]
        def training_step(self, *args):
            return super().training_step(*unpacked(args))

        def validation_step(self, *args):
            super().validation_step(*unpacked(args))

        def apply_init(self, dummy_input, key):  # in JAX
            return super().apply_init((dummy_input[0]["X"],), key)

    return Named


def run(
    fw: Any,
    model: Callable,
    data: Callable,
    folder: Any = None,
    cut_at: int | None = None,
    seed: int = 1,
    **settings: Any,
) -> Any:
    """Return a trainer that has trained, from the same random numbers each time."""
    fw.seed(seed)
    random.seed(seed)
    epochs, clip = settings.pop("epochs", 2), settings.pop("clip", 0)
    made, batches = model(), data()
    trainer = fw.d2l.Trainer(epochs, gradient_clip_val=clip, **settings)
    if cut_at is not None:
        trainer.callbacks = [*trainer.callbacks, at_step(fw, cut_at, cut_power)]
    try:
        options = {"checkpoint_dir": folder} if folder else {}
        fw.fit(trainer, made, batches, **options)
    except (PowerCut, RuntimeError, OSError) as error:  # of a rank, of PyTorch's thread
        if "PowerCut" not in repr(error):
            raise
    return trainer


def run_on(fw: Any, n: int, model: Callable, *sizes: int, **settings: Any) -> Any:
    """Return a trainer that has trained on `n` devices, in minibatches of `sizes`."""
    devices = fw.d2l.try_devices(n)
    return run(fw, model, lambda: parts(fw, *sizes), devices=devices, **settings)


def curves(trainer: Any) -> dict[str, np.ndarray]:
    """Return the points of all curves except for those that depend on the time."""
    board = trainer.model.board.data
    return {name: np.array(points) for name, points in board.items() if name != "mfu"}


def assert_equal(fw: Any, one: Any, other: Any, tolerance: float = 0) -> None:
    """Check that two trainers have the same numbers, curves and counts."""
    arrays = [[fw.numpy(a) for a in fw.state(trainer)] for trainer in (one, other)]
    bounds = {"rtol": tolerance, "atol": tolerance}
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_allclose(a, b, **bounds)
    points = curves(one), curves(other)
    assert points[0].keys() == points[1].keys()
    for name, curve in points[0].items():
        np.testing.assert_allclose(curve, points[1][name], **bounds, err_msg=name)
    for count in "train_batch_idx", "val_batch_idx", "num_train_batches":
        assert getattr(one, count) == getattr(other, count), count
