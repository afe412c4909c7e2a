"""An embedding trains alike however the gradients are added, limited and shared.

A token occurs several times in a minibatch, so its row gets several gradients.
"""

from functools import cache, partial

import numpy as np
import pytest
from training import run

WORDS = 12  # each occurs about ten times in a minibatch


class Sentences:
    """Minibatches of 16 sentences of 8 words, whose labels are their first words."""

    labels: int | slice = 0

    def __init__(self, fw, num_batches):
        kind = "int64" if fw.tab == "pytorch" else "int32"
        words = np.random.default_rng(0).integers(0, WORDS, (num_batches, 16, 8))
        rows = [(X, X[:, self.labels]) for X in words]
        self.batches = [tuple(fw.tensor(a, kind) for a in pair) for pair in rows]

    def train_dataloader(self):
        return self.batches

    def val_dataloader(self):
        return None


class Copies(Sentences):
    """The same minibatches, whose labels are all words."""

    labels = slice(None)


@cache
def params(fw, optimizer="adam", lr=0.01, num_batches=6, num_devices=1, **settings):
    """Return the parameters after an epoch."""
    settings["precision"] = fw.dtype(settings.get("precision", "float32"))
    layers = ("embed", WORDS, 8), "flatten", WORDS
    model = partial(fw.model, *layers, optimizer=optimizer, lr=lr)
    settings["devices"] = fw.d2l.try_devices(num_devices)
    trainer = run(fw, model, partial(Sentences, fw, num_batches), epochs=1, **settings)
    return [fw.numpy(p) for p in fw.params(trainer)]


@pytest.mark.parametrize(
    "settings",
    [
        {"accumulate": 2},
        {"clip": 1e9},
        *(
            pytest.param(settings, marks=pytest.mark.slow)
            for settings in (
                {"num_devices": 2},
                {"accumulate": 3, "num_devices": 2},
                {"clip": 1e9, "num_devices": 2},
                {"accumulate": 2, "clip": 1e9, "num_devices": 2},
            )
        ),
    ],
    ids=str,
)
def test_an_embedding_trains_as_without_the_setting(fw, settings):
    """The limit of the norm is so large that it changes nothing."""
    for a, b in zip(params(fw), params(fw, **settings), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("precision, error", [("float16", 1e-3), ("bfloat16", 0.03)])
def test_an_embedding_trains_in_16_bits_as_without_the_settings(fw, precision, error):
    if precision in fw.short_types:
        compiled = {"compiled": True} if fw.tab == "tensorflow" else {}
        settings = {"accumulate": 2, "clip": 1e9, "num_devices": 2, **compiled}
        plain, other = (params(fw, precision=precision, **s) for s in ({}, settings))
        for a, b in zip(plain, other, strict=True):
            np.testing.assert_allclose(a, b, atol=error)


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(
    "num_devices", [1, pytest.param(2, marks=pytest.mark.slow)], ids=str
)
def test_the_gradient_of_an_embedding_is_at_most_the_limit(fw, accumulate, num_devices):
    """The first step of descent with a rate of 1 subtracts the gradient."""
    settings = {"accumulate": accumulate, "num_devices": num_devices, "clip": 0.01}
    before, after = (params(fw, "sgd", lr, 1, **settings) for lr in (0.0, 1.0))
    changes = [(a - b).reshape(-1) for a, b in zip(after, before, strict=True)]
    assert np.linalg.norm(np.concatenate(changes)) == pytest.approx(0.01, rel=1e-3)


def test_tied_weights_train_in_16_bits(fw):
    for precision in fw.short_types:
        model = partial(fw.model, ("embed", WORDS, 8), "tied")
        settings = {"precision": fw.dtype(precision), "epochs": 3}
        trainer = run(fw, model, partial(Copies, fw, 8), **settings)
        first, *_, last = trainer.model.board.data["train_loss"]
        assert last.y < first.y
