"""Models of Keras that were not written for this library, each with its minibatches.

They keep state wherever Keras lets them: in layers, in variables with and without
names, in plain attributes, and in variables that the loss reads and the step assigns.
"""

# The attribute keras of TensorFlow is made when asked, so mypy does not know it.
# mypy: disable-error-code="name-defined,attr-defined,override,union-attr,operator"

import math
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from zoo import OTHER, Entry

from d2l import tensorflow as d2l

keras = tf.keras
layers = keras.layers
SIZES = 12, 12, 11, 10  # examples of the minibatches in an epoch
# The graph of a trainer may round at other places than that of a loop.
CLOSE = {"float32": 1e-5, "bfloat16": 0.05, "float16": 0.01}


# Minibatches


def batches(*items: Any) -> list:
    """Return minibatches of items that functions make of a size and a generator."""
    rng = np.random.default_rng(7)
    return [tuple(item(n, rng) for item in items) for n in SIZES]


def reals(*shape: int) -> Any:
    return lambda n, rng: tf.constant(rng.normal(size=(n, *shape)), tf.float32)


def numbers(limit: int, *shape: int) -> Any:
    return lambda n, rng: tf.constant(rng.integers(limit, size=(n, *shape)), tf.int32)


vectors = partial(batches, reals(8), numbers(4))
images = partial(batches, reals(8, 8, 3), numbers(4))
sequences = partial(batches, reals(6, 8), numbers(4))
texts = partial(batches, numbers(16, 9))
pairs = partial(batches, reals(8), reals(5), numbers(4))
noisy = partial(batches, reals(8), reals(4))


def dicts() -> list:
    return [{"x": x, "y": y} for x, y in vectors()]


# The loop to compare with


def split(batch: Any, parts: int) -> list:
    """Return parts of a minibatch, and the share of its examples in each."""
    n = len(tf.nest.flatten(batch)[0])
    size = math.ceil(n / parts)
    return [
        (
            tf.nest.map_structure(lambda a, i=i: a[i : i + size], batch),
            min(size, n - i) / n,
        )
        for i in range(0, n, size)
    ]


def set_precision(model: Any, precision: str) -> None:
    """Let the layers compute in 16 bits; one with plain variables stays as it is."""
    for layer in list(model._flatten_layers()):
        plain = layer is model and plain_variables(model)
        if precision != "float32" and not plain:
            layer.dtype_policy = f"mixed_{precision}"


def plain_variables(model: Any) -> bool:
    """Return whether a model has a variable that Keras does not know."""
    known = len({id(v) for v in keras.Model.variables.fget(model)})
    return len([name for name in state(model) if "Generator" not in name]) > known


def bare_loop(
    entry: Entry, epochs: int, parts: int, clip: float, precision: str
) -> dict[str, np.ndarray]:
    """Return the state after a loop that uses nothing of the library's trainer."""
    model = entry.model()
    model.__dict__["plot"] = lambda *args, **options: None
    model.training = True
    set_precision(model, precision)
    made, scale = model.configure_optimizers(), 1.0
    if precision == "float16":
        made = keras.mixed_precision.LossScaleOptimizer(made)
    optimizers = made if isinstance(made, list) else [(made, model)]

    @tf.function(autograph=False)
    def gradients(part: Any, scale: Any) -> list:
        with tf.GradientTape() as tape:
            loss = scale * tf.reshape(model.step(part), ())
        found = tape.gradient(loss, model.trainable_variables)
        return [g if g is None else tf.convert_to_tensor(g) for g in found]

    for batch in entry.batches() * epochs:
        if precision == "float16":
            scale = made.scale_loss(1.0)
        sums: list = []
        for part, share in split(batch, parts):
            new = [g if g is None else share * g for g in gradients(part, scale)]
            old = sums or [None] * len(new)
            sums = [b if a is None else a + b for a, b in zip(old, new, strict=True)]
        if clip:
            norm = tf.linalg.global_norm([g for g in sums if g is not None])
            factor = tf.minimum(1.0, clip * scale / norm)
            sums = [g if g is None else factor * g for g in sums]
        by_id = {id(v): g for v, g in zip(model.trainable_variables, sums, strict=True)}
        for optimizer, layer in optimizers:
            own = layer.trainable_variables
            grads = [by_id[id(v)] for v in own]
            optimizer.apply_gradients(zip(grads, own, strict=True))
    return state(model) | optimizer_state([o for o, _ in optimizers])


