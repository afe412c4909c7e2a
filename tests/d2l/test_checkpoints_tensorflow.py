"""Checkpoints of what only TensorFlow has: schedules, data sets, its own seed."""

# Models choose their own attributes.
# mypy: disable-error-code="attr-defined,override"

import models_tensorflow as models
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from test_checkpoints import fit
from training import assert_equal, noisy

from d2l import tensorflow as d2l


class Net(models.Layers):
    """A network with a hidden layer from scratch, and a rate that changes."""

    def __init__(self):
        super().__init__((16, "relu", "norm", 0.3, 10), "adam", 0.01)
        self.net.add(models.Scale(10))

    def configure_optimizers(self):
        rate = tf.keras.optimizers.schedules.ExponentialDecay(0.02, 3, 0.9)
        return tf.keras.optimizers.Adam(rate)


def dataset():
    """Return digits in a data set of tf.data, which draws an order in each pass."""
    return d2l.Digits(batch_size=300)


@pytest.mark.parametrize("data", [dataset, None])
def test_a_schedule_and_a_data_set_resume(fw, tmp_path, data):
    data = data or (lambda: noisy(fw))
    for seed, cut_at in (1, 3), (2, 6):
        fit(fw, tmp_path, Net, data, cut_at=cut_at, save_every=2, seed=seed)
    resumed = fit(fw, tmp_path, Net, data, seed=3)
    assert_equal(fw, resumed, fit(fw, None, Net, data))


def test_without_a_seed(fw, tmp_path):
    """The order of the data is kept although the program has set no seed."""

    def unseeded():
        context.context()._seed = None
        return dataset()

    fit(fw, tmp_path, Net, unseeded, cut_at=7, save_every=2)
    resumed = fit(fw, tmp_path, Net, unseeded)
    assert resumed.train_batch_idx == 10
    assert {path.name[:5] for path in tmp_path.iterdir()} == {"step-", "lock"}


class Counting:
    """An optimizer from scratch whose rate depends on a plain number."""

    def __init__(self):
        self.calls = 0

    def apply_gradients(self, pairs):
        self.calls += 1  # the compiled step contains its value
        for gradient, variable in pairs:
            variable.assign_sub(0.1 / self.calls * gradient)


def test_a_step_that_makes_variables_leaves_plain_numbers(fw, tmp_path):
    class Counted(d2l.MLP):
        def configure_optimizers(self):
            return Counting()

    def model():
        return Counted(10, 8, 0.1)

    fit(fw, tmp_path, model, dataset, cut_at=3, save_every=2)
    resumed, alone = (fit(fw, folder, model, dataset) for folder in (tmp_path, None))
    assert_equal(fw, resumed, alone)


class Unnamed(d2l.Classifier):
    """Has a variable without a name, which Keras numbers through the process."""

    def __init__(self):
        super().__init__()
        self.lr, self.net = 0.1, tf.keras.layers.Dense(10)
        self.scale = self.add_weight(shape=(64,), trainable=False)
        self.board.display = False

    def forward(self, X):
        self.scale.assign(0.9 * self.scale + 0.1 * tf.reduce_mean(X, 0))
        return self.net(X - self.scale)


@pytest.mark.parametrize("numbered", [False, True])
def test_a_second_model_of_the_same_process_resumes(
    fw, tmp_path, monkeypatch, numbered
):
    """Checkpoints whose names have the numbers of Keras, as up to 2026, too."""
    with monkeypatch.context() as patch:
        if numbered:
            patch.setattr(d2l, "unnumbered", lambda name: name)
        fit(fw, tmp_path, Unnamed, dataset, cut_at=3, save_every=2)
    resumed = fit(fw, tmp_path, Unnamed, dataset)
    assert_equal(fw, resumed, fit(fw, None, Unnamed, dataset))
    assert resumed.checkpoints.stopped is False
