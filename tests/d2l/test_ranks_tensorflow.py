"""Ranks of what only TensorFlow has: strategies, mirrored variables, TF_CONFIG."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

from functools import partial

import models_tensorflow as models
import numpy as np
import pytest
import tensorflow as tf
from training import assert_equal, noisy, parts, run, run_on

from d2l import tensorflow as d2l

layers = tf.keras.layers


@pytest.fixture(autouse=True)
def silence():
    """Turn off TensorFlow's warning about many traces, which short runs have."""
    tf.get_logger().setLevel("ERROR")


class Tuples(d2l.Classifier):
    """Variables in tuples and dicts, one of them twice, one without a gradient."""

    def __init__(self):
        super().__init__()
        W = tf.Variable(tf.random.normal((64, 10)) / 8)
        self.pairs = {"a": (W, [tf.Variable(tf.zeros(10))]), "again": W}
        self.unused = tf.Variable(1.0)
        self.lr = 0.5

    def forward(self, X):
        return X @ self.pairs["a"][0] + self.pairs["a"][1][0]


def plain(fw):
    return lambda: fw.model(16, 10)


def test_variables_in_tuples_and_dicts(fw):
    one, three = (run_on(fw, n, Tuples, 23, 23, 14) for n in (1, 3))
    assert_equal(fw, one, three, 1e-6)


def test_means_that_are_not_linear_are_means_over_devices(fw):
    data = partial(models.Counting, batch_size=64, num_steps=4, n=400)
    one, two = (
        run(fw, models.stacked, data, devices=d2l.try_devices(n), epochs=1)
        for n in (1, 2)
    )
    for a, b in zip(one.model.variables, two.model.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-5)
    last = [t.model.board.data["val_ppl"][-1].y for t in (one, two)]
    assert last[0] == pytest.approx(last[1], rel=1e-2)  # exp(mean) is not mean(exp)