# All of the state, found without the library


def state(model: Any) -> dict[str, np.ndarray]:
    """Return the variables and the counters of a model by name, wherever they are."""
    found: dict[str, np.ndarray] = {}
    seen: dict[int, Any] = {}  # keeps what has been seen, so that no other gets its id
    owners = layers.Layer, keras.random.SeedGenerator, tf.random.Generator

    def visit(name: str, value: Any) -> None:
        if isinstance(value, int | float):
            if name.endswith(".counter"):
                found[name] = np.array(value)
            return
        if id(value) in seen:
            return
        seen[id(value)] = value
        if isinstance(value, (tf.Variable, keras.Variable)):
            found[name] = value.numpy()
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                visit(f"{name}.{i}", item)
        elif isinstance(value, dict):
            for key, item in [*value.items()]:
                visit(f"{name}.{key}", item)
        elif isinstance(value, owners):
            kind = "" if isinstance(value, layers.Layer) else type(value).__name__
            own = {k: v for k, v in vars(value).items() if k not in LIBRARY}
            visit(name + kind, own)

    visit("model", model)
    return found


LIBRARY = "trainer", "board", "plot", "hparams"


def state_before(entry: Entry) -> dict[str, np.ndarray]:
    """Return the state that a new model begins with."""
    model = entry.model()
    model.__dict__["plot"] = lambda *args, **options: None
    model.training = True
    tf.function(model.step, autograph=False).get_concrete_function(entry.batches()[0])
    return state(model)


def optimizer_state(optimizers: Any) -> dict[str, np.ndarray]:
    """Return the variables that optimizers keep."""
    return {
        f"optimizer.{i}.{j}": v.numpy()
        for i, optimizer in enumerate(optimizers)
        for j, v in enumerate(optimizer.variables)
    }


def state_of(trainer: Any) -> dict[str, np.ndarray]:
    """Return the state of a model and of its optimizers after training."""
    optimizers = [o for o, _ in getattr(trainer.optim, "pairs", [(trainer.optim, 0)])]
    return state(trainer.model) | optimizer_state(optimizers)


# Models


def cross_entropy(logits: Any, labels: Any) -> tf.Tensor:
    logits = tf.cast(logits, tf.float32)
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


def square(X: Any) -> tf.Tensor:
    """Return the mean square in 32 bits."""
    return tf.reduce_mean(tf.cast(X, tf.float32) ** 2)


class Model(d2l.Module):
    """A model that trains by the training step of the library, or by one of its own."""

    def __init__(self):
        super().__init__()
        self.board.display = False
        self.make()

    def make(self) -> None:
        """Make the layers."""

    def step(self, batch: Any) -> tf.Tensor:
        """Return the loss as Keras's `fit` does, or as a training step of its own."""
        if type(self).training_step is not d2l.Module.training_step:
            return self.training_step(batch)
        loss = self.loss(self(*batch[:-1]), batch[-1])
        return loss + sum(tf.cast(own, tf.float32) for own in self.losses)

    def run(self, layer: Any, X: Any) -> tf.Tensor:
        """Return the output of a layer in the mode of the model."""
        return layer(X, training=self.training)

    def loss(self, y_hat: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return cross_entropy(y_hat, y)

    def configure_optimizers(self) -> Any:
        return keras.optimizers.SGD(0.05, momentum=0.9)


class Perceptron(Model):
    def make(self) -> None:
        self.net = keras.Sequential(
            [layers.Dense(16, activation="tanh"), layers.Dense(4)]
        )


class Convolutions(Model):
    """A functional model with a shortcut."""

    def make(self) -> None:
        X = keras.Input((8, 8, 3))
        H = layers.Conv2D(6, 3, padding="same", activation="relu")(X)
        H = layers.GroupNormalization(2)(layers.Conv2D(6, 3, padding="same")(H) + H)
        H = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(H))
        self.net = keras.Model(X, layers.Dense(4)(H))

    def configure_optimizers(self) -> Any:
        return keras.optimizers.Adam(0.01)


