"""Models of PyTorch that were not written for this library, each with its minibatches.

They keep state wherever PyTorch lets them: in buffers, plain attributes, lists, numbers
of Python, and tensors that the loss reads and the step assigns.
"""

# mypy: disable-error-code="attr-defined,override,union-attr,operator"

import copy
import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from zoo import OTHER, REFUSED, UNSHARED, Entry

from d2l import torch as d2l

SIZES = 12, 12, 11, 10  # examples of the minibatches in an epoch
CLOSE = {"float32": 0.0, "bfloat16": 0.0}  # to the loop: equal, bit by bit
Adam = torch.optim.Adam


# Minibatches


def batches(*items: Any) -> list:
    """Return minibatches of items that functions make of a size and a generator."""
    generator = torch.Generator().manual_seed(7)
    return [tuple(item(n, generator) for item in items) for n in SIZES]


def reals(*shape: int) -> Any:
    return lambda n, generator: torch.randn(n, *shape, generator=generator)


def numbers(limit: int, *shape: int) -> Any:
    return lambda n, g: torch.randint(limit, (n, *shape), generator=g)


vectors = partial(batches, reals(8), numbers(4))
images = partial(batches, reals(3, 8, 8), numbers(4))
sequences = partial(batches, reals(6, 8), numbers(4))
texts = partial(batches, numbers(16, 9))


def dicts() -> list:
    return [{"x": x, "y": y} for x, y in vectors()]


# The loop to compare with


def split(batch: Any, parts: int) -> list:
    """Return parts of a minibatch, and the share of its examples in each."""
    items = list(batch.values()) if isinstance(batch, dict) else list(batch)
    n = len(items[0])
    size = math.ceil(n / parts)
    found = []
    for i in range(0, n, size):
        rows = [item[i : i + size] for item in items]
        part = dict(zip(batch, rows, strict=True)) if isinstance(batch, dict) else rows
        found.append((part, len(rows[0]) / n))
    return found


def bare_loop(
    entry: Entry, epochs: int, parts: int, clip: float, precision: str
) -> dict[str, np.ndarray]:
    """Return the state after a loop that uses nothing of the library's trainer."""
    model = entry.model()
    model.plot = lambda *args, **options: None
    made = model.configure_optimizers()
    optimizers = made if isinstance(made, (list, tuple)) else [made]
    dtype = getattr(torch, precision)
    for batch in entry.batches() * epochs:
        for optimizer in optimizers:
            optimizer.zero_grad()
        for part, share in split(batch, parts):
            with torch.autocast("cpu", dtype, enabled=precision != "float32"):
                loss = model.training_step(part)
            (share * loss).backward()
        if clip:
            trained = [
                p for o in optimizers for g in o.param_groups for p in g["params"]
            ]
            order = {id(p): i for i, p in enumerate(model.parameters())}
            trained.sort(key=lambda p: order.get(id(p), len(order)))
            nn.utils.clip_grad_norm_(trained, clip)
        for optimizer in optimizers:
            optimizer.step()
    return state(model) | optimizer_state(optimizers)


# All of the state, found without the library


def state(model: Any) -> dict[str, np.ndarray]:
    """Return the tensors and the counters of a model by name, wherever they are."""
    found: dict[str, np.ndarray] = {}
    seen: set = set()

    def visit(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found[name] = value.detach().clone().numpy()
        elif isinstance(value, int | float) and name.endswith(".counter"):
            found[name] = np.array(value)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                visit(f"{name}.{i}", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(f"{name}.{key}", item)
        elif isinstance(value, nn.Module) and id(value) not in seen:
            seen.add(id(value))
            own = {k: v for k, v in vars(value).items() if k not in LIBRARY}
            visit(name, own)

    visit("model", model)
    return found


def state_before(entry: Entry) -> dict[str, np.ndarray]:
    """Return the state that a new model begins with."""
    return state(entry.model())


LIBRARY = "trainer", "board", "plot", "hparams"


def optimizer_state(optimizers: Any) -> dict[str, np.ndarray]:
    """Return the tensors that optimizers keep, by name."""
    return {
        f"optimizer.{i}.{j}.{key}": torch.as_tensor(value).detach().clone().numpy()
        for i, optimizer in enumerate(optimizers)
        for j, kept in enumerate(optimizer.state.values())
        for key, value in kept.items()
        if value is not None
    }


def state_of(trainer: Any) -> dict[str, np.ndarray]:
    """Return the state of a model and of its optimizers after training."""
    optim = trainer.optim
    return state(trainer.model) | optimizer_state(getattr(optim, "optimizers", [optim]))


# Models


class Model(d2l.Module):
    """A model that says how it is trained, and plots nothing."""

    def __init__(self):
        super().__init__()
        self.board.display = False
        self.build()

    def build(self) -> None:
        """Make the layers."""

    def training_step(self, batch: Any) -> torch.Tensor:
        *inputs, y = batch
        return self.loss(self(*inputs), y)

    def loss(self, y_hat: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(y_hat, y)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.05, momentum=0.9)


class Perceptron(Model):
    def build(self) -> None:
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))