def test_dropout_masks_differ_between_devices(fw):
    class Masked(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.drop = 0.0, layers.Dropout(0.5)
            self.w = tf.Variable(tf.ones(64))

        def loss(self, Y_hat, Y):
            return tf.reduce_mean(Y_hat)

        def forward(self, X):
            return self.drop(tf.ones_like(X) * self.w)

    tf.keras.utils.set_random_seed(0)
    model, trainer = Masked(), d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    data = parts(fw, 4)
    trainer.prepare_data(data)
    trainer.prepare_model(model)
    with d2l.Ranks(trainer).on_devices(data):
        strategy = tf.distribute.get_strategy()
        run = tf.function(lambda: model(tf.ones((2, 64)), training=True))
        first, second = strategy.experimental_local_results(strategy.run(run))
    assert not np.array_equal(first, second)


def test_building_a_model_draws_no_random_numbers(fw):
    """Otherwise several devices would train on other data than one device."""

    def fitted(n):
        devices = d2l.try_devices(n)
        return run(fw, plain(fw), lambda: noisy(fw), devices=devices, epochs=1)

    assert_equal(fw, fitted(2), fitted(1), 1e-5)


def test_variables_stay_the_same_objects(fw):
    model = Tuples()
    W, before = model.pairs["again"], model.variables
    trainer = d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    trainer.fit(model, parts(fw, 30, 30))
    assert model.pairs["again"] is model.pairs["a"][0] is W
    assert [*map(id, model.variables)] == [*map(id, before)]
    assert type(W).__name__ == "ResourceVariable"
    changed = W.numpy()
    d2l.Trainer(1).fit(model, parts(fw, 30, 30))  # on one device again
    assert not np.array_equal(W.numpy(), changed)


def test_an_error_puts_the_variables_back(fw):
    class Wrong(d2l.MLP):
        def validation_step(self, batch):
            raise ZeroDivisionError("wrong")

    model, trainer = Wrong(10, 16, 0.1), d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    with pytest.raises(ZeroDivisionError):
        trainer.fit(model, parts(fw, 30, 30))
    kinds = {type(v.value).__name__ for v in model.variables if hasattr(v, "path")}
    assert not any("Mirrored" in kind for kind in kinds)
    assert "plot" not in vars(model)
    assert np.isfinite(model(tf.ones((1, 64))).numpy()).all()


def test_the_scope_of_a_strategy_that_is_open(fw):
    one = run_on(fw, 1, plain(fw), 25, 25)
    strategy = d2l.mirrored_strategy(["/CPU:0", "/CPU:1"])
    with strategy.scope():
        same = run_on(fw, 1, plain(fw), 25, 25)
        assert type(same.model.variables[0].value).__name__ == "MirroredVariable"
        assert_equal(fw, same, one, 1e-6)


def test_gpus_add_up_with_the_strategys_own_collectives(monkeypatch):
    class Strategy:
        _collective_key_base = 0

        def __init__(self, devices, cross_device_ops):
            self.devices, self.operations = devices, cross_device_ops

    monkeypatch.setattr(tf.distribute, "MirroredStrategy", Strategy)
    gpus = [d2l.gpu(i) for i in range(2)]
    assert d2l.mirrored_strategy(gpus).devices == ["/GPU:0", "/GPU:1"]
    assert d2l.mirrored_strategy(gpus).operations is None
    assert d2l.mirrored_strategy([*gpus, "/CPU:0"]).operations is not None


class Moved(d2l.Classifier):
    """Its step assigns variables with and without numbers after the point."""

    def __init__(self):
        super().__init__()
        self.lr, self.net = 0.1, layers.Dense(10)
        self.frozen = layers.Dense(64)
        self.frozen.trainable = False
        self.seen = self.add_weight(shape=(), dtype="int32", trainable=False)
        self.drop = layers.Dropout(0.5)
        self.plain = {"mean": tf.Variable(tf.zeros(64), trainable=False)}
        self.ungraded = tf.Variable(tf.zeros(64))

    def forward(self, X):
        self.seen.assign(self.seen + tf.shape(X)[0])
        for mean in self.plain["mean"], self.ungraded:
            mean.assign(0.9 * mean + 0.1 * tf.reduce_mean(X, 0))
        shifted = X - self.plain["mean"] - tf.stop_gradient(self.ungraded)
        return self.net(self.drop(self.frozen(shifted)))


def values_on_devices(variable):
    """Return the value that each device has."""
    own = variable.value if isinstance(variable, tf.keras.Variable) else variable
    results = tf.distribute.get_strategy().experimental_local_results(own)
    return [result.numpy() for result in results]


def test_devices_share_what_a_step_assigns(fw):
    """Else each would train with a value of its own, and a checkpoint has only one."""
    model = Moved()
    found: list = []

    class Look(d2l.Callback):
        def after_step(self, trainer):
            kept = model.seen, model.plain["mean"], model.ungraded
            found.extend(values_on_devices(variable) for variable in kept)

    trainer = d2l.Trainer(1, devices=d2l.try_devices(2), callbacks=[Look()])
    trainer.fit(model, parts(fw, 11, 11))
    assert len(found) == 6
    for first, second in found:
        np.testing.assert_array_equal(first, second)
    assert found[0][0] == 6  # examples of the first device


def test_devices_share_what_a_validation_step_assigns(fw):
    class Counting(d2l.MLP):
        def __init__(self):
            super().__init__(10, 8, 0.1)
            self.seen = self.add_weight((), "zeros", trainable=False)

        def validation_step(self, batch):
            self.seen.assign(self.seen + len(batch[0]))
            self.plot("seen", self.seen, train=False)

    two = run_on(fw, 2, Counting, 3, 3, epochs=1)
    [point] = two.model.board.data["val_seen"]
    # The devices get 2 and 1 examples, and the second step begins with 2 on both.
    steps = (2 * 2 + 1 * 1) / 3, (2 * 4 + 1 * 3) / 3
    assert point.y == pytest.approx(sum(steps) / 2)


def test_devices_do_not_share_frozen_weights_and_seeds(fw):
    model = Moved()
    model(tf.ones((1, 64)), training=True)
    shared = d2l.statistics_of(model)
    assert len(shared) == 2
    assert {id(v) for v in shared} == {id(model.seen), id(model.plain["mean"])}


def test_an_optimizer_clips_the_gradients_of_the_whole_minibatch(fw):
    """Its own limit holds for their sum over all devices, which it gets."""

    class Clipped(d2l.MLP):
        def configure_optimizers(self):
            return tf.keras.optimizers.SGD(0.1, clipnorm=0.01)

    one, two = (run_on(fw, n, lambda: Clipped(10, 8, 0.1), 12, 12) for n in (1, 2))
    assert_equal(fw, two, one, 1e-6)


def test_a_keras_whose_sum_cannot_be_turned_off_is_refused():
    with pytest.raises(NotImplementedError, match="this version of Keras has no _all_"):
        d2l.sum_no_more(object())


def test_parts_of_a_layer_that_waits_for_other_devices(fw):
    """A loop of the graph cannot wait for them, so the parts are copies there."""

    class Synchronized(d2l.MLP):
        def __init__(self):
            super().__init__(10, 8, 0.1)
            self.net.add(layers.BatchNormalization(synchronized=True))

    one, two = (run_on(fw, n, Synchronized, 12, 12, accumulate=3) for n in (1, 2))
    assert_equal(fw, two, one, 1e-5)
    assert two.train.compiled
