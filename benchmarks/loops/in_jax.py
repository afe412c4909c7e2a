"""The loops of the bench in JAX: a bare loop and the Trainer."""

from functools import partial
from typing import Any

import jax
import numpy as np
import optax
import workloads
from flax import linen as nn
from workloads import CLASSES, HIDDENS, RATE, Clock, Workload

from d2l import jax as d2l

VERSIONS = {"jax": jax.__version__}


def data(workload: Workload) -> Any:
    """Return the data module of a workload."""
    X, y = workloads.arrays(workload)
    y = y.astype("int32") if workload.name == "mlp" else y
    return workloads.dataset(d2l, X, y, workload)


class Network(nn.Module):
    """A linear model, or an MLP if it classifies."""

    classify: bool

    @nn.compact
    def __call__(self, X: Any) -> Any:
        if not self.classify:
            return nn.Dense(1)(X)
        return nn.Dense(CLASSES)(nn.relu(nn.Dense(HIDDENS)(X)))


class MLP(d2l.Classifier):  # type: ignore[name-defined]
    """The MLP for the Trainer."""

    num_hiddens: int
    lr: float

    @nn.compact
    def __call__(self, X: Any) -> Any:
        return nn.Dense(CLASSES)(nn.relu(nn.Dense(self.num_hiddens)(X)))


def bare(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with the shortest loop that also computes the validation loss."""
    module, classify = data(workload), workload.name == "mlp"
    clock.restart()
    train, val = module.train_dataloader(), module.val_dataloader()
    net, optimizer = Network(classify), optax.sgd(RATE)
    params = net.init(jax.random.key(0), next(iter(train))[0])
    state = optimizer.init(params)

    def loss_and_accuracy(params: Any, X: Any, y: Any) -> Any:
        out = net.apply(params, X)
        if not classify:
            return optax.l2_loss(out, y).mean(), ()
        losses = optax.softmax_cross_entropy_with_integer_labels(out, y)
        return losses.mean(), (out.argmax(axis=1) == y).mean()

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Any, X: Any, y: Any) -> Any:
        grads, _ = jax.grad(loss_and_accuracy, has_aux=True)(params, X, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    evaluate = jax.jit(loss_and_accuracy)
    for _ in range(epochs):
        clock.epoch()
        for X, y in train:
            params, state = step(params, state, X, y)
        metrics = [evaluate(params, X, y) for X, y in val]
        jax.tree.map(lambda *values: np.mean(values), *jax.device_get(metrics))
        clock.stop()


VARIANTS = {"bare": bare, **workloads.trainers(d2l, MLP, data)}
