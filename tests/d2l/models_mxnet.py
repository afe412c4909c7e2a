"""Models for MXNet, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import sys

from frameworks import Case
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn
from mxnet.gluon import rnn as layers

from d2l import mxnet as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import Counting, LanguageModel, stacked
from models_shared import Everything as Everything  # for other tests

npx.set_np()


class Copies(d2l.DataModule):
    """Random examples that are their own labels."""

    def __init__(self, num_examples, width, batch_size=8):
        super().__init__()
        self.save_hyperparameters()
        self.X = np.random.normal(size=(num_examples, width))

    def get_dataloader(self, train):
        return self.get_tensorloader((self.X, self.X), train)


class Shuffled(models_shared.Images):
    def train_dataloader(self):
        data = gluon.data.ArrayDataset(self.images, self.labels)
        return gluon.data.DataLoader(
            data, self.batch_size, shuffle=True, last_batch="discard"
        )


class Pool(nn.HybridSequential):
    def __init__(self):
        super().__init__()
        self.add(nn.GlobalAvgPool2D(), nn.Flatten())


class Layers(models_shared.Layers):
    def makers(self):
        return {
            "dense": lambda size: nn.Dense(size, flatten=False),
            "dropout": nn.Dropout,
            "relu": lambda: nn.Activation("relu"),
            "flatten": nn.Flatten,
            "norm": nn.BatchNorm,
            "pool": Pool,
            "conv": lambda channels: nn.Conv2D(channels, 3, padding=1),
            "embed": nn.Embedding,
            "transformer": d2l.TransformerLayer,
            "tied": self.last_layer,
        }

    def join(self, layers):
        whole = not any(isinstance(layer, d2l.TransformerLayer) for layer in layers)
        net = nn.HybridSequential() if whole else nn.Sequential()
        net.add(*layers)
        net.initialize(init.Xavier())
        return net

    def last_layer(self):
        (size, width), params = self.embedding.weight.shape, self.embedding.params
        options = {"flatten": False, "use_bias": False, "in_units": width}
        return nn.Dense(size, params=params, **options)

    def configure_optimizers(self):
        momentum = {} if self.optimizer == "adam" else {"momentum": 0.9}
        settings = {"learning_rate": self.lr, **momentum}
        return gluon.Trainer(self.parameters(), self.optimizer, settings)


class SoftmaxScratch(models_shared.SoftmaxScratch):
    def collect_params(self):
        return [self.W, self.b]


class ListedArrays(models_shared.Listed):
    def configure_optimizers(self):
        return d2l.SGD(self.tensors, self.lr)


class GRULanguageModel(LanguageModel):
    def __init__(self, lr):
        super().__init__(layers.GRU(32), 10, lr)

    def init_params(self):
        self.linear = nn.Dense(self.vocab_size, flatten=False)
        self.initialize()

    def forward(self, X, step):
        return d2l.swapaxes(self.linear(self.rnn(self.inputs(X, step))), 0, 1)

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "adam", {"learning_rate": self.lr})


class WeightDecay(d2l.LinearRegression):
    def __init__(self, wd, lr):
        super().__init__(lr)
        self.save_hyperparameters()
        self.wd = wd

    def configure_optimizers(self):
        self.collect_params(".*bias").setattr("wd_mult", 0)
        settings = {"learning_rate": self.lr, "wd": self.wd, "momentum": 0.5}
        return gluon.Trainer(self.collect_params(), "sgd", settings)


class Residual(d2l.nn_Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Dense(width)

    def forward(self, X):
        return X + d2l.sigmoid(self.linear(X))


class Blocks(models_shared.BlocksOfLayers):
    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        inner = nn.Sequential()
        inner.add(Residual(64), Residual(64))
        self.net = nn.Sequential()
        self.net.add(inner, nn.Dense(10))
        self.net.initialize(init.Xavier())


class Momentum(d2l.HyperParameters):
    """An optimizer that keeps an array for each parameter."""

    def __init__(self, params):
        self.params, self.steps = params, 0
        self.velocity = [0 * param for param in params]

    def step(self, _):
        self.steps += 1
        for param, v in zip(self.params, self.velocity, strict=True):
            v[:] = 0.9 * v + param.grad
            param -= 0.1 * v


class ScratchMomentum(SoftmaxScratch):
    def configure_optimizers(self):
        return Momentum(self.get_scratch_params())


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        for batch in map(self.prepare_batch, self.train_dataloader):
            with autograd.record():
                result = self.model.training_step(batch)
            result.backward()
            if self.gradient_clip_val:
                self.clip_gradients(self.gradient_clip_val, self.model)
            self.optim.step(1)
            self.train_batch_idx += 1
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(batch)
            self.val_batch_idx += 1


class Reverse(autograd.Function):
    """Return the input; its gradient changes the sign."""

    def forward(self, x):
        return x.copy()

    def backward(self, grad):
        return -grad


class Gan(models_shared.Gan):
    def make_parts(self):
        self.generator, self.critic = nn.Dense(8, in_units=4), nn.Dense(1, in_units=8)
        self.generator.initialize()
        self.critic.initialize()
        self.bce = gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def reverse(self, x):
        return Reverse()(x)

    def configure_optimizers(self):
        adam, sgd = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
        return [
            gluon.Trainer(self.generator.collect_params(), "adam", adam),
            gluon.Trainer(self.critic.collect_params(), "sgd", sgd),
        ]


# Several devices train these as one device does.
ON_DEVICES = "softmax", "mlp", "list", "blocks", "own optimizer"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    *models_shared.cases(sys.modules[__name__]),
    Case("list", lambda: ListedArrays(0.5), d2l.Digits, "val_acc", 0.8),
    Case("stacked", stacked, Counting, "val_ppl", 4, 4),
]
