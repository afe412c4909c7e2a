"""Models for PyTorch, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,has-type,override"

import torch
from frameworks import Case, named_layers
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import (
    Counting,
    LanguageModel,
    WeightDecayScratch,
    mlp,
    rnn,
)
from models_shared import Everything as Everything  # for other tests


class Shuffled(d2l.DataModule):
    """The digits as images, from loaders made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.images = d2l.reshape(digits.X, (-1, 1, 8, 8))
        self.labels = digits.y

    def train_dataloader(self):
        data = torch.utils.data.TensorDataset(self.images, self.labels)
        return torch.utils.data.DataLoader(
            data, self.batch_size, shuffle=True, drop_last=True
        )

    def val_dataloader(self):
        return None


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        named = named_layers(layers)
        self.images = any(name == "conv" for name, *_ in named)
        self.net = nn.Sequential(*(self.make(*layer) for layer in named))

    def make(self, name, *args):
        makers = {
            "dense": nn.LazyLinear,
            "dropout": nn.Dropout,
            "relu": nn.ReLU,
            "flatten": nn.Flatten,
            "norm": nn.LazyBatchNorm2d if self.images else nn.LazyBatchNorm1d,
            "pool": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
            "conv": lambda channels: nn.LazyConv2d(channels, 3, padding=1),
            "embed": nn.Embedding,
            "transformer": d2l.TransformerLayer,
            "tied": lambda: nn.Linear(*self.embedding.weight.T.shape, bias=False),
        }
        layer = makers[name](*args)
        if name == "embed":
            self.embedding = layer
        if name == "tied":
            layer.weight = self.embedding.weight
        return layer

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return torch.optim.Adam(self.parameters(), self.lr)
        return torch.optim.SGD(self.parameters(), self.lr, momentum=0.9)


class SoftmaxScratch(models_shared.SoftmaxScratch):
    """Its parameters are plain tensors."""

    def parameters(self):
        return [self.W, self.b]


class ListedTensors(models_shared.Listed):
    def configure_optimizers(self):
        return d2l.SGD(self.tensors, self.lr)


class ListedParameters(SoftmaxScratch):
    """Its parameters are attributes, and in a list for the optimizer."""

    def __init__(self, lr):
        super().__init__(64, 10, lr)
        self.W, self.b = nn.Parameter(self.W.detach()), nn.Parameter(self.b.detach())
        self.both = [self.W, self.b]

    def configure_optimizers(self):
        return d2l.SGD(self.both, self.lr)


