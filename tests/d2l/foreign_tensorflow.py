"""Models of Keras, written without this library."""

# The attribute keras of TensorFlow is made when asked, so mypy does not know it.
# mypy: disable-error-code="name-defined"

import tensorflow as tf

keras = tf.keras
layers = keras.layers


def mlp():
    return keras.Sequential([layers.Dense(256, activation="relu"), layers.Dense(10)])


instance = keras.Sequential(
    [keras.Input((64,)), layers.Dense(256, activation="relu"), layers.Dense(10)]
)


def linear():
    return layers.Dense(10)


def dropping():
    return keras.Sequential([layers.Dropout(0.5), layers.Dense(10)])


def given(net, lr):
    """Return a loss and an optimizer of Keras."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return loss, keras.optimizers.SGD(lr)


def images():
    return keras.Sequential(
        [
            *(layers.Conv2D(16, 3), layers.BatchNormalization(), layers.ReLU()),
            *(layers.GlobalAveragePooling2D(), layers.Dropout(0.1), layers.Dense(10)),
        ]
    )


class Words(keras.Model):
    """A recurrent network with one matrix for inputs and outputs."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(500, 64)
        self.recurrent = layers.GRU(64, return_sequences=True, unroll=True)

    def call(self, X):
        H = self.recurrent(self.embedding(X))
        return tf.matmul(H, self.embedding.embeddings, transpose_b=True)


class Pair(keras.Model):
    """Two inputs, and a dictionary as the output."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(64), layers.Dense(64)
        self.output_layer = layers.Dense(1)

    def call(self, X, Z):
        H = tf.nn.relu(self.first(X) + self.second(Z))
        return {"hidden": H, "logits": self.output_layer(H)}


class Raising(keras.Model):
    def call(self, X):
        raise RuntimeError("my own problem\n\nand more")


# Those that only Keras has


def functional():
    """Return a model of two inputs that are given as a list."""
    X, Z = keras.Input((32,)), keras.Input((16,))
    H = layers.Concatenate()([layers.Dense(64)(X), layers.Dense(64)(Z)])
    return keras.Model([X, Z], layers.Dense(1)(H))


def large():
    """Return a model whose weights have 64 GiB."""
    return keras.Sequential([keras.Input((64,)), layers.Dense(2**28, use_bias=False)])
