"""The memory of a training step: what only PyTorch has."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import platform
import re
import warnings
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


class Autoencoder(d2l.DeepMLP):
    """A network whose outputs are compared with its inputs."""

    def __init__(self, net):
        super().__init__(1, 1)
        self.net = net

    def forward(self, X):
        Y = self.net(X)
        return Y[0] if isinstance(Y, tuple) else Y

    def loss(self, y_hat, y):
        return y_hat.square().mean()


def convolutions(*options):
    """Return two convolutions; `options` are those of the second."""
    layers = nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, *options)
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.middle = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.join, self.last = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 3, 1)

    def forward(self, X):
        A = self.down(X).relu()
        B = self.middle(nn.functional.max_pool2d(A, 2)).relu()
        return self.last(self.join(torch.cat([A, self.up(B)], 1)).relu())


NETS = {
    "convolutions": (lambda: convolutions(16, 3), (16, 3, 32, 32), "0 to 34%"),
    "thin": (lambda: convolutions(3, 1), (16, 3, 32, 32), "0 to 34%"),
    "U-Net": (UNet, (8, 3, 32, 32), "0 to 34%"),
    "LSTM": (lambda: nn.LSTM(64, 64, 2), (20, 16, 64), "33 to 46%"),
    "larger LSTM": (lambda: nn.LSTM(256, 256), (50, 64, 256), "33 to 46%"),
    "GRU": (lambda: nn.GRU(64, 64, 2), (20, 16, 64), "0 to 0%"),
    "RNN": (lambda: nn.RNN(64, 64, 2), (20, 16, 64), "0 to 0%"),
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="other CPUs take other shares"
)
def test_a_prediction_says_how_much_of_the_peak_it_leaves_out(name):
    make, shape, bounds = NETS[name]
    X, model = torch.empty(shape), Autoencoder(make())
    with warnings.catch_warnings(record=True, action="always") as caught:
        predicted = d2l.predict_memory(model, (X, X)).peak
    told = [str(w.message) for w in caught if w.category is d2l.LowerBound]
    assert [bounds in text for text in told] == [True] * (bounds != "0 to 0%")
    real = d2l.recorded_peak(lambda: Autoencoder(make()), *shape)
    low, high = (int(n) / 100 for n in re.findall(r"\d+", bounds))
    assert low - 0.01 <= 1 - predicted / real <= high + 0.01


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
