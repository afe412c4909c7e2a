"""The memory of a training step: what only PyTorch has."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from d2l import torch as d2l

CARDS = Path(__file__).parents[2] / "chapter_gpus" / "does-it-fit.md"


def test_nothing_is_allocated_for_a_model_on_meta():
    with torch.device("meta"):
        model = d2l.DeepMLP(depth=2, width=2**17)  # 128 GiB
        X = torch.empty(8, 2**17)
    size = d2l.predict_memory(model, (X, X))
    assert size.weights == 2 * (2**34 + 2**17) * 4
    assert all(p.is_meta and p.grad is None for p in model.parameters())


def test_shared_memory_counts_once():
    X = torch.zeros(10, 10)
    assert d2l.nbytes([X, X[0], X.T]) == 400


def test_a_prediction_says_how_much_is_left_out_for_an_lstm():
    class Model(d2l.Module):
        def training_step(self, batch):
            return self.net(batch[0])[0].square().mean()

    model, X = Model(), torch.randn(3, 2, 4)
    model.net, model.lr = nn.LSTM(4, 4), 0.1
    words = "the peak is at least .* for an LSTM a quarter"
    with pytest.warns(d2l.LowerBound, match=words):
        d2l.predict_memory(model, (X, X))


def test_sparse_gradients_cannot_be_predicted():
    model = d2l.MLP(10, 8, 0.1)
    model.net = nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Flatten())
    X, y = (torch.zeros(shape, dtype=torch.int64) for shape in ((4, 2), 4))
    with pytest.raises(ValueError, match="set sparse=False"):
        d2l.predict_memory(model, (X, y))


def test_the_recorded_peak_counts_memory_that_no_tensor_shows():
    class Scratch(d2l.DeepMLP):
        def loss(self, y_hat, y):
            return nn.functional.mse_loss(y_hat, y)

    X = torch.zeros(2048, 128)
    for kind, extra in (d2l.DeepMLP, 0), (Scratch, X.nbytes):
        predicted = d2l.predict_memory(kind(), (X, X)).peak
        assert d2l.recorded_peak(kind, 2048, 128) == pytest.approx(
            predicted + extra, abs=2**14
        )


def test_a_softmax_in_32_bits_takes_what_the_text_on_cards_adds(monkeypatch):
    text = CARDS.read_text("utf-8")
    (cell,) = re.findall(r"%%tab pytorch\n(class Layer.*?)```", text, re.S)
    names = {"torch": torch, "nn": nn, "d2l": d2l}
    exec(cell, names)
    with torch.device("meta"):
        model, X = names["GPT2"](), torch.empty(8, 1024, dtype=torch.int64)

    def peak():
        return d2l.predict_memory(model, (X, X), precision=torch.bfloat16).peak

    softmax, before = nn.functional.softmax, peak()
    wide = lambda scores, dim: softmax(scores.float(), dim)  # noqa: E731
    monkeypatch.setattr(nn.functional, "softmax", wide)
    after = peak()
    before, more, after = (size / 1e9 for size in (before, after - before, after))
    assert f"{before:.1f} + {more:.1f} = {after:.1f}$" in text
    assert more == 12 * 8 * 12 * 1024**2 * 4 / 1e9
