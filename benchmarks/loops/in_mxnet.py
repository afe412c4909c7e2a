"""The loops of the bench in MXNet: a bare loop and the Trainer."""

from typing import Any

import mxnet
import workloads
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn
from workloads import CLASSES, HIDDENS, RATE, Clock, Workload

from d2l import mxnet as d2l

npx.set_np()
VERSIONS = {"mxnet": mxnet.__version__}


def data(workload: Workload) -> Any:
    """Return the data module of a workload."""
    X, y = map(np.array, workloads.arrays(workload))
    return workloads.dataset(d2l, X, y, workload)


class MLP(d2l.Classifier):  # type: ignore[name-defined]
    """The MLP for the Trainer."""

    def __init__(self, num_hiddens: int, lr: float):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.HybridSequential()
        self.net.add(nn.Dense(num_hiddens, activation="relu"), nn.Dense(CLASSES))
        self.net.initialize()


def bare(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with the bare loop of the chapter, which knows its validation loss."""
    module, classify = data(workload), workload.name == "mlp"
    clock.restart()
    train, val = module.train_dataloader(), module.val_dataloader()
    net, loss_fn = nn.Dense(1), gluon.loss.L2Loss()
    if classify:
        net, loss_fn = nn.HybridSequential(), gluon.loss.SoftmaxCrossEntropyLoss()
        net.add(nn.Dense(HIDDENS, activation="relu"), nn.Dense(CLASSES))
    net.initialize()
    net.hybridize()
    optim = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

    def evaluate(X: Any, y: Any) -> tuple[Any, ...]:
        out = net(X)
        loss = loss_fn(out, y).mean()
        if not classify:
            return (loss,)
        return loss, (out.argmax(axis=1) == y).astype("float32").mean()

    for _ in range(epochs):
        clock.epoch()
        for X, y in train:
            with autograd.record():
                loss = loss_fn(net(X), y).mean()
            loss.backward()
            optim.step(1)
        metrics = [evaluate(X, y) for X, y in val]
        for values in zip(*metrics, strict=True):
            float(d2l.mean(values))
        clock.stop()


VARIANTS = {"bare": bare, **workloads.trainers(d2l, MLP, data)}
