"""State, random streams, masks and meshes that a Flax model may bring along."""

from typing import Any

import jax
import numpy as np
import pytest
from flax import linen as nn
from jax import numpy as jnp
from models_jax import Layers

from d2l import jax as d2l

KEY = jax.random.key(0)
DATA = d2l.Digits(batch_size=96, num_train=480)


class Linear(d2l.Classifier):
    """A layer, with what subclasses do to its inputs and outputs."""

    lr: float = 0.1

    def setup(self) -> None:
        self.net = nn.Dense(12)
        self.prepare()

    def prepare(self) -> None:
        pass


def trained(model: Any, devices: int = 1, **settings: Any) -> Any:
    """Return the trainer that trained `model` for one epoch of five steps."""
    model.board.display = False
    trainer = d2l.Trainer(max_epochs=1, **settings)
    trainer.devices = jax.devices()[:devices]
    trainer.fit(model, DATA, key=KEY)
    return trainer


def loss_of(model: Any, *args: Any, **settings: Any) -> float:
    return trained(model, *args, **settings).model.board.data["val_loss"][-1].y


# Collections


class Counting(Linear):
    """Has a constant, counts its calls, and sows a value in each."""

    def prepare(self) -> None:
        self.scale = self.variable("constants", "scale", lambda: 2 * jnp.ones(64))
        self.calls = self.variable("counters", "calls", lambda: jnp.zeros((), "int32"))

    def forward(self, X: jax.Array) -> jax.Array:
        if not self.is_initializing():
            self.calls.value += 1
        self.sow("seen", "mean", X.mean())
        return self.net(self.scale.value * X)


class Twice(Linear):
    """As `Counting`, with the constant in its code."""

    def forward(self, X: jax.Array) -> jax.Array:
        return self.net(2 * X)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("parts", [1, 3])
def test_all_collections_are_kept(parts, devices):
    trainer = trained(Counting(), devices, accumulate=parts)
    assert set(trainer.state.others) == {"constants", "counters"}
    assert trainer.state.others["counters"]["calls"] == 5 * parts
    np.testing.assert_array_equal(trainer.state.others["constants"]["scale"], 2)
    assert loss_of(Counting()) == pytest.approx(loss_of(Twice()), rel=1e-6)


class Adapted(d2l.Classifier):
    """Has a frozen layer, given as a dict, which Flax makes another kind of dict."""

    layer: dict
    lr: float = 0.1

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        frozen = self.variable("frozen", "layer", lambda: self.layer).value
        return X @ frozen["kernel"] + frozen["bias"] + nn.Dense(10)(X)


def test_a_frozen_layer_stays_and_is_an_argument_of_the_step():
    layer = {"kernel": jnp.ones((64, 10)), "bias": jnp.ones(10)}
    trainer = trained(Adapted(layer), accumulate=2)
    kept = trainer.state.others["frozen"]["layer"]
    np.testing.assert_array_equal(kept["kernel"], layer["kernel"])
    batch = next(iter(DATA.train_dataloader()))
    traced = jax.make_jaxpr(trainer.compute_gradients)(trainer.state, batch)
    assert (64, 10) not in {jnp.shape(constant) for constant in traced.consts}


