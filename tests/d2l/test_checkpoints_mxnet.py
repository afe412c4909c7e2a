"""Saving and resuming in `Trainer.fit`, as MXNet's parameters and trainer states."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

import contextlib
import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import models_mxnet as models
import mxnet as mx
import numpy as onp
import pytest
from mxnet import gluon, np, npx
from mxnet.gluon import nn

from d2l import mxnet as d2l

npx.set_np()
ROOT = Path(__file__).parents[2]
STEPS = 8  # minibatches in an epoch


class Net(models.DropoutMLP):
    """A network with dropout and statistics, whose optimizer has a state."""

    def __init__(self, num_hiddens: int = 16, optimizer: str = "adam"):
        super().__init__(10, num_hiddens, 0.3, 0.01)
        self.optimizer = optimizer
        self.net.add(nn.BatchNorm())
        self.net[-1].initialize()

    def configure_optimizers(self):
        settings = {"learning_rate": self.lr}
        return gluon.Trainer(self.parameters(), self.optimizer, settings)


class Noisy(d2l.DataModule):
    """Digits, shuffled and disturbed by all three kinds of generators."""

    def __init__(self, num_batches: int = STEPS):
        super().__init__()
        digits = d2l.Digits()
        size = 25 * num_batches
        self.arrays = digits.X[:size], digits.y[:size]

    def train_dataloader(self) -> Any:
        def disturb(batch):
            X, y = batch
            return X * random.choice([0.9, 1.1]) + 0.1 * onp.random.normal(), y

        return d2l.ArrayLoader(self.arrays, 25, shuffle=True, convert=disturb)

    def val_dataloader(self) -> Any:
        return d2l.ArrayLoader(self.arrays, 100, shuffle=False)


class Cut(d2l.Trainer):
    """A trainer that is interrupted before minibatch number `cut_at`."""

    cut_at = -1

    def train_step(self, batch):
        if self.train_batch_idx == self.cut_at:
            raise KeyboardInterrupt
        super().train_step(batch)


def run(folder: Any = None, model: Any = None, data: Any = None, **settings: Any):
    """Return a trainer that has trained, from the same random numbers each time."""
    for seed in random.seed, onp.random.seed, mx.random.seed:
        seed(1)
    trainer = Cut(max_epochs=settings.pop("max_epochs", 2))
    for name, value in settings.items():
        setattr(trainer, name, value)
    with contextlib.suppress(KeyboardInterrupt):
        trainer.fit(model or Net(), data or Noisy(), checkpoint_dir=folder)
    return trainer


def contents(trainer: Any) -> tuple:
    """Return all that two equal runs have in common."""
    arrays = d2l.named_arrays(trainer.model, trainer.device)
    numbers = {name: array.asnumpy().tobytes() for name, array in arrays.items()}
    counters = trainer.train_batch_idx, trainer.val_batch_idx
    return numbers, trainer.model.board.data, counters


CUTS = [(1, 1), (3, 2), (STEPS - 1, 4), (STEPS, STEPS), (STEPS + 1, None), (13, 3)]


@pytest.mark.parametrize("cut_at, save_every", CUTS)
def test_a_resumed_run_equals_an_undisturbed_one(tmp_path, cut_at, save_every):
    folders = tmp_path / "cut", tmp_path / "whole"
    run(folders[0], cut_at=cut_at, save_every=save_every)
    newest = d2l.latest_checkpoint(folders[0])
    saved = cut_at - cut_at % (save_every or STEPS)
    assert newest is not None and newest.name == f"step-{saved:08}"
    undisturbed = contents(run(folders[1], save_every=save_every))
    assert contents(run(folders[0], save_every=save_every)) == undisturbed


def test_without_dropout_checkpoints_change_nothing(tmp_path):
    alone = contents(run(model=d2l.MLP(10, 8, 0.1), data=d2l.Digits(400)))
    for cut_at in 3, 4, 7:
        trainer = run(
            tmp_path, d2l.MLP(10, 8, 0.1), d2l.Digits(400), cut_at=cut_at, save_every=1
        )
        assert trainer.train_batch_idx == cut_at
    assert contents(run(tmp_path, d2l.MLP(10, 8, 0.1), d2l.Digits(400))) == alone


def test_a_finished_run_returns_at_once_and_a_longer_one_goes_on(tmp_path):
    folders = tmp_path / "short", tmp_path / "long"
    finished = contents(run(folders[0]))
    assert contents(run(folders[0], cut_at=0)) == finished
    longer = run(folders[0], max_epochs=3)
    assert longer.train_batch_idx == 3 * STEPS
    assert contents(longer) == contents(run(folders[1], max_epochs=3))


SCRIPT = """
import os, signal, sys
sys.path[:0] = [{here!r}]
import test_checkpoints_mxnet as t
def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
class Checkpoints(t.d2l.Checkpoints):
    def save(self, *args):
        if self.trainer.train_batch_idx >= {kill_at} and {saving}:
            t.d2l.publish_checkpoint = die
        super().save(*args)
