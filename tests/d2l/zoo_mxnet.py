"""Models of Gluon that were not written for this library, each with its minibatches.

They keep state wherever Gluon lets them: in parameters without gradients, constants,
arrays in plain attributes, numbers of Python, and optimizers of their own. Sparse
gradients are missing: Gluon cannot make them for the arrays of NumPy.
"""

# mypy: disable-error-code="attr-defined,override,union-attr,operator,misc"

import math
from functools import partial
from typing import Any

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn, rnn
from zoo import OTHER, Entry

from d2l import mxnet as d2l

npx.set_np()
SIZES = 12, 12, 11, 10  # examples of the minibatches in an epoch
CLOSE = {"float32": 0.0, "float16": 0.0}  # to the loop: equal, bit by bit


# Minibatches


def batches(*items: Any) -> list:
    """Return minibatches of items that functions make of a size and a generator."""
    rng = onp.random.default_rng(7)
    return [tuple(item(n, rng) for item in items) for n in SIZES]


def reals(*shape: int) -> Any:
    return lambda n, rng: np.array(rng.normal(size=(n, *shape)), dtype="float32")


def numbers(limit: int, *shape: int) -> Any:
    return lambda n, rng: np.array(rng.integers(limit, size=(n, *shape)), dtype="int32")


vectors = partial(batches, reals(8), numbers(4))
images = partial(batches, reals(3, 8, 8), numbers(4))
sequences = partial(batches, reals(6, 8), numbers(4))
texts = partial(batches, numbers(16, 9))
noisy = partial(batches, reals(8), reals(4))


def dicts() -> list:
    return [{"x": x, "y": y} for x, y in vectors()]


def nested() -> list:
    return [((x, x[:, ::-1]), y) for x, y in vectors()]


# The loop to compare with


def sliced(item: Any, rows: slice) -> Any:
    """Return some rows of each array of a minibatch."""
    if isinstance(item, dict):
        return {key: sliced(value, rows) for key, value in item.items()}
    if isinstance(item, tuple):
        return tuple(sliced(value, rows) for value in item)
    return item[rows]


def split(batch: Any, parts: int) -> list:
    """Return parts of a minibatch, and the share of its examples in each."""
    items = list(batch.values()) if isinstance(batch, dict) else list(batch)
    n = len(items[-1])
    size = math.ceil(n / parts)
    return [
        (sliced(batch, slice(i, i + size)), min(size, n - i) / n)
        for i in range(0, n, size)
    ]


def add_gradients(optimizer: Any) -> None:
    """Let backward passes add to the gradients of what an optimizer changes."""
    if not isinstance(optimizer, gluon.Trainer):
        for array in optimizer.arrays:
            array.attach_grad("add")
        return
    for parameter in optimizer._params:
        if parameter.grad_req != "null":
            parameter.grad_req = "add"


def trained(model: Any, optimizers: list) -> list:
    """Return the arrays that optimizers change, in the order of the model."""
    arrays = []
    for optimizer in optimizers:
        if isinstance(optimizer, gluon.Trainer):
            parameters = [p for p in optimizer._params if p.grad_req != "null"]
            arrays += [p.data() for p in parameters]
        else:
            arrays += optimizer.arrays
    own = [id(p.data()) for p in model.collect_params().values()]
    places = {number: place for place, number in enumerate(own)}
    return sorted(arrays, key=lambda array: places.get(id(array), len(own)))


def bare_loop(
    entry: Entry, epochs: int, parts: int, clip: float, precision: str
) -> dict[str, onp.ndarray]:
    """Return the state after a loop that uses nothing of the library's trainer."""
    assert precision == "float32"
    model = entry.model()
    made = model.configure_optimizers()
    optimizers = made if isinstance(made, list) else [made]
    for optimizer in optimizers:
        add_gradients(optimizer)
    for batch in entry.batches() * epochs:
        for part, share in split(batch, parts):
            with autograd.record():
                loss = share * model.training_step(part)
            loss.backward()
        grads = [array.grad for array in trained(model, optimizers)]
        if clip:
            norm = np.sqrt(sum((grad**2).sum() for grad in grads))
            for grad in grads:
                grad *= np.minimum(1, clip / norm)
        for optimizer in optimizers:
            optimizer.step(1)
        for grad in grads:
            grad[:] = 0
    return state(model) | optimizer_state(model, optimizers)


