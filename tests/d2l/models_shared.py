"""Models that d2l 1.0 defines alike for PyTorch, MXNet and TensorFlow.

Those of JAX, whose models are functions of their parameters, are in `models_jax.py`.
The library is the one that this process has imported.
"""

# The library is a variable; save_hyperparameters makes attributes.
# mypy: disable-error-code="attr-defined,misc,name-defined,override"

import operator
import sys
from functools import partial
from typing import Any

import numpy as np
from frameworks import Case, named_layers

TABS = {"torch": "d2l.torch", "mxnet": "d2l.mxnet", "tensorflow": "d2l.tensorflow"}
package = next(name for name in TABS if TABS[name] in sys.modules)
framework: Any = sys.modules[package]
d2l: Any = sys.modules[TABS[package]]


def parameter(*shape: int, scale: float = 1.0, plain: bool = False) -> Any:
    """Return random numbers that a model trains, as its framework makes them."""
    numbers = np.random.normal(0, scale, shape).astype("float32")
    if package == "torch":
        tensor = framework.tensor(numbers, requires_grad=True)
        return tensor if plain else framework.nn.Parameter(tensor)
    if package == "mxnet":
        array = framework.np.array(numbers)
        array.attach_grad()
        return array
    return framework.Variable(numbers)


def one_hot(X: Any, size: int) -> Any:
    if package == "torch":
        return framework.nn.functional.one_hot(X, size).float()
    if package == "mxnet":
        return framework.npx.one_hot(X, size)
    return framework.one_hot(X, size)


class SoftmaxScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, lr, sigma=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.W = parameter(num_inputs, num_outputs, scale=sigma, plain=True)
        self.b = parameter(num_outputs, scale=0, plain=True)

    def forward(self, X):
        X = d2l.reshape(X, (-1, self.W.shape[0]))
        exps = d2l.exp(d2l.matmul(X, self.W) + self.b)
        return exps / d2l.reduce_sum(exps, 1, keepdims=True)

    def loss(self, y_hat, y):
        if package == "tensorflow":
            picked = framework.boolean_mask(y_hat, one_hot(y, y_hat.shape[-1]))
        else:
            picked = y_hat[list(range(len(y_hat))), y]
        return -d2l.reduce_mean(d2l.log(picked))


class MLPScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, num_hiddens, lr, sigma=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W1 = parameter(num_inputs, num_hiddens, scale=sigma)
        self.b1 = parameter(num_hiddens, scale=0)
        self.W2 = parameter(num_hiddens, num_outputs, scale=sigma)
        self.b2 = parameter(num_outputs, scale=0)

    def forward(self, X):
        H = d2l.matmul(X, self.W1) + self.b1
        H = (H + abs(H)) / 2  # ReLU
        return d2l.matmul(H, self.W2) + self.b2


class Listed(d2l.Classifier):
    """Its parameters are in a list, and nowhere else."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        sizes = [(64, 16), (16,), (16, 10), (10,)]
        self.tensors = [parameter(*size, scale=0.1, plain=True) for size in sizes]

    def forward(self, X):
        W1, b1, W2, b2 = self.tensors
        return d2l.matmul(d2l.tanh(d2l.matmul(X, W1) + b1), W2) + b2


class Counting(d2l.DataModule):
    """Sequences that count modulo 10 from a random start, with a step given."""

    def __init__(self, batch_size=32, num_steps=5, n=640):
        super().__init__()
        self.save_hyperparameters()
        start, step = (np.random.randint(i, j, (n, 1)) for i, j in ((0, 10), (1, 3)))
        whole = (start + step * np.arange(num_steps + 1)) % 10
        kind = {"torch": "int64", "mxnet": "float32", "tensorflow": "int32"}[package]
        arrays = (array.astype(kind) for array in (whole[:, :-1], step, whole[:, 1:]))
        convert = {"torch": "tensor", "mxnet": "np.array", "tensorflow": "constant"}
        make = operator.attrgetter(convert[package])(framework)
        self.arrays = [make(array) for array in arrays]

    def get_dataloader(self, train):
        i = slice(0, self.n * 4 // 5) if train else slice(self.n * 4 // 5, None)
        return self.get_tensorloader(self.arrays, train, i)


class RNNScratch(d2l.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.W_xh = parameter(num_inputs, num_hiddens, scale=sigma)
        self.W_hh = parameter(num_hiddens, num_hiddens, scale=sigma)
        self.b_h = parameter(num_hiddens, scale=0)

    def forward(self, inputs, state=None):
        outputs = []
        for X in inputs:
            past = 0 if state is None else d2l.matmul(state, self.W_hh)
            state = d2l.tanh(d2l.matmul(X, self.W_xh) + past + self.b_h)
            outputs.append(state)
        return outputs, state


class Stacked(d2l.Module):
    """Models from scratch in a list."""

    def __init__(self, num_inputs, num_hiddens, num_layers):
        super().__init__()
        self.save_hyperparameters()
        sizes = [num_inputs] + [num_hiddens] * (num_layers - 1)
        self.rnns = [RNNScratch(size, num_hiddens) for size in sizes]

    def forward(self, inputs, state=None):
        for rnn in self.rnns:
            outputs, state = rnn(inputs)
            inputs = d2l.stack(outputs, 0)
        return outputs, state


class LanguageModel(d2l.Classifier):
    def __init__(self, rnn, vocab_size, lr):
        super().__init__()
        self.save_hyperparameters()
        self.init_params()

    def init_params(self):
        self.W_hq = parameter(self.rnn.num_hiddens, self.vocab_size, scale=0.3)
        self.b_q = parameter(self.vocab_size, scale=0)

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=True)
        return loss

    def validation_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=False)

    def inputs(self, X, step):
        """Return the inputs of the recurrent layer, with the time as the first axis."""
        steps = d2l.expand_dims(d2l.transpose(d2l.concat([step] * X.shape[1], 1)), 2)
        symbols = one_hot(d2l.transpose(X), self.vocab_size)
        return d2l.concat((symbols, d2l.astype(steps, d2l.float32)), 2)

    def forward(self, X, step, state=None):
        outputs, _ = self.rnn(self.inputs(X, step), state)
        return d2l.stack([d2l.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)


class BlocksOfLayers(d2l.Classifier):
    """Blocks inside blocks, and a loss and an accuracy of its own."""

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) * 2

    def validation_step(self, batch):
        Y_hat = self(*batch[:-1])
        right = d2l.astype(d2l.argmax(Y_hat, 1), batch[-1].dtype) == batch[-1]
        self.plot("acc", d2l.reduce_mean(d2l.astype(right, d2l.float32)), train=False)


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        named = named_layers(layers)
        self.images = any(name == "conv" for name, *_ in named)
        self.net = self.join([self.make(*layer) for layer in named])

    def make(self, name, *args):
        layer = self.makers()[name](*args)
        if name == "embed":
            self.embedding = layer
        return layer


class Images(d2l.DataModule):
    """The digits as images, for loaders made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits, last = d2l.Digits(), package == "tensorflow"
        self.images = d2l.reshape(digits.X, (-1, 8, 8, 1) if last else (-1, 1, 8, 8))
        self.labels = digits.y

    def val_dataloader(self):
        return None


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.make_parts()
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(self.reverse(self.generator(noise)))
        loss = self.bce(self.critic(real), ones) + self.bce(fake, 0 * ones)
        loss = d2l.reduce_mean(loss)
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        fake = self.critic(self.generator(batch[1]))
        self.plot("fake", d2l.reduce_mean(fake), train=False)


