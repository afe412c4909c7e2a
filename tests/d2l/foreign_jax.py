"""Models of Flax Linen and of NNX, written without this library."""

import jax
import optax
from flax import linen as nn
from flax import nnx
from jax import numpy as jnp


def mlp():
    return nn.Sequential([nn.Dense(256), nn.relu, nn.Dense(10)])


instance = mlp()


def linear():
    return nn.Dense(10)


class dropping(nn.Module):
    @nn.compact
    def __call__(self, X, training):
        return nn.Dense(10)(nn.Dropout(0.5, deterministic=not training)(X))


def given(net, lr):
    """Return a loss and an optimizer of Optax."""
    return optax.softmax_cross_entropy_with_integer_labels, optax.sgd(lr)


class images(nn.Module):
    @nn.compact
    def __call__(self, X, train: bool):
        X = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(16, (3, 3))(X)))
        X = nn.Dropout(0.1, deterministic=not train)(X.mean((1, 2)))
        return nn.Dense(10)(X)


class Words(nn.Module):
    """A recurrent network with one matrix for inputs and outputs."""

    def setup(self):
        self.embedding = nn.Embed(500, 64)
        self.recurrent = nn.RNN(nn.GRUCell(64))

    def __call__(self, X):
        return self.embedding.attend(self.recurrent(self.embedding(X)))


class Pair(nn.Module):
    """Two inputs, and a dictionary as the output."""

    @nn.compact
    def __call__(self, X, Z):
        H = nn.relu(nn.Dense(64)(X) + nn.Dense(64)(Z))
        return {"hidden": H, "logits": nn.Dense(1)(H)}


class Own(nn.Module):
    """A model that computes its loss itself."""

    @nn.compact
    def __call__(self, X, targets):
        Y = nn.Dense(64)(X)
        return Y, ((Y - targets) ** 2).mean()


class Raising(nn.Module):
    def __call__(self, X):
        raise RuntimeError("my own problem\n\nand more")


# Those that only Flax has


class Noisy(nn.Module):
    """A model with a random stream, a collection and an output of its own."""

    @nn.compact
    def __call__(self, X):
        calls = self.variable("counters", "calls", lambda: jnp.zeros((), "int32"))
        calls.value += 1
        self.sow("intermediates", "inputs", X)
        noise = jax.random.normal(self.make_rng("noise"), X.shape)
        return nn.Dense(10)(X + noise)


def nnx_mlp():
    rngs = nnx.Rngs(0)
    layers = nnx.Linear(64, 256, rngs=rngs), nnx.relu, nnx.Linear(256, 10, rngs=rngs)
    return nnx.Sequential(*layers)


nnx_instance = nnx_mlp()


class NnxImages(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.conv = nnx.Conv(3, 16, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.output = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, X):
        X = nnx.relu(self.norm(self.conv(X)))
        return self.output(self.drop(X.mean((1, 2))))


class NnxWords(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.embedding = nnx.Embed(500, 64, rngs=rngs)
        self.recurrent = nnx.RNN(nnx.GRUCell(64, 64, rngs=rngs))

    def __call__(self, X):
        return self.embedding.attend(self.recurrent(self.embedding(X)))


def large():
    """Return a model whose weights have 64 GiB."""
    return nnx.Linear(64, 2**28, use_bias=False, rngs=nnx.Rngs(0))
