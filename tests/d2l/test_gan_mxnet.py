"""Two optimizers in MXNet: a GAN trains, saves and resumes."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

from typing import Any

import gan
import mxnet as mx
import numpy as onp
import pytest
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

from d2l import mxnet as d2l

npx.set_np()


class Reverse(autograd.Function):
    """Return the input; its gradient changes the sign."""

    def forward(self, x: Any) -> Any:
        return x.copy()

    def backward(self, grad: Any) -> Any:
        return -grad


class Gan(d2l.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.critic = nn.Dense(8, in_units=4), nn.Dense(1, in_units=8)
        self.generator.initialize()
        self.critic.initialize()
        self.bce = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        self.board.display = False

    def training_step(self, batch: Any) -> Any:
        real, noise, ones = batch
        fake = self.critic(Reverse()(self.generator(noise)))
        loss = self.bce(self.critic(real), ones) + self.bce(fake, np.zeros_like(ones))
        loss = loss.mean()
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch: Any) -> None:
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self) -> list:
        adam, sgd = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
        return [
            gluon.Trainer(self.generator.collect_params(), "adam", adam),
            gluon.Trainer(self.critic.collect_params(), "sgd", sgd),
        ]


class Data(d2l.DataModule):
    def get_dataloader(self, train: bool) -> Any:
        self.batch_size = 10
        return self.get_tensorloader([*map(np.array, gan.arrays(train))], train)


def run(folder: Any, cut_at: int | None, max_epochs: int = 2, **settings: Any) -> Any:
    mx.random.seed(0)
    onp.random.seed(0)
    trainer = gan.cut_trainer(d2l, cut_at)(max_epochs, save_every=2, **settings)
    trainer.fit(Gan(), Data(), checkpoint_dir=folder)
    return trainer


def values(trainer: Any) -> dict:
    params = trainer.model._collect_params_with_prefix()
    return {name: p.data().asnumpy() for name, p in params.items()}


@pytest.mark.parametrize("settings", [{}, {"accumulate": 2}, {"devices": 2}])
def test_a_gan_resumes(tmp_path, settings):
    if "devices" in settings:
        settings = {"devices": d2l.try_devices(2)}
    gan.check(d2l, lambda *a, **k: run(*a, **settings, **k), tmp_path, values)
