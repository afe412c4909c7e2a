"""Memory, accumulation and what is kept: what only JAX has."""

from typing import Any

import jax
import numpy as np
import pytest
from counting import counted
from flax import linen as nn
from jax import numpy as jnp

from d2l import jax as d2l
from d2l.settings import Loaders

KEY = jax.random.key(0)


class Plain(d2l.Module):
    """A model whose parameters are declared one by one, in a loop of JAX."""

    lr: float = 0.1

    def setup(self):
        normal = nn.initializers.normal(0.1)
        self.W = self.param("W", normal, (6, 32, 32))

    def forward(self, X):
        return jax.lax.scan(lambda X, W: (jnp.tanh(X @ W), None), X, self.W)[0]

    def loss(self, params, X, y, state):
        return ((state.apply_fn({"params": params}, *X) - y) ** 2).mean()


def tokens(*shape, high=300):
    return jax.random.randint(KEY, shape, 0, high)


def normal(*shape):
    return jax.random.normal(KEY, shape)


def prepared(model: Any, batch: Any, **settings: Any) -> Any:
    """Return a trainer that has `model` ready for its first step."""
    trainer = d2l.Trainer(max_epochs=1)
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.key, trainer.train_dataloader = KEY, [batch]
    trainer.prepare_model(model)
    return trainer


def test_a_loop_keeps_what_real_arrays_have(fw):
    batch = normal(64, 32), normal(64, 32)
    predicted = d2l.predict_memory(Plain(), batch)
    found = counted(fw, Plain(), batch)
    assert predicted.activations == pytest.approx(found["activations"], rel=0.05)


def test_prediction_needs_shapes_only():
    batch = normal(64, 64), normal(64, 64)
    shapes = jax.eval_shape(lambda *batch: batch, *batch)
    model = d2l.DeepMLP(3, 64)
    assert d2l.predict_memory(model, shapes) == d2l.predict_memory(model, batch)


def test_a_model_that_is_too_large_for_this_machine():
    shape = jax.ShapeDtypeStruct((2**20, 2**14), jnp.float32)
    size = d2l.predict_memory(d2l.DeepMLP(width=2**14), (shape, shape))
    assert size.weights == 4 * 16 * (2**28 + 2**14)
    assert size.activations == pytest.approx(17 * 2**36, rel=0.01)
    assert size.peak > 17 * 2**36


def test_peak_is_the_trainers_own():
    X = normal(512, 64)
    model = d2l.DeepMLP(depth=4, width=64)
    trainer = prepared(model, (X, X))
    trainer.start(model, Loaders([(X, X)], None))
    step = trainer.train.compiled.lower(trainer.state, (X, X))
    plan = step.compile().memory_analysis()
    predicted = d2l.predict_memory(model, (X, X)).peak
    assert predicted == (
        plan.argument_size_in_bytes
        + plan.output_size_in_bytes
        - plan.alias_size_in_bytes
        + plan.temp_size_in_bytes
    )


# The tape


def test_tape_of_a_chain():
    def chain(X):
        Y = jnp.sin(X)  # + 4 KiB
        Z = jnp.cos(Y)  # + 4, then Y is free
        return Z.sum()  # + 4 bytes, then Z is free

    tape = d2l.memory_tape(chain, jnp.ones(1024))
    assert tape == [4096, 8192, 8192, 4100, 4]


def test_tape_follows_functions_and_loops():
    @jax.jit
    def inner(X):
        return jnp.tanh(X) + 1

    def function(X):
        return jax.lax.scan(lambda c, _: (inner(c), None), X, None, length=3)[0]

    tape = d2l.memory_tape(function, jnp.ones(1024))
    assert max(tape) - tape[0] > 4096 and tape[-1] == 4096
    assert d2l.memory_tape(inner, jnp.ones(1024)) == [4096, 8192, 8192, 4096]


def test_views_need_no_memory():
    def views(X):
        return jnp.broadcast_to(X.reshape(32, 32)[None], (50, 32, 32)).sum()

    assert max(d2l.memory_tape(views, jnp.ones(1024))) == 4100


# What is kept


def test_checkpointing_keeps_the_input_only():
    def f(X):
        return jnp.sin(jnp.exp(jnp.sin(X))).sum()

    X = jnp.ones(1024)
    assert len(d2l.saved_for_backward(f, X)) == 3
    assert d2l.saved_for_backward(jax.checkpoint(f), X) == []


def test_lean_tanh_is_tanh():
    X = normal(64)
    expected, pullback = jax.vjp(jnp.tanh, X)
    got, lean_pullback = jax.vjp(d2l.lean_tanh, X)
    np.testing.assert_allclose(got, expected)
    np.testing.assert_allclose(*lean_pullback(X), *pullback(X), rtol=1e-4, atol=1e-6)


def test_parts_draw_their_own_dropout():
    keys = []

    class Watched(d2l.MLP):
        def training_step(self, params, batch, state):
            jax.debug.callback(
                lambda key: keys.append(tuple(np.ravel(key).tolist())),
                jax.random.key_data(state.dropout_rng),
                ordered=True,
            )
            return super().training_step(params, batch, state)

    batch = normal(6, 64), tokens(6, high=10)
    trainer = prepared(Watched(10, 8, 0.1), batch, accumulate=3)
    after, _ = jax.jit(trainer.train_step)(trainer.state, batch)
    jax.effects_barrier()
    assert len(keys) == len(set(keys)) == 3
    assert after.dropout_rng == trainer.state.dropout_rng
