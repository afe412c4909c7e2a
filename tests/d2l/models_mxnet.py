"""Models for MXNet, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

from frameworks import Case, named_layers
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn
from mxnet.gluon import rnn as layers

from d2l import mxnet as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import (
    Counting,
    LanguageModel,
    MLPScratch,
    WeightDecayScratch,
    mlp,
    rnn,
    stacked,
)
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


class Shuffled(d2l.DataModule):
    """The digits as images, from loaders made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.images = d2l.reshape(digits.X, (-1, 1, 8, 8))
        self.labels = digits.y

    def train_dataloader(self):
        data = gluon.data.ArrayDataset(self.images, self.labels)
        return gluon.data.DataLoader(
            data, self.batch_size, shuffle=True, last_batch="discard"
        )

    def val_dataloader(self):
        return None


class Pool(nn.HybridSequential):
    def __init__(self):
        super().__init__()
        self.add(nn.GlobalAvgPool2D(), nn.Flatten())


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        named = named_layers(layers)
        whole = all(name != "transformer" for name, *_ in named)
        self.net = nn.HybridSequential() if whole else nn.Sequential()
        for layer in named:
            self.net.add(self.make(*layer))
        self.net.initialize(init.Xavier())

    def make(self, name, *args):
        makers = {
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
        layer = makers[name](*args)
        if name == "embed":
            self.embedding = layer
        return layer

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


class WithConstant(MLPScratch):
    """One of its arrays is no parameter."""

    def __init__(self, lr):
        super().__init__(64, 10, 32, lr)
        self.scale = d2l.ones(64) / 2

    def forward(self, X):
        return super().forward(X * self.scale)


class DropoutScratch(d2l.Classifier):
    def __init__(self, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.first, self.last = nn.Dense(64, activation="relu"), nn.Dense(10)
        self.initialize()

    def forward(self, X):
        H = self.first(X)
        if autograd.is_training():
            keep = np.random.uniform(0, 1, H.shape, ctx=H.ctx) > self.dropout
            H = keep.astype(np.float32) * H / (1 - self.dropout)
        return self.last(H)


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


class ConvBlock(d2l.nn_Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.first = nn.Conv2D(channels, kernel_size=3, padding=1)
        self.second = nn.Conv2D(channels, kernel_size=3, padding=1)
        self.shortcut = nn.Conv2D(channels, kernel_size=1)
        self.norm = nn.BatchNorm()

    def forward(self, X):
        Y = self.second(npx.relu(self.norm(self.first(X))))
        return npx.relu(Y + self.shortcut(X))


class ConvNet(d2l.Classifier):
    """Its methods make its parts."""

    def stem(self):
        net = nn.Sequential()
        net.add(nn.Conv2D(8, kernel_size=3), nn.Activation("relu"))
        return net

    def __init__(self, arch, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential()
        self.net.add(self.stem())
        for channels in arch:
            self.net.add(ConvBlock(channels))
        self.net.add(nn.AvgPool2D(3, 3), nn.Dense(num_classes))
        self.net.initialize(init.Xavier())


class ClippedSGD(d2l.HyperParameters):
    """An optimizer with the one method that the trainer needs."""

    def __init__(self, params, rate):
        self.save_hyperparameters()

    def step(self, batch_size):
        for array in self.params:
            array[:] -= self.rate * np.clip(array.grad, -1, 1) / batch_size


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD([self.b, self.w], self.lr)


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


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Dense(8, in_units=4), nn.Dense(1, in_units=8)
        self.generator.initialize()
        self.critic.initialize()
        self.bce = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(Reverse()(self.generator(noise)))
        loss = self.bce(self.critic(real), ones) + self.bce(fake, np.zeros_like(ones))
        loss = loss.mean()
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self):
        adam, sgd = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
        return [
            gluon.Trainer(self.generator.collect_params(), "adam", adam),
            gluon.Trainer(self.critic.collect_params(), "sgd", sgd),
        ]


def dropout():
    return Layers((64, "relu", 0.3, 10), "sgd", 0.05)


def norm():
    return Layers((("conv", 8), "norm", "relu", "flatten", 10), "sgd", 0.02)


def regression():
    return d2l.SyntheticRegressionData(d2l.tensor([2, -3.4]), b=4.2)


# Several devices train these as one device does.
ON_DEVICES = "softmax", "mlp", "list", "blocks", "own optimizer"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    Case("softmax", lambda: SoftmaxScratch(64, 10, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8, 4),
    Case("list", lambda: ListedArrays(0.5), d2l.Digits, "val_acc", 0.8),
    Case("constant", lambda: WithConstant(0.5), d2l.Digits, "val_acc", 0.8, 4),
    Case("dropout", dropout, d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", norm, Shuffled, "train_loss", 1),
    Case("conv net", lambda: ConvNet((8, 8), 0.2), Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, Counting, "val_ppl", 2, 6),
    Case("stacked", stacked, Counting, "val_ppl", 4, 4),
    Case("gru", lambda: GRULanguageModel(0.02), Counting, "val_ppl", 1.5, 6),
    Case("decay", lambda: WeightDecay(3, 0.01), regression, "val_loss", 15),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
