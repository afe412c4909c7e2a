"""Models for PyTorch, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,has-type,override"

import sys

import torch
from frameworks import Case
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import Everything as Everything  # for other tests
from models_shared import LanguageModel
from models_shared import regression as regression


class Shuffled(models_shared.Images):
    def train_dataloader(self):
        data = torch.utils.data.TensorDataset(self.images, self.labels)
        return torch.utils.data.DataLoader(
            data, self.batch_size, shuffle=True, drop_last=True
        )


class Layers(models_shared.Layers):
    def makers(self):
        return {
            "dense": nn.LazyLinear,
            "dropout": nn.Dropout,
            "relu": nn.ReLU,
            "flatten": nn.Flatten,
            "norm": nn.LazyBatchNorm2d if self.images else nn.LazyBatchNorm1d,
            "pool": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
            "conv": lambda channels: nn.LazyConv2d(channels, 3, padding=1),
            "embed": nn.Embedding,
            "transformer": d2l.TransformerLayer,
            "tied": self.last_layer,
        }

    def last_layer(self):
        layer = nn.Linear(*self.embedding.weight.T.shape, bias=False)
        layer.weight = self.embedding.weight
        return layer

    def join(self, layers):
        return nn.Sequential(*layers)

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return torch.optim.Adam(self.parameters(), self.lr)
        return torch.optim.SGD(self.parameters(), self.lr, momentum=0.9)


class SoftmaxScratch(models_shared.SoftmaxScratch):
    """Its parameters are plain tensors."""

    def parameters(self):
        return [self.W, self.b]


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


class Gan(models_shared.Gan):
    def make_parts(self):
        self.generator, self.critic = nn.Linear(4, 8), nn.Linear(8, 1)
        self.bce, self.reverse = nn.BCEWithLogitsLoss(), Reverse.apply

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.generator.parameters(), 0.01),
            torch.optim.SGD(self.critic.parameters(), 0.1, momentum=0.9),
        ]


# Several devices train these as one device does.
ON_DEVICES = "decay", "blocks"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    *models_shared.cases(sys.modules[__name__]),
    Case("conv net", conv_net, Shuffled, "train_loss", 1),
]
