"""Saving and resuming in `Trainer.fit`, with JAX's arrays in Orbax's format."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import models_jax as models
import numpy as np
import optax
import pytest
from jax import numpy as jnp

from d2l import jax as d2l

ROOT = Path(__file__).parents[2]
STEPS = 8  # minibatches in an epoch


class Net(models.DropoutMLP):
    """A network with dropout whose optimizer has a state."""

    def configure_optimizers(self):
        return optax.adam(self.lr)


class Noisy(d2l.DataModule):
    """Digits, shuffled and disturbed by all three kinds of generators."""

    def __init__(self, num_batches: int = STEPS):
        super().__init__()
        digits = d2l.Digits()
        self.size = 25 * num_batches
        self.arrays = digits.X[: self.size], digits.y[: self.size]

    def train_dataloader(self) -> Any:
        def disturb(batch):
            X, y = batch
            noise = np.random.normal(scale=0.1, size=X.shape).astype("float32")
            return X * random.choice([0.9, 1.1]) + noise, y

        return d2l.ArrayLoader(self.arrays, 25, shuffle=True, convert=disturb)

    def val_dataloader(self) -> Any:
        return d2l.ArrayLoader(self.arrays, 100, shuffle=False)


class Cut(d2l.Trainer):
    """A trainer that is interrupted before minibatch number `cut_at`."""

    cut_at = -1

    def prepare_batch(self, batch):
        if self.train_batch_idx == self.cut_at and self.model.training:
            raise KeyboardInterrupt
        return super().prepare_batch(batch)


def run(folder: Any = None, model: Any = None, data: Any = None, **settings: Any):
    """Return a trainer that has trained, from the same random numbers each time."""
    random.seed(1)
    np.random.seed(2)
    trainer = Cut(max_epochs=settings.pop("max_epochs", 2))
    for name, value in settings.items():
        setattr(trainer, name, value)
    model = model or Net(10, 16, 0.3, 0.01)
    try:
        trainer.fit(
            model, data or Noisy(), key=jax.random.key(3), checkpoint_dir=folder
        )
    except KeyboardInterrupt:
        pass
    return trainer


def contents(trainer: Any) -> tuple:
    """Return all that two equal runs have in common."""
    arrays = d2l.named_arrays(trainer.state)
    numbers = {name: np.asarray(a).tobytes() for name, a in arrays.items()}
    counters = trainer.train_batch_idx, trainer.val_batch_idx
    return numbers, trainer.model.board.data, counters


@pytest.fixture(scope="module")
def undisturbed() -> tuple:
    return contents(run())


CUTS = [(1, 1), (3, 2), (STEPS - 1, 4), (STEPS, STEPS), (STEPS + 1, None), (13, 3)]


@pytest.mark.parametrize("cut_at, save_every", CUTS)
def test_a_resumed_run_equals_an_undisturbed_one(
    tmp_path, undisturbed, cut_at, save_every
):
    run(tmp_path, cut_at=cut_at, save_every=save_every)
    newest = d2l.latest_checkpoint(tmp_path)
    saved = cut_at - cut_at % (save_every or STEPS)
    assert newest is not None and newest.name == f"step-{saved:08}"
    assert contents(run(tmp_path, save_every=save_every)) == undisturbed


def test_cut_again_and_again(tmp_path, undisturbed):
    for cut_at in 3, 4, 9, 15:
        run(tmp_path, cut_at=cut_at, save_every=1)
    assert contents(run(tmp_path, save_every=5)) == undisturbed


def test_checkpoints_change_nothing(tmp_path, undisturbed):
    assert contents(run(tmp_path, save_every=3)) == undisturbed


def test_a_finished_run_returns_at_once_and_a_longer_one_goes_on(tmp_path, undisturbed):
    run(tmp_path)
    again = run(tmp_path, cut_at=0)
    assert contents(again) == undisturbed
    longer = run(tmp_path, max_epochs=3)
    assert longer.train_batch_idx == 3 * STEPS
    assert contents(longer) == contents(run(max_epochs=3))


SCRIPT = """
import os, signal, sys
sys.path[:0] = [{here!r}]
import test_checkpoints_jax as t
def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
class Checkpoints(t.d2l.Checkpoints):
    def save(self, *args):
        if self.trainer.train_batch_idx >= {kill_at} and {saving}:
            t.d2l.publish_checkpoint = die
        super().save(*args)
class Killed(t.Cut):
    checkpoint_class = Checkpoints
    def prepare_batch(self, batch):
        if self.train_batch_idx == {kill_at} and self.model.training and not {saving}:
            die()
        return super().prepare_batch(batch)
