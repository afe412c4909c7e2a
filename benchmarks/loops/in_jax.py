"""The loops of the bench in JAX: a bare loop and the Trainer."""

from typing import Any

import jax
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


class MLP(d2l.Classifier):  # type: ignore[name-defined]
    """The MLP for the Trainer."""

    num_hiddens: int
    lr: float

    @nn.compact
    def __call__(self, X: Any) -> Any:
        return nn.Dense(CLASSES)(nn.relu(nn.Dense(self.num_hiddens)(X)))


def bare(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with the bare loop of the chapter, which knows its validation loss."""
    module, classify = data(workload), workload.name == "mlp"
    clock.restart()
    train, val = module.train_dataloader(), module.val_dataloader()
    net, optim = nn.Dense(1), optax.sgd(RATE)
    if classify:
        net = nn.Sequential([nn.Dense(HIDDENS), nn.relu, nn.Dense(CLASSES)])
    params = net.init(jax.random.key(0), next(iter(train))[0])
    state = optim.init(params)

    def loss_of(out: Any, y: Any) -> Any:
        if not classify:
            return optax.l2_loss(out, y).mean()
        return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()

    def loss(params: Any, X: Any, y: Any) -> Any:
        return loss_of(net.apply(params, X), y)

    @jax.jit
    def step(params: Any, state: Any, X: Any, y: Any) -> Any:
        updates, state = optim.update(jax.grad(loss)(params, X, y), state)
        return optax.apply_updates(params, updates), state

    @jax.jit
    def evaluate(params: Any, X: Any, y: Any) -> Any:
        out = net.apply(params, X)
        if not classify:
            return (loss_of(out, y),)
        return loss_of(out, y), (out.argmax(axis=1) == y).mean()

    for _ in range(epochs):
        clock.epoch()
        for X, y in train:
            params, state = step(params, state, X, y)
        metrics = [evaluate(params, X, y) for X, y in val]
        for values in zip(*metrics, strict=True):
            float(d2l.mean(values))
        clock.stop()


VARIANTS = {"bare": bare, **workloads.trainers(d2l, MLP, data)}