def test_collections_are_in_checkpoints(tmp_path):
    straight, resumed = Counting(), Counting()
    trainer = d2l.Trainer(max_epochs=4)
    trainer.fit(straight, DATA, key=KEY)
    d2l.Trainer(max_epochs=2).fit(resumed, DATA, key=KEY, checkpoint_dir=tmp_path)
    again = d2l.Trainer(max_epochs=4)
    again.fit(Counting(), DATA, key=KEY, checkpoint_dir=tmp_path)
    assert again.state.others["counters"]["calls"] == 4 * 5
    both = (jax.tree.leaves(t.state.params) for t in (trainer, again))
    for a, b in zip(*both, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_model_without_collections_has_the_state_of_before():
    assert type(trained(Linear()).state) is d2l.TrainState


def test_statistics_that_do_not_come_back_are_missed():
    class Forgetful(Layers):
        def training_step(self, params: Any, batch: Any, state: Any) -> tuple:
            (loss, _), grads = super().training_step(params, batch, state)
            return loss, grads

    model = Forgetful(("norm", 16, 10), "sgd", 0.1)
    with pytest.raises(TypeError, match="has batch_stats, so training_step must"):
        trained(model)


# Random streams


class Noisy(Linear):
    """Draws from a stream of its own, which a key for parameters feeds."""

    def forward(self, X: jax.Array) -> jax.Array:
        return self.net(X + jax.random.normal(self.make_rng("noise"), X.shape))


def test_a_stream_of_any_name_is_new_in_each_step():
    state = trained(Noisy()).state
    keys = [state.replace(dropout_rng=jax.random.key(i)).rngs() for i in range(2)]
    drawn = {jax.random.key_data(k).tobytes() for rngs in keys for k in rngs.values()}
    assert len(drawn) == 4


def test_the_flops_of_a_model_that_draws():
    trainer = trained(Noisy())
    batch = next(iter(DATA.train_dataloader()))
    assert d2l.step_flops(trainer, batch) == 2 * 2 * 96 * 64 * 12


# What is not finite


class Masked(Linear):
    """Two of its twelve classes are impossible."""

    def forward(self, X: jax.Array) -> jax.Array:
        return jnp.where(jnp.arange(12) < 10, self.net(X), -jnp.inf)


@pytest.mark.parametrize("precision", [jnp.bfloat16, jnp.float16])
def test_masked_outputs_train_in_16_bits(precision):
    full, short = loss_of(Masked()), loss_of(Masked(), precision=precision)
    assert short == pytest.approx(full, rel=0.01)


def test_skipped_steps_are_counted():
    trainer = d2l.Trainer(max_epochs=1, precision=jnp.float16)
    trainer.loss_scale = 1e9
    with pytest.warns(UserWarning, match="^5 of 5 steps were skipped, since their"):
        trainer.fit(Linear(), DATA, key=KEY)


def test_gradients_of_inputs_are_not_scaled():
    def slope(precision: Any) -> jax.Array:
        state = trained(Linear(), precision=precision).state
        variables = {"params": state.params}
        outputs = jax.grad(lambda X: state.apply_fn(variables, X)[:, 0].sum())
        return outputs(jnp.asarray(DATA.X[:8]))

    full, short = slope(jnp.float32), slope(jnp.float16)
    np.testing.assert_allclose(full, short, rtol=0.02, atol=1e-3)


def test_a_scaled_gradient_has_derivatives_in_both_directions():
    def cube(x: Any) -> Any:
        return d2l.scale_gradient(x, 4.0) ** 3

    assert jax.grad(cube)(2.0) == 4 * 3 * 2**2
    assert jax.jvp(cube, (2.0,), (1.0,)) == (8, 4 * 3 * 2**2)


# What a training step returns


@pytest.mark.parametrize("kind", ["the loss alone", "exchanged"])
def test_what_is_no_tree_of_gradients(kind):
    class Wrong(Linear):
        def training_step(self, params: Any, batch: Any, state: Any) -> tuple:
            value, grads = super().training_step(params, batch, state)
            return value if kind == "the loss alone" else (grads, value)

    with pytest.raises(TypeError, match="the second value is no tree like the param"):
        trained(Wrong())


def test_a_plot_takes_a_number():
    class Drawing(Linear):
        def training_step(self, params: Any, batch: Any, state: Any) -> tuple:
            self.plot("norms", jnp.ones(3), train=True)
            return super().training_step(params, batch, state)

    with pytest.raises(ValueError, match=r"plot takes a number; train_norms has shape"):
        trained(Drawing())


# Meshes of the caller


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("kind", [jax.sharding.AxisType.Explicit, None])
def test_training_within_a_mesh_of_the_caller(devices, kind):
    alone = loss_of(Linear(), devices)
    kinds = {"axis_types": (kind,)} if kind else {}
    mesh = jax.make_mesh((2,), ("data",), devices=jax.devices()[:2], **kinds)
    with jax.set_mesh(mesh):
        assert loss_of(Linear(), devices) == alone
        assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh


def test_waiting_for_a_result_asks_no_other_array(monkeypatch):
    def ask(*args: Any) -> Any:
        raise AssertionError("the arrays of the program were asked")

    monkeypatch.setattr(d2l, "synchronize", ask)
    d2l.wait_for([jnp.ones(3) + 1, {"b": jnp.ones(2)}])
    with pytest.raises(AssertionError):
        d2l.wait_for(None)
