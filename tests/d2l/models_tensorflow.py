"""Models for TensorFlow, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,has-type,override"

import tensorflow as tf
from frameworks import Case, named_layers

from d2l import tensorflow as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import (
    Counting,
    LanguageModel,
    MLPScratch,
    WeightDecayScratch,
    mlp,
    rnn,
    softmax,
    stacked,
)
from models_shared import Everything as Everything  # for other tests
from models_shared import SoftmaxScratch as SoftmaxScratch


class Shuffled(d2l.DataModule):
    """The digits as images, from loaders made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.images = d2l.reshape(digits.X, (-1, 8, 8, 1))
        self.labels = digits.y

    def train_dataloader(self):
        data = tf.data.Dataset.from_tensor_slices((self.images, self.labels))
        return data.shuffle(len(self.labels)).batch(
            self.batch_size, drop_remainder=True
        )

    def val_dataloader(self):
        return None


class Tied(tf.keras.layers.Layer):
    """The last layer of a language model, with the weights of the first one."""

    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding

    def call(self, X):
        return tf.matmul(X, self.embedding.embeddings, transpose_b=True)


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        named = named_layers(layers)
        self.net = tf.keras.Sequential([self.make(*layer) for layer in named])

    def make(self, name, *args):
        layers = tf.keras.layers
        makers = {
            "dense": layers.Dense,
            "dropout": layers.Dropout,
            "relu": layers.ReLU,
            "flatten": layers.Flatten,
            "norm": layers.BatchNormalization,
            "pool": layers.GlobalAveragePooling2D,
            "conv": lambda channels: layers.Conv2D(channels, 3, padding="same"),
            "embed": layers.Embedding,
            "transformer": d2l.TransformerLayer,
            "tied": lambda: Tied(self.embedding),
        }
        layer = makers[name](*args)
        if name == "embed":
            self.embedding = layer
        return layer

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return tf.keras.optimizers.Adam(self.lr)
        return tf.keras.optimizers.SGD(self.lr, momentum=0.9)


class ListedVariables(models_shared.Listed):
    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(self.lr)


class DropoutScratch(d2l.Classifier):
    def __init__(self, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.first = tf.keras.layers.Dense(64, activation="relu")
        self.last = tf.keras.layers.Dense(10)

    def forward(self, X):
        H = self.first(X)
        if self.training:
            keep = d2l.rand(tf.shape(H)) > self.dropout
            H = d2l.astype(keep, d2l.float32) * H / (1 - self.dropout)
        return self.last(H)


class GRULanguageModel(LanguageModel):
    def __init__(self, lr):
        layer = tf.keras.layers.GRU(32, return_sequences=True)
        super().__init__(layer, 10, lr)

    def init_params(self):
        self.linear = tf.keras.layers.Dense(self.vocab_size)

    def forward(self, X, step):
        inputs = d2l.transpose(self.inputs(X, step), (1, 0, 2))
        return self.linear(self.rnn(inputs))

    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(self.lr)


class WeightDecay(d2l.LinearRegression):
    """The penalty is a list of one number, as a layer gives it."""

    def __init__(self, wd, lr):
        super().__init__(lr)
        self.save_hyperparameters()
        l2 = tf.keras.regularizers.l2(wd)
        self.net = tf.keras.layers.Dense(1, kernel_regularizer=l2)

    def loss(self, y_hat, y):
        return super().loss(y_hat, y) + self.net.losses

    def configure_optimizers(self):
        return tf.keras.optimizers.SGD(self.lr, momentum=0.5)


class Residual(d2l.nn_Module):
    def __init__(self, width):
        super().__init__()
        self.linear = tf.keras.layers.Dense(width)

    def call(self, X):
        return X + d2l.sigmoid(self.linear(X))


class Scale(tf.keras.layers.Layer):
    """A layer of Keras with a variable that Keras does not know of."""

    def __init__(self, width):
        super().__init__()
        self.scale = tf.Variable(d2l.ones(width))

    def call(self, X):
        return X * self.scale


class Blocks(models_shared.BlocksOfLayers):
    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        inner = tf.keras.Sequential([Residual(64), Scale(64), Residual(64)])
        self.net = tf.keras.Sequential([inner, tf.keras.layers.Dense(10)])


class ConvBlock(d2l.nn_Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels):
        super().__init__()
        conv = tf.keras.layers.Conv2D
        self.first = conv(channels, kernel_size=3, padding="same")
        self.second = conv(channels, kernel_size=3, padding="same")
        self.shortcut = conv(channels, kernel_size=1)
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, X):
        Y = self.second(tf.keras.activations.relu(self.norm(self.first(X))))
        return tf.keras.activations.relu(Y + self.shortcut(X))


