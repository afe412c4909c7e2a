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
    ("net", "X"),
    [
        (nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8)),
        (nn.LSTM(4, 4), torch.randn(3, 2, 4)),
    ],
)
def test_a_prediction_says_that_workspaces_are_left_out(net, X):
    class Model(d2l.Module):
        def training_step(self, batch):
            Y = self.net(batch[0])
            return (Y[0] if isinstance(Y, tuple) else Y).square().mean()

    model = Model()
    model.net, model.lr = net, 0.1
    with pytest.warns(UserWarning, match="the peak leaves out the temporary memory"):
        d2l.predict_memory(model, (X, X))