class Convolutions(Model):
    def build(self) -> None:
        self.net = nn.Sequential(
            *(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 8, 3), nn.GroupNorm(2, 8), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
        )

    def configure_optimizers(self) -> Any:
        return Adam(self.parameters(), 0.01)


class BatchNorm(Model):
    def build(self) -> None:
        self.first, self.norm = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6)
        self.skip, self.last = nn.Conv2d(6, 6, 3, padding=1), nn.Linear(6, 4)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        X = self.norm(self.first(X))
        return self.last((X + self.skip(X.relu())).mean((2, 3)))


class UNet(Model):
    def build(self) -> None:
        self.down, self.up = nn.Conv2d(3, 6, 2, 2), nn.ConvTranspose2d(6, 6, 2, 2)
        self.middle, self.last = nn.Conv2d(6, 6, 3, padding=1), nn.Conv2d(9, 3, 1)

    def training_step(self, batch: Any) -> torch.Tensor:
        X = batch[0]
        H = F.gelu(self.middle(F.gelu(self.down(X))))
        return F.mse_loss(self.last(torch.cat([self.up(H), X], 1)), X.roll(1, 3))


class Recurrent(Model):
    """A recurrent classifier of sequences, of a given kind."""

    kind: Any = nn.LSTM

    def build(self) -> None:
        self.layers = self.kind(8, 12, 2, batch_first=True)
        self.last = nn.Linear(12, 4)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.last(self.layers(X)[0][:, -1])


class Gated(Recurrent):
    kind = nn.GRU


class Packed(Recurrent):
    def forward(self, X: torch.Tensor) -> torch.Tensor:
        lengths = torch.arange(len(X)) % 6 + 1
        packed = nn.utils.rnn.pack_padded_sequence(
            X, lengths, batch_first=True, enforce_sorted=False
        )
        return self.last(self.layers(packed)[1][0][-1])


class Tied(Model):
    """A language model with one matrix for inputs and outputs."""

    def build(self) -> None:
        self.embedding, self.layers = nn.Embedding(16, 12), nn.GRU(12, 12)
        self.last = nn.Linear(12, 16)
        self.last.weight = self.embedding.weight

    def training_step(self, batch: Any) -> torch.Tensor:
        X, y = batch[0][:, :-1], batch[0][:, 1:]
        H = self.layers(self.embedding(X).transpose(0, 1))[0].transpose(0, 1)
        return F.cross_entropy(self.last(H).flatten(0, 1), y.flatten())


class GPT(Model):
    """A small Transformer with positions in a buffer that no checkpoint should need."""

    def build(self) -> None:
        self.embedding, self.positions = nn.Embedding(16, 16), nn.Embedding(8, 16)
        self.register_buffer("places", torch.arange(8), persistent=False)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def training_step(self, batch: Any) -> torch.Tensor:
        X = self.embedding(batch[0][:, :-1]) + self.positions(self.places)
        heads = self.qkv(self.norms[0](X)).unflatten(-1, (3, 2, 8)).movedim(2, 0)
        Q, K, V = (head.transpose(1, 2) for head in heads)
        H = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
        X = X + self.out(H.transpose(1, 2).flatten(2))
        X = X + self.down(F.gelu(self.up(self.norms[1](X))))
        logits = X @ self.embedding.weight.T
        return F.cross_entropy(logits.flatten(0, 1), batch[0][:, 1:].flatten())

    def configure_optimizers(self) -> Any:
        few: list = []
        many: list = []
        for parameter in self.parameters():
            (few if parameter.ndim < 2 else many).append(parameter)
        groups = [{"params": many, "weight_decay": 0.1}, {"params": few}]
        return torch.optim.SGD(groups, 0.05, momentum=0.9)