class ConvNet(d2l.Classifier):
    """Its methods make its parts."""

    def stem(self):
        conv = tf.keras.layers.Conv2D(8, kernel_size=3)
        return tf.keras.models.Sequential([conv, tf.keras.layers.ReLU()])

    def __init__(self, arch, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = tf.keras.models.Sequential([self.stem()])
        for channels in arch:
            self.net.add(ConvBlock(channels))
        self.net.add(tf.keras.layers.AvgPool2D(pool_size=3, strides=3))
        self.net.add(tf.keras.layers.Flatten())
        self.net.add(tf.keras.layers.Dense(num_classes))


class ClippedSGD(d2l.HyperParameters):
    """An optimizer with the one method that the trainer needs."""

    def __init__(self, rate):
        self.save_hyperparameters()

    def apply_gradients(self, pairs):
        for gradient, variable in pairs:
            change = self.rate * tf.clip_by_value(gradient, -1, 1)
            variable.assign(variable - change)


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD(self.lr)


class Momentum(d2l.HyperParameters):
    """An optimizer with a variable for each parameter, some made in its first step."""

    def __init__(self, shapes=()):
        zeros = [tf.Variable(tf.zeros(shape)) for shape in shapes]
        self.velocities, self.steps = dict(enumerate(zeros)), 0

    def apply_gradients(self, pairs):
        self.steps += 1
        for i, (gradient, variable) in enumerate(pairs):
            if i not in self.velocities:
                self.velocities[i] = tf.Variable(tf.zeros_like(variable))
            self.velocities[i].assign(0.9 * self.velocities[i] + gradient)
            variable.assign_sub(0.1 * self.velocities[i])


class ScratchMomentum(MLPScratch):
    def configure_optimizers(self):
        return Momentum([v.shape for v in self.trainable_variables])


class LateMomentum(MLPScratch):
    def configure_optimizers(self):
        return Momentum()


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        self.model.training = True
        for batch in map(self.prepare_batch, self.train_dataloader):
            with tf.GradientTape() as tape:
                result = self.model.training_step(batch)
            variables = self.model.trainable_variables
            gradients = tape.gradient(result, variables)
            if self.gradient_clip_val:
                gradients = self.clip_gradients(self.gradient_clip_val, gradients)
            self.optim.apply_gradients(zip(gradients, variables, strict=True))
            self.train_batch_idx += 1
        self.model.training = False
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(batch)
            self.val_batch_idx += 1


@tf.custom_gradient
def reverse(x):
    """Return the input; its gradient changes the sign."""
    return tf.identity(x), lambda grad: -grad


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.generator = tf.keras.layers.Dense(8)
        self.critic = tf.keras.layers.Dense(1)
        self.generator.build((None, 4))
        self.critic.build((None, 8))
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(reverse(self.generator(noise)))
        bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
        loss = bce(ones, self.critic(real)) + bce(tf.zeros_like(ones), fake)
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        fake = self.critic(self.generator(batch[1]))
        self.plot("fake", tf.reduce_mean(fake), train=False)

    def configure_optimizers(self):
        return [
            (tf.keras.optimizers.Adam(0.01), self.generator),
            (tf.keras.optimizers.SGD(0.1, momentum=0.9), self.critic),
        ]


def dropout():
    return Layers((64, "relu", 0.3, 10), "sgd", 0.05)


def norm():
    return Layers((("conv", 8), "norm", "relu", "flatten", 10), "sgd", 0.02)


def regression():
    w = d2l.tensor([2, -3.4])
    return d2l.SyntheticRegressionData(w, b=4.2, num_val=64)


# Several devices train these as one device does.
ON_DEVICES = "list", "decay", "blocks"
OWN_OPTIMIZERS = [
    lambda: ScratchMomentum(64, 10, 16, 0.1),
    lambda: LateMomentum(64, 10, 16, 0.1),
]


def counting():
    return Counting(num_steps=4, n=400)


CASES = [
    Case("softmax", softmax, d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8, 4),
    Case("list", lambda: ListedVariables(0.02), d2l.Digits, "val_acc", 0.8),
    Case("dropout", dropout, d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", norm, Shuffled, "train_loss", 1),
    Case("conv net", lambda: ConvNet((8, 8), 0.2), Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, counting, "val_ppl", 4, 6),
    Case("stacked", stacked, counting, "val_ppl", 7, 4),
    Case("gru", lambda: GRULanguageModel(0.03), counting, "val_ppl", 7),
    Case("decay", lambda: WeightDecay(1.5, 0.01), regression, "val_loss", 35),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
