"""Checkpoints in TensorFlow: runs that are cut, resumed, and compared bit for bit."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import os
import random
import signal
import subprocess
import sys

import models_tensorflow as models
import numpy as np
import pytest
import tensorflow as tf

from d2l import tensorflow as d2l

layers = tf.keras.layers


@pytest.fixture(autouse=True)
def silence():
    """Turn off TensorFlow's warning about many traces, which short runs have."""
    tf.get_logger().setLevel("ERROR")


class Drawn(d2l.DataModule):
    """Digits in an order that NumPy and Python draw anew for each epoch."""

    def __init__(self, batch_size=20, n=67):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.X, self.y = digits.X.numpy()[:n], digits.y.numpy()[:n]

    def get_dataloader(self, train):
        return Loader(self, train)


class Loader:
    def __init__(self, data, train):
        self.data, self.train = data, train

    def __len__(self):
        return -(-self.data.n // self.data.batch_size)

    def __iter__(self):
        data, order = self.data, np.arange(self.data.n)
        if self.train:
            np.random.shuffle(order)
        for i in range(0, data.n, data.batch_size):
            rows = order[i : i + data.batch_size]
            noise = random.random() if self.train else 0.0  # an augmentation
            yield (
                tf.constant(data.X[rows] + np.float32(noise)),
                tf.constant(data.y[rows]),
            )


class Net(d2l.Classifier):
    """Layers with every kind of variable that Keras makes, built by a minibatch."""

    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential(
            [
                layers.Dense(16, activation="relu"),
                layers.BatchNormalization(),
                layers.Dropout(0.3),
                models.Scale(16),
                layers.Dense(10),
            ]
        )

    def configure_optimizers(self):
        rate = tf.keras.optimizers.schedules.ExponentialDecay(0.02, 3, 0.9)
        return tf.keras.optimizers.Adam(rate)


class Momentum(d2l.HyperParameters):
    """An optimizer from scratch with a variable for each parameter."""

    def __init__(self, shapes):
        self.velocities = [tf.Variable(tf.zeros(shape)) for shape in shapes]

    def apply_gradients(self, pairs):
        for (gradient, variable), velocity in zip(pairs, self.velocities, strict=True):
            velocity.assign(0.9 * velocity + gradient)
            variable.assign_sub(0.1 * velocity)


class Scratch(models.MLPScratch):
    def __init__(self):
        super().__init__(64, 10, 16, 0.1)

    def configure_optimizers(self):
        return Momentum([v.shape for v in self.trainable_variables])


class LateMomentum(d2l.HyperParameters):
    """An optimizer from scratch that makes its variables in its first step."""

    def __init__(self):
        self.velocities, self.steps = {}, 0

    def apply_gradients(self, pairs):
        self.steps += 1
        for i, (gradient, variable) in enumerate(pairs):
            if i not in self.velocities:
                self.velocities[i] = tf.Variable(tf.zeros_like(variable))
            self.velocities[i].assign(0.9 * self.velocities[i] + gradient)
            variable.assign_sub(0.1 * self.velocities[i])


class Late(models.MLPScratch):
    def __init__(self):
        super().__init__(64, 10, 16, 0.1)

    def configure_optimizers(self):
        return LateMomentum()


class Cut(Exception):
    """The power fails."""


class PowerCut(d2l.Trainer):
    cut_at = None

    def prepare_batch(self, batch):
        if self.model.training and self.train_batch_idx == self.cut_at:
            raise Cut
        return super().prepare_batch(batch)


def run(make, data, folder=None, cut_at=None, epochs=3, seed=0, **settings):
    """Return a model and its trainer, which may have been cut."""
    tf.keras.utils.set_random_seed(seed)
    model, trainer = make(), PowerCut(epochs)
    trainer.cut_at, trainer.save_every = cut_at, settings.pop("save_every", None)
    for name, value in settings.items():
        setattr(trainer, name, value)
    try:
        trainer.fit(model, data(), checkpoint_dir=folder)
    except Cut:
        pass
    return model, trainer


def assert_equal(a, b):
    (model, trainer), (other, others) = a, b
    for x, y in zip(model.variables, other.variables, strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert model.board.data == other.board.data
    assert trainer.train_batch_idx == others.train_batch_idx
    assert trainer.val_batch_idx == others.val_batch_idx


small = lambda: d2l.Digits(batch_size=300)  # noqa: E731


@pytest.mark.parametrize("data", [small, Drawn], ids=["tf.data", "drawn"])
@pytest.mark.parametrize("make", [Net, Scratch, Late])
def test_cuts_at_random_steps(make, data, tmp_path):
    whole = run(make, data)
    steps = whole[1].num_train_batches * 3
    for cut in sorted(random.Random(1).sample(range(1, steps), 3)):
        run(make, data, tmp_path, cut, save_every=2, seed=cut)
    resumed = run(make, data, tmp_path, save_every=2, seed=5)
    # The first seed is that of the first cut run.
    first = sorted(random.Random(1).sample(range(1, steps), 3))[0]
    assert_equal(resumed, run(make, data, seed=first if first >= 2 else 5))


@pytest.mark.parametrize("save_every", [None, 1])
def test_after_each_epoch_or_each_step(save_every, tmp_path):
    run(Net, small, tmp_path, 6, save_every=save_every)
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.name == ("step-00000005" if save_every is None else "step-00000006")
    assert_equal(run(Net, small, tmp_path, save_every=save_every), run(Net, small))
    assert len(list(tmp_path.iterdir())) == 2


def test_settings_of_the_trainer(tmp_path):
    for settings in (
        {"accumulate": 2, "gradient_clip_val": 0.05},
        {
            "precision": tf.float16,
            "callbacks": [d2l.MFU(d2l.Machine("", {"float16": 1e9}, 1.0))],
        },
    ):
        folder = tmp_path / next(iter(settings))

        def make():
            return models.DropoutMLP(10, 16, 0.2, 0.1)

        run(make, small, folder, 8, save_every=3, **settings)
        resumed = run(make, small, folder, save_every=3, **settings)
        whole = run(make, small, **settings)
        for model, _ in (resumed, whole):
            model.board.data.pop("mfu", None)  # depends on the time
        assert_equal(resumed, whole)


def test_without_a_seed(tmp_path):
    """The order of the data is kept although the program has set no seed."""
    from tensorflow.python.eager import context

    def unseeded(cut):
        tf.keras.utils.set_random_seed(3)
        model, trainer = Scratch(), PowerCut(2)
        context.context()._seed = None
        trainer.cut_at, trainer.save_every = cut, 2
        try:
            trainer.fit(model, d2l.Digits(batch_size=300), checkpoint_dir=tmp_path)
        except Cut:
            pass
        return model, trainer

    unseeded(7)
    resumed = unseeded(None)
    seen = resumed[1].train_batch_idx
    assert seen == 10
    for path in tmp_path.iterdir():
        assert path.name.startswith("step-")


def test_a_finished_run_returns_at_once(tmp_path):
    done = run(Net, small, tmp_path)
    again = run(Net, small, tmp_path, cut_at=15)
    assert_equal(done, again)
    longer, _ = run(Net, small, tmp_path, epochs=4)
    assert len(longer.board.data["val_loss"]) == 4


@pytest.mark.parametrize("devices", [(2, 1), (1, 3), (3, 2)])
def test_another_number_of_devices(devices, tmp_path):
    class Plain(Net):
        def __init__(self):
            super().__init__()
            self.net = tf.keras.Sequential([layers.Dense(16), layers.Dense(10)])

    def on(n, **options):
        return run(Plain, Drawn, devices=d2l.try_devices(n), **options)

    on(devices[0], folder=tmp_path, cut_at=9, save_every=2)
    resumed, _ = on(devices[1], folder=tmp_path, save_every=2)
    whole, _ = on(1)
    for a, b in zip(resumed.variables, whole.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    last = [m.board.data["train_loss"][-1].y for m in (resumed, whole)]
    assert last[0] == pytest.approx(last[1], abs=1e-6)


def test_running_statistics_on_several_devices(tmp_path):
    """All devices validate with those of the first one, which are in a checkpoint."""

    class Norm(Net):
        def __init__(self):
            super().__init__()
            self.net = tf.keras.Sequential(
                [layers.Dense(16), layers.BatchNormalization(), layers.Dense(10)]
            )

    def on_two(**options):
        return run(Norm, Drawn, devices=d2l.try_devices(2), **options)

    on_two(folder=tmp_path, cut_at=7, save_every=2)
    assert_equal(on_two(folder=tmp_path, save_every=2), on_two())


class Wide(Net):
    def __init__(self):
        super().__init__()
        self.net.layers[0].units = 17
        self.net = tf.keras.Sequential([layers.Dense(17), layers.Dense(10)])


class Other(Net):
    def configure_optimizers(self):
        return tf.keras.optimizers.SGD(0.1)


@pytest.mark.parametrize(
    "make, data, message",
    [
        (Wide, Drawn, "checkpoint of another model: the shape of model.0"),
        (Other, Drawn, "saved with optimizer Adam, and this run has SGD"),
        (Net, lambda: Drawn(10), "saved with num_train_batches 4, and this run has 7"),
    ],
)
def test_a_checkpoint_of_another_run_is_one_clear_error(make, data, message, tmp_path):
    run(Net, Drawn, tmp_path, epochs=1)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=message) as caught:
        run(make, data, tmp_path)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("save_every", [0, -1])
def test_an_interval_that_makes_no_sense(save_every, tmp_path):
    with pytest.raises(ValueError, match="save_every"):
        run(Net, Drawn, tmp_path, save_every=save_every)


DIES = """
import os, signal, sys
sys.path[:0] = {path}
import test_checkpoints_tensorflow as cases
from d2l import tensorflow as d2l

def die(draft):
    os.kill(os.getpid(), signal.SIGKILL)

if {saving}:
    publish = d2l.publish_checkpoint
    count = []
    d2l.publish_checkpoint = lambda draft: (
        count.append(1), die(draft) if len(count) == 3 else publish(draft))
else:
    class Cut(BaseException):
        def __init__(self):
            die(None)
    cases.Cut = Cut
cases.run(cases.Net, cases.Drawn, {folder!r}, {cut}, save_every=2)
"""


@pytest.mark.parametrize("saving", [True, False])
def test_a_process_that_is_killed(saving, tmp_path):
    """It is killed in a step, or in the middle of a save."""
    script = DIES.format(path=sys.path, saving=saving, folder=str(tmp_path), cut=7)
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    child = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    drafts = [path for path in tmp_path.iterdir() if path.suffix == ".draft"]
    assert len(drafts) == saving
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.name == ("step-00000004" if saving else "step-00000006")
    assert_equal(run(Net, Drawn, tmp_path, save_every=2), run(Net, Drawn))
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".draft"]
