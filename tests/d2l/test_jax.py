"""What is JAX's alone: committed arrays, the trainer's state, random keys."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx
from jax import numpy as jnp
from models_jax import Layers

from d2l import jax as d2l

ROOT = Path(__file__).parents[2]
KEY = jax.random.key(0)


@pytest.mark.parametrize("kind", ["gpu", "tpu"])
def test_gpus_are_the_default_devices(monkeypatch, kind):
    devices = jax.devices("cpu")[:2]
    found = {kind: devices, "cpu": devices}
    monkeypatch.setattr(jax, "default_backend", lambda: kind)
    monkeypatch.setattr(jax, "local_devices", lambda *, backend: found[backend])
    monkeypatch.setattr(jax, "local_device_count", lambda backend: len(devices))
    assert d2l.num_gpus() == 2
    assert d2l.try_all_gpus() == d2l.try_devices() == devices
    assert d2l.try_gpu(1) == d2l.gpu(1) == devices[1]


def run_with_platforms(platforms: str, code: str) -> str:
    """Return what `code` prints in a process that may use some platforms only."""
    code = f"from d2l import jax as d2l\n{code}"
    environment = {**os.environ, "JAX_PLATFORMS": platforms}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is a GPU")
def test_a_missing_backend_is_no_gpu_and_a_clear_error():
    assert run_with_platforms("cuda", "print(d2l.num_gpus())") == "0\n"
    last = run_with_platforms("cuda", "d2l.try_gpu()").splitlines()[-1]
    assert last.startswith("RuntimeError: JAX_PLATFORMS=cuda excludes the CPU; ")
    assert last.endswith("set JAX_PLATFORMS=cuda,cpu")
    code = "print(d2l.num_gpus(), d2l.try_gpu().platform)"
    assert run_with_platforms("cuda,cpu", code) == "0 cpu\n"


@pytest.fixture
def digits_of_three():
    """Data of three minibatches."""
    return d2l.Digits(batch_size=479)


def test_the_dropout_key_is_new_in_each_step(digits_of_three):
    keys = []

    class Step(Layers):
        def training_step(self, params, batch, state):
            keys.append(tuple(jax.random.key_data(state.dropout_rng).tolist()))
            return super().training_step(params, batch, state)

    model = Step((16, 0.5, 10), "sgd", 0.1)
    d2l.Trainer(max_epochs=1).fit(model, digits_of_three, key=KEY)
    assert len(set(keys)) == len(keys) == 3


def test_the_key_decides_the_result():
    def fit(key):
        trainer = d2l.Trainer(max_epochs=1)
        data = d2l.SyntheticRegressionData(jnp.array([2, -3.4]), 4.2, batch_size=500)
        trainer.fit(d2l.LinearRegression(lr=0.01), data, key=key)
        return np.asarray(trainer.state.params["net"]["kernel"])

    assert (fit(KEY) == fit(KEY)).all()
    assert (fit(KEY) != fit(jax.random.key(1))).any()
    assert (fit(jax.random.PRNGKey(3)) == fit(jax.random.key(3))).all()
    np.random.seed(0)
    first = fit(None)
    assert (first != fit(None)).any()
    np.random.seed(0)
    assert (first == fit(None)).all()


def test_models_are_equal_if_their_fields_are():
    assert d2l.MLP(10, 8, 0.1) == d2l.MLP(10, 8, 0.1)
    assert hash(d2l.MLP(10, 8, 0.1)) == hash(d2l.MLP(10, 8, 0.1))
    assert d2l.MLP(10, 8, 0.1) != d2l.MLP(10, 9, 0.1)
    assert d2l.MLP(10, 8, 0.1).board is not d2l.MLP(10, 8, 0.1).board


def test_a_state_kept_between_epochs_stays_good():
    class Keeping(d2l.Trainer):
        def fit_epoch(self):
            kept.append(self.state)
            super().fit_epoch()

    kept: list = []
    data = d2l.SyntheticRegressionData(jnp.array([2, -3.4]), 4.2, batch_size=500)
    trainer = Keeping(max_epochs=3)
    trainer.fit(d2l.LinearRegression(lr=0.1), data, key=KEY)
    kernels = [np.asarray(state.params["net"]["kernel"]) for state in kept]
    assert not np.array_equal(kernels[0], kernels[1])
    assert [int(state.step) for state in kept] == [0, 2, 4]


def test_a_training_step_is_a_pure_function(fw, digits_of_three):
    trainer: Any = d2l.Trainer(max_epochs=1)
    trainer.key = KEY
    trainer.start(fw.model(16, "norm", "relu", 0.5, 10), digits_of_three)
    before, batch = dict(vars(trainer)), next(iter(trainer.train_dataloader))
    step = jax.jit(trainer.train_step)
    results = [step(trainer.state, batch) for _ in range(2)]
    assert before == vars(trainer) and not trainer.model.board.data
    for (state, curves), (again, values) in [results]:
        assert list(curves) == list(values) == ["train_loss"]
        for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(again), strict=True):
            assert a is not b and (a == b).all()


class Keeping(d2l.Callback):
    """Keeps the parameters before a step, and notes whether the step deletes them."""

    def __init__(self):
        self.deleted = []

    def before_step(self, trainer, batch):
        self.kept = jax.tree.leaves(trainer.state.params)

    def after_step(self, trainer):
        self.deleted.append([array.is_deleted() for array in self.kept])


def test_a_step_overwrites_its_state(digits_of_three):
    keeping = Keeping()
    trainer = d2l.Trainer(max_epochs=1, callbacks=[keeping])
    trainer.fit(d2l.MLP(10, 8, 0.1), digits_of_three, key=KEY)
    assert keeping.deleted == [[True] * 4] * 3
    assert not any(a.is_deleted() for a in jax.tree.leaves(trainer.state))


def test_parameters_that_a_model_begins_with_stay_good(digits_of_three):
    class Begun(d2l.MLP):
        def apply_init(self, dummy_input, key):
            return {"params": params}

    model = d2l.MLP(10, 8, 0.1)
    params = model.apply_init((np.ones((1, 64), "float32"),), KEY)["params"]
    d2l.Trainer(max_epochs=1).fit(Begun(10, 8, 0.1), digits_of_three, key=KEY)
    assert not any(a.is_deleted() for a in jax.tree.leaves(params))


def test_an_epoch_copies_one_array_after_the_other(monkeypatch, digits_of_three):
    def counting_copy(array):
        copied = copy_of(array)
        sizes.append(sum(a.size for a in jax.live_arrays() if a.size in (57, 570)))
        return copied

    sizes: list = []
    trainer: Any = d2l.Trainer(max_epochs=1)
    trainer.key = KEY
    trainer.start(d2l.MLP(10, 57, 0.1), digits_of_three)  # 57 biases, 570 weights
    copy_of = d2l.copy_array
    monkeypatch.setattr(d2l, "copy_array", counting_copy)
    trainer.fit_epoch()
    assert max(sizes) == 57 + 2 * 570


class Plotting(d2l.MLP):
    """Plots in its loss."""

    training: bool = True

    def loss(self, params, X, Y, state, averaged=True):
        value, updates = super().loss(params, X, Y, state, averaged)
        self.plot("twice", 2 * value, train=self.training)
        return value, updates


def test_a_loss_may_plot(digits_of_three):
    model = Plotting(10, 8, 0.1)
    d2l.Trainer(max_epochs=1).fit(model, digits_of_three, key=KEY)
    for kind in "train", "val":
        one, two = (model.board.data[f"{kind}_{name}"] for name in ("loss", "twice"))
        assert [2 * point.y for point in one] == pytest.approx([p.y for p in two])


def test_a_loss_that_plots_is_predicted():
    X, y = jnp.ones((5, 64)), jnp.zeros(5, int)
    plain, plotting = (
        d2l.predict_memory(model(10, 8, 0.1), (X, y)) for model in (d2l.MLP, Plotting)
    )
    assert plotting.activations == plain.activations > 0


def test_a_callback_may_plot(digits_of_three):
    class Rate(d2l.Callback):
        def after_step(self, trainer):
            trainer.model.plot("rate", trainer.train_batch_idx, train=True)

    model = d2l.MLP(10, 8, 0.1)
    model.plot_train_per_epoch = 3
    d2l.Trainer(max_epochs=1, callbacks=[Rate()]).fit(model, digits_of_three, key=KEY)
    assert [point.y for point in model.board.data["train_rate"]] == [1, 2, 3]


class Stopped(d2l.Trainer):
    """Is interrupted before its fourth step, if nothing has stopped it before."""

    stopped = False

    def prepare_batch(self, batch):
        if self.train_batch_idx == 3 and not self.stopped:
            self.stopped = True
            raise KeyboardInterrupt
        return super().prepare_batch(batch)


def test_an_epoch_that_is_stopped_keeps_the_state_of_the_last_step():
    data = d2l.SyntheticRegressionData(jnp.array([2, -3.4]), 4.2, batch_size=250)
    trainer = Stopped(max_epochs=2)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(d2l.LinearRegression(lr=0.1), data, key=KEY)
    assert int(trainer.state.step) == 3
    assert np.isfinite(trainer.state.params["net"]["kernel"]).all()
    trainer.fit_epoch()
    assert int(trainer.state.step) == 3 + 4


def test_an_epoch_keeps_one_state():
    class Counting(d2l.Trainer):
        def prepare_batch(self, batch):
            copies.append(sum(a.shape == (57, 1) for a in jax.live_arrays()))
            return super().prepare_batch(batch)

    copies: list = []
    data = d2l.SyntheticRegressionData(jnp.ones(57), 4.2, batch_size=250)
    Counting(max_epochs=2).fit(d2l.LinearRegression(lr=0.1), data, key=KEY)
    assert copies == [1] * 2 * (4 + 4)


def test_a_step_that_reads_the_trainers_state_is_not_frozen():
    class Asking(d2l.LinearRegression):
        def training_step(self, params, batch, state):
            steps.append(int(self.trainer.state.step))
            return super().training_step(params, batch, state)

    steps: list[int] = []
    data = d2l.SyntheticRegressionData(jnp.array([2, -3.4]), 4.2, batch_size=250)
    trainer: Any = d2l.Trainer(max_epochs=2)
    with pytest.warns(UserWarning, match="trainer.state differs from step to step"):
        trainer.fit(Asking(lr=0.1), data, key=KEY)
    assert steps == list(range(8))
    assert trainer.train.compiled is None and trainer.validate.compiled


def test_keys_depend_on_the_seed_of_numpy():
    def draw():
        np.random.seed(3)
        return [d2l.get_seed(), *jax.random.key_data(d2l.get_key()).tolist()]

    assert draw() == draw()
    assert all(type(d2l.get_seed()) is int for _ in range(3))
    assert len({d2l.get_seed() for _ in range(9)}) == 9
    assert jnp.issubdtype(d2l.get_key().dtype, jax.dtypes.prng_key)


def test_clipping_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = d2l.Trainer(1).clip_gradients(1, {"w": jnp.array([3.0, 4.0])})
    np.testing.assert_allclose(clipped["w"], [0.6, 0.8], rtol=1e-6)


def test_a_mean_of_many_values():
    values = [jnp.float32(i) for i in range(100)]
    assert float(d2l.mean(values)) == 49.5 and float(d2l.mean(values[:1])) == 0
    assert float(d2l.mean([jnp.float32(1), 2, np.float32(3)])) == 2


class Bridged(d2l.Classifier):
    """A model of NNX inside a module, as the text advises."""

    lr: float = 0.5

    def setup(self):
        self.net = nnx.bridge.to_linen(InNnx)


class InNnx(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.dense = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, X: jax.Array) -> jax.Array:
        return self.dense(X)


def test_the_bridge_of_nnx_trains():
    model = Bridged()
    model.board.display = False
    d2l.Trainer(max_epochs=2).fit(model, d2l.Digits(), key=jax.random.key(0))
    assert model.board.data["val_acc"][-1].y > 0.8