class Experts(Model):
    """A mixture of experts, each of which sees the rows that are routed to it."""

    def build(self) -> None:
        self.gate, self.last = nn.Linear(8, 3), nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def training_step(self, batch: Any) -> torch.Tensor:
        X, y = batch
        weights = self.gate(X).softmax(1)
        chosen, H = weights.argmax(1), X
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero()[:, 0]
            H = H.index_add(0, rows, (weights[rows, i, None] * expert(X[rows])).to(H))
        balance = weights.mean(0).square().sum()
        return F.cross_entropy(self.last(H), y) + 0.1 * balance


class Variational(Model):
    """A variational autoencoder, which draws noise in each step."""

    def build(self) -> None:
        self.encoder, self.decoder = nn.Linear(8, 6), nn.Linear(3, 8)

    def training_step(self, batch: Any) -> torch.Tensor:
        X = batch[0]
        mean, log_var = self.encoder(X).chunk(2, 1)
        Z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        divergence = (mean**2 + log_var.exp() - 1 - log_var).sum(1).mean() / 2
        return F.mse_loss(self.decoder(Z), X) + 0.1 * divergence


class Gan(Model):
    """Two networks with an optimizer each, and one loss for both."""

    def build(self) -> None:
        self.maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
        self.judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))

    def frozen_judge(self, X: torch.Tensor) -> torch.Tensor:
        weights = {name: p.detach() for name, p in self.judge.named_parameters()}
        return torch.func.functional_call(self.judge, weights, X)

    def training_step(self, batch: Any) -> torch.Tensor:
        real, noise = batch
        fake = self.maker(noise)
        judged = self.judge(real), self.judge(fake.detach())
        own = F.softplus(-judged[0]).mean() + F.softplus(judged[1]).mean()
        return own + F.softplus(-self.frozen_judge(fake)).mean()

    def configure_optimizers(self) -> Any:
        return [
            Adam(self.maker.parameters(), 0.01, betas=(0.5, 0.9)),
            torch.optim.SGD(self.judge.parameters(), 0.05, momentum=0.9),
        ]


class WassersteinGan(Gan):
    """The judge pays for gradients whose norm is not 1."""

    def training_step(self, batch: Any) -> torch.Tensor:
        real, noise = batch
        fake = self.maker(noise)
        between = (0.5 * real + 0.5 * fake.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(
            self.judge(between).sum(), between, create_graph=True
        )
        penalty = (slope.norm(2, 1) - 1).square().mean()
        own = (self.judge(fake.detach()) - self.judge(real)).mean()
        return own + 10 * penalty - self.frozen_judge(fake).mean()


class Teacher(Model):
    """A mean teacher in a list, whose weights no state dict contains."""

    def build(self) -> None:
        self.net = nn.Linear(8, 4)
        self.teachers = [copy.deepcopy(self.net).requires_grad_(False)]

    def training_step(self, batch: Any) -> torch.Tensor:
        X, y = batch
        with torch.no_grad():
            aim = self.teachers[0](X)
            for old, new in zip(
                self.teachers[0].parameters(), self.net.parameters(), strict=True
            ):
                old.mul_(0.9).add_(new, alpha=0.1)
        Y = self.net(X)
        return F.cross_entropy(Y, y) + F.mse_loss(Y, aim)


class Distilled(Model):
    """A student of a frozen teacher, which is a module of the model."""

    def build(self) -> None:
        self.net, self.teacher = nn.Linear(8, 4), nn.Linear(8, 4)
        self.teacher.requires_grad_(False)

    def training_step(self, batch: Any) -> torch.Tensor:
        X, _ = batch
        return F.kl_div(
            self.net(X).log_softmax(1),
            self.teacher(X).softmax(1),
            reduction="batchmean",
        )


class Contrastive(Model):
    """Each example is compared with all others of the minibatch."""

    def build(self) -> None:
        self.net = nn.Linear(8, 6)

    def training_step(self, batch: Any) -> torch.Tensor:
        X = batch[0]
        A, B = (F.normalize(self.net(view)) for view in (X, X + 0.1))
        return F.cross_entropy(5 * A @ B.T, torch.arange(len(X)))


class Spectral(Model):
    """Layers with a norm of 1, which its buffers estimate."""

    def build(self) -> None:
        self.net = nn.Sequential(
            parametrizations.spectral_norm(nn.Linear(8, 16)),
            nn.ReLU(),
            parametrizations.weight_norm(nn.Linear(16, 4)),
        )


class Sparse(Model):
    def build(self) -> None:
        self.bag, self.last = nn.EmbeddingBag(16, 8, sparse=True), nn.Linear(8, 4)

    def training_step(self, batch: Any) -> torch.Tensor:
        words = batch[0]
        return F.cross_entropy(self.last(self.bag(words[:, :-1])), words[:, -1] % 4)

    def configure_optimizers(self) -> Any:
        sparse = torch.optim.SparseAdam(self.bag.parameters(), 0.01)
        return [sparse, Adam(self.last.parameters(), 0.01)]


class Complex(Model):
    """Complex weights, and a real loss."""

    def build(self) -> None:
        self.weight = nn.Parameter(0.3 * torch.randn(8, 4, dtype=torch.complex64))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return (torch.complex(X, -X) @ self.weight).abs()


class Backbone(Model):
    """Only the last layer is trained."""

    def build(self) -> None:
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
        self.body.requires_grad_(False)
        self.last = nn.Linear(16, 4)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(X))

    def configure_optimizers(self) -> Any:
        return Adam(self.last.parameters(), 0.01)