t.Cut = Killed
t.run({folder!r}, save_every=2)
"""


@pytest.mark.parametrize("saving", [False, True])
def test_a_process_is_killed_at_a_random_step(tmp_path, undisturbed, saving):
    kill_at = random.SystemRandom().randrange(2, 2 * STEPS)
    here, folder = str(Path(__file__).parent), str(tmp_path)
    code = SCRIPT.format(here=here, kill_at=kill_at, folder=folder, saving=saving)
    settings = {"PYTHONPATH": str(ROOT), "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | settings)
    assert done.returncode == -signal.SIGKILL, kill_at
    assert bool(list(tmp_path.glob("*.draft"))) == saving
    assert contents(run(tmp_path, save_every=2)) == undisturbed, kill_at
    assert not list(tmp_path.glob("*.draft"))


@pytest.mark.parametrize("before, after", [(1, 3), (4, 2)])
def test_saved_on_some_devices_and_loaded_on_others(tmp_path, before, after):
    devices = jax.devices("cpu")
    run(tmp_path, cut_at=11, save_every=5, devices=devices[:before])
    resumed = run(tmp_path, save_every=5, devices=devices[:after])
    assert jax.tree.leaves(resumed.state.params)[0].devices() == {*devices[:after]}
    alone = d2l.named_arrays(run().state)
    for name, array in d2l.named_arrays(resumed.state).items():
        np.testing.assert_allclose(array, alone[name], rtol=1e-4, atol=1e-5)


def test_legacy_keys_and_statistics(tmp_path):
    def fit(cut_at, folder=None):
        trainer: Any = Cut(max_epochs=1)
        trainer.cut_at, trainer.save_every = cut_at, 2
        model, data = models.BatchNormNet(0.2), d2l.Digits(batch_size=400)
        data.X = data.X.reshape(-1, 8, 8, 1)
        try:
            trainer.fit(model, data, jax.random.PRNGKey(0), checkpoint_dir=folder)
        except KeyboardInterrupt:
            pass
        return contents(trainer)

    alone = fit(-1)
    fit(3, tmp_path)
    assert fit(-1, tmp_path) == alone


def fails(folder: Path, match: str, **settings: Any) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        run(folder, **settings)
    assert "\n" not in str(caught.value)


def test_checkpoints_of_something_else_are_one_clear_error(tmp_path):
    class Sgd(Net):
        def configure_optimizers(self):
            return optax.sgd(0.1)

    run(tmp_path, cut_at=3, save_every=2)
    fails(
        tmp_path,
        r"another model: the shape of params.*Dense_0.*\(16,\).*\(32,\)",
        model=Net(10, 32, 0.3, 0.01),
    )
    fails(tmp_path, "with another optimizer", model=Sgd(10, 16, 0.3, 0.01))
    fails(tmp_path, "num_train_batches 8, and this run has 6", data=Noisy(6))
    fails(tmp_path, "save_every must be", save_every=0)


def test_random_keys_are_numbers_in_a_checkpoint():
    state = {"key": jax.random.key(1), "rbg": jax.random.key(2, impl="rbg"), "n": 3}
    arrays = d2l.named_arrays(state)
    assert {k: str(a.dtype) for k, a in arrays.items()} == {
        "key": "uint32",
        "rbg": "uint32",
        "n": "int32",
    }
    again = d2l.restored_like(state, arrays)
    assert jax.random.normal(again["key"]) == jax.random.normal(state["key"])
    assert jnp.array_equal(again["rbg"], state["rbg"]) and again["n"] == 3


def test_the_progress_is_readable_without_jax(tmp_path):
    run(tmp_path, cut_at=3, save_every=2)
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    progress = json.loads((newest / "progress.json").read_text())
    progress = {key: value for key, value in progress["dict"]}
    assert (progress["epoch"], progress["position"]) == (0, 2)
    assert progress["train_batch_idx"] == 2


def train_in_group(folder: str, cut_at: int = -1) -> tuple:
    class Dying(d2l.Trainer):
        def prepare_batch(self, batch):
            if self.train_batch_idx == cut_at and jax.process_index() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().prepare_batch(batch)

    trainer: Any = Dying(max_epochs=1)
    trainer.save_every = 3
    np.random.seed(7)
    trainer.fit(d2l.MLP(10, 16, 0.1), Noisy(), checkpoint_dir=folder)
    arrays = d2l.named_arrays(trainer.state)
    return {k: np.asarray(a) for k, a in arrays.items()}, trainer.model.board.data


def test_a_rank_dies_and_fewer_ranks_continue(tmp_path):
    random.seed(5)
    with pytest.raises(RuntimeError, match="rank 1 of 2 was killed by SIGKILL"):
        d2l.launch(train_in_group, 2, str(tmp_path), 7)
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None and newest.name == "step-00000006"
    arrays, board = train_in_group(str(tmp_path))
    assert all(np.isfinite(a).all() for a in arrays.values())
    assert [point.x for point in board["val_loss"]] == [1]
