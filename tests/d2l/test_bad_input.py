"""Bad arguments and bad data are refused in one clear line before training starts."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import warnings

import numpy as np
import pytest


@pytest.mark.parametrize("n", [2.5, 2.0, "2", None, -1, [1], np.float32(1)])
def test_a_number_of_epochs_that_makes_no_sense(d2l, n):
    with pytest.raises(ValueError) as raised:
        d2l.Trainer(max_epochs=n)
    assert str(raised.value) == f"max_epochs must be 0, 1, 2, ..., not {n!r}"


@pytest.mark.parametrize("clip", [-1, -0.1, float("nan"), "1", None, [1], 1j])
def test_a_limit_of_gradients_that_makes_no_sense(d2l, clip):
    with pytest.raises(ValueError) as raised:
        d2l.Trainer(max_epochs=1, gradient_clip_val=clip)
    message = "gradient_clip_val must be 0 (no limit) or a positive number"
    assert str(raised.value) == f"{message}, not {clip!r}"


@pytest.mark.parametrize("n", [-1, 1.5, 1.0, "1", None, [1], np.float64(1)])
def test_a_number_of_gpus_that_makes_no_sense(d2l, n):
    with pytest.raises(ValueError) as raised:
        d2l.Trainer(max_epochs=1, num_gpus=n)
    assert str(raised.value) == f"num_gpus must be 0, 1, 2, ..., not {n!r}"


@pytest.mark.parametrize("epochs", [0, 1, np.int64(2)])
@pytest.mark.parametrize("clip", [0, 0.5, np.float32(1), float("inf")])
def test_arguments_that_make_sense(d2l, epochs, clip):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = d2l.Trainer(max_epochs=epochs, gradient_clip_val=clip)
    assert (trainer.max_epochs, trainer.gradient_clip_val) == (epochs, clip)


def test_no_epochs(d2l, fw):
    model, trainer = d2l.MLP(10, 8, 0.1), d2l.Trainer(max_epochs=0)
    fw.fit(trainer, model, d2l.Digits())
    assert model.board.data == {} and trainer.train_batch_idx == 0


class Loaders:
    """A data module whose loaders are these."""

    def __init__(self, train, val=None):
        self.train, self.val = train, val

    def train_dataloader(self):
        return self.train

    def val_dataloader(self):
        return self.val


class Counted:
    """A loader that has a length and nothing else."""

    def __len__(self):
        return 3


def bad_loaders(fw):
    """Return loaders that cannot be used, with what the message says of each."""
    X, y = fw.tensor([[1.0, 2.0]]), fw.tensor([[1.0]])
    return {
        "generator": ((batch for batch in [(X, y)]), "this generator does not"),
        "iterator": (iter([(X, y)]), "list_iterator does not; make a list"),
        "none": (None, "this NoneType does not"),
        "number": (3, "this int does not"),
        "dict": ({"X": X, "y": y}, "this dict contains names; make a list"),
        "empty list": ([], "must not be empty, and this list has no minibatch"),
        "empty dict": ({}, "this dict contains names"),
    }


NAMES = ["generator", "iterator", "none", "number", "dict", "empty list", "empty dict"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["train", "val"])
def test_a_loader_that_cannot_be_used(d2l, fw, name, which):
    loader, message = bad_loaders(fw)[name]
    if which == "val" and loader is None:
        return  # there need be no validation data: see test_trainer.py
    good = d2l.Digits().val_dataloader()
    model = d2l.MLP(10, 8, 0.1)
    data = Loaders(loader) if which == "train" else Loaders(good, loader)
    with pytest.raises((TypeError, ValueError)) as raised:
        fw.fit(d2l.Trainer(max_epochs=1), model, data)
    assert message in str(raised.value) and "\n" not in str(raised.value)
    assert not hasattr(model, "trainer") and model.board.data == {}


def test_a_data_module_without_examples(d2l, fw):
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=0)
    with pytest.raises(ValueError) as raised:
        fw.fit(d2l.Trainer(max_epochs=1), d2l.LinearRegression(lr=0.1), data)
    message = str(raised.value)
    assert "must not be empty" in message or "num_samples=0" in message
    assert "\n" not in message


def test_a_model_with_nothing_to_train(d2l, fw):
    class Fixed(d2l.Module):
        lr: float = 0.1
        loss = d2l.LinearRegressionScratch.loss

        def forward(self, X):
            return d2l.matmul(X, fw.tensor([[1.0], [1.0]]))

    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2)
    message = "no (parameters|variables) to train|empty parameter list"
    with pytest.raises(ValueError, match=message) as raised:
        fw.fit(d2l.Trainer(max_epochs=1), Fixed(), data)
    assert "\n" not in str(raised.value)


def test_methods_that_a_model_has_to_define(d2l, fw):
    class Empty(d2l.Module):
        lr: float = 0.1

    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2)
    with pytest.raises(AssertionError, match="define net, or a forward method"):
        fw.build(Empty(), fw.tensor([[1.0, 2.0]]))
        fw.fit(d2l.Trainer(max_epochs=1), Empty(), data)
    with pytest.raises(NotImplementedError, match="define get_dataloader"):
        fw.fit(d2l.Trainer(max_epochs=1), Empty(), d2l.DataModule())


@pytest.mark.parametrize(("accumulate", "devices"), [(1, 1), (2, 1), (1, 2)])
def test_a_loss_that_is_no_scalar(d2l, fw, accumulate, devices):
    class Vector(d2l.LinearRegression):
        def loss(self, y_hat, y):
            return (y_hat - y) ** 2

    if fw.tab == "jax":
        return  # jax.grad refuses such a loss
    trainer = d2l.Trainer(max_epochs=1)
    trainer.accumulate = accumulate
    if devices > 1:
        trainer.devices = d2l.try_devices(devices)
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=32)
    message = r"loss must be a scalar, not of shape \(\d+, 1\); take its mean"
    with pytest.raises((RuntimeError, ValueError), match=message):
        fw.fit(trainer, Vector(0.1), data)
