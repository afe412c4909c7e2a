"""What is MXNet's alone: contexts, arrays that are plain attributes, modes."""

import warnings
from typing import Any

import numpy as onp
import pytest
from models_mxnet import Copies
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

from d2l import mxnet as d2l

npx.set_np()
SECOND = npx.cpu(1)


def test_contexts():
    assert d2l.cpu() == npx.cpu(0) and d2l.gpu(2) == npx.gpu(2)
    assert d2l.num_gpus() == npx.num_gpus()


def test_without_a_gpu_the_devices_are_two_contexts(fw, monkeypatch):
    fw.pretend(monkeypatch)
    assert d2l.try_devices() == [npx.cpu(0), npx.cpu(1)]


def test_cpu_contexts_share_their_memory():
    x, y = np.ones(2, ctx=npx.cpu(0)), np.ones(2, ctx=SECOND)
    assert (x + y).ctx == x.ctx and (y + x).ctx == y.ctx


def test_copies():
    x = np.ones(2, ctx=SECOND)
    assert x.as_in_ctx(SECOND) is x
    assert x.copyto(SECOND) is not x


class Inner(d2l.Module):
    def __init__(self):
        super().__init__()
        self.W = np.ones((2, 2))

    def forward(self, X):
        return np.dot(X, self.W)


class Outer(d2l.LinearRegressionScratch):
    """A model with everything that can hold an array."""

    def __init__(self):
        super().__init__(2, lr=0.1)
        self.inner, self.inners = Inner(), [Inner(), Inner()]
        self.tied, self.arrays = self.inner.W, [self.w, np.ones(1)]
        self.constant, self.name_of_it = np.arange(3), "a name"
        for each in [self.inner, *self.inners]:
            each.W.attach_grad()


def test_scratch_params_are_found_before_they_have_gradients():
    model = Inner()
    [param] = model.get_scratch_params()
    assert param is model.W
    param.attach_grad()
    assert [id(p) for p in model.get_scratch_params()] == [id(model.W)]


def test_scratch_params_of_a_nested_model():
    model = Outer()
    expected = [model.w, model.b, model.inner.W, model.arrays[1]]
    expected += [each.W for each in model.inners]
    found = {id(p) for p in model.get_scratch_params()}
    assert found >= {id(p) for p in expected}


def test_the_optimizer_of_a_model_from_scratch_has_the_arrays_with_gradients():
    model = Outer()
    optim: Any = d2l.Module.configure_optimizers(model)
    expected = [model.w, model.b, model.inner.W, *(each.W for each in model.inners)]
    assert type(optim).__name__ == "SGD"
    assert sorted(map(id, optim.params)) == sorted(map(id, expected))


def test_parameters_are_a_list():
    assert Outer().parameters() == []
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


@pytest.fixture
def moved(fake_gpu):
    """A model that a trainer has moved to the GPU of the tests."""
    model = Outer()
    d2l.Trainer(max_epochs=1, num_gpus=1).prepare_model(model)
    return model


def test_plain_arrays_move(moved):
    arrays = [moved.w, moved.b, moved.inner.W, *moved.arrays, moved.constant]
    arrays += [each.W for each in moved.inners]
    assert {array.ctx for array in arrays} == {SECOND}
    assert moved.name_of_it == "a name"


def test_gradients_are_attached_where_the_array_is(moved):
    with autograd.record():
        loss = moved(np.ones((1, 2), ctx=SECOND)).sum()
    loss.backward()
    assert moved.w.grad.ctx == SECOND and moved.w.grad.sum() == 2
    assert moved.constant.grad is None


def test_arrays_in_a_list_stay_the_same_array(moved):
    assert moved.arrays[0] is moved.w


def test_tied_arrays_stay_tied(moved):
    assert moved.tied is moved.inner.W


def test_arrays_of_a_model_inside_a_container_move(fake_gpu):
    model = d2l.Module()
    model.net = nn.Sequential()
    model.net.add(Inner())
    d2l.Trainer(max_epochs=1, num_gpus=1).prepare_model(model)
    assert model.net[0].W.ctx == SECOND


def test_layers_move_whether_they_are_built_or_not(fw, fake_gpu):
    for build in (False, True):
        model = d2l.MLP(10, 8, 0.1)
        if build:
            model(np.ones((1, 64)))
        trainer = d2l.Trainer(max_epochs=1, num_gpus=1)
        trainer.fit(model, d2l.Digits())
        assert {p.ctx for p in fw.params(trainer)} == {SECOND}
        assert {p.grad.ctx for p in fw.params(trainer)} == {SECOND}


def test_statistics_of_batch_normalization_move(fake_gpu):
    model = d2l.MLP(10, 8, 0.1)
    model.net.add(nn.BatchNorm())
    model.net.initialize()
    trainer = d2l.Trainer(max_epochs=1, num_gpus=1, gradient_clip_val=1)
    trainer.fit(model, d2l.Digits())
    params = model.collect_params().values()
    assert {p.data().ctx for p in params} == {SECOND} and len(params) == 8


def test_clipping_bounds_layers_and_plain_arrays_together():
    model = Mixed()
    with autograd.record():
        loss = model.loss(model(np.ones((1, 2))), np.full((1, 1), 1e4))
    loss.backward()
    d2l.Trainer(max_epochs=1).clip_gradients(2, model)
    grads = [p.grad() for p in model.collect_params().values()] + [model.scale.grad]
    norm = sum(float((g**2).sum()) for g in grads) ** 0.5
    assert norm == pytest.approx(2, rel=1e-3)


def test_minibatches_are_those_of_the_usual_loader():
    arrays = np.arange(70).reshape(35, 2), np.arange(35)
    usual = gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), 8, shuffle=False)
    ours = d2l.ArrayLoader(arrays, 8, shuffle=False)
    assert len(ours) == len(usual) == 5
    for one, other in zip(usual, ours, strict=True):
        for expected, found in zip(one, other, strict=True):
            assert expected.dtype == found.dtype
            onp.testing.assert_array_equal(expected.asnumpy(), found.asnumpy())


def test_loaders_of_the_same_seed_are_the_same():
    def order(seed):
        loader = d2l.ArrayLoader((np.arange(9),), 4, True, seed)
        return [X.asnumpy().tolist() for _ in range(2) for (X,) in loader]

    assert order(1) == order(1) != order(2)
    assert order(1)[:3] != order(1)[3:]
    for epoch in (order(1)[:3], order(1)[3:]):
        assert sorted(sum(epoch, [])) == list(range(9))


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


def test_float16_trains_with_masters_in_float32(fake_gpu):
    model = Scale(target=0.5)
    trainer = train(model, np.float16)
    assert model.scale.data().dtype == np.float16
    assert float(model.board.data["val_loss"][-1].y) < 0.2
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert master.dtype == np.float32
    assert model(np.ones((1, 8), ctx=fake_gpu)).dtype == np.float32


def test_masters_keep_updates_that_float16_would_lose(fake_gpu):
    model = Scale(lr=1e-3, target=0.5)
    trainer = train(model, np.float16, epochs=1)
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert 0 < abs(master.asnumpy() - 1).max() < 2e-3


def test_small_gradients_survive_in_float16(fake_gpu):
    model = Scale(lr=1.0, target=1 - 1e-7)  # its gradients are about 1e-8
    trainer = train(model, np.float16, epochs=1)
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert abs(master.asnumpy() - 1).max() > 0


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