# All of the state, found without the library

LIBRARY = "trainer", "board", "plot", "hparams"


def own_attributes(block: Any) -> dict[str, Any]:
    """Return the attributes of a block that are neither Gluon's nor the library's."""
    return {
        name: value
        for name, value in vars(block).items()
        if name == "_children" or not name.startswith("_") and name not in LIBRARY
    }


def leaves(model: Any) -> dict[str, Any]:
    """Return parameters, arrays and counters of a model by name, wherever they are."""
    found: dict[str, Any] = {}
    seen: set = set()

    def visit(name: str, value: Any) -> None:
        counter = isinstance(value, int | float) and name.endswith(".counter")
        if counter or isinstance(value, gluon.Parameter | np.ndarray):
            found[name] = value
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                visit(f"{name}.{i}", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(f"{name}.{key}", item)
        elif isinstance(value, nn.Block) and id(value) not in seen:
            seen.add(id(value))
            visit(name, own_attributes(value))

    visit("model", model)
    return found


def value_of(leaf: Any) -> onp.ndarray:
    """Return a copy of a parameter, an array or a number."""
    leaf = leaf.data(mx.cpu()) if isinstance(leaf, gluon.Parameter) else leaf
    return onp.array(leaf.asnumpy() if hasattr(leaf, "asnumpy") else leaf)


def state(model: Any) -> dict[str, onp.ndarray]:
    """Return the values of the parameters, arrays and counters of a model."""
    return {name: value_of(leaf) for name, leaf in leaves(model).items()}


def state_before(entry: Entry) -> dict[str, onp.ndarray]:
    """Return the state that a new model begins with."""
    model = entry.model()
    model.training_step(entry.batches()[0])  # makes lazy parameters
    return state(model)


def optimizer_state(model: Any, optimizers: list) -> dict[str, onp.ndarray]:
    """Return what optimizers keep for each parameter, and their counters, by name."""
    names = {id(leaf): name for name, leaf in leaves(model).items()}
    kept: dict[str, Any] = {}
    for i, optimizer in enumerate(optimizers):
        if isinstance(optimizer, gluon.Trainer):
            kept[f"{i}.updates"] = optimizer.optimizer.num_update
            kept[f"{i}.rate"] = optimizer.learning_rate
            states = optimizer._updaters[0].states
            own = {names[id(optimizer._params[k])]: states[k] for k in states}
        else:
            kept[f"{i}.steps"] = optimizer.steps
            own = {str(j): array for j, array in enumerate(optimizer.velocity)}
        for name, state in own.items():
            arrays = state if isinstance(state, tuple) else (state,)
            kept |= {f"{i}.{name}.{j}": array for j, array in enumerate(arrays)}
    values = kept.items()
    return {f"optimizer.{k}": value_of(v) for k, v in values if v is not None}


def state_of(trainer: Any) -> dict[str, onp.ndarray]:
    """Return the state of a model and of its optimizers after training."""
    optimizers = getattr(trainer.optim, "optimizers", [trainer.optim])
    return state(trainer.model) | optimizer_state(trainer.model, optimizers)


# Models


class Model(d2l.Module):
    """A model that says how it is trained, and plots nothing."""

    def __init__(self):
        super().__init__()
        self.board.display = False
        with mx.name.NameManager():  # numbers the layers from 0 on; see `Renamed`
            self.build()
        self.initialize(init.Xavier())

    def build(self) -> None:
        """Make the layers."""

    def training_step(self, batch: Any) -> Any:
        *inputs, y = batch
        return self.loss(self(*inputs), y)

    def loss(self, y_hat: Any, y: Any) -> Any:
        return gluon.loss.SoftmaxCrossEntropyLoss()(y_hat, y).mean()

    def configure_optimizers(self) -> Any:
        return sgd(self.collect_params())


def sgd(params: Any, rate: float = 0.05, **options: Any) -> gluon.Trainer:
    settings = {"learning_rate": rate, "momentum": 0.9, **options}
    return gluon.Trainer(params, "sgd", settings)


def adam(params: Any) -> gluon.Trainer:
    return gluon.Trainer(params, "adam", {"learning_rate": 0.01})


def layers(*blocks: Any, kind: type = nn.HybridSequential) -> Any:
    """Return blocks, one after the other."""
    net = kind()
    net.add(*blocks)
    return net


class Perceptron(Model):
    """Lazy layers."""

    def build(self) -> None:
        self.net = layers(nn.Dense(16, activation="tanh"), nn.Dense(4))


class Renamed(Model):
    """Layers whose names another seed changes, as other cells before it would.

    Gluon numbers all layers of a process, and sorts layer 10 before layer 9.
    """

    def build(self) -> None:
        first = 8 + 3 * (onp.random.randint(100) % 2)
        names = [f"layer{first + i}_" for i in range(3)]
        self.net = layers(*(nn.Dense(8, prefix=name) for name in names))


class Static(Perceptron):
    """Compiled by its author, with memory of its own."""

    def build(self) -> None:
        super().build()
        self.net.hybridize(static_alloc=True, static_shape=True)


class Doubling(nn.HybridBlock):
    """A layer that cannot be compiled, because its program depends on its weights."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(16)

    def forward(self, X: Any) -> Any:
        H = self.dense(X)
        return 2 * H if float(abs(self.dense.weight.data()).max()) < 2 else H


class Uncompiled(Model):
    def build(self) -> None:
        self.net = layers(Doubling(), nn.Dense(4), kind=nn.Sequential)


class Convolutions(Model):
    def build(self) -> None:
        self.net = layers(
            *(nn.Conv2D(6, 3, padding=1, activation="relu"), nn.MaxPool2D()),
            *(nn.Conv2D(8, 3, in_channels=6), nn.LayerNorm(1), nn.Activation("relu")),
            *(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(4)),
        )

    def configure_optimizers(self) -> Any:
        return adam(self.collect_params())


class BatchNorm(Model):
    def build(self) -> None:
        self.first = layers(nn.Conv2D(6, 3), nn.BatchNorm())
        self.skip, self.last = nn.Conv2D(6, 3, padding=1), nn.Dense(4)

    def forward(self, X: Any) -> Any:
        X = self.first(X)
        return self.last((X + self.skip(npx.relu(X))).mean((2, 3)))


class Recurrent(Model):
    """A recurrent classifier of sequences, of a given kind."""

    kind: Any = rnn.LSTM

    def build(self) -> None:
        self.layers, self.last = self.kind(12, 2, layout="NTC"), nn.Dense(4)

    def forward(self, X: Any) -> Any:
        return self.last(self.layers(X)[:, -1])


class Gated(Recurrent):
    kind = rnn.GRU


class Unrolled(Model):
    """A loop of Python over the words, with the same layers for each."""

    def build(self) -> None:
        self.inputs, self.memory, self.last = (nn.Dense(n) for n in (12, 12, 4))

    def forward(self, X: Any) -> Any:
        H = np.zeros((len(X), 12), ctx=X.ctx)
        for i in range(X.shape[1]):
            H = np.tanh(self.inputs(X[:, i]) + self.memory(H))
        return self.last(H)


def next_words(logits: Any, words: Any) -> Any:
    """Return the loss of logits of all words but the first."""
    return gluon.loss.SoftmaxCrossEntropyLoss()(logits, words[:, 1:]).mean()


class Tied(Model):
    """A language model with one matrix for inputs and outputs."""

    def build(self) -> None:
        self.embedding, self.layers = nn.Embedding(16, 12), rnn.GRU(12, layout="NTC")
        options = {"flatten": False, "in_units": 12, "use_bias": False}
        self.last = nn.Dense(16, params=self.embedding.params, **options)

    def training_step(self, batch: Any) -> Any:
        words = batch[0]
        logits = self.last(self.layers(self.embedding(words[:, :-1])))
        return next_words(logits, words)


class Attention(nn.HybridBlock):
    """Causal attention with two heads, whose mask is a constant."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Dense(48, flatten=False)
        self.out = nn.Dense(16, flatten=False)
        hidden = -1e4 * onp.triu(onp.ones((1, 8, 8)), 1)
        self.mask = self.params.get_constant("mask", np.array(hidden, dtype="float32"))

    def hybrid_forward(self, F: Any, X: Any, mask: Any) -> Any:
        heads = F.np.transpose(F.np.reshape(self.qkv(X), (-1, 8, 6, 8)), (2, 0, 1, 3))
        Q, K, V = (F.np.reshape(head, (-1, 8, 8)) for head in F.np.split(heads, 3))
        scores = F.npx.batch_dot(Q, K, transpose_b=True) / 8**0.5 + mask
        H = F.npx.batch_dot(F.npx.softmax(scores), V)
        H = F.np.transpose(F.np.reshape(H, (2, -1, 8, 8)), (1, 2, 0, 3))
        return self.out(F.np.reshape(H, (-1, 8, 16)))


class GPT(Model):
    """A small Transformer that decays only its matrices."""

    def build(self) -> None:
        self.embedding, self.positions = nn.Embedding(16, 16), nn.Embedding(8, 16)
        self.places = self.params.get_constant("places", np.arange(8))
        self.attention, self.norm = Attention(), nn.LayerNorm()
        self.mlp = layers(
            nn.LayerNorm(),
            nn.Dense(32, flatten=False),
            nn.GELU(),
            nn.Dense(16, flatten=False),
        )

    def training_step(self, batch: Any) -> Any:
        X = self.embedding(batch[0][:, :-1]) + self.positions(self.places.data())
        X = X + self.attention(self.norm(X))
        X = X + self.mlp(X)
        W, options = self.embedding.weight.data(), {"no_bias": True, "flatten": False}
        logits = npx.fully_connected(X, W, num_hidden=16, **options)
        return next_words(logits, batch[0])

    def configure_optimizers(self) -> Any:
        self.collect_params(".*(bias|gamma|beta)").setattr("wd_mult", 0)
        return sgd(self.collect_params(), wd=0.1)


class Bag(Model):
    """The sum of the vectors of words."""

    def build(self) -> None:
        self.embedding, self.last = nn.Embedding(16, 8), nn.Dense(4)

    def training_step(self, batch: Any) -> Any:
        words = batch[0]
        H = self.embedding(words[:, :-1]).sum(1)
        return self.loss(self.last(H), words[:, -1] % 4)

    def configure_optimizers(self) -> Any:
        return gluon.Trainer(self.collect_params(), "adagrad", {"learning_rate": 0.1})


class Variational(Model):
    """A variational autoencoder, which draws noise in each step."""

    def build(self) -> None:
        self.encoder, self.decoder = nn.Dense(6), nn.Dense(8)

    def training_step(self, batch: Any) -> Any:
        X = batch[0]
        mean, log_var = np.split(self.encoder(X), 2, 1)
        noise = np.random.normal(size=mean.shape, ctx=X.ctx)
        Y = self.decoder(mean + noise * np.exp(0.5 * log_var))
        divergence = (mean**2 + np.exp(log_var) - 1 - log_var).sum(1).mean() / 2
        return ((Y - X) ** 2).mean() + 0.1 * divergence


class Dropping(Model):
    """Masks in each step, and a rate that differs from layer to layer."""

    def build(self) -> None:
        self.net = layers(nn.Dense(16, activation="relu"), nn.Dropout(0.3), nn.Dense(4))

    def configure_optimizers(self) -> Any:
        self.net[2].collect_params().setattr("lr_mult", 2)
        return adam(self.collect_params())


class Gan(Model):
    """Two networks with an optimizer each, and one loss for both."""

    def build(self) -> None:
        self.maker = layers(nn.Dense(16, activation="relu"), nn.Dense(8))
        self.judge = layers(nn.Dense(16, activation="relu"), nn.Dense(1))

    def frozen_judge(self, X: Any) -> Any:
        first, last = self.judge
        W, b, w, c = (
            p.data().detach()
            for p in (first.weight, first.bias, last.weight, last.bias)
        )
        H = npx.relu(npx.fully_connected(X, W, b, num_hidden=16))
        return npx.fully_connected(H, w, c, num_hidden=1)

    def training_step(self, batch: Any) -> Any:
        real, noise = batch
        fake = self.maker(noise)
        judged = -self.judge(real), self.judge(fake.detach()), -self.frozen_judge(fake)
        return sum(npx.activation(Y, "softrelu").mean() for Y in judged)

    def configure_optimizers(self) -> Any:
        return [adam(self.maker.collect_params()), sgd(self.judge.collect_params())]


class Backbone(Model):
    """Only the last layer is trained; the others have statistics that stay."""

    def build(self) -> None:
        norm = nn.BatchNorm(use_global_stats=True)
        self.body = layers(nn.Dense(16), norm, nn.Activation("relu"))
        self.body.collect_params().setattr("grad_req", "null")
        self.last = nn.Dense(4)

    def forward(self, X: Any) -> Any:
        return self.last(self.body(X))

    def configure_optimizers(self) -> Any:
        return adam(self.last.collect_params())


class Untrained(Backbone):
    """The optimizer does not get the first layers, which have gradients."""

    def build(self) -> None:
        self.body, self.last = nn.Dense(16, activation="relu"), nn.Dense(4)


class Distilled(Model):
    """A student of a frozen teacher."""

    def build(self) -> None:
        self.net, self.teacher = nn.Dense(4), nn.Dense(4)
        self.teacher.collect_params().setattr("grad_req", "null")

    def training_step(self, batch: Any) -> Any:
        X = batch[0]
        aim = npx.softmax(self.teacher(X))
        return -(aim * npx.log_softmax(self.net(X))).sum(1).mean()


class Averaged(Model):
    """A teacher whose weights are a moving average of those that are trained."""

    def build(self) -> None:
        self.net, self.teacher = nn.Dense(4, in_units=8), nn.Dense(4, in_units=8)
        self.teacher.collect_params().setattr("grad_req", "null")

    def training_step(self, batch: Any) -> Any:
        X, y = batch
        aim = self.teacher(X)
        with autograd.pause():
            for name in "weight", "bias":
                old = getattr(self.teacher, name).data()
                old[:] = 0.9 * old + 0.1 * getattr(self.net, name).data()
        Y = self.net(X)
        return self.loss(Y, y) + ((Y - aim) ** 2).mean()


class Hidden(Averaged):
    """The same, with the teacher in a list, where Gluon does not look for it."""

    def build(self) -> None:
        self.net, self.teachers = nn.Dense(4, in_units=8), [nn.Dense(4, in_units=8)]
        self.teacher.initialize(init.Xavier())

    @property
    def teacher(self) -> Any:
        return self.teachers[0]


class Listed(Model):
    """Parameters in a list, which Gluon trains but does not save."""

    def build(self) -> None:
        self.net = nn.Dense(4)
        shapes = (8, 16), (16, 8)
        self.weights = [
            self.params.get(f"weight{i}", shape=shape) for i, shape in enumerate(shapes)
        ]

    def forward(self, X: Any) -> Any:
        W, V = (weight.data() for weight in self.weights)
        return self.net(np.dot(np.tanh(np.dot(X, W)), V))


class Centres(Model):
    """The loss reads a parameter without a gradient, which the step assigns."""

    def build(self) -> None:
        self.net, self.last = nn.Dense(6), nn.Dense(4)
        options = {"shape": (4, 6), "init": init.Normal(1), "grad_req": "null"}
        self.centres = self.params.get("centres", **options)

    def training_step(self, batch: Any) -> Any:
        X, y = batch
        H, centres = self.net(X), self.centres.data()
        nearest = centres[y]
        with autograd.pause():
            picked = npx.one_hot(y, 4)
            means = np.dot(picked.T, H) / np.maximum(1, picked.sum(0))[:, None]
            centres[:] = 0.9 * centres + 0.1 * means
        return self.loss(self.last(H), y) + ((H - nearest) ** 2).mean()


class Codebook(Model):
    """The loss reads an array in a plain attribute that each step makes anew."""

    def build(self) -> None:
        self.net, self.codes = nn.Dense(6), np.random.normal(size=(5, 6))

    def training_step(self, batch: Any) -> Any:
        H = self.net(batch[0])
        with autograd.pause():
            nearest = ((H[:, None] - self.codes) ** 2).sum(2).argmin(1)
            picked = npx.one_hot(nearest, 5)
            means = np.dot(picked.T, H) / np.maximum(1, picked.sum(0))[:, None]
            aim = self.codes[nearest]
            self.codes = 0.9 * self.codes + 0.1 * means
        return ((H - aim) ** 2).mean() + (H**2).mean()


class Queue(Model):
    """Outputs of earlier minibatches in a plain array, with a place that moves on."""

    def build(self) -> None:
        self.net = nn.Dense(6)
        self.keys = np.random.normal(size=(30, 6))
        self.place = np.zeros((1,), dtype="int32")

    def training_step(self, batch: Any) -> Any:
        A = self.net(batch[0])
        with autograd.pause():
            keys = self.keys.copy()
            rows = (self.place + np.arange(len(A), dtype="int32")) % len(keys)
            self.keys[rows] = self.net(batch[0] + 0.1)
            self.place += len(A)
        scores = np.dot(A, keys.T)
        return npx.log_softmax(scores).mean() + (scores**2).mean() / 10


class Scaled(Perceptron):
    """A running scale in a parameter without a gradient."""

    def build(self) -> None:
        super().build()
        options = {"shape": (8,), "init": "ones", "grad_req": "null"}
        self.scale = self.params.get("scale", **options)

    def forward(self, X: Any) -> Any:
        with autograd.pause():
            scale = self.scale.data()
            scale[:] = 0.9 * scale + 0.1 * abs(X).mean(0)
        return self.net(X / scale.copy())


class Constant(Perceptron):
    """A random constant in a dict, which is no parameter, and Adam."""

    def build(self) -> None:
        super().build()
        self.constants = {"scale": np.random.uniform(0.5, 1.5, size=8)}

    def forward(self, X: Any) -> Any:
        return self.net(X * self.constants["scale"])

    def configure_optimizers(self) -> Any:
        return adam(self.collect_params())


class Annealed(Perceptron):
    """The loss depends on how many steps a number of Python has counted."""

    def build(self) -> None:
        super().build()
        self.counter = 0

    def training_step(self, batch: Any) -> Any:
        self.counter += 1
        return super().training_step(batch) / self.counter


class Counting(Perceptron):
    """The same, but the number is an array in a plain attribute."""

    def build(self) -> None:
        super().build()
        self.steps = np.zeros((1,))

    def training_step(self, batch: Any) -> Any:
        with autograd.pause():
            self.steps += 1
        return super().training_step(batch) / self.steps.copy()


class Momentum:
    """An optimizer that is not Gluon's, with arrays and a number of its own."""

    def __init__(self, arrays: list):
        self.arrays, self.steps = arrays, 0
        self.velocity = [np.zeros_like(array) for array in arrays]

    def step(self, _: Any) -> None:
        self.steps += 1
        for array, velocity in zip(self.arrays, self.velocity, strict=True):
            velocity[:] = 0.9 * velocity + array.grad
            array -= 0.1 / self.steps * velocity


class Scratch(Model):
    """Weights in plain attributes."""

    def build(self) -> None:
        self.weights = [np.random.normal(size=(8, 4)), np.zeros((4,))]
        for weight in self.weights:
            weight.attach_grad()

    def forward(self, X: Any) -> Any:
        return np.dot(X, self.weights[0]) + self.weights[1]

    def configure_optimizers(self) -> Any:
        return Momentum(self.weights)


class Mixed(Scratch):
    """Layers and weights in plain attributes, with an optimizer each."""

    def build(self) -> None:
        super().build()
        self.net = nn.Dense(8, activation="tanh")

    def forward(self, X: Any) -> Any:
        return super().forward(self.net(X))

    def configure_optimizers(self) -> Any:
        return [adam(self.net.collect_params()), Momentum(self.weights)]


class Tasks(Model):
    """Two losses whose weights are trained, too."""

    def build(self) -> None:
        self.net, self.first, self.second = nn.Dense(16), nn.Dense(4), nn.Dense(1)
        self.scales = self.params.get("scales", shape=(2,), init="zeros")

    def training_step(self, batch: Any) -> Any:
        X, y = batch
        H, scales = npx.relu(self.net(X)), self.scales.data()
        error = ((self.second(H)[:, 0] - X.sum(1)) ** 2).mean()
        losses = np.stack([self.loss(self.first(H), y), error])
        return (np.exp(-scales) * losses + scales).sum()


class Remembering(Model):
    """A memory that each minibatch gets from the one before it."""

    def build(self) -> None:
        self.inputs, self.state, self.last = (nn.Dense(n) for n in (12, 12, 4))
        self.memory = np.zeros((1, 12))

    def forward(self, X: Any) -> Any:
        H = np.tanh(self.inputs(X) + self.state(self.memory))
        self.memory = H[-1:].detach()
        return self.last(H)


class Lazy(Remembering):
    """A memory that the first minibatch makes."""

    def build(self) -> None:
        super().build()
        self.memory = None

    def forward(self, X: Any) -> Any:
        if self.memory is None:
            self.memory = np.zeros((1, 12), ctx=X.ctx)
        return super().forward(X)


class Carrying(Model):
    """A pair of memories, which each minibatch gets from the one before it."""

    def build(self) -> None:
        self.inputs, self.state, self.last = (nn.Dense(n) for n in (12, 12, 4))
        self.memories = np.zeros((1, 12)), np.zeros((1, 12))

    def forward(self, X: Any) -> Any:
        fast, slow = self.memories
        H = np.tanh(self.inputs(X) + self.state(fast + slow))
        new = H.mean(0, keepdims=True).detach()
        self.memories = new, 0.9 * slow + 0.1 * new
        return self.last(H)


class Double(Perceptron):
    """Numbers of 64 bits."""

    def __init__(self):
        super().__init__()
        self.net(np.zeros((1, 8)))
        self.cast("float64")

    def forward(self, X: Any) -> Any:
        return self.net(X.astype("float64"))


class Layered(Perceptron):
    """An optimizer whose rate depends on the norms of a layer."""

    def configure_optimizers(self) -> Any:
        return gluon.Trainer(self.collect_params(), "lamb", {"learning_rate": 0.05})


class Numbered(Perceptron):
    """The number of steps is a parameter that holds a whole number."""

    def build(self) -> None:
        super().build()
        options = {"dtype": "int32", "init": "zeros", "grad_req": "null"}
        self.steps = self.params.get("steps", shape=(1,), **options)

    def training_step(self, batch: Any) -> Any:
        with autograd.pause():
            steps = self.steps.data()
            steps += 1
        return super().training_step(batch) / steps.astype("float32")


class Nesterov(Perceptron):
    """An optimizer that keeps a product of its rates in Python."""

    def configure_optimizers(self) -> Any:
        return gluon.Trainer(self.collect_params(), "nadam", {"learning_rate": 0.01})


class Scheduled(Perceptron):
    """A rate that falls, of which the optimizer keeps count in Python."""

    def configure_optimizers(self) -> Any:
        falling = mx.lr_scheduler.FactorScheduler(2, 0.7)
        return sgd(self.collect_params(), 0.2, lr_scheduler=falling)


class Named(Perceptron):
    """Minibatches that are dicts."""

    def training_step(self, batch: Any) -> Any:
        return self.loss(self(batch["x"]), batch["y"])


class Paired(Perceptron):
    """Minibatches that are tuples within tuples."""

    def training_step(self, batch: Any) -> Any:
        (one, other), y = batch
        return self.loss(self.net(one) + self.net(other), y)


class Contrastive(Model):
    """Each example is compared with all others of the minibatch."""

    def build(self) -> None:
        self.net = nn.Dense(6)

    def training_step(self, batch: Any) -> Any:
        views = self.net(batch[0]), self.net(batch[0] + 0.1)
        A, B = (Z / np.sqrt((Z**2).sum(1, keepdims=True)) for Z in views)
        return self.loss(5 * np.dot(A, B.T), np.arange(len(A), dtype="int32"))


ZOO = [
    Entry("perceptron", Perceptron, vectors, thin=True),
    Entry("renamed", Renamed, vectors),
    Entry("static", Static, vectors),
    Entry("uncompiled", Uncompiled, vectors),
    Entry("convolutions", Convolutions, images),
    Entry("batch norm", BatchNorm, images, OTHER, thin=True),
    Entry("LSTM", Recurrent, sequences),
    Entry("GRU", Gated, sequences),
    Entry("unrolled", Unrolled, sequences),
    Entry("tied", Tied, texts),
    Entry("GPT", GPT, texts, thin=True),
    Entry("bag", Bag, texts),
    Entry("VAE", Variational, vectors, OTHER, thin=True),
    Entry("dropout", Dropping, vectors, OTHER),
    Entry("GAN", Gan, noisy, thin=True),
    Entry("frozen", Backbone, vectors),
    Entry("not trained", Untrained, vectors),
    Entry("frozen teacher", Distilled, vectors),
    Entry("mean teacher", Averaged, vectors),
    Entry("hidden teacher", Hidden, vectors),
    Entry("listed", Listed, vectors),
    Entry("centres", Centres, vectors, OTHER),
    Entry("codebook", Codebook, vectors, OTHER),
    Entry("queue", Queue, vectors, OTHER),
    Entry("scale", Scaled, vectors, OTHER),
    Entry("constant", Constant, vectors, thin=True),
    Entry("number", Annealed, vectors, restored=False),
    Entry("plain counter", Counting, vectors),
    Entry("numbered", Numbered, vectors),
    Entry("memory", Remembering, vectors, OTHER),
    Entry("lazy memory", Lazy, vectors, OTHER, restored=False),
    Entry("memories", Carrying, vectors, OTHER),
    Entry("scratch", Scratch, vectors),
    Entry("mixed", Mixed, vectors),
    Entry("tasks", Tasks, vectors),
    Entry("double", Double, vectors),
    Entry("LAMB", Layered, vectors),
    Entry("Nadam", Nesterov, vectors),
    Entry("schedule", Scheduled, vectors),
    Entry("dicts", Named, dicts),
    Entry("nested", Paired, nested),
    Entry("contrastive", Contrastive, vectors, OTHER),
]

# The rows of the table in the appendix, and the models that show them.
STATES = {
    "parameters": "perceptron",
    "running statistics of batch normalization": "batch norm",
    "an array in a plain attribute, constant": "constant",
    "an array in a plain attribute, made anew by each step": "codebook",
    "an array in a plain attribute, trained": "scratch",
    "parameters of `params.get` in a list": "listed",
    "blocks in a list": "hidden teacher",
    "a number of Python": "number",
}
