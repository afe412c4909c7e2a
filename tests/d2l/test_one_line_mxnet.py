"""Mistakes in MXNet, each of which is one line that says how to mend it."""

# mypy: disable-error-code="attr-defined,misc"

import itertools

import numpy as onp
import pytest
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn
from test_one_line import fails

from d2l import mxnet as d2l

npx.set_np()
X, y = np.ones((12, 8)), np.array([0, 1, 2] * 4, dtype="int32")
BATCHES = [(X, y)]


class Model(d2l.Classifier):
    def __init__(self, lr=0.1):
        super().__init__()
        self.lr, self.net = lr, nn.Dense(4)
        self.net.initialize()
        self.board.display = False


def own(**methods):
    """Return a model with other methods."""
    return type("Own", (Model,), methods)()


def fit(model, *batches, val=None, **settings):
    d2l.Trainer(**settings).fit(model, (list(batches) or BATCHES, val))


# Loaders

ARRAYS = {
    "numbers": ((X, 3), "not int"),
    "lists": (([1, 2],), "not list"),
    "arrays of NumPy": ((onp.ones((3, 2)),), "not numpy.ndarray"),
    "scalars": ((np.array(3.0),), "not mxnet.numpy.ndarray"),
    "nothing": ((), "not tuple"),
    "one array": (X, "not mxnet.numpy.ndarray"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_loader_of_other_things_than_arrays(name):
    arrays, end = ARRAYS[name]
    with fails(f"^a loader needs a tuple of arrays of mxnet.np.*{end}$", TypeError):
        d2l.ArrayLoader(arrays, 4, shuffle=False)


@pytest.mark.parametrize("lengths", [(12, 7), (7, 12), (3, 3, 4)])
def test_arrays_of_other_lengths(lengths):
    arrays = [np.ones((n, 2)) for n in lengths]
    message = f"same number of examples, not {', '.join(map(str, lengths))}$"
    with fails(message, ValueError):
        d2l.ArrayLoader(arrays, 4, shuffle=True)


# Devices

NUMBERS = [-1, 1.5, "0", None, True]


@pytest.mark.parametrize(
    ("call", "n"), [*itertools.product(["try_gpu", "gpu"], NUMBERS)]
)
def test_a_number_that_no_gpu_has(call, n):
    with fails(f"^i must be 0, 1, 2, ..., not {n!r}$", ValueError):
        getattr(d2l, call)(n)


@pytest.mark.parametrize("n", NUMBERS)
def test_a_number_of_devices_that_makes_no_sense(n):
    with fails(f"^n must be 0, 1, 2, ..., not {n!r}$", ValueError):
        d2l.try_devices(n)


# Minibatches

WRONG = {
    "dict": ({"x": X, "y": y}, "that are tuples .*, not a dict"),
    "array": (X, "that are tuples .*, not a ndarray"),
    "one item": ((X,), "not a tuple with 1 item"),
    "NumPy": ((X.asnumpy(), y), r"arrays of mxnet.np, not a numpy.ndarray; .*np.array"),
    "legacy": ((X.as_nd_ndarray(), y), "not a mxnet.*NDArray; .*as_np_ndarray"),
    "empty": ((X[:0], y[:0]), r"must have an example, .* \(0, 8\)"),
    "few labels": ((X, y[:5]), r"outputs is \(12, 4\), and .* labels is \(5,\)"),
    "many labels": ((X[:5], y), r"outputs is \(5, 4\), and .* labels is \(12,\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_minibatch_that_a_model_cannot_use(name):
    batch, message = WRONG[name]
    with fails(message):
        fit(Model(), batch)
    with fails(message):
        fit(Model(), val=[batch])


def test_several_labels_for_an_example_need_as_many_outputs():
    d2l.Classifier().loss(np.ones((2, 3, 4)), np.ones((2, 3)))
    d2l.Classifier().loss(np.ones((6, 4)), np.ones((6, 1)))


# Losses and plots


def step(change):
    return lambda self, batch: change(Model.training_step(self, batch))


LOSSES = {
    "detached": (lambda loss: loss.detach(), "does not depend on a parameter"),
    "constant": (lambda loss: np.ones(()), "does not depend on a parameter"),
    "whole": (lambda loss: loss.astype("int32"), "real number, not .* of int32"),
    "legacy": (lambda loss: loss.as_nd_ndarray(), "mxnet.np .*, not a NDArray"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_without_gradients(name):
    change, message = LOSSES[name]
    with fails(message):
        fit(own(training_step=step(change)))


@pytest.mark.parametrize("n", [1, 2])
def test_a_vector_is_not_plotted(n):
    def training_step(self, batch):
        self.plot("both", np.ones(2), train=True)
        return Model.training_step(self, batch)

    message = r"^the plotted both must be a scalar, not of shape \(2,\); take its mean$"
    with fails(message, ValueError):
        fit(own(training_step=training_step), devices=d2l.try_devices(n))


# Models and optimizers


@pytest.mark.parametrize("lr", [None, "0.1", -0.1])
def test_a_learning_rate_that_makes_no_sense(lr):
    message = f"^lr must be a number that is at least 0, not {lr!r}$"
    with fails(message, ValueError):
        fit(Model(lr))
    with fails(message, ValueError):
        d2l.LinearRegressionScratch(2, lr).configure_optimizers()


def sgd(block):
    return gluon.Trainer(block.collect_params(), "sgd")


def test_an_optimizer_of_another_model():
    other = Model()
    for optimizers in sgd(other), [sgd(other)]:
        model = own(configure_optimizers=lambda self, made=optimizers: made)
        with fails("^the Trainer .* trains nothing, .* self.parameters", ValueError):
            fit(model)


def test_two_optimizers_of_one_parameter():
    model = own(configure_optimizers=lambda self: [sgd(self), sgd(self)])
    with fails("^two optimizers .* have the same parameter", ValueError):
        fit(model)


class Foreign(nn.Block):
    """A block of Gluon that has the methods of a module of this library."""

    def __init__(self):
        super().__init__()
        self.net = nn.Dense(4)
        self.initialize()

    def training_step(self, batch):
        return self.net(batch[0]).mean()

    def configure_optimizers(self):
        return sgd(self)


def test_a_block_that_is_no_module():
    message = "^Foreign lacks board, plot, parameters, .*; derive it from d2l.Module"
    with fails(message, TypeError):
        fit(Foreign())


# Predictions


@pytest.mark.parametrize("accumulate", [0, -1, 1.5, None])
def test_a_prediction_for_a_number_of_parts_that_makes_no_sense(accumulate):
    message = f"^accumulate must be 1, 2, ..., not {accumulate!r}$"
    with fails(message, ValueError):
        d2l.predict_memory(Model(), BATCHES[0], accumulate)


@pytest.mark.parametrize("batch", ["abc", (), {"x": X}])
def test_a_prediction_for_another_minibatch(batch):
    with fails("^Model does not run on 4 examples: ", RuntimeError):
        d2l.predict_memory(Model(), batch)


class OnlyStep(d2l.Classifier):
    """A model without a forward pass of its own."""

    def __init__(self):
        super().__init__()
        self.lr, self.layer = 0.1, nn.Dense(4)
        self.layer.initialize()
        self.board.display = False

    def training_step(self, batch):
        return self.loss(self.layer(batch[0]), batch[1])


class Raising(Model):
    """A model that runs only within a step."""

    def forward(self, X):
        if not autograd.is_recording():
            raise RuntimeError("my own\nproblem")
        return self.net(X)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(OnlyStep, "AssertionError: define net"), (Raising, "RuntimeError: problem")],
)
def test_an_mfu_that_cannot_be_counted_is_a_warning(kind, reason):
    mfu = d2l.MFU(d2l.Machine("made up", {"float32": 1e12}, 1e11))
    model = kind()
    message = f"^no MFU is drawn: the FLOPs of {kind.__name__} cannot be .*; {reason}"
    with pytest.warns(UserWarning, match=message):
        fit(model, max_epochs=2, callbacks=[mfu])
    assert model.trainer.train_batch_idx == 2 and "mfu" not in model.board.data