class Centres(Model):
    """The loss reads a buffer that the step assigns."""

    def build(self) -> None:
        self.net, self.last = nn.Linear(8, 6), nn.Linear(6, 4)
        self.register_buffer("centres", torch.randn(4, 6))

    def training_step(self, batch: Any) -> torch.Tensor:
        X, y = batch
        H = self.net(X)
        loss = F.cross_entropy(self.last(H), y) + F.mse_loss(H, self.centres[y].to(H))
        with torch.no_grad():
            self.centres[y] = 0.9 * self.centres[y] + 0.1 * H.float()
        return loss


class Codebook(Model):
    """The loss reads a tensor in a plain attribute that each step makes anew."""

    def build(self) -> None:
        self.net, self.codes = nn.Linear(8, 6), torch.randn(5, 6)

    def training_step(self, batch: Any) -> torch.Tensor:
        H = self.net(batch[0]).float()
        nearest = torch.cdist(H, self.codes).argmin(1)
        loss = F.mse_loss(H, self.codes[nearest])
        picked = F.one_hot(nearest, 5).float()
        means = picked.T @ H.detach() / picked.sum(0).clamp(min=1)[:, None]
        self.codes = 0.9 * self.codes + 0.1 * means
        return loss + H.square().mean()


class Queue(Model):
    """Keys of earlier minibatches in a buffer, with a place that moves on."""

    def build(self) -> None:
        self.net = nn.Linear(8, 6)
        self.register_buffer("keys", torch.randn(30, 6))
        self.register_buffer("place", torch.zeros((), dtype=torch.int64))

    def training_step(self, batch: Any) -> torch.Tensor:
        A = F.normalize(self.net(batch[0]))
        B = F.normalize(self.net(batch[0] + 0.1).detach())
        keys = self.keys.clone().to(A)  # the step changes those of the buffer
        logits = torch.cat([(A * B).sum(1, keepdim=True), A @ keys.T], 1)
        rows = (self.place + torch.arange(len(B))) % len(self.keys)
        self.keys[rows] = B.float()
        self.place += len(B)
        return F.cross_entropy(5 * logits, torch.zeros(len(B), dtype=torch.int64))


class Hidden(Perceptron):
    """A running scale in a buffer that the state dict leaves out."""

    def build(self) -> None:
        super().build()
        self.register_buffer("scale", torch.ones(8), persistent=False)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.scale.mul_(0.9).add_(X.abs().mean(0), alpha=0.1)
        return self.net(X / self.scale)


class Constant(Perceptron):
    """A random constant in a dict, which is no buffer, and Adam."""

    def build(self) -> None:
        super().build()
        self.constants = {"scale": torch.rand(8) + 0.5}

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.net(X * self.constants["scale"])

    def configure_optimizers(self) -> Any:
        return Adam(self.parameters(), 0.01)


class Annealed(Perceptron):
    """The loss depends on how many steps a number of Python has counted."""

    def build(self) -> None:
        super().build()
        self.counter = 0

    def training_step(self, batch: Any) -> torch.Tensor:
        self.counter += 1
        return super().training_step(batch) / self.counter


class Extra(Annealed):
    """The same, but the number is part of the state dict."""

    def get_extra_state(self) -> Any:
        return {"counter": self.counter}

    def set_extra_state(self, state: Any) -> None:
        self.counter = state["counter"]


class Counting(Perceptron):
    """The same, but the number is a tensor in a plain attribute."""

    def build(self) -> None:
        super().build()
        self.steps = torch.zeros(())

    def training_step(self, batch: Any) -> torch.Tensor:
        self.steps += 1
        return super().training_step(batch) / self.steps


