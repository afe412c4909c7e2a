"""What is MXNet's alone: contexts, arrays that are plain attributes, modes."""

import re
import warnings
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest
from models_mxnet import Copies
from mxnet import autograd, gluon, np, npx

from d2l import mxnet as d2l

npx.set_np()
ROOT = Path(__file__).parents[2]
SECOND = npx.cpu(1)


def test_contexts():
    assert d2l.cpu() == npx.cpu(0) and d2l.gpu(2) == npx.gpu(2)
    assert d2l.num_gpus() == npx.num_gpus()


def test_cpu_contexts_share_their_memory():
    x, y = np.ones(2, ctx=npx.cpu(0)), np.ones(2, ctx=SECOND)
    assert (x + y).ctx == x.ctx and (y + x).ctx == y.ctx


def test_parameters_are_a_list():
    assert d2l.LinearRegressionScratch(2, 0.1).parameters() == []
    parameters = d2l.MLP(10, 8, 0.1).parameters()
    assert type(parameters) is list and len(parameters) == 4
    assert all(isinstance(p, gluon.Parameter) for p in parameters)


class Mixed(d2l.LinearRegression):
    """A model with a layer, and an array of its own beside it."""

    def __init__(self):
        super().__init__(lr=0.1)
        self.scale = np.ones(1)
        self.scale.attach_grad()

    def forward(self, X):
        return super().forward(X) * self.scale


def test_a_warning_names_arrays_that_are_not_trained():
    data = d2l.SyntheticRegressionData(np.array([2, -3.4]), 4.2)
    model = Mixed()
    message = "only the layers are trained, not the plain arrays .*configure_optimizers"
    with pytest.warns(UserWarning, match=message) as said:
        d2l.Trainer(max_epochs=1).fit(model, data)
    assert [w.filename for w in said if "layers" in str(w.message)] == [__file__]
    assert model.scale == 1

    class Optimizers(list):
        def step(self, size):
            for optim in self:
                optim.step(size)

    class Both(Mixed):
        def configure_optimizers(self):
            layers = gluon.Trainer(self.parameters(), "sgd", {"learning_rate": 0.1})
            return Optimizers([layers, d2l.SGD([self.scale], 0.1)])

    both = Both()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        d2l.Trainer(max_epochs=1).fit(both, data)
    assert both.scale != 1


def test_clipping_bounds_layers_and_plain_arrays_together():
    model = Mixed()
    with autograd.record():
        loss = model.loss(model(np.ones((1, 2))), np.full((1, 1), 1e4))
    loss.backward()
    d2l.Trainer(max_epochs=1).clip_gradients(2, model)
    grads = [p.grad() for p in model.collect_params().values()] + [model.scale.grad]
    norm = sum(float((g**2).sum()) for g in grads) ** 0.5
    assert norm == pytest.approx(2, rel=1e-3)


def test_a_minibatch_is_made_without_waiting(monkeypatch):
    loader = iter(d2l.ArrayLoader((np.arange(9), np.ones((9, 2))), 4, True))
    next(loader)  # the order of the epoch comes from main memory

    def wait(*args):
        raise AssertionError("waits for the engine")

    for name in ("asnumpy", "wait_to_read", "_sync_copyfrom"):
        monkeypatch.setattr(np.ndarray, name, wait)
    assert [X.shape for X, _ in loader] == [(4,), (1,)]


# Precision


class Scale(d2l.Module):
    """A model without products, since those of float16 need a real GPU."""

    def __init__(self, lr=0.5, target=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.scale = gluon.Parameter("scale", shape=(8,), init="ones")
        self.params.update(_dict(self.scale))
        self.initialize()

    def forward(self, X):
        return X * self.scale.data().astype(X.dtype)

    def loss(self, y_hat, y):
        return ((y_hat - self.target * y) ** 2).mean()

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "sgd", {"learning_rate": self.lr})


def _dict(parameter):
    params = gluon.ParameterDict()
    params.update({parameter.name: parameter})
    return params


def train(model, precision, epochs=3):
    trainer: Any = d2l.Trainer(epochs, num_gpus=1)
    trainer.precision = precision
    trainer.fit(model, Copies(32, 8))
    return trainer


def master(trainer):
    """Return the parameter in 32 bits that the optimizer keeps."""
    [array] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    return array


def test_float16_trains_with_masters_in_float32(fake_gpu):
    model = Scale(target=0.5)
    trainer = train(model, np.float16)
    assert model.scale.data().dtype == np.float16
    assert float(model.board.data["val_loss"][-1].y) < 0.2
    assert master(trainer).dtype == np.float32
    assert model(np.ones((1, 8), ctx=fake_gpu)).dtype == np.float32


@pytest.mark.parametrize(
    "lr, target", [(1e-3, 0.5), (1.0, 1 - 1e-7)], ids=["updates", "gradients"]
)
def test_small_updates_and_gradients_survive_in_float16(fake_gpu, lr, target):
    trainer = train(Scale(lr, target), np.float16, epochs=1)
    assert 0 < abs(master(trainer).asnumpy() - 1).max() < 2e-3


def test_a_gradient_that_overflows_skips_the_step(fake_gpu):
    model = Scale(target=1e4)
    trainer = train(model, np.float16, epochs=1)
    assert trainer.loss_scale < 2**16
    assert d2l.Trainer(1).loss_scale == 2**16
    assert np.isfinite(model.scale.data().astype(np.float32)).all()


def test_a_model_returns_to_float32(fake_gpu):
    model = Scale()
    train(model, np.float16)
    train(model, np.float32)
    assert model.scale.data().dtype == np.float32 == model.precision


def test_unknown_precisions_raise_one_clear_error(fake_gpu):
    with pytest.raises(ValueError, match="float32 or np.float16"):
        train(Scale(), "bfloat16")


def test_float16_without_a_gpu_raises_one_clear_error(fw, monkeypatch):
    fw.pretend(monkeypatch)
    trainer: Any = d2l.Trainer(1)
    trainer.precision = np.float16
    with pytest.raises(ValueError, match="only on GPUs"):
        trainer.fit(Scale(), Copies(8, 8))


def rows_of_table(label: str) -> list[list[str]]:
    """Return the code in the rows of a table of the text."""
    text = (ROOT / "chapter_gpus/one-model.md").read_text("utf-8")
    table = text.partition(f":label:`{label}`")[0].rpartition("|:--|:--|")[2]
    return [re.findall("`([^`]+)`", row) for row in table.strip().split("\n")]


@pytest.mark.parametrize("old, new", rows_of_table("tab_nd_to_np"))
def test_successors_of_old_operations_have_the_same_results(old: str, new: str):
    shapes = {"X": (3, 4), "Y": (4, 5), "v": (4,), "W": (5, 4), "b": (5,)}
    shapes |= {"A": (2, 3, 4), "B": (2, 4, 5), "images": (2, 3, 8, 8)}
    shapes |= {"K": (4, 3, 3, 3), "c": (4,)}
    arrays = {name: np.random.normal(size=shape) for name, shape in shapes.items()}
    arrays["i"] = np.array([2, 0, 1])
    result = eval(new, {"np": np, "npx": npx, **arrays})
    legacy = {name: array.as_nd_ndarray() for name, array in arrays.items()}
    expected = eval(old, {"nd": mx.nd, **legacy}).as_np_ndarray()
    assert result.shape == expected.shape
    if "random" not in old:
        assert abs(result - expected).max() < 1e-6


def test_old_operations_refuse_the_arrays_of_this_book():
    with pytest.raises(TypeError, match="legacy operator"):
        mx.nd.relu(np.ones(2))
