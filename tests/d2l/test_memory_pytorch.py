"""The memory of a training step: what only PyTorch has."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import pytest
import torch
from torch import nn

from d2l import torch as d2l


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


@pytest.mark.parametrize(
    ("net", "X", "share"),
    [
        (nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8), "convolutions, up to a tenth"),
        (nn.LSTM(4, 4), torch.randn(3, 2, 4), "for an LSTM a quarter"),
    ],
)
def test_a_prediction_says_how_much_is_left_out(net, X, share):
    class Model(d2l.Module):
        def training_step(self, batch):
            Y = self.net(batch[0])
            return (Y[0] if isinstance(Y, tuple) else Y).square().mean()

    model = Model()
    model.net, model.lr = net, 0.1
    with pytest.warns(d2l.LowerBound, match=f"the peak is at least .* {share}"):
        d2l.predict_memory(model, (X, X))


def test_models_whose_memory_cannot_be_predicted():
    class Choice(d2l.MLP):
        def forward(self, X):
            Y = super().forward(X)
            return Y if Y.detach().sum() > 0 else 2 * Y

    y = torch.zeros(4, dtype=torch.int64)
    with pytest.raises(
        ValueError, match="^Choice reads .* in forward, `return Y if .*"
    ):
        d2l.predict_memory(Choice(10, 8, 0.1), (torch.ones(4, 64), y))
    model = d2l.MLP(10, 8, 0.1)
    model.net = nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Flatten())
    with pytest.raises(ValueError, match="set sparse=False"):
        d2l.predict_memory(model, (torch.zeros(4, 2, dtype=torch.int64), y))