class Killed(t.Cut):
    checkpoint_class = Checkpoints
    def train_step(self, batch):
        if self.train_batch_idx == {kill_at} and not {saving}:
            die()
        super().train_step(batch)
t.Cut = Killed
t.run({folder!r}, save_every=2)
"""


@pytest.mark.parametrize("saving", [False, True])
def test_a_process_is_killed_at_a_random_step(tmp_path, saving):
    kill_at = random.SystemRandom().randrange(2, 2 * STEPS)
    here, folder = str(Path(__file__).parent), str(tmp_path / "killed")
    code = SCRIPT.format(here=here, kill_at=kill_at, folder=folder, saving=saving)
    settings = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=settings)
    assert done.returncode == -signal.SIGKILL, kill_at
    assert bool(list(Path(folder).glob("*.draft"))) == saving
    undisturbed = contents(run(tmp_path / "whole", save_every=2))
    assert contents(run(folder, save_every=2)) == undisturbed, kill_at
    assert not list(Path(folder).glob("*.draft"))


@pytest.mark.parametrize("before, after", [(1, 3), (4, 2)])
def test_saved_on_some_devices_and_loaded_on_others(tmp_path, before, after):
    def fit(folder, n, cut_at=-1):
        settings = {"devices": d2l.try_devices(n), "cut_at": cut_at, "save_every": 3}
        model = Net()
        model.net = nn.Sequential()
        model.net.add(nn.Dense(16, activation="relu"), nn.Dense(10))
        model.net.initialize()
        return run(folder, model, d2l.Digits(400), **settings)

    fit(tmp_path, before, cut_at=5)
    resumed, alone = fit(tmp_path, after), fit(None, 1)
    arrays, others = (d2l.all_arrays(t.model) for t in (resumed, alone))
    for array, other in zip(arrays, others, strict=True):
        onp.testing.assert_allclose(array.asnumpy(), other.asnumpy(), atol=2e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_models_and_optimizers_from_scratch(tmp_path, n):
    class Momentum(d2l.HyperParameters):
        def __init__(self, params):
            self.params, self.count = params, 0
            self.velocity = [0 * param for param in params]

        def step(self, _):
            self.count += 1
            for param, v in zip(self.params, self.velocity, strict=True):
                v[:] = 0.9 * v + param.grad
                param -= 0.1 * v

    class Model(models.SoftmaxScratch):
        def configure_optimizers(self):
            return Momentum(self.get_scratch_params())

    def fit(folder, cut_at=-1):
        settings = {"cut_at": cut_at, "save_every": 2, "devices": d2l.try_devices(n)}
        mx.random.seed(0)
        return run(folder, Model(64, 10, lr=0.5), d2l.Digits(400), **settings)

    alone = fit(None)
    fit(tmp_path, cut_at=5)
    resumed = fit(tmp_path)
    assert contents(resumed) == contents(alone)
    assert resumed.optim.count == alone.optim.count == 8


def test_the_parameters_are_a_file_of_gluon(tmp_path):
    trainer = run(tmp_path)
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    net = Net()
    net.load_parameters(str(newest / "model.params"))
    X = d2l.Digits().X
    assert (net(X) == trainer.model(X)).all()


def fails(folder: Path, match: str, **settings: Any) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        run(folder, **settings)
    assert "\n" not in str(caught.value)


def test_checkpoints_of_something_else_are_one_clear_error(tmp_path):
    run(tmp_path, cut_at=3, save_every=2)
    wider = r"another model: the shape of net.0.bias .*\(16,\).*\(32,\)"
    fails(tmp_path, wider, model=Net(32))
    fails(tmp_path, "num_train_batches 8, and this run has 6", data=Noisy(6))
    scratch = models.SoftmaxScratch(64, 10, lr=0.5)
    saved = r"optimizer Trainer\('adam'\), and this run has "
    fails(tmp_path, f"{saved}SGD", model=scratch)
    fails(tmp_path, rf"{saved}Trainer\('sgd'\)", model=Net(optimizer="sgd"))
    fails(tmp_path, "save_every must be", save_every=0)


class Auxiliary(d2l.MLP):
    """A model with a lazy layer that only the training uses."""

    def __init__(self):
        super().__init__(10, 8, 0.1)
        self.aux = nn.Dense(10)
        self.aux.initialize()

    def training_step(self, batch):
        return super().training_step(batch) + 0.1 * (self.aux(batch[0]) ** 2).mean()


def test_a_layer_that_only_the_training_uses(tmp_path):
    undisturbed = contents(run(tmp_path / "whole", Auxiliary(), save_every=3))
    run(tmp_path / "cut", Auxiliary(), cut_at=7, save_every=3)
    assert contents(run(tmp_path / "cut", Auxiliary(), save_every=3)) == undisturbed


class Keeping(d2l.MLP):
    """A model that keeps its last outputs, and the largest input so far."""

    def __init__(self):
        super().__init__(10, 8, 0.1)
        self.last, self.largest = None, np.zeros(1)

    def forward(self, X):
        self.last = [super().forward(X)]
        self.largest = np.maximum(self.largest, X.max())
        return self.last[0]


def test_arrays_that_a_forward_pass_keeps_are_no_part_of_the_model(tmp_path):
    alone = run(None, Keeping(), d2l.Digits(400)).model
    run(tmp_path, Keeping(), d2l.Digits(400), cut_at=5, save_every=2)
    resumed = run(tmp_path, Keeping(), d2l.Digits(400)).model
    for parameter, other in zip(alone.parameters(), resumed.parameters(), strict=True):
        assert (parameter.data() == other.data()).all()
    assert alone.largest == resumed.largest > 0


def train_in_group(folder: str, cut_at: int = -1) -> tuple:
    class Dying(Cut):
        def train_step(self, batch):
            if self.train_batch_idx == cut_at and self.ranks.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            super().train_step(batch)

    mx.random.seed(7)
    trainer: Any = Dying(max_epochs=2)
    trainer.save_every = 3
    trainer.fit(d2l.MLP(10, 16, 0.1), d2l.Digits(400), checkpoint_dir=folder)
    return [a.asnumpy() for a in d2l.all_arrays(trainer.model)], (
        trainer.model.board.data
    )


def test_a_rank_dies_and_fewer_ranks_continue(tmp_path):
    folders = str(tmp_path / "killed"), str(tmp_path / "whole")
    with pytest.raises(RuntimeError, match="rank 1 of 2 was killed by SIGKILL"):
        d2l.launch(train_in_group, 2, folders[0], 7)
    newest = d2l.latest_checkpoint(folders[0])
    assert newest is not None and newest.name == "step-00000006"
    (arrays, board), (others, curves) = map(train_in_group, folders)
    for a, b in zip(arrays, others, strict=True):
        onp.testing.assert_allclose(a, b, atol=1e-6)
    for label, points in board.items():
        onp.testing.assert_allclose(points, curves[label], atol=1e-6)


class OwnForward(nn.HybridBlock):
    """A layer that cannot be compiled, since it defines `forward`."""

    def __init__(self):
        super().__init__()
        self.norm, self.dense = nn.BatchNorm(in_channels=64), nn.Dense(10)

    def forward(self, X):
        return self.dense(self.norm(X))


def test_a_layer_that_cannot_be_compiled_trains_with_checkpoints(tmp_path):
    class Model(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.net = 0.1, OwnForward()
            self.net.initialize()
            self.board.display = False

    trainer = d2l.Trainer(1)
    with warnings.catch_warnings(action="ignore"):
        trainer.fit(Model(), d2l.Digits(batch_size=500), checkpoint_dir=tmp_path)
    assert trainer.train_batch_idx == 3 and d2l.latest_checkpoint(tmp_path)


class Drawing(d2l.MLP):
    """A model whose training step draws random numbers, as that of a VAE."""

    def training_step(self, batch):
        X, y = batch
        noise = np.random.normal(size=X.shape, ctx=X.ctx)
        loss = self.loss(self(X + 0.1 * noise), y)
        self.plot("loss", loss, train=True)
        return loss


@pytest.mark.parametrize("n", [1, 2])
def test_a_model_that_draws_numbers_resumes(tmp_path, n):
    def run(folder, epochs):
        mx.random.seed(0)
        onp.random.seed(0)
        model = Drawing(10, 8, 0.1)
        model.board.display = False
        trainer = d2l.Trainer(epochs, devices=d2l.try_devices(n))
        trainer.fit(model, d2l.Digits(batch_size=300), checkpoint_dir=folder)
        return [p.data().asnumpy() for p in model.parameters()]

    undisturbed = run(tmp_path / "whole", 3)
    run(tmp_path / "cut", 1)
    resumed = run(tmp_path / "cut", 3)
    for one, other in zip(undisturbed, resumed, strict=True):
        assert onp.array_equal(one, other)
