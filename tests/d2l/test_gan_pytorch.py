"""Two optimizers in PyTorch: a GAN trains, saves and resumes."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

from typing import Any

import gan
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l


class Reverse(torch.autograd.Function):
    """Return the input; its gradient changes the sign."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return -grad


class Gan(d2l.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.critic = nn.Linear(4, 8), nn.Linear(8, 1)
        self.board.display = False

    def training_step(self, batch: Any) -> torch.Tensor:
        real, noise, ones = batch
        fake = self.critic(Reverse.apply(self.generator(noise)))
        bce = F.binary_cross_entropy_with_logits
        loss = bce(self.critic(real), ones) + bce(fake, torch.zeros_like(ones))
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch: Any) -> None:
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self) -> list:
        return [
            torch.optim.Adam(self.generator.parameters(), 0.01),
            torch.optim.SGD(self.critic.parameters(), 0.1, momentum=0.9),
        ]


class Data(d2l.DataModule):
    def get_dataloader(self, train: bool) -> Any:
        self.batch_size = 10
        return self.get_tensorloader([*map(torch.tensor, gan.arrays(train))], train)


def run(folder: Any, cut_at: int | None, max_epochs: int = 2, **settings: Any) -> Any:
    torch.manual_seed(0)
    trainer = gan.cut_trainer(d2l, cut_at)(max_epochs, save_every=2, **settings)
    trainer.fit(Gan(), Data(), checkpoint_dir=folder)
    return trainer


def values(trainer: Any) -> dict:
    return {name: p.detach().numpy() for name, p in trainer.model.named_parameters()}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"accumulate": 2, "gradient_clip_val": 0.5},
        {"precision": torch.float16},
        {"devices": [d2l.cpu()] * 2},
    ],
)
def test_a_gan_resumes(tmp_path, settings):
    if "devices" in settings:  # an error of a rank has another type
        one, two = (values(run(tmp_path / k, None, **v)) for k, v in
                    {"one": {}, "two": settings}.items())  # fmt: skip
        assert all(np.allclose(one[k], two[k], atol=1e-6) for k in one)
        return
    gan.check(d2l, lambda *a, **k: run(*a, **settings, **k), tmp_path, values)


def test_memory_of_a_model_without_a_loss_is_predicted():
    batch = [*map(torch.tensor, gan.arrays(True))]
    size = d2l.predict_memory(Gan(), batch)
    weights = 4 * (4 * 8 + 8 + 8 + 1)
    assert size.weights == size.gradients == weights
    assert size.optimizer >= 2 * 4 * 40 + 4 * 9  # Adam's moments, and a momentum
    assert size.peak > size.weights + size.gradients + size.optimizer


def test_an_optimizer_that_cannot_be_restored_is_refused_before_training(tmp_path):
    class Composite:
        """Two optimizers, without a way to restore them."""

        def __init__(self, *optims: Any):
            self.optims = optims

        def zero_grad(self) -> None:
            for optim in self.optims:
                optim.zero_grad()

        def step(self) -> None:
            for optim in self.optims:
                optim.step()

    model: Any = Gan()
    optims = model.configure_optimizers()
    model.configure_optimizers = lambda: Composite(*optims)
    trainer = d2l.Trainer(1)
    with pytest.raises(TypeError, match="no checkpoint can restore Composite; give it"):
        trainer.fit(model, Data(), checkpoint_dir=tmp_path)
    assert trainer.train_batch_idx == 0
    trainer.fit(model, Data())  # without checkpoints, it trains