class Inner(d2l.Module):
    def __init__(self):
        super().__init__()
        self.W = parameter(2, 2, plain=True)

    def forward(self, X):
        return d2l.matmul(X, self.W)


def container(layer):
    """Return a container of the framework that holds one layer."""
    if package == "torch":
        return framework.nn.Sequential(layer)
    if package == "tensorflow":
        return framework.keras.Sequential([layer])
    net = framework.gluon.nn.Sequential()
    net.add(layer)
    return net


class Everything(d2l.LinearRegressionScratch):
    """A model with all that can hold a parameter, and one tensor that is none."""

    def __init__(self):
        super().__init__(2, lr=0.1)
        self.inner, self.inners = Inner(), [Inner(), Inner()]
        self.net, self.tied = container(Inner()), self.inner.W
        self.listed = [self.w, [self.b, parameter(1, plain=True)]]
        self.text, self.constant = "a text", d2l.ones(2) / 2
        if package == "tensorflow":
            self.constant = framework.Variable(self.constant, trainable=False)

    def forward(self, X):
        for layer in self.net, self.inner, *self.inners:
            X = layer(X)
        return super().forward(X * self.constant) * self.listed[1][1]

    def trained(self):
        """Return the tensors to train, each once."""
        nested = self.net.layers if package == "tensorflow" else self.net
        inners = [self.inner, *self.inners, nested[0]]
        return [self.w, self.b, self.listed[1][1], *(inner.W for inner in inners)]

    def configure_optimizers(self):
        return d2l.Module.configure_optimizers(self)


def stacked():
    return LanguageModel(Stacked(11, 24, 2), 10, lr=1)


def rnn():
    return LanguageModel(RNNScratch(11, 32), 10, lr=2)


def regression():
    w = d2l.tensor([2, -3.4])
    return d2l.SyntheticRegressionData(w, b=4.2, num_val=64)


def cases(models: Any) -> list[Case]:
    """Return the cases that these frameworks share, with the models of one of them."""
    slow = package == "tensorflow"  # whose steps are not compiled in these tests
    counting = partial(Counting, num_steps=4, n=400) if slow else Counting
    image_layers = ("conv", 8), "norm", "relu", "flatten", 10
    dropout = partial(models.Layers, (64, "relu", 0.3, 10), "sgd", lr=0.05)
    norm = partial(models.Layers, image_layers, "sgd", lr=0.02)
    softmax = partial(models.SoftmaxScratch, 64, 10, lr=0.5)
    mlp = partial(MLPScratch, 64, 10, 32, lr=0.5)
    gru = partial(models.GRULanguageModel, 0.03 if slow else 0.02)
    decay = partial(models.WeightDecay, 1.5 if slow else 3, lr=0.01)
    return [
        Case("softmax", softmax, d2l.Digits, "val_acc", 0.8),
        Case("mlp", mlp, d2l.Digits, "val_acc", 0.8, 4),
        Case("dropout", dropout, d2l.Digits, "val_acc", 0.8),
        Case("batch norm", norm, models.Shuffled, "train_loss", 1),
        Case("own optimizer", models.OWN_OPTIMIZERS[0], d2l.Digits, "val_acc", 0.8),
        Case("rnn", rnn, counting, "val_ppl", 4 if slow else 2, 6),
        Case("gru", gru, counting, "val_ppl", 7 if slow else 1.5, 3 if slow else 6),
        Case("decay", decay, regression, "val_loss", 35 if slow else 15),
        Case("blocks", models.Blocks, d2l.Digits, "val_acc", 0.6, 5),
    ]
