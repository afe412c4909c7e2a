"""Two optimizers in JAX: a GAN trains, saves and resumes."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

from typing import Any

import gan
import jax
import numpy as np
import optax
import pytest
from flax import linen as nn
from jax import numpy as jnp

from d2l import jax as d2l


@jax.custom_vjp
def reverse(x: jax.Array) -> jax.Array:
    """Return the input; its gradient changes the sign."""
    return x


reverse.defvjp(lambda x: (x, None), lambda _, grad: (-grad,))


class Gan(d2l.Module):
    def setup(self) -> None:
        self.generator, self.critic = nn.Dense(8), nn.Dense(1)

    def __call__(self, real: jax.Array, noise: jax.Array) -> tuple:
        return self.critic(real), self.critic(reverse(self.generator(noise)))

    def loss(self, params: Any, X: Any, ones: Any, state: Any) -> jax.Array:
        real, fake = state.apply_fn({"params": params}, *X)
        bce = optax.sigmoid_binary_cross_entropy
        return (bce(real, ones) + bce(fake, jnp.zeros_like(ones))).mean()

    def configure_optimizers(self) -> Any:
        return optax.multi_transform(
            {"generator": optax.adam(0.01), "critic": optax.sgd(0.1, momentum=0.9)},
            lambda params: {name: name for name in params},
        )


class Data(d2l.DataModule):
    def get_dataloader(self, train: bool) -> Any:
        self.batch_size = 10
        return self.get_tensorloader(gan.arrays(train), train)


def run(folder: Any, cut_at: int | None, max_epochs: int = 2, **settings: Any) -> Any:
    np.random.seed(0)
    trainer = gan.cut_trainer(d2l, cut_at)(max_epochs, save_every=2, **settings)
    model = Gan()
    model.board.display = False
    trainer.fit(model, Data(), key=jax.random.key(0), checkpoint_dir=folder)
    return trainer


def values(trainer: Any) -> dict:
    arrays = d2l.named_arrays(trainer.state.params)
    return {name: np.asarray(array) for name, array in arrays.items()}


@pytest.mark.parametrize("settings", [{}, {"accumulate": 2}, {"devices": 2}])
def test_a_gan_resumes(tmp_path, settings):
    if "devices" in settings:
        settings = {"devices": jax.devices("cpu")[:2]}
    gan.check(d2l, lambda *a, **k: run(*a, **settings, **k), tmp_path, values)


def test_a_list_of_optimizers_is_refused_with_a_remedy():
    class Listed(Gan):
        def configure_optimizers(self) -> Any:
            return [optax.adam(0.01), optax.sgd(0.1)]

    with pytest.raises(TypeError, match=r"one optimizer; .* optax.multi_transform"):
        d2l.Trainer(1).fit(Listed(), Data())
