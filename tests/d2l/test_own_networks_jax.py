"""Networks of Flax NNX in place of a `d2l.Module`."""

import foreign_jax
import jax
import numpy as np
import optax
import pytest
from flax import nnx

X = np.random.default_rng(0).normal(size=(32, 64)).astype("float32")
Y = np.arange(32) % 10


class Noisy(nnx.Module):
    """A network with statistics, and dropout of its own random numbers."""

    def __init__(self):
        rngs = nnx.Rngs(0)
        self.hidden = nnx.Linear(64, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.out = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, X):
        return self.out(self.dropout(nnx.relu(self.norm(self.hidden(X)))))


def mean_loss(net, X, Y):
    losses = optax.softmax_cross_entropy_with_integer_labels(net(X), Y)
    return losses.mean()


def trained_bare(net, steps):
    """Return a network after some steps of a loop without this library."""
    optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    for _ in range(steps):
        optimizer.update(net, nnx.grad(mean_loss)(net, X, Y))
    return net


def assert_equal(wanted, net):
    found = jax.tree.leaves(nnx.state(net, nnx.Param))
    for first, second in zip(found, jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize("make", [foreign_jax.nnx_mlp, Noisy], ids=["mlp", "noisy"])
def test_nnx_is_trained_as_by_a_bare_loop(d2l, make):
    net, trainer = make(), d2l.Trainer(max_epochs=3)
    first = jax.tree.map(np.array, nnx.state(net, nnx.Param))
    loss = optax.softmax_cross_entropy_with_integer_labels
    trainer.fit(net, ([(X, Y)], [(X, Y)]), loss=loss, optimizer=optax.sgd(0.1))
    assert_equal(first, net)  # the network is where the training begins
    nnx.update(net, trainer.state.params, trainer.state.batch_stats)
    bare = trained_bare(make(), 3)
    assert_equal(jax.tree.map(np.array, nnx.state(bare, nnx.Param)), net)
    net.eval()
    curves = trainer.model.board.data
    assert curves["val_loss"][-1].y == pytest.approx(
        float(mean_loss(net, X, Y)), rel=1e-5
    )
