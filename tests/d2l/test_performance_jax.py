"""Counts, bounds and measurements of programs that the performance section lacks."""

from typing import Any

import jax
import numpy as np
import pytest
from flax import linen as nn
from jax import numpy as jnp

from d2l import jax as d2l

KEY = jax.random.key(0)


def shape(*sizes: int, dtype: Any = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype)


def flops(function: Any, *args: Any) -> int:
    return sum(op.flops for op in d2l.list_operations(function, *args))


# FLOPs


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("strides", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolutions_and_their_gradients(groups, strides, padding):
    net = nn.Conv(16, (3, 3), strides, padding, feature_group_count=groups)
    X = shape(2, 13, 13, 8)
    params = jax.eval_shape(net.init, KEY, X)
    out = jax.eval_shape(net.apply, params, X)
    forward = 2 * out.size * 9 * 8 // groups
    assert flops(net.apply, params, X) == forward
    for argument in 0, 1:
        gradient = jax.grad(lambda *args: net.apply(*args).sum(), argument)
        counted = flops(gradient, params, X)
        # JAX also lists the forward convolution, whose result is not needed
        assert counted - forward == pytest.approx(forward, rel=0.01)


def test_xla_counts_the_same_products():
    X, Y = shape(4, 32, 48), shape(48, 64)
    compiled = jax.jit(jnp.matmul).lower(X, Y).compile()
    assert flops(jnp.matmul, X, Y) == compiled.cost_analysis()["flops"]


def product(X, W):
    return X @ W


def scanned(X, W):
    return jax.lax.scan(lambda X, _: (X @ W, None), X, length=7)[0]


def nested(X, W):
    return jax.lax.scan(lambda X, _: (scanned(X, W), None), X, length=3)[0]


def repeated(X, W):
    return jax.lax.while_loop(lambda X: X.sum() < 0, lambda X: X @ W, X)


def chosen(X, W):
    return jax.lax.cond(X.sum() > 0, lambda: X @ W @ W, lambda: X @ W)


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (jax.jit(product), 1),
        (jax.jit(jax.jit(product)), 1),
        (jax.checkpoint(product), 1),
        (jax.vmap(product, (0, None)), 1),
        (scanned, 7),
        (nested, 21),
        (repeated, 1),
        (chosen, 2),
    ],
)
def test_products_inside_of_functions_and_loops(function, products):
    X, W = shape(6, 10), shape(10, 10)
    assert flops(function, X, W) == products * 2 * 6 * 10 * 10


# Bytes


def test_views_and_repeated_numbers_move_no_bytes():
    def function(X, b):
        return (X + b).reshape(20, 50)[None]

    (op,) = d2l.list_operations(function, shape(100, 10), shape(10))
    assert op.nbytes == 4 * (1000 + 10 + 1000)


def test_operations_without_arguments_and_with_random_keys():
    names = [op.name for op in d2l.list_operations(lambda: jnp.arange(5) + 1)]
    assert "add" in names
    assert d2l.list_operations(lambda key: jax.random.normal(key, (3,)), KEY)


# Machines


def test_a_large_sum_is_written_where_the_last_one_was():
    add = d2l.large_sum(1000, d2l.try_gpu())
    first = add()
    place = first.unsafe_buffer_pointer()
    np.testing.assert_array_equal(first, 2)
    assert add().unsafe_buffer_pointer() == place and first.is_deleted()


def test_products_of_groups_of_rows():
    X, W, sizes = jnp.ones((6, 4)), jnp.ones((2, 4, 5)), jnp.array([2, 4])

    def loss(X, W):
        return jax.lax.ragged_dot(X, W, sizes).sum()

    product = 2 * 6 * 4 * 5
    assert flops(loss, X, W) == product
    # JAX also lists the forward product, whose result is not needed.
    assert flops(jax.grad(loss, (0, 1)), X, W) == 3 * product


# FLOPs of a step


class Frozen(d2l.Classifier):
    """A layer that stays as it is, and one that is trained."""

    lr: float = 0.1

    def setup(self) -> None:
        self.frozen, self.net = nn.Dense(32), nn.Dense(10)

    def forward(self, X: jax.Array) -> jax.Array:
        return self.net(jax.lax.stop_gradient(self.frozen(X)))


class Block(nn.Module):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        return nn.Dense(16)(jnp.tanh(nn.Dense(32)(X)))


class Checkpointed(d2l.Classifier):
    """A block, computed again in the backward pass, or not, and a layer."""

    again: bool
    lr: float = 0.1

    def setup(self) -> None:
        block = nn.remat(Block) if self.again else Block
        self.net = nn.Sequential([block(), nn.Dense(10)])


class Penalized(d2l.Classifier):
    """Pays for the gradient of its outputs with respect to its inputs."""

    lr: float = 0.1

    def setup(self) -> None:
        self.net = nn.Sequential([nn.Dense(32), jnp.tanh, nn.Dense(10)])

    def loss(self, params: Any, X: Any, Y: Any, state: Any, averaged: bool = True):
        loss, updates = super().loss(params, X, Y, state, averaged)
        outputs = jax.grad(lambda X: state.apply_fn({"params": params}, X).sum())
        return loss + (outputs(X[0]) ** 2).mean(), updates


def started(model: Any, **settings: Any) -> tuple[Any, tuple]:
    data = d2l.Digits(batch_size=100, num_train=100)
    trainer = d2l.Trainer(max_epochs=1, **settings)
    trainer.fit(model, data, key=KEY)
    return trainer, next(iter(data.train_dataloader()))


def test_a_step_counts_the_products_of_the_gradients_it_needs():
    trainer, batch = started(Frozen())
    assert d2l.step_flops(trainer, batch) == 2 * 100 * (64 * 32 + 2 * 32 * 10)


def test_what_checkpointing_repeats_does_not_count():
    plain, again = (d2l.step_flops(*started(Checkpointed(k))) for k in (False, True))
    assert plain == again == 2 * 100 * (2 * 64 * 32 + 3 * 32 * 16 + 3 * 16 * 10)
    trainer, batch = started(Checkpointed(True))
    listed = d2l.list_operations(trainer.compute_gradients, trainer.state, batch)
    assert sum(op.flops for op in listed) > plain


def test_parts_of_a_step_count_together():
    assert d2l.step_flops(*started(d2l.MLP(10, 32, 0.1), accumulate=4)) == (
        d2l.step_flops(*started(d2l.MLP(10, 32, 0.1)))
    )


def test_a_gradient_penalty_counts():
    trainer, batch = started(Penalized())
    step = jax.jit(trainer.compute_gradients).lower(trainer.state, batch).compile()
    counted = d2l.step_flops(trainer, batch)
    assert counted == pytest.approx(step.cost_analysis()["flops"], rel=0.15)
    assert counted > 1.8 * d2l.step_flops(*started(d2l.MLP(10, 32, 0.1)))


def test_a_step_that_cannot_be_traced_is_one_line():
    class Choosing(d2l.MLP):
        def training_step(self, params: Any, batch: Any, state: Any) -> tuple:
            if float(batch[0].sum()) < 0:
                raise ValueError
            return super().training_step(params, batch, state)

    with pytest.warns(UserWarning, match="uncompiled"):
        trainer, batch = started(Choosing(10, 32, 0.1))
    with pytest.raises(ValueError, match="^JAX cannot trace Choosing: .*$") as caught:
        d2l.step_flops(trainer, tuple(map(jnp.asarray, batch)))
    assert "\n" not in str(caught.value)