class Scratch(Model):
    """Weights in plain attributes."""

    def build(self) -> None:
        self.weights = [torch.randn(8, 4).requires_grad_()]

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return X @ self.weights[0]

    def configure_optimizers(self) -> Any:
        return Adam(self.weights, 0.01)


class Dropping(Model):
    """Masks in each step, and a rate that differs from layer to layer."""

    def build(self) -> None:
        self.net = nn.Sequential(
            nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 4)
        )

    def configure_optimizers(self) -> Any:
        groups = [
            {"params": self.net[0].parameters(), "lr": 0.01},
            {"params": self.net[3].parameters(), "lr": 0.02},
        ]
        return torch.optim.AdamW(groups)


class Tasks(Model):
    """Two losses whose weights are trained, too."""

    def build(self) -> None:
        self.net = nn.Linear(8, 16)
        self.heads = nn.ModuleDict({"class": nn.Linear(16, 4), "sum": nn.Linear(16, 1)})
        self.scales = nn.ParameterList([torch.zeros(()), torch.zeros(())])

    def training_step(self, batch: Any) -> torch.Tensor:
        X, y = batch
        H = torch.relu(self.net(X))
        losses = (
            F.cross_entropy(self.heads["class"](H), y),
            F.mse_loss(self.heads["sum"](H), X.sum(1, keepdim=True)),
        )
        pairs = zip(self.scales, losses, strict=True)
        return sum(
            ((-scale).exp() * loss + scale for scale, loss in pairs), X.new_zeros(())
        )


class Named(Perceptron):
    """Minibatches that are dicts."""

    def training_step(self, batch: Any) -> torch.Tensor:
        return self.loss(self(batch["x"]), batch["y"])


class Penalized(Perceptron):
    """A penalty for the gradients of the inputs."""

    def training_step(self, batch: Any) -> torch.Tensor:
        X = batch[0].clone().requires_grad_()
        Y = self(X)
        (slope,) = torch.autograd.grad(Y.square().sum(), X, create_graph=True)
        return self.loss(Y, batch[1]) + 0.01 * slope.square().sum(1).mean()


noisy = partial(batches, reals(8), reals(4))

ZOO = [
    Entry("perceptron", Perceptron, vectors, thin=True),
    Entry("convolutions", Convolutions, images),
    Entry("batch norm", BatchNorm, images, OTHER, thin=True),
    Entry("U-Net", UNet, images),
    Entry("LSTM", Recurrent, sequences),
    Entry("GRU", Gated, sequences),
    Entry("packed", Packed, sequences, OTHER),
    Entry("tied", Tied, texts),
    Entry("GPT", GPT, texts, thin=True),
    Entry("experts", Experts, vectors, OTHER),
    Entry("VAE", Variational, vectors, OTHER, thin=True),
    Entry("GAN", Gan, noisy, thin=True),
    Entry("WGAN-GP", WassersteinGan, noisy),
    Entry("mean teacher", Teacher, vectors),
    Entry("frozen teacher", Distilled, vectors),
    Entry("contrastive", Contrastive, vectors, OTHER),
    Entry("spectral norm", Spectral, vectors),
    Entry("sparse", Sparse, texts, clip=False),
    Entry("complex", Complex, vectors),
    Entry("frozen", Backbone, vectors),
    Entry("centres", Centres, vectors, OTHER),
    Entry("codebook", Codebook, vectors, UNSHARED),
    Entry("queue", Queue, vectors, OTHER),
    Entry("hidden buffer", Hidden, vectors, OTHER),
    Entry("constant", Constant, vectors, thin=True),
    Entry("number", Annealed, vectors, restored=False, returned=False),
    Entry("extra state", Extra, vectors),
    Entry("plain counter", Counting, vectors),
    Entry("scratch", Scratch, vectors, REFUSED),
    Entry("dropout", Dropping, vectors, OTHER),
    Entry("tasks", Tasks, vectors),
    Entry("dicts", Named, dicts),
    Entry("penalty", Penalized, vectors),
]

# The rows of the table in the appendix, and the models that show them.
STATES = {
    "parameters": "perceptron",
    "a buffer that a step changes": "batch norm",
    "a tensor in a plain attribute, constant": "constant",
    "a tensor in a plain attribute, made anew by each step": "codebook",
    "a tensor in a plain attribute, trained": "scratch",
    "a number of Python": "number",
    "a number of Python in `get_extra_state`": "extra state",
}