class DropoutScratch(d2l.Classifier):
    def __init__(self, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.first, self.last = nn.LazyLinear(64), nn.LazyLinear(10)

    def forward(self, X):
        H = F.relu(self.first(X))
        if self.training:
            keep = d2l.rand(H.shape) > self.dropout
            H = keep.float() * H / (1 - self.dropout)
        return self.last(H)


def xavier(module):
    if type(module) in (nn.Linear, nn.Conv2d):
        nn.init.xavier_uniform_(module.weight)


def initialized():
    model = norm()
    X = next(iter(Shuffled().train_dataloader()))[0]
    model.apply_init([X], xavier)
    return model


class GRULanguageModel(LanguageModel):
    def __init__(self, lr):
        super().__init__(nn.GRU(11, 32), 10, lr)

    def init_params(self):
        self.linear = nn.LazyLinear(self.vocab_size)

    def forward(self, X, step):
        outputs, _ = self.rnn(self.inputs(X, step))
        return d2l.swapaxes(self.linear(outputs), 0, 1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class WeightDecay(d2l.LinearRegression):
    def __init__(self, wd, lr):
        super().__init__(lr)
        self.save_hyperparameters()

    def configure_optimizers(self):
        groups = [
            {"params": self.net.weight, "weight_decay": self.wd},
            {"params": self.net.bias},
        ]
        return torch.optim.SGD(groups, lr=self.lr, momentum=0.5)


class Residual(d2l.nn_Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.LazyLinear(width)

    def forward(self, X):
        return X + d2l.sigmoid(self.linear(X))


class Blocks(models_shared.BlocksOfLayers):
    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Sequential(Residual(64), Residual(64)), nn.LazyLinear(10)
        )


class ConvBlock(d2l.nn_Module):
    """Two convolutions beside a shortcut, all of them lazy."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.LazyConv2d(channels, kernel_size=3, padding=1)
        self.second = nn.LazyConv2d(channels, kernel_size=3, padding=1)
        self.shortcut = nn.LazyConv2d(channels, kernel_size=1)
        self.norm = nn.LazyBatchNorm2d()

    def forward(self, X):
        Y = self.second(F.relu(self.norm(self.first(X))))
        return F.relu(Y + self.shortcut(X))


class ConvNet(d2l.Classifier):
    """Its methods make its parts, and its constructor calls `init_cnn` too early."""

    def stem(self):
        return nn.Sequential(nn.LazyConv2d(8, kernel_size=3), nn.ReLU())

    def __init__(self, arch, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(self.stem())
        for i, channels in enumerate(arch):
            self.net.add_module(f"block{i}", ConvBlock(channels))
        head = (nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.LazyLinear(num_classes))
        self.net.add_module("head", nn.Sequential(*head))
        self.net.apply(d2l.init_cnn)


def conv_net():
    model = ConvNet((8, 8), lr=0.2)
    X = next(iter(Shuffled().train_dataloader()))[0]
    model.apply_init([X], d2l.init_cnn)
    return model


class ClippedSGD(d2l.HyperParameters):
    """An optimizer with the two methods that the trainer needs."""

    def __init__(self, params, rate):
        self.save_hyperparameters()

    def step(self):
        for tensor in self.params:
            tensor.sub_(self.rate * tensor.grad.clamp(-1, 1))

    def zero_grad(self):
        for tensor in self.params:
            tensor.grad = None


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD([self.b, self.w], self.lr)


class Momentum:
    """An optimizer whose state has the parameters as keys."""

    def __init__(self, params):
        self.params, self.velocity, self.steps = list(params), {}, 0

    def zero_grad(self):
        for param in self.params:
            param.grad = None

    def step(self):
        self.steps += 1
        for param in self.params:
            velocity = self.velocity.get(param, torch.zeros_like(param))
            self.velocity[param] = 0.9 * velocity + param.grad
            param -= 0.1 * self.velocity[param]

    def state_dict(self):
        velocity = [self.velocity.get(param) for param in self.params]
        return {"velocity": velocity, "steps": self.steps}

    def load_state_dict(self, state):
        self.velocity = dict(zip(self.params, state["velocity"], strict=True))
        self.steps = state["steps"]


class ScratchMomentum(SoftmaxScratch):
    """Plain tensors, which a method of the model lists."""

    def configure_optimizers(self):
        return Momentum(self.parameters())


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        self.model.train()
        for batch in map(self.prepare_batch, self.train_dataloader):
            self.model.training_step(batch).backward()
            if self.gradient_clip_val:
                self.clip_gradients(self.gradient_clip_val, self.model)
            with torch.no_grad():
                self.optim.step()
            self.optim.zero_grad()
            self.train_batch_idx += 1
        self.validate()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(batch)
            self.val_batch_idx += 1


class Reverse(torch.autograd.Function):
    """Return the input; its gradient changes the sign."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Linear(4, 8), nn.Linear(8, 1)
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(Reverse.apply(self.generator(noise)))
        bce = F.binary_cross_entropy_with_logits
        loss = bce(self.critic(real), ones) + bce(fake, torch.zeros_like(ones))
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.generator.parameters(), 0.01),
            torch.optim.SGD(self.critic.parameters(), 0.1, momentum=0.9),
        ]


def dropout():
    return Layers((64, "relu", 0.3, 10), "sgd", 0.05)


def norm():
    return Layers((("conv", 8), "norm", "relu", "flatten", 10), "sgd", 0.02)


def regression():
    return d2l.SyntheticRegressionData(d2l.tensor([2, -3.4]), b=4.2)


# Several devices train these as one device does.
ON_DEVICES = "decay", "blocks"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    Case("softmax", lambda: SoftmaxScratch(64, 10, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8, 4),
    Case("list", lambda: ListedTensors(0.5), d2l.Digits, "val_acc", 0.8),
    Case("parameters", lambda: ListedParameters(0.5), d2l.Digits, "val_acc", 0.8),
    Case("dropout", dropout, d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", norm, Shuffled, "train_loss", 1),
    Case("apply_init", initialized, Shuffled, "train_loss", 1),
    Case("conv net", conv_net, Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, Counting, "val_ppl", 2, 6),
    Case("gru", lambda: GRULanguageModel(0.02), Counting, "val_ppl", 1.5, 6),
    Case("decay", lambda: WeightDecay(3, 0.01), regression, "val_loss", 15),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
