"""The loops of the bench in PyTorch: a bare loop, the Trainer, and Lightning."""

import logging
import warnings
from typing import Any

import torch
import workloads
from torch import nn
from torch.nn import functional as F
from workloads import CLASSES, HIDDENS, RATE, Clock, Workload

from d2l import torch as d2l

VERSIONS = {"torch": torch.__version__}


def data(workload: Workload) -> Any:
    """Return the data module of a workload."""
    return workloads.dataset(
        d2l, *map(torch.tensor, workloads.arrays(workload)), workload
    )


def network(workload: Workload) -> nn.Module:
    """Return the network of a workload."""
    if workload.name == "linear":
        return nn.Linear(workload.inputs, 1)
    layers = nn.Linear(workload.inputs, HIDDENS), nn.ReLU(), nn.Linear(HIDDENS, CLASSES)
    return nn.Sequential(*layers)


def loss_of(workload: Workload) -> Any:
    """Return the loss function of a workload."""
    return F.mse_loss if workload.name == "linear" else F.cross_entropy


def accuracy(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (out.argmax(dim=1) == y).float().mean()


class MLP(d2l.Classifier):  # type: ignore[name-defined]
    """The MLP for the Trainer."""

    def __init__(self, num_hiddens: int, lr: float):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.LazyLinear(num_hiddens), nn.ReLU(), nn.LazyLinear(CLASSES)
        )


def bare(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with the bare loop of the chapter, which knows its validation loss."""
    module, device = data(workload), d2l.try_gpu() if workloads.GPUS else "cpu"
    loss_fn, classify = loss_of(workload), workload.name == "mlp"
    clock.restart()
    train, val = module.train_dataloader(), module.val_dataloader()
    net = network(workload).to(device)
    optim = torch.optim.SGD(net.parameters(), RATE)

    def evaluate(X: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        out = net(X)
        return (loss_fn(out, y), accuracy(out, y)) if classify else (loss_fn(out, y),)

    for _ in range(epochs):
        clock.epoch()
        for X, y in moved(train):
            loss = loss_fn(net(X), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
        with torch.no_grad():
            metrics = [evaluate(X, y) for X, y in moved(val)]
        for values in zip(*metrics, strict=True):
            float(d2l.mean(values))
        clock.stop()


def moved(loader: Any) -> Any:
    """Return the minibatches of a loader, on the GPU if the bench uses one."""
    if not workloads.GPUS:
        return loader
    device = d2l.try_gpu()
    return ([a.to(device, non_blocking=True) for a in batch] for batch in loader)


def lightning(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with Lightning, without its features besides training."""
    import lightning

    VERSIONS["lightning"] = lightning.__version__
    loss_fn, classify = loss_of(workload), workload.name == "mlp"

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = network(workload)

        def training_step(self, batch: Any) -> torch.Tensor:
            return loss_fn(self.net(batch[0]), batch[1])

        def validation_step(self, batch: Any) -> None:
            out = self.net(batch[0])
            self.val_loss = loss_fn(out, batch[1])
            if classify:
                self.val_acc = accuracy(out, batch[1])

        def on_train_epoch_start(self) -> None:
            clock.epoch()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), RATE)

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    off = ("logger", "enable_checkpointing", "enable_progress_bar")
    module, model = data(workload), Model()
    clock.restart()
    lightning.Trainer(
        accelerator="gpu" if workloads.GPUS else "cpu",
        devices=1,
        max_epochs=epochs,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **dict.fromkeys(off, False),
    ).fit(model, module.train_dataloader(), module.val_dataloader())
    clock.stop()


VARIANTS = {
    "bare": bare,
    **workloads.trainers(d2l, MLP, data),
    "peer": lightning,
}
