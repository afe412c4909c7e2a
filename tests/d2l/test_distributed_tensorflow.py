"""Several devices and several processes in TensorFlow."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import models_tensorflow as models
import numpy as np
import psutil
import pytest
import tensorflow as tf

from d2l import tensorflow as d2l

layers = tf.keras.layers


@pytest.fixture(autouse=True)
def silence():
    """Turn off TensorFlow's warning about many traces, which short runs have."""
    tf.get_logger().setLevel("ERROR")


class Lists(d2l.DataModule):
    """The first `n` digits in lists of NumPy arrays, in an order by NumPy."""

    def __init__(self, batch_size, n, size=8):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        shape = (-1, 8, 8, 1) if size == 8 else (-1, 64)
        self.X = digits.X.numpy()[:n].reshape(shape)
        self.y = digits.y.numpy()[:n]

    def get_dataloader(self, train):
        order = np.random.permutation(self.n) if train else np.arange(self.n)
        starts = range(0, self.n, self.batch_size)
        rows = [order[i : i + self.batch_size] for i in starts]
        return [[self.X[i], self.y[i]] for i in rows]


class Adam(d2l.Classifier):
    """A network that is built by its first minibatch, with a hidden scratch layer."""

    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential(
            [layers.Dense(16, activation="relu"), models.Scale(16), layers.Dense(10)]
        )

    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(0.01)


class Plain(Adam):
    """The same without a layer that computes in 32 bits."""

    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([layers.Dense(16), layers.Dense(10)])


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


class Momentum(d2l.HyperParameters):
    """An optimizer from scratch that keeps a variable for each parameter."""

    def __init__(self, rate):
        self.save_hyperparameters()
        self.velocities = {}

    def apply_gradients(self, pairs):
        for i, (gradient, variable) in enumerate(pairs):
            if i not in self.velocities:
                with tf.init_scope():
                    self.velocities[i] = tf.Variable(tf.zeros(variable.shape))
            velocity = self.velocities[i]
            velocity.assign(0.9 * velocity + gradient)
            variable.assign_sub(self.rate * velocity)


class OwnMomentum(models.MLPScratch):
    def configure_optimizers(self):
        optim = Momentum(0.1)
        shapes = [p.shape for p in self.trainable_variables]
        optim.velocities = {i: tf.Variable(tf.zeros(s)) for i, s in enumerate(shapes)}
        return optim


def fit(make, data, devices, epochs=1, **settings):
    """Return a model that was trained on some devices, and its trainer."""
    tf.keras.utils.set_random_seed(0)
    model, trainer = make(), d2l.Trainer(epochs)
    trainer.devices = d2l.try_devices(devices)
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.fit(model, data())
    return model, trainer


def arrays(model):
    return [v.numpy() for v in model.variables if "seed" not in v.name]


