"""The memory of a training step in PyTorch: predictions against counted bytes."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l

MIB = 2**20


class LanguageModel(d2l.Module):
    """A Transformer with an embedding that its last layer may share."""

    def __init__(self, vocabulary=1000, width=64, depth=2, tied=True):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocabulary, width)
        layers = [d2l.TransformerLayer(width, 4) for _ in range(depth)]
        self.layers = nn.Sequential(*layers)
        self.output = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.output.weight = self.embed.weight

    def forward(self, X):
        positions = torch.zeros(X.shape[1], 1)  # made where it is used
        return self.output(self.layers(self.embed(X) + positions))

    def loss(self, y_hat, y):
        return F.cross_entropy(y_hat.flatten(0, 1), y.flatten())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.net = nn.Sequential(
            nn.LazyConv2d(channels, 3, padding=1),
            nn.LazyBatchNorm2d(),
            nn.ReLU(),
            nn.LazyConv2d(channels, 3, padding=1),
            nn.LazyBatchNorm2d(),
        )

    def forward(self, X):
        return F.relu(X + self.net(X))


class ResNet(d2l.Classifier):
    def __init__(self, channels=16, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        first = nn.LazyConv2d(channels, 3, padding=1)
        blocks = [Residual(channels) for _ in range(3)]
        last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(10)]
        self.net = nn.Sequential(first, *blocks, *last)


class Scratch(d2l.Classifier):
    """A model whose weights are plain tensors."""

    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W = torch.randn(64, 10, requires_grad=True)
        self.b = torch.zeros(10, requires_grad=True)

    def forward(self, X):
        return X @ self.W + self.b


def tokens(*shape):
    return torch.randint(1000, shape)


def cases():
    T = tokens(8, 64)
    images, labels = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
    return {
        "deep": (d2l.DeepMLP(depth=3, width=50), (torch.randn(70, 50),) * 2),
        "tied": (LanguageModel(), (T, T)),
        "untied": (LanguageModel(tied=False), (T, T)),
        "embedding": (LanguageModel(20000, 32, 1), (T, T)),
        "resnet": (ResNet(), (images, labels)),
        "scratch": (Scratch(), (torch.randn(32, 64), labels.repeat(2))),
        "digits": (d2l.MLP(10, 64, 0.1), next(iter(d2l.Digits().train_dataloader()))),
    }


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("name", cases())
def test_a_prediction_is_what_a_step_takes(name: str, accumulate: int):
    model, batch = cases()[name]
    predicted = d2l.predict_memory(model, batch, accumulate)
    counted = d2l.count_step(model, list(batch), accumulate, torch.float32)
    for role, before, after in zip(predicted._fields, predicted, counted, strict=True):
        assert before == pytest.approx(after, rel=0.02), role


def test_bytes_by_role():
    model = d2l.DeepMLP(depth=4, width=32)
    X = torch.randn(100, 32)
    size = d2l.predict_memory(model, (X, X))
    params = 4 * (32 * 32 + 32)
    assert (size.weights, size.gradients) == (4 * params, 4 * params)
    assert size.optimizer == pytest.approx(8 * params, rel=0.01)  # and step counts
    assert size.activations == 5 * 100 * 32 * 4
    assert size.batch == 100 * 32 * 4


def test_16_bits_reduce_only_the_activations():
    X = torch.randn(512, 128)
    full = d2l.predict_memory(d2l.DeepMLP(), (X, X))
    half = d2l.predict_memory(d2l.DeepMLP(), (X, X), precision=torch.bfloat16)
    assert half[:3] == full[:3]
    assert half.activations < 0.8 * full.activations


def test_nothing_is_allocated_for_a_model_on_meta():
    with torch.device("meta"):
        model = d2l.DeepMLP(depth=2, width=2**17)  # 128 GiB
        X = torch.empty(8, 2**17)
    size = d2l.predict_memory(model, (X, X))
    assert size.weights == 2 * (2**34 + 2**17) * 4
    assert all(p.is_meta and p.grad is None for p in model.parameters())


def test_the_model_is_as_before():
    model, batch = cases()["resnet"]
    d2l.predict_memory(model, batch)  # gives lazy layers their shapes
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    d2l.predict_memory(model, batch)
    after = model.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert all(p.grad is None for p in model.parameters())


def trained(parts: int, **options):
    torch.manual_seed(0)
    model, data = d2l.MLP(10, 32, 0.1), d2l.Digits(batch_size=50)
    model.board.display = False
    trainer = d2l.Trainer(max_epochs=2, **options)
    trainer.accumulate = parts
    trainer.fit(model, data)
    return model


@pytest.mark.parametrize("options", [{}, {"gradient_clip_val": 0.05}])
def test_parts_of_a_minibatch_train_as_the_whole(options: dict):
    whole, parts = trained(1, **options), trained(4, **options)
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_training_in_16_bits(precision: torch.dtype):
    torch.manual_seed(0)
    seen = set()

    class Watched(d2l.MLP):
        def loss(self, y_hat, y):
            seen.add(y_hat.dtype)
            return super().loss(y_hat, y)

    model = Watched(10, 32, 0.1)
    model.board.display = False
    trainer = d2l.Trainer(max_epochs=3)
    trainer.precision = precision
    trainer.fit(model, d2l.Digits())
    assert seen == {precision}
    assert all(p.dtype == torch.float32 for p in model.parameters())
    losses = [point.y for point in model.board.data["val_loss"]]
    assert losses[-1] < 0.9 * losses[0]


def test_float16_scales_the_loss_and_skips_an_overflow():
    model = d2l.MLP(10, 32, 0.1)
    model.board.display = False
    trainer = d2l.Trainer(max_epochs=1)
    trainer.precision = torch.float16
    trainer.fit(model, d2l.Digits())
    assert trainer.scaler.is_enabled()
    before = [p.detach().clone() for p in model.parameters()]
    scale = trainer.scaler.get_scale()
    X, y = torch.full((4, 64), 1e4), torch.zeros(4, dtype=torch.int64)
    model.train()
    trainer.train_step((X * float("inf"), y))
    after = list(model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert trainer.scaler.get_scale() < scale


def test_chunks_give_the_same_loss_and_gradient():
    X = torch.randn(30, 8, requires_grad=True)
    W = torch.randn(8, 100, requires_grad=True)
    y = torch.randint(100, (30,))
    whole = F.cross_entropy(X @ W, y)
    parts = d2l.chunked_loss(X, W, y, 4)
    assert torch.allclose(whole, parts)
    for a, b in zip(
        torch.autograd.grad(whole, [X, W]),
        torch.autograd.grad(parts, [X, W]),
        strict=True,
    ):
        assert torch.allclose(a, b, atol=1e-6)


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
