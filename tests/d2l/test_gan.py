"""Two optimizers: a GAN, whose networks share one loss, trains, saves and resumes."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

from functools import partial

import numpy as np
import pytest
from training import assert_equal, run


def data(fw):
    """Return a maker of images, noise and labels, always the same."""

    class Data(fw.d2l.DataModule):
        def get_dataloader(self, train):
            rng, self.batch_size = np.random.default_rng(int(train)), 10
            n = 60 if train else 20
            arrays = rng.normal(size=(n, 8)), rng.normal(size=(n, 4)), np.ones((n, 1))
            return self.get_tensorloader([*map(fw.tensor, arrays)], train)

    return Data


def gan(fw):
    model = fw.models.Gan()
    model.board.display = False
    return model


def fit(fw, folder, cut_at=None, **settings):
    model = partial(gan, fw)
    return run(fw, model, data(fw), folder, cut_at, save_every=2, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"accumulate": 2, "clip": 0.5},
        {"precision": "float16"},
        {"devices": 2},
    ],
)
def test_a_gan_resumes(d2l, fw, tmp_path, settings):
    if "devices" in settings:
        settings = {"devices": d2l.try_devices(2)}
    if "precision" in settings:
        if fw.tab != "pytorch":  # each of its optimizers skips what overflows
            return
        settings = {"precision": fw.dtype("float16")}
    start = fit(fw, None, epochs=0, **settings)
    undisturbed = fit(fw, tmp_path / "whole", **settings)
    networks = [
        [fw.numpy(a) for a in fw.arrays(t.model) or fw.params(t)]
        for t in (start, undisturbed)
    ]
    for before, after in zip(*networks, strict=True):
        assert not np.array_equal(before, after), "both networks are trained"
    for cut_at in 4, 9:
        fit(fw, tmp_path / "cut", cut_at, **settings)
    assert_equal(fw, fit(fw, tmp_path / "cut", **settings), undisturbed)


def test_two_devices_train_a_gan_as_one_does(d2l, fw):
    one, two = (fit(fw, None, devices=d2l.try_devices(n)) for n in (1, 2))
    assert_equal(fw, one, two, 1e-5)


def test_the_memory_of_a_model_without_a_loss_is_predicted(d2l, fw):
    if fw.tab == "pytorch":
        size = d2l.predict_memory(gan(fw), next(iter(data(fw)().train_dataloader())))
        weights = 4 * (4 * 8 + 8 + 8 + 1)
        assert size.weights == size.gradients == weights
        assert size.optimizer >= 2 * 4 * 40 + 4 * 9  # Adam's moments, and a momentum
        assert size.peak > size.weights + size.gradients + size.optimizer


class Composite:
    """Two optimizers, without a way to restore them."""

    def __init__(self, optims):
        self.optims = optims

    def zero_grad(self):
        for optim in self.optims:
            optim.zero_grad()

    def step(self):
        for optim in self.optims:
            optim.step()


def test_optimizers_that_cannot_be_restored_are_refused_before_training(
    d2l, fw, tmp_path
):
    def changed(self):
        optims = make(self)
        return Composite(optims) if fw.tab == "pytorch" else [optims, optims]

    make = fw.models.Gan.configure_optimizers
    kind = type("Changed", (fw.models.Gan,), {"configure_optimizers": changed})
    words = {
        "pytorch": "no checkpoint can restore Composite; give it",
        "jax": r"one optimizer; .* optax.partition",
    }
    if fw.tab in words:
        trainer = d2l.Trainer(1)
        with pytest.raises(TypeError, match=words[fw.tab]):
            fw.fit(trainer, kind(), data(fw)(), checkpoint_dir=tmp_path)
        assert not vars(trainer).get("train_batch_idx")
