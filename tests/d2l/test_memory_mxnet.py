"""The memory of a training step, and checkpointing: what only MXNet has."""

from typing import Any

import mxnet as mx
import numpy as onp
import pytest
from models_mxnet import Copies
from mxnet import autograd, np, npx
from mxnet.gluon import nn
from training import run

from d2l import mxnet as d2l

npx.set_np()


def test_frozen_parameters_have_no_gradients():
    model = d2l.DeepMLP(2, 32)
    model.net[0].collect_params().setattr("grad_req", "null")
    memory = d2l.predict_memory(model, [np.ones((8, 32))] * 2)
    assert memory[:3] == (8448, 4224, 8448)


def test_batch_may_be_a_view_without_memory():
    X = onp.broadcast_to(onp.float32(0), (2**20, 32))
    memory = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))
    assert memory.batch == 2**27
    assert memory.activations == pytest.approx(3 * 2**27, rel=0.01)


def test_batch_may_be_smaller_than_the_runs_of_the_prediction():
    X = np.ones((2, 32))
    memory = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))
    assert memory.activations == pytest.approx(3 * 2 * 32 * 4, abs=16)


def test_a_model_that_does_not_run_raises_one_clear_error():
    X = np.ones((8, 5))
    with pytest.raises(RuntimeError, match="^DeepMLP does not run on 4 examples: .+"):
        d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))


def test_a_model_without_parameters_in_memory_raises_one_clear_error():
    model = d2l.DeepMLP(2, 32)
    model.net = nn.HybridSequential()
    model.net.add(nn.Dense(3))
    X = np.ones((8, 32))
    with pytest.raises(RuntimeError, match="not been initialized"):
        d2l.predict_memory(model, (X, X))


def test_tape_counts_arrays_until_they_are_freed():
    X = np.ones(1000)
    with d2l.MemoryTape([X, X]) as record:
        Y = np.zeros(500)
        record.wait()
        del Y
    assert record.tape[0] == 4000
    assert max(record.tape) == 6000 and record.tape[-1] == 4000


def test_tape_of_an_error_ends_the_profile():
    with pytest.raises(KeyError), d2l.MemoryTape() as record:
        raise KeyError
    assert record.tape[-1] == 0


@pytest.mark.parametrize(("length", "heads"), [(16, 2), (40, 4)])
def test_a_transformer_layer_keeps_what_arithmetic_says(length, heads):
    layer = d2l.TransformerLayer(32, heads)
    layer.initialize()
    X = np.random.normal(size=(3, length, 32))
    X.attach_grad()
    layer(X).wait_to_read()
    saved = d2l.saved_bytes(lambda: layer(X).sum()) / 2 + d2l.nbytes([X]) / 2
    predicted = 40 + 6 * heads * length / 32
    assert saved / X.size == pytest.approx(predicted, rel=0.01)


class Checkpointed(d2l.DeepMLP):
    """Each layer is checkpointed if `on` is true."""

    on = False

    def forward(self, X):
        for layer in self.net:
            X = d2l.checkpoint(layer, X) if self.on else layer(X)
        return X


@pytest.mark.parametrize("needs_gradient", [False, True])
def test_checkpointing_changes_no_gradient(needs_gradient):
    X, model, grads = np.random.normal(size=(64, 32)), Checkpointed(8, 32), []
    if needs_gradient:
        X.attach_grad()
    for model.on in (False, True):
        with autograd.record():
            loss = model.loss(model(X), X)
        loss.backward()
        d2l.wait_for_checkpoints()
        grads.append([p.grad().copy() for p in model.parameters()])
    assert all((a == b).all() for a, b in zip(*grads, strict=True))
    assert all(abs(a).max() > 0 for a in grads[0])


def fit(fw, model, data, parts):
    """Return the trained arrays after a fit."""
    trainer = run(fw, model, data, accumulate=parts)
    return [array.copy() for array in d2l.trained_arrays(trainer.model)]


def assert_close(arrays, others):
    for a, b in zip(arrays, others, strict=True):
        assert np.allclose(a, b, 1e-4, 1e-5)


def test_accumulation_leaves_gradients_that_are_written():
    model = d2l.DeepMLP(2, 8)
    trainer: Any = d2l.Trainer(1)
    trainer.accumulate = 3
    trainer.fit(model, Copies(16, 8))
    X, grads = np.ones((4, 8)), []
    for _ in range(2):
        with autograd.record():
            loss = model.loss(model(X), X)
        loss.backward()
        grads.append(model.parameters()[0].grad().copy())
    assert (grads[0] == grads[1]).all()


class Chunked(Checkpointed):
    """A model with a loss in chunks, whose layers may be checkpointed."""

    def __init__(self, on):
        super().__init__(3, 8)
        self.on, self.head = on, nn.Dense(12, in_units=8)
        self.head.initialize(mx.init.Xavier())

    def loss(self, y_hat, y):
        labels = np.arange(len(y)) % 12
        W = self.head.weight.data().T
        return d2l.chunked_loss(y_hat, W, labels, 2) + self.head(y_hat).mean()


@pytest.mark.parametrize("size, parts", [(1, 1), (12, 2)])
def test_checkpointing_changes_no_training(fw, size, parts):
    plain, checkpointed = (
        fit(fw, lambda on=on: Chunked(on), lambda: Copies(24, 8, size), parts)
        for on in (False, True)
    )
    assert_close(plain, checkpointed)


def test_a_chunked_loss_adds_to_the_gradient_of_a_parameter():
    X, W = np.random.normal(size=(6, 4)), np.random.normal(size=(4, 9))
    y = np.arange(6)
    grads = []
    for request in ("write", "add"):  # X has no gradient
        W.attach_grad(request)
        for _ in range(2):
            with autograd.record():
                loss = d2l.chunked_loss(X, W, y, 3)
            loss.backward()
        grads.append(W.grad.copy())
    assert np.allclose(2 * grads[0], grads[1], 1e-5, 1e-6)
