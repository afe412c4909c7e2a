"""Predicts steps of BERT-large, GPT-2 and ResNet-50 from what PyTorch records of them.

`step_rate` adds up the bounds of the operations of a step, as sec_gpu_faster does, and
`peak_memory` calls `predict_memory`. The models have shapes but no data.
"""

import dataclasses

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from d2l import tables
from d2l import torch as d2l
from d2l.expectations import BANDWIDTH_SHARE, product_rate
from d2l.published import Row

CALL = (
    14.6e-6  # the seconds of a call in sec_gpu_performance, on the host of an RTX 4090
)
HALF = ("float16", "bfloat16")  # the counts of both are the same


class Bert(d2l.Classifier):
    """BERT-large with a head for two classes; `recompute` computes layers twice."""

    def __init__(self, recompute: bool = False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(30522, 1024), nn.Embedding(512, 1024)
        layers = (d2l.TransformerLayer(1024, 16) for _ in range(24))
        self.layers, self.norm = nn.ModuleList(layers), nn.LayerNorm(1024)
        self.head, self.recompute = nn.Linear(1024, 2), recompute

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the logits of sequences of 512 tokens."""
        H = self.tokens(X) + self.places.weight
        for layer in self.layers:
            twice = self.recompute
            H = checkpoint(layer, H, use_reentrant=False) if twice else layer(H)
        return self.head(self.norm(H)[:, 0])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW."""
        return torch.optim.AdamW(self.parameters())


class GPT2Layer(nn.Module):
    """A layer of nanoGPT in its first months, with plain attention and no dropout."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2, self.heads = (
            nn.LayerNorm(width),
            nn.LayerNorm(width),
            heads,
        )
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.mask = torch.ones(1024, 1024).tril()

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer, the same shape as `X`."""
        b, s, _ = X.shape
        shape = b, s, 3, self.heads, -1
        q, k, v = self.qkv(self.norm1(X)).view(shape).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(self.mask[:s, :s] == 0, float("-inf"))
        H = F.softmax(scores, -1) @ v
        X = X + self.out(H.transpose(1, 2).flatten(-2))
        return X + self.down(F.gelu(self.up(self.norm2(X))))


class GPT2(d2l.Classifier):
    """GPT-2 with 124 million parameters, as nanoGPT trains it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50304, 768), nn.Embedding(1024, 768)
        self.layers = nn.Sequential(*(GPT2Layer(768, 12) for _ in range(12)))
        self.norm = nn.LayerNorm(768)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the logits of sequences of 1024 tokens."""
        H = self.layers(self.tokens(X) + self.places.weight)
        return self.norm(H) @ self.tokens.weight.T

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW, which was not fused."""
        return torch.optim.AdamW(self.parameters(), fused=False)


class Bottleneck(nn.Module):
    """A block of ResNet-50 with three convolutions."""

    def __init__(self, inputs: int, middle: int, stride: int):
        super().__init__()
        outputs = 4 * middle
        sizes = ((inputs, middle, 1, 1), (middle, middle, 3, stride))
        body = [
            layer
            for i, o, kernel, step in (*sizes, (middle, outputs, 1, 1))
            for layer in (
                nn.Conv2d(i, o, kernel, step, kernel // 2, bias=False),
                nn.BatchNorm2d(o),
                nn.ReLU(),
            )
        ]
        self.body = nn.Sequential(*body[:-1])
        self.side: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            side = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.side = nn.Sequential(side, nn.BatchNorm2d(outputs))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        return F.relu(self.body(X) + self.side(X))


class ResNet50(d2l.Classifier):
    """ResNet-50, version 1.5, for 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        inputs = 64
        for middle, count, stride in (
            (64, 3, 1),
            (128, 4, 2),
            (256, 6, 2),
            (512, 3, 2),
        ):
            for step in (stride, *[1] * (count - 1)):
                layers.append(Bottleneck(inputs, middle, step))
                inputs = 4 * middle
        head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)
        self.body = nn.Sequential(*layers, *head)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the logits of images of 224 x 224 pixels."""
        return self.body(X)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum."""
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


def _model(row: Row) -> nn.Module:
    if row.model == "BERT-large":
        return Bert(row.recompute == "full")
    return GPT2() if row.model == "GPT-2 124M" else ResNet50()


def _batch(row: Row) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a microbatch and its labels."""
    n, whole = row.micro, torch.int64
    if row.model == "ResNet-50":
        return torch.zeros(n, 3, 224, 224), torch.zeros(n, dtype=whole)
    if row.model == "BERT-large":
        return torch.zeros(n, 512, dtype=whole), torch.zeros(n, dtype=whole)
    return torch.zeros(n, 1024, dtype=whole), torch.zeros(n, 1024, dtype=whole)


def machine_of(card: str, recipe: str) -> d2l.Machine:
    """Return the data sheet of a card as a machine; raise KeyError without a rate."""
    data = tables.card_data(card)
    full = data["tf32"] if recipe == "tf32" else data["fp32"]
    rates = {"float32": 1e12 * full} | dict.fromkeys(HALF, 1e12 * data["tensor16"])
    return d2l.Machine(card, rates, 1e9 * data["bandwidth"], CALL)


def operations(row: Row) -> list:
    """Return the operations of a step; it is one of inference without an optimizer."""
    half, train = row.recipe in HALF, bool(row.optimizer)
    with FakeTensorMode():
        if not train:
            return _inference(row, torch.bfloat16 if half else torch.float32)
        model, (X, y) = _model(row), _batch(row)
        optimizer = model.configure_optimizers()

        def step() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                Y = model(X)
                loss = F.cross_entropy(Y.flatten(0, -2).float(), y.flatten())
            loss.backward()

        def update() -> None:
            optimizer.step()
            optimizer.zero_grad()

        step()
        update()  # from now on, the optimizer has its state
        count = (row.batch or row.micro) // row.micro
        return d2l.list_operations(step) * count + d2l.list_operations(update)


def _inference(row: Row, dtype: torch.dtype) -> list:
    """Return the operations of a model whose parameters have a type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # fake parameters cannot be converted
    try:
        model, (X, _) = _model(row).eval(), _batch(row)
        with torch.no_grad():
            return d2l.list_operations(model, X)
    finally:
        torch.set_default_dtype(before)


def usual_machine(card: str, recipe: str) -> d2l.Machine:
    """Return a card with the rates and the bandwidth that operations usually reach."""
    most = machine_of(card, recipe)
    rates = {
        name: product_rate(card, rate, 16 if name in HALF else 32)
        for name, rate in most.rates.items()
    }
    bandwidth = BANDWIDTH_SHARE * most.bandwidth
    return dataclasses.replace(most, rates=rates, bandwidth=bandwidth)


def step_rate(row: Row, machine: d2l.Machine) -> float:
    """Return the examples per second of a row's step on a machine."""
    known = [
        op if op.dtype in machine.rates else op._replace(dtype="float32")
        for op in operations(row)
    ]
    return (row.batch or row.micro) / machine.predict(known)


def peak_memory(row: Row) -> float:
    """Return the bytes of a row's step at its peak, by `predict_memory`."""
    precision = torch.bfloat16 if row.recipe in HALF else torch.float32
    with torch.device("meta"):
        model, batch = _model(row), _batch(row)
    return d2l.predict_memory(model, batch, precision=precision).peak