class BatchNorm(Model):
    def make(self) -> None:
        self.net = keras.Sequential(
            [
                *(layers.Conv2D(6, 3), layers.BatchNormalization(momentum=0.9)),
                *(layers.ReLU(), layers.GlobalAveragePooling2D(), layers.Dense(4)),
            ]
        )


class Unnamed(layers.Layer):
    """A running scale in a variable without a name."""

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(
            shape=shape[-1:], initializer="ones", trainable=False
        )

    def call(self, X: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        if training:
            new = tf.reduce_mean(tf.abs(tf.cast(X, tf.float32)), 0)
            self.scale.assign(0.9 * tf.cast(self.scale, tf.float32) + 0.1 * new)
        return X / tf.cast(self.scale, X.dtype)


class Scaled(Model):
    def make(self) -> None:
        self.net = keras.Sequential([Unnamed(), layers.Dense(16), layers.Dense(4)])


class Codebook(Model):
    """The loss reads codes without a name that each step moves."""

    def make(self) -> None:
        self.encoder = layers.Dense(6)
        self.codes = self.add_weight(
            shape=(5, 6), initializer="random_normal", trainable=False
        )

    def training_step(self, batch: Any) -> tf.Tensor:
        H = tf.cast(self.encoder(batch[0]), tf.float32)
        codes = tf.convert_to_tensor(self.codes)
        squares = tf.reduce_sum((H[:, None] - codes) ** 2, 2)
        picked = tf.one_hot(tf.argmin(squares, 1), 5)
        loss = square(H - picked @ codes)
        counts = tf.maximum(tf.reduce_sum(picked, 0), 1)[:, None]
        means = tf.matmul(picked, tf.stop_gradient(H), transpose_a=True) / counts
        self.codes.assign(0.9 * codes + 0.1 * means)
        return loss + square(H)


class Regularized(Model):
    """Penalties of weights, of activities, and of a layer of its own."""

    def make(self) -> None:
        class Penalty(layers.Layer):
            def call(self, X: tf.Tensor) -> tf.Tensor:
                self.add_loss(0.1 * square(X))
                return X

        self.net = keras.Sequential(
            [
                layers.Dense(16, kernel_regularizer=keras.regularizers.L2(0.1)),
                Penalty(),
                layers.Dense(4, activity_regularizer=keras.regularizers.L2(0.1)),
            ]
        )


class Decayed(Model):
    """A loss that reads the penalties of its layers itself."""

    def make(self) -> None:
        l2 = keras.regularizers.L1L2(0.01, 0.1)
        self.net = layers.Dense(4, kernel_regularizer=l2)

    def loss(self, y_hat: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return cross_entropy(y_hat, y) + self.net.losses

    def step(self, batch: Any) -> tf.Tensor:
        return self.loss(self(batch[0]), batch[1])


class Recurrent(Model):
    """A recurrent classifier of sequences, of a given kind."""

    kind: Any = layers.LSTM

    def make(self) -> None:
        self.net = keras.Sequential([self.kind(12), layers.Dense(4)])


class Gated(Recurrent):
    kind = layers.GRU


class Tied(Model):
    """A language model with one matrix for inputs and outputs."""

    def make(self) -> None:
        self.embedding = layers.Embedding(16, 12)
        self.middle = layers.GRU(12, return_sequences=True)

    def training_step(self, batch: Any) -> tf.Tensor:
        X, y = batch[0][:, :-1], batch[0][:, 1:]
        H = self.run(self.middle, self.embedding(X))
        W = tf.cast(tf.convert_to_tensor(self.embedding.embeddings), H.dtype)
        return cross_entropy(tf.matmul(H, W, transpose_b=True), y)


class GPT(Model):
    """A small Transformer whose positions are a variable of whole numbers."""

    def make(self) -> None:
        self.embedding, self.positions = (
            layers.Embedding(16, 16),
            layers.Embedding(8, 16),
        )
        self.places = tf.Variable(tf.range(8), trainable=False)
        self.norms = [layers.LayerNormalization() for _ in range(2)]
        # A bias of the keys has no gradient but rounding, which Adam would enlarge.
        self.attention = layers.MultiHeadAttention(2, 8, use_bias=False)
        self.up, self.down = layers.Dense(32, "gelu"), layers.Dense(16)
        self.last = layers.Dense(16)

    def training_step(self, batch: Any) -> tf.Tensor:
        X = self.embedding(batch[0][:, :-1]) + self.positions(self.places)
        H = self.norms[0](X)
        X = X + self.attention(H, H, use_causal_mask=True)
        X = X + self.down(self.up(self.norms[1](X)))
        return cross_entropy(self.last(X), batch[0][:, 1:])

    def configure_optimizers(self) -> Any:
        rate = keras.optimizers.schedules.CosineDecay(0.01, 8)
        return keras.optimizers.AdamW(rate, weight_decay=0.1)


class Mixture(layers.Layer):
    """A mixture of experts with a loss of their balance."""

    def __init__(self):
        super().__init__()
        self.gate = layers.Dense(3, activation="softmax")
        self.experts = [layers.Dense(8) for _ in range(3)]

    def call(self, X: tf.Tensor) -> tf.Tensor:
        weights = self.gate(X)
        self.add_loss(0.1 * tf.reduce_sum(tf.reduce_mean(weights, 0) ** 2))
        chosen = tf.one_hot(tf.argmax(weights, 1), 3, dtype=weights.dtype) * weights
        H = tf.stack([expert(X) for expert in self.experts], 1)
        return X + tf.reduce_sum(chosen[..., None] * H, 1)


class Experts(Model):
    def make(self) -> None:
        self.net = keras.Sequential([Mixture(), layers.Dense(4)])


class Sampling(layers.Layer):
    """Draws noise from a generator of Keras, and adds the divergence as a loss."""

    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator()

    def call(self, X: tf.Tensor) -> tf.Tensor:
        mean, log_var = tf.split(tf.cast(X, tf.float32), 2, 1)
        divergence = tf.reduce_sum(mean**2 + tf.exp(log_var) - 1 - log_var, 1)
        self.add_loss(0.05 * tf.reduce_mean(divergence))
        noise = keras.random.normal(tf.shape(mean), seed=self.seeds)
        return mean + noise * tf.exp(log_var / 2)


class Variational(Model):
    """A variational autoencoder, which draws noise in each step."""

    def make(self) -> None:
        self.net = keras.Sequential([layers.Dense(6), Sampling(), layers.Dense(8)])

    def step(self, batch: Any) -> tf.Tensor:
        return self.loss(self(batch[0]), batch[0]) + sum(self.losses)

    def training_step(self, batch: Any) -> tf.Tensor:
        return super().training_step((batch[0], batch[0]))

    def loss(self, y_hat: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return square(tf.cast(y_hat, tf.float32) - y)


class Gan(Model):
    """Two networks with an optimizer each, and one loss for both."""

    def make(self) -> None:
        self.maker = keras.Sequential([layers.Dense(16, "relu"), layers.Dense(8)])
        self.judge = keras.Sequential([layers.Dense(16, "tanh"), layers.Dense(1)])
        self.maker.build((None, 4))
        self.judge.build((None, 8))

    def training_step(self, batch: Any) -> tf.Tensor:
        real, noise = batch

        @tf.custom_gradient
        def reverse(X: tf.Tensor) -> Any:
            return tf.identity(X), lambda gradient: -gradient

        fake = self.judge(reverse(self.maker(noise)))
        return tf.reduce_mean(
            tf.nn.softplus(-tf.cast(self.judge(real), tf.float32))
        ) + tf.reduce_mean(tf.nn.softplus(tf.cast(fake, tf.float32)))

    def configure_optimizers(self) -> Any:
        return [
            (keras.optimizers.Adam(0.01), self.maker),
            (keras.optimizers.SGD(0.05, momentum=0.9), self.judge),
        ]


class Teacher(Model):
    """A teacher whose weights, without a name, are a mean of the trained ones."""

    def make(self) -> None:
        self.net = layers.Dense(4, use_bias=False)
        self.taught = self.add_weight(shape=(8, 4), trainable=False)

    def training_step(self, batch: Any) -> tf.Tensor:
        X, y = batch
        Y = tf.cast(self.net(X), tf.float32)
        loss = cross_entropy(Y, y) + square(Y - X @ tf.convert_to_tensor(self.taught))
        kernel = tf.stop_gradient(tf.convert_to_tensor(self.net.kernel))
        self.taught.assign(0.9 * self.taught + 0.1 * tf.cast(kernel, tf.float32))
        return loss


class Copied(Model):
    """A teacher that is a frozen network; each step moves its weights."""

    def make(self) -> None:
        self.net, self.teacher = layers.Dense(4), layers.Dense(4)
        self.net.build((None, 8))
        self.teacher.build((None, 8))
        self.teacher.trainable = False

    def training_step(self, batch: Any) -> tf.Tensor:
        Y, taught = (tf.cast(f(batch[0]), tf.float32) for f in (self.net, self.teacher))
        loss = cross_entropy(Y, batch[1]) + square(Y - tf.stop_gradient(taught))
        for old, new in zip(self.teacher.variables, self.net.variables, strict=True):
            old.assign(0.9 * old + 0.1 * new)
        return loss


class Centres(Model):
    """The loss reads a variable in a plain attribute that the step assigns."""

    trained = False

    def make(self) -> None:
        self.body, self.last = layers.Dense(6), layers.Dense(4)
        start = tf.random.stateless_normal((4, 6), (1, 2))
        self.kept = {"centres": [tf.Variable(start, trainable=self.trained)]}

    def training_step(self, batch: Any) -> tf.Tensor:
        X, y = batch
        H = tf.cast(self.body(X), tf.float32)
        [centres] = self.kept["centres"]
        own = tf.gather(tf.stop_gradient(tf.convert_to_tensor(centres)), y)
        loss = cross_entropy(self.last(H), y) + square(H - own)
        moved = 0.1 * (tf.stop_gradient(H) - own)
        centres.assign(tf.tensor_scatter_nd_add(centres, y[:, None], moved))
        return loss


class Ungraded(Centres):
    """The same, but Keras takes the variable for a weight."""

    trained = True


class Counting(Model):
    """The loss depends on a number in a plain variable that counts the calls."""

    def make(self) -> None:
        self.net = layers.Dense(4)
        self.calls = tf.Variable(0, trainable=False)
        self.warmup = 5.0  # a number of Python

    def training_step(self, batch: Any) -> tf.Tensor:
        self.calls.assign_add(1)
        rate = tf.minimum(1.0, tf.cast(self.calls, tf.float32) / self.warmup)
        return rate * cross_entropy(self(batch[0]), batch[1])


class Queue(Model):
    """Keys of earlier minibatches, with a place that moves on by their number."""

    def make(self) -> None:
        self.net = layers.Dense(6)
        self.keys = self.add_weight(shape=(30, 6), trainable=False)
        self.place = self.add_weight(shape=(), dtype="int32", trainable=False)

    def training_step(self, batch: Any) -> tf.Tensor:
        A, B = (
            tf.math.l2_normalize(tf.cast(self.net(view), tf.float32), 1)
            for view in (batch[0], batch[0] + 0.1)
        )
        B, keys = tf.stop_gradient(B), tf.convert_to_tensor(self.keys)
        logits = tf.concat(
            [tf.reduce_sum(A * B, 1)[:, None], A @ tf.transpose(keys)], 1
        )
        n = B.shape[0]
        rows = (tf.convert_to_tensor(self.place) + tf.range(n)) % 30
        self.keys.assign(tf.tensor_scatter_nd_update(keys, rows[:, None], B))
        self.place.assign(self.place + n)
        return cross_entropy(5 * logits, tf.zeros(n, tf.int32))


class Scratch(Model):
    """Weights in plain attributes."""

    def make(self) -> None:
        start = tf.random.stateless_normal((8, 4), (1, 2))
        self.weights_ = [tf.Variable(start), (tf.Variable(tf.zeros(4)),)]

    def forward(self, X: tf.Tensor) -> tf.Tensor:
        return X @ self.weights_[0] + self.weights_[1][0]

    def configure_optimizers(self) -> Any:
        return keras.optimizers.Adam(0.01)


class Dropping(Model):
    def make(self) -> None:
        self.net = keras.Sequential(
            [layers.Dense(16, "relu"), layers.Dropout(0.3), layers.Dense(4)]
        )

    def configure_optimizers(self) -> Any:
        return keras.optimizers.RMSprop(0.01, momentum=0.5)


class Frozen(Model):
    """Only the last layer is trained."""

    def make(self) -> None:
        body = [layers.Dense(32), layers.BatchNormalization(), layers.Dense(16, "relu")]
        self.net = keras.Sequential([*body, layers.Dense(4)])
        for layer in body:
            layer.trainable = False


class Pair(Model):
    """A functional model of two inputs."""

    def make(self) -> None:
        X, Z = keras.Input((8,)), keras.Input((5,))
        H = layers.Concatenate()([layers.Dense(6)(X), layers.Dense(6)(Z)])
        self.both = keras.Model([X, Z], layers.Dense(4)(H))

    def forward(self, X: tf.Tensor, Z: tf.Tensor) -> tf.Tensor:
        return self.both([X, Z])


class Named(Perceptron):
    """Minibatches that are dicts."""

    def training_step(self, batch: Any) -> tf.Tensor:
        return self.loss(self(batch["x"]), batch["y"])


class Penalized(Perceptron):
    """A penalty for the gradients of the inputs."""

    def training_step(self, batch: Any) -> tf.Tensor:
        X = batch[0]
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = self(X)
            total = tf.reduce_sum(Y**2)
        slope = tf.reduce_sum(tape.gradient(total, X) ** 2, 1)
        return self.loss(Y, batch[1]) + 0.01 * tf.reduce_mean(slope)


class Spectral(Model):
    """Layers whose largest singular value is estimated anew in each step."""

    def make(self) -> None:
        self.net = keras.Sequential(
            [layers.SpectralNormalization(layers.Dense(16)), layers.Dense(4)]
        )


class Contrastive(Model):
    """Each example is compared with all others of the minibatch."""

    def make(self) -> None:
        self.net = layers.Dense(6)

    def training_step(self, batch: Any) -> tf.Tensor:
        A, B = (
            tf.math.l2_normalize(tf.cast(self.net(view), tf.float32), 1)
            for view in (batch[0], batch[0] + 0.1)
        )
        return cross_entropy(5 * A @ tf.transpose(B), tf.range(A.shape[0]))


ZOO = [
    Entry("perceptron", Perceptron, vectors, thin=True),
    Entry("convolutions", Convolutions, images),
    Entry("batch norm", BatchNorm, images, OTHER, thin=True),
    Entry("unnamed", Scaled, vectors, OTHER),
    Entry("codebook", Codebook, vectors, OTHER, thin=True),
    Entry("regularized", Regularized, vectors, thin=True),
    Entry("decayed", Decayed, vectors),
    Entry("LSTM", Recurrent, sequences),
    Entry("GRU", Gated, sequences),
    Entry("tied", Tied, texts),
    Entry("GPT", GPT, texts),
    Entry("experts", Experts, vectors, OTHER),
    Entry("VAE", Variational, vectors, OTHER),
    Entry("GAN", Gan, noisy, half=False, thin=True),
    Entry("mean teacher", Teacher, vectors),
    Entry("copied teacher", Copied, vectors),
    Entry("centres", Centres, vectors, OTHER),
    Entry("ungraded", Ungraded, vectors, OTHER),
    Entry("counting", Counting, vectors),
    Entry("queue", Queue, vectors, OTHER),
    Entry("scratch", Scratch, vectors),
    Entry("dropout", Dropping, vectors, OTHER),
    Entry("frozen", Frozen, vectors),
    Entry("two inputs", Pair, pairs),
    Entry("dicts", Named, dicts),
    Entry("penalty", Penalized, vectors),
    Entry("spectral norm", Spectral, vectors),
    Entry("contrastive", Contrastive, vectors, OTHER),
]

# The rows of the table in the appendix, and the models that show them.
STATES = {
    "parameters": "perceptron",
    "moving averages of batch normalization": "batch norm",
    "a weight without a name that a step assigns": "codebook",
    "a trainable weight without a gradient, which a step assigns": "ungraded",
    "a `tf.Variable` in a plain attribute, counting": "counting",
    "a `tf.Variable` in a plain attribute, trained": "scratch",
}
