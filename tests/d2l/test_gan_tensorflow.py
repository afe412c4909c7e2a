"""Two optimizers in TensorFlow: a GAN trains, saves and resumes."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

from typing import Any

import gan
import pytest
import tensorflow as tf

from d2l import tensorflow as d2l


@tf.custom_gradient
def reverse(x: tf.Tensor) -> tuple:
    """Return the input; its gradient changes the sign."""
    return tf.identity(x), lambda grad: -grad


class Gan(d2l.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = tf.keras.layers.Dense(8)
        self.critic = tf.keras.layers.Dense(1)
        self.board.display = False

    def training_step(self, batch: Any) -> tf.Tensor:
        real, noise, ones = batch
        fake = self.critic(reverse(self.generator(noise)))
        bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
        loss = bce(ones, self.critic(real)) + bce(tf.zeros_like(ones), fake)
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch: Any) -> None:
        fake = self.critic(self.generator(batch[1]))
        self.plot("fake", tf.reduce_mean(fake), train=False)

    def configure_optimizers(self) -> list:
        return [
            (tf.keras.optimizers.Adam(0.01), self.generator),
            (tf.keras.optimizers.SGD(0.1, momentum=0.9), self.critic),
        ]


class Data(d2l.DataModule):
    def get_dataloader(self, train: bool) -> Any:
        self.batch_size = 10
        return self.get_tensorloader([*map(tf.constant, gan.arrays(train))], train)


def run(folder: Any, cut_at: int | None, max_epochs: int = 2, **settings: Any) -> Any:
    tf.keras.utils.set_random_seed(0)
    trainer = gan.cut_trainer(d2l, cut_at)(max_epochs, save_every=2, **settings)
    model = Gan()
    model.generator.build((None, 4))
    model.critic.build((None, 8))
    trainer.fit(model, Data(), checkpoint_dir=folder)
    return trainer


def values(trainer: Any) -> dict:
    variables = trainer.model.variables
    return {f"{i}.{v.name}": v.numpy() for i, v in enumerate(variables)}


@pytest.mark.parametrize("settings", [{}, {"accumulate": 2}, {"devices": 2}])
def test_a_gan_resumes(tmp_path, settings):
    if "devices" in settings:
        settings = {"devices": d2l.try_devices(2)}
    gan.check(d2l, lambda *a, **k: run(*a, **settings, **k), tmp_path, values)
