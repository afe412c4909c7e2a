"""Models for TensorFlow, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,has-type,override"

import sys
from functools import partial

import tensorflow as tf
from frameworks import Case

from d2l import tensorflow as d2l

# isort: split
import models_shared  # after the library that it uses
from models_shared import Counting, LanguageModel, MLPScratch, stacked
from models_shared import Everything as Everything  # for other tests
from models_shared import SoftmaxScratch as SoftmaxScratch


class Shuffled(models_shared.Images):
    def train_dataloader(self):
        data = tf.data.Dataset.from_tensor_slices((self.images, self.labels))
        return data.shuffle(len(self.labels)).batch(
            self.batch_size, drop_remainder=True
        )


class Tied(tf.keras.layers.Layer):
    """The last layer of a language model, with the weights of the first one."""

    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding

    def call(self, X):
        return tf.matmul(X, self.embedding.embeddings, transpose_b=True)


class Layers(models_shared.Layers):
    def makers(self):
        layers = tf.keras.layers
        return {
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

    def join(self, layers):
        return tf.keras.Sequential(layers)

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return tf.keras.optimizers.Adam(self.lr)
        return tf.keras.optimizers.SGD(self.lr, momentum=0.9)


class ListedVariables(models_shared.Listed):
    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(self.lr)


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


class Gan(models_shared.Gan):
    def make_parts(self):
        self.generator = tf.keras.layers.Dense(8)
        self.critic = tf.keras.layers.Dense(1)
        self.generator.build((None, 4))
        self.critic.build((None, 8))

    def bce(self, Y_hat, Y):
        return tf.keras.losses.BinaryCrossentropy(from_logits=True)(Y, Y_hat)

    def reverse(self, x):
        return reverse(x)

    def configure_optimizers(self):
        return [
            (tf.keras.optimizers.Adam(0.01), self.generator),
            (tf.keras.optimizers.SGD(0.1, momentum=0.9), self.critic),
        ]


# Several devices train these as one device does.
ON_DEVICES = "list", "decay", "blocks"
OWN_OPTIMIZERS = [
    lambda: ScratchMomentum(64, 10, 16, 0.1),
    lambda: LateMomentum(64, 10, 16, 0.1),
]


CASES = [
    *models_shared.cases(sys.modules[__name__]),
    Case("list", lambda: ListedVariables(0.02), d2l.Digits, "val_acc", 0.8),
    Case("stacked", stacked, partial(Counting, num_steps=4, n=400), "val_ppl", 7, 4),
]