def assert_same(model, other, curves=True, atol=1e-6):
    for a, b in zip(arrays(model), arrays(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=atol)
    assert model.board.data.keys() == other.board.data.keys()
    for name, points in model.board.data.items() if curves else []:
        others = other.board.data[name]
        np.testing.assert_allclose(points, others, rtol=1e-5, atol=1e-6)


def small_digits(batch_size, n):
    return lambda: Lists(batch_size, n, 64)


EXAMPLES = {
    "lazy layers, Adam": (Adam, small_digits(25, 60)),
    "tuples and dicts": (Tuples, small_digits(23, 60)),
    "optimizer from scratch": (
        lambda: OwnMomentum(64, 10, 16, 0.1),
        small_digits(30, 67),
    ),
    "nested blocks": (models.Blocks, small_digits(30, 40)),
    "penalty in the loss": (
        lambda: models.WeightDecay(1.5, 0.01),
        lambda: d2l.SyntheticRegressionData(tf.constant([2, -3.4]), 4.2, 0.1, 100, 50),
    ),
}


@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("name", EXAMPLES)
def test_several_devices_equal_one(name, devices):
    make, data = EXAMPLES[name]
    one, _ = fit(make, data, 1)
    assert_same(fit(make, data, devices)[0], one)


def test_fewer_examples_than_devices():
    one, _ = fit(Adam, small_digits(5, 7), 1)
    four, _ = fit(Adam, small_digits(5, 7), 4)
    assert_same(four, one)


@pytest.mark.parametrize(
    "settings",
    [{"gradient_clip_val": 0.05}, {"accumulate": 3}, {"precision": tf.bfloat16}],
    ids=str,
)
def test_settings_of_the_trainer(settings):
    one, three = (fit(Plain, small_digits(25, 60), n, **settings)[0] for n in (1, 3))
    short = "precision" in settings  # sums are rounded at other places
    assert_same(three, one, curves=not short, atol=2e-3 if short else 1e-6)


def test_loss_scale_of_float16():
    model, trainer = fit(Plain, small_digits(25, 60), 2, 3, precision=tf.float16)
    assert type(trainer.optim).__name__ == "LossScaleOptimizer"
    losses = [point.y for point in model.board.data["val_loss"]]
    assert losses[-1] < losses[0]


def test_means_that_are_not_linear_are_means_over_devices():
    data = partial(models.Counting, batch_size=64)
    one, _ = fit(models.rnn, data, 1)
    two, _ = fit(models.rnn, data, 2)
    assert_same(one, two, curves=False, atol=1e-5)
    last = [m.board.data["val_ppl"][-1].y for m in (one, two)]
    assert last[0] == pytest.approx(last[1], rel=1e-2)  # exp(mean) is not mean(exp)


class Odd(d2l.DataModule):
    """One minibatch."""

    def __init__(self, *items):
        super().__init__()
        self.items = items

    def get_dataloader(self, train):
        return [self.items]


class Products(Plain):
    """A model for which the items of a minibatch may have any lengths."""

    def training_step(self, batch):
        X, y = batch
        return tf.reduce_mean(self(X)) * tf.reduce_mean(tf.cast(y, tf.float32))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((np.ones((4, 64), "float32"), np.ones(3, int)), "of this one are 4, 3"),
        ((np.ones((4, 64), "float32"), np.int64(3)), "consists of arrays; this one"),
    ],
)
def test_minibatch_that_cannot_be_divided(items, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(Products, lambda: Odd(*items), 2)


class Norm(d2l.Classifier):
    def __init__(self):
        super().__init__()
        self.lr = 0.1
        self.net = tf.keras.Sequential(
            [layers.BatchNormalization(momentum=0), layers.Dropout(0.5)]
        )
        self.masks: list = []

    def forward(self, X):
        return self.net(X)


def test_batch_normalization_keeps_the_statistics_of_the_first_device():
    data = Lists(60, 60, 64)
    tf.keras.utils.set_random_seed(0)
    (X, _), *_ = data.get_dataloader(True)
    model, _ = fit(Norm, small_digits(60, 60), 2)
    mean = next(v for v in model.variables if v.name == "moving_mean")
    tf.keras.utils.set_random_seed(0)
    np.testing.assert_allclose(mean.numpy(), X[:30].mean(0), atol=1e-6)


def test_dropout_masks_differ_between_devices():
    class Masked(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.drop = 0.0, layers.Dropout(0.5)
            self.w = tf.Variable(tf.ones(64))

        def loss(self, Y_hat, Y):
            return tf.reduce_mean(Y_hat)

        def forward(self, X):
            return self.drop(tf.ones_like(X) * self.w)

    same, _ = fit(Masked, small_digits(4, 4), 1)
    seeds = [v for v in same.variables if "seed" in v.name]
    assert len(seeds) == 1
    tf.keras.utils.set_random_seed(0)
    model, trainer = Masked(), d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    data = Lists(4, 4, 64)
    trainer.prepare_data(data)
    trainer.prepare_model(model)
    with d2l.Ranks(trainer).on_devices(data):
        strategy = tf.distribute.get_strategy()
        run = tf.function(lambda: model(tf.ones((2, 64)), training=True))
        first, second = strategy.experimental_local_results(strategy.run(run))
    assert not np.array_equal(first, second)


def test_variables_stay_the_same_objects():
    model = Tuples()
    W, before = model.pairs["again"], model.variables
    trainer = d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    trainer.fit(model, Lists(30, 60, 64))
    assert model.pairs["again"] is model.pairs["a"][0] is W
    assert [*map(id, model.variables)] == [*map(id, before)]
    assert type(W).__name__ == "ResourceVariable"
    changed = W.numpy()
    d2l.Trainer(1).fit(model, Lists(30, 60, 64))  # on one device again
    assert not np.array_equal(W.numpy(), changed)


def test_an_error_puts_the_variables_back():
    class Wrong(Adam):
        def validation_step(self, batch):
            raise ZeroDivisionError("wrong")

    model, trainer = Wrong(), d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    with pytest.raises(ZeroDivisionError):
        trainer.fit(model, Lists(30, 60, 64))
    kinds = {type(v.value).__name__ for v in model.variables if hasattr(v, "path")}
    assert not any("Mirrored" in kind for kind in kinds)
    assert "plot" not in vars(model)
    assert np.isfinite(model(tf.ones((1, 64))).numpy()).all()


def test_devices_must_be_different():
    trainer = d2l.Trainer(1, devices=["/CPU:0"] * 2)
    with pytest.raises(ValueError, match="different devices.*set_logical_device"):
        trainer.fit(Adam(), Lists(30, 60, 64))


def test_the_scope_of_a_strategy_that_is_open():
    one, _ = fit(Adam, small_digits(25, 60), 1)
    strategy = d2l.mirrored_strategy(["/CPU:0", "/CPU:1"])
    with strategy.scope():
        same, _ = fit(Adam, small_digits(25, 60), 1)
        assert type(same.variables[0].value).__name__ == "MirroredVariable"
        assert_same(same, one)


def test_mfu_counts_the_flops_of_each_device():
    machine = d2l.Machine("", {"float32": 1e9}, 1)
    trainers = [
        fit(Adam, small_digits(30, 60), n, callbacks=[d2l.MFU(machine)])[1]
        for n in (1, 2)
    ]
    flops = [trainer.callbacks[0].step_flops for trainer in trainers]
    assert flops[0] == 2 * flops[1]


# Processes


def children():
    """Return the processes that this one has started."""
    return psutil.Process().children(recursive=True)


def ports_in_use(ports):
    """Return the ports on which a program listens."""

    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return [port for port in ports if listens(port)]


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """Check that a test leaves no process and no port behind."""
    ports: list[int] = []
    find = d2l.free_ports

    def spy(n):
        ports.extend(found := find(n))
        return found

    monkeypatch.setattr(d2l, "free_ports", spy)
    before = set(children())
    yield
    assert set(children()) <= before
    assert ports_in_use(ports) == []


def train_in_group(seed):
    """Return a model's parameters, curves and order of the data, as one worker."""
    tf.keras.utils.set_random_seed(seed + d2l.worker_rank())
    model, trainer = Adam(), d2l.Trainer(2)
    data = Lists(5, 13, 64)
    trainer.fit(model, data)
    values = [v.numpy() for v in model.variables]
    first = trainer.train_dataloader[0][1].tolist()
    return values, model.board.data, first, os.environ["TF_CONFIG"]


def test_workers_train_like_one_process():
    extra = 3  # a closure
    tf.keras.utils.set_random_seed(extra)
    model, trainer = Adam(), d2l.Trainer(2)
    trainer.fit(model, Lists(5, 13, 64))
    ranks = d2l.launch(lambda seed: train_in_group(seed + extra), 2, 0)
    for values, curves, first, config in ranks:
        for a, b in zip(values, arrays(model), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        assert first == trainer.train_dataloader[0][1].tolist()
        for name, points in curves.items():
            np.testing.assert_allclose(points, model.board.data[name], atol=1e-6)
        assert '"worker"' in config
    assert [json_index(config) for *_, config in ranks] == [0, 1]


def json_index(config):
    import json

    return json.loads(config)["task"]["index"]


def fail(kind):
    """Fail in one of several ways, as the second worker; the first one waits."""
    if d2l.worker_rank() == 1:
        if kind == "raise":
            raise LookupError("second\nline")
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "exit":
            os._exit(7)
    one = tf.constant(1.0)
    d2l.join_workers().run(
        lambda: tf.distribute.get_replica_context().all_reduce("SUM", one)
    )


ENDS = {
    "raise": "rank 1 of 2 raised LookupError: second",
    "kill": "rank 1 of 2 was killed by SIGKILL",
    "exit": "rank 1 of 2 ended with exit status 7 before it returned a result",
}


def launched(kind):
    """Return the error of a job whose second rank fails, and its seconds."""
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        d2l.launch(fail, 2, kind)
    assert str(caught.value) == ENDS[kind]
    return caught.value, time.monotonic() - start


def test_errors_of_ranks_in_two_jobs_at_once():
    with ThreadPoolExecutor() as pool:
        (error, first), (_, second) = pool.map(launched, ["raise", "kill"])
    assert "in fail" in error.__notes__[0] and "Rank 1" in error.__notes__[0]
    assert max(first, second) < 50  # at once, and not after the timeout


def test_a_rank_that_ends():
    launched("exit")


def test_a_hang_ends_with_the_places_where_ranks_wait():
    def stuck():
        if d2l.worker_rank() == 0:
            fail("")
        while True:
            time.sleep(1)

    with pytest.raises(TimeoutError, match="rank 0, 1 of 2 within 2 seconds") as caught:
        d2l.launch(stuck, 2, timeout=2)
    assert "in stuck" in caught.value.__notes__[0]


def test_a_number_of_processes_that_makes_no_sense():
    with pytest.raises(ValueError, match="processes, not 0"):
        d2l.launch(fail, 0)
