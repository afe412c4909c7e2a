"""Models of plain PyTorch, written without this library."""

# mypy: disable-error-code="override"

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


def mlp():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


instance = mlp()
compiled = torch.compile(mlp())


def linear():
    return nn.Linear(64, 10)


def dropping():
    return nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 10))


def given(net, lr):
    """Return a loss and an optimizer of PyTorch."""
    return nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr)


def images():
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(16, 10)),
    )


class Words(nn.Module):
    """A recurrent network with one matrix for inputs and outputs."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(500, 64)
        self.recurrent = nn.GRU(64, 64, batch_first=True)
        self.output = nn.Linear(64, 500, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, X):
        return self.output(self.recurrent(self.embedding(X))[0])


class Pair(nn.Module):
    """Two inputs, and a dictionary as the output."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 64), nn.Linear(16, 64)
        self.output = nn.Linear(64, 1)

    def forward(self, X, Z):
        H = torch.relu(self.first(X) + self.second(Z))
        return {"hidden": H, "logits": self.output(H)}


class Own(nn.Module):
    """A model that computes its loss itself."""

    def __init__(self):
        super().__init__()
        self.output = nn.Linear(64, 64)

    def forward(self, X, targets=None):
        Y = self.output(X)
        return Y, F.mse_loss(Y, targets)


class Raising(Own):
    def forward(self, X):
        raise RuntimeError("my own problem\n\nand more")


# Those that only PyTorch has


@dataclass
class ModelOutput:
    """Outputs as models of the package transformers return them."""

    loss: Any = None
    logits: Any = None


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.norm, self.up = nn.LayerNorm(64), nn.Linear(64, 256)
        self.down, self.drop = nn.Linear(256, 64), nn.Dropout(0.1)

    def forward(self, X):
        H = self.norm(X)
        X = X + self.attention(H, H, H, need_weights=False)[0]
        return X + self.drop(self.down(F.gelu(self.up(X))))


class LanguageModel(nn.Module):
    """A causal language model with the interface of the package transformers."""

    def __init__(self, num_layers=4):
        super().__init__()
        self.embedding = nn.Embedding(500, 64)
        self.layers = nn.ModuleList(Block() for _ in range(num_layers))
        self.output = nn.Linear(64, 500)

    def forward(self, input_ids, attention_mask=None, labels=None):
        X = self.embedding(input_ids)
        for layer in self.layers:
            X = layer(X)
        logits, loss = self.output(X), None
        if labels is not None:
            Y, y = logits[:, :-1], labels[:, 1:]
            loss = F.cross_entropy(Y.flatten(0, 1), y.flatten())
        return ModelOutput(loss, logits)


Outputs = namedtuple("Outputs", "auxiliary logits")


class Auxiliary(Own):
    def forward(self, X):
        return Outputs(X, self.output(X))


class Segmentation(nn.Module):
    """Classes lie along the second axis, as in PyTorch's own loss."""

    def __init__(self):
        super().__init__()
        self.output = nn.Conv2d(3, 5, 1)

    def forward(self, X):
        return self.output(X)


class Frozen(nn.Module):
    """A network of which only the last layer is trained."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
        self.body.requires_grad_(False)
        self.output = nn.Linear(64, 10)

    def forward(self, X):
        return self.output(self.body(X))


class Reading(nn.Module):
    """A model whose constructor reads the values of a tensor."""

    def __init__(self):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 0.2, 3)]
        self.net = nn.Sequential(*map(nn.Dropout, rates), nn.Linear(64, 10))

    def forward(self, X):
        return self.net(X)


class Routing(nn.Module):
    """A mixture of experts: the shapes depend on values."""

    def __init__(self):
        super().__init__()
        self.gate, self.expert = nn.Linear(64, 2), nn.Linear(64, 64)

    def forward(self, X):
        rows = self.gate(X).argmax(-1).nonzero()[:, 0]
        return X.index_add(0, rows, self.expert(X[rows]))


def large():
    """Return a model whose weights have 64 GiB."""
    return nn.Linear(64, 2**28, bias=False)
