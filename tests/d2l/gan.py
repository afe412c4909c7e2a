"""What the tests of two optimizers have in common.

The generator and the discriminator are trained by one loss: between them, the gradient
changes its sign.
"""

from typing import Any

import numpy as np
import pytest

STEPS = 6  # minibatches in an epoch


class PowerCut(Exception):
    """The power fails."""


def cut_trainer(d2l: Any, cut_at: int | None) -> Any:
    """Return a class of trainers that stop before a minibatch."""

    class Trainer(d2l.Trainer):
        def prepare_batch(self, batch):
            if self.train_batch_idx == cut_at:
                raise PowerCut
            return super().prepare_batch(batch)

    return Trainer


def arrays(train: bool) -> tuple:
    """Return images, noise and labels, always the same."""
    rng = np.random.default_rng(int(train))
    n = 60 if train else 20
    return (
        rng.normal(size=(n, 8)).astype("float32"),
        rng.normal(size=(n, 4)).astype("float32"),
        np.ones((n, 1), dtype="float32"),
    )


def check(d2l: Any, run: Any, tmp_path: Any, values: Any) -> None:
    """Check that a run that was cut twice equals an undisturbed one bit for bit.

    `run(folder, cut_at)` returns a trainer, and `values(trainer)` its numbers by name.
    """
    start = values(run(None, None, max_epochs=0))
    undisturbed = values(run(tmp_path / "whole", None))
    assert {*start} == {*undisturbed}
    moved = [k for k in start if not np.array_equal(start[k], undisturbed[k])]
    assert len(moved) == len(start), "both networks are trained"
    for cut_at in 4, 9:
        with pytest.raises(PowerCut):
            run(tmp_path / "cut", cut_at)
    resumed = values(run(tmp_path / "cut", None))
    for name, value in undisturbed.items():
        assert np.array_equal(value, resumed[name]), name
