"""Models for TensorFlow, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import tensorflow as tf
from frameworks import Case

from d2l import tensorflow as d2l


class Counting(d2l.DataModule):
    """Sequences that count modulo 10 from a random start, with a step given."""

    def __init__(self, batch_size=32, num_steps=4, n=384):
        super().__init__()
        self.save_hyperparameters()
        start = d2l.rand((n, 1), 0, 10, dtype=d2l.int32)
        self.step = d2l.rand((n, 1), 1, 3, dtype=d2l.int32)
        whole = (start + self.step * d2l.arange(num_steps + 1)) % 10
        self.X, self.Y = whole[:, :-1], whole[:, 1:]

    def get_dataloader(self, train):
        i = slice(0, 320) if train else slice(320, None)
        return self.get_tensorloader((self.X, self.step, self.Y), train, i)


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
        self.net = tf.keras.Sequential([*map(self.make, layers)])

    def make(self, layer):
        layers = tf.keras.layers
        match layer:
            case int():
                return layers.Dense(layer)
            case float():
                return layers.Dropout(layer)
            case "conv", channels:
                return layers.Conv2D(channels, 3, padding="same")
            case "embed", number, width:
                self.embedding = layers.Embedding(number, width)
                return self.embedding
            case "tied":
                return Tied(self.embedding)
            case "transformer", width, heads:
                return d2l.TransformerLayer(width, heads)
        pool, norm = layers.GlobalAveragePooling2D, layers.BatchNormalization
        return {"relu": layers.ReLU, "norm": norm, "pool": pool}[layer]()

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return tf.keras.optimizers.Adam(self.lr)
        return tf.keras.optimizers.SGD(self.lr, momentum=0.9)


class SoftmaxScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, lr, sigma=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.W = tf.Variable(d2l.normal((num_inputs, num_outputs), 0, sigma))
        self.b = tf.Variable(d2l.zeros(num_outputs))

    def forward(self, X):
        X = d2l.reshape(X, (-1, self.W.shape[0]))
        exps = d2l.exp(d2l.matmul(X, self.W) + self.b)
        return exps / d2l.reduce_sum(exps, 1, keepdims=True)

    def loss(self, y_hat, y):
        picked = tf.boolean_mask(y_hat, tf.one_hot(y, y_hat.shape[-1]))
        return -d2l.reduce_mean(d2l.log(picked))


class MLPScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, num_hiddens, lr, sigma=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W1 = tf.Variable(d2l.normal((num_inputs, num_hiddens)) * sigma)
        self.b1 = tf.Variable(d2l.zeros(num_hiddens))
        self.W2 = tf.Variable(d2l.normal((num_hiddens, num_outputs)) * sigma)
        self.b2 = tf.Variable(d2l.zeros(num_outputs))

    def forward(self, X):
        H = tf.math.maximum(d2l.matmul(X, self.W1) + self.b1, 0)
        return d2l.matmul(H, self.W2) + self.b2


class ListedVariables(d2l.Classifier):
    """Its variables are in a list, and nowhere else; the optimizer has state."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        sizes = [(64, 16), (16,), (16, 10), (10,)]
        self.tensors = [tf.Variable(d2l.normal(size) * 0.1) for size in sizes]

    def forward(self, X):
        W1, b1, W2, b2 = self.tensors
        return d2l.matmul(d2l.tanh(d2l.matmul(X, W1) + b1), W2) + b2

    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(self.lr)


class DropoutMLP(d2l.Classifier):
    def __init__(self, num_outputs, num_hiddens, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = tf.keras.models.Sequential(
            [
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(num_hiddens, activation=tf.nn.relu),
                tf.keras.layers.Dropout(dropout),
                tf.keras.layers.Dense(num_outputs),
            ]
        )


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


class BatchNormNet(d2l.Classifier):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = tf.keras.models.Sequential(
            [
                tf.keras.layers.Conv2D(8, kernel_size=3, padding="same"),
                tf.keras.layers.BatchNormalization(momentum=0.9),
                tf.keras.layers.Activation("sigmoid"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(10),
            ]
        )


class RNNScratch(d2l.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.W_xh = tf.Variable(d2l.normal((num_inputs, num_hiddens)) * sigma)
        self.W_hh = tf.Variable(d2l.normal((num_hiddens, num_hiddens)) * sigma)
        self.b_h = tf.Variable(d2l.zeros(num_hiddens))

    def forward(self, inputs, state=None):
        if state is None:
            state = d2l.zeros((inputs.shape[1], self.num_hiddens))
        outputs = []
        for X in inputs:
            state = d2l.tanh(
                d2l.matmul(X, self.W_xh) + d2l.matmul(state, self.W_hh) + self.b_h
            )
            outputs.append(state)
        return outputs, state


class LanguageModel(d2l.Classifier):
    def __init__(self, rnn, vocab_size, lr):
        super().__init__()
        self.save_hyperparameters()
        self.init_params()

    def init_params(self):
        shape = (self.rnn.num_hiddens, self.vocab_size)
        self.W_hq = tf.Variable(d2l.normal(shape) * 0.3)
        self.b_q = tf.Variable(d2l.zeros(self.vocab_size))

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=True)
        return loss

    def validation_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=False)

    def inputs(self, X, step):
        steps = d2l.expand_dims(d2l.transpose(d2l.repeat(step, X.shape[1], 1)), 2)
        one_hot = tf.one_hot(d2l.transpose(X), self.vocab_size)
        return d2l.concat((one_hot, d2l.astype(steps, d2l.float32)), 2)

    def forward(self, X, step, state=None):
        outputs, _ = self.rnn(self.inputs(X, step), state)
        return d2l.stack([d2l.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)


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


class WeightDecayScratch(d2l.LinearRegressionScratch):
    def __init__(self, num_inputs, lambd, lr):
        super().__init__(num_inputs, lr)
        self.save_hyperparameters()

    def loss(self, y_hat, y):
        penalty = d2l.reduce_sum(self.w**2) / 2
        return super().loss(y_hat, y) + self.lambd * penalty


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


class Blocks(d2l.Classifier):
    """Blocks inside blocks, and a loss and an accuracy of its own."""

    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        inner = tf.keras.Sequential([Residual(64), Scale(64), Residual(64)])
        self.net = tf.keras.Sequential([inner, tf.keras.layers.Dense(10)])

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) * 2

    def validation_step(self, batch):
        Y_hat = self(*batch[:-1])
        right = d2l.astype(d2l.argmax(Y_hat, 1), batch[-1].dtype) == batch[-1]
        self.plot("acc", d2l.reduce_mean(d2l.astype(right, d2l.float32)), train=False)


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


def regression():
    w = d2l.tensor([2, -3.4])
    return d2l.SyntheticRegressionData(w, b=4.2, num_val=64)


def softmax():
    return SoftmaxScratch(64, 10, lr=0.5)


def mlp():
    return MLPScratch(64, 10, 32, lr=0.3)


def rnn():
    return LanguageModel(RNNScratch(11, 32), 10, lr=2)


def stacked():
    return LanguageModel(Stacked(11, 24, 2), 10, lr=1)


# Several devices train these as one device does.
ON_DEVICES = "list", "decay", "blocks"
OWN_OPTIMIZERS = [
    lambda: ScratchMomentum(64, 10, 16, 0.1),
    lambda: LateMomentum(64, 10, 16, 0.1),
]
CASES = [
    Case("softmax", softmax, d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8),
    Case("list", lambda: ListedVariables(0.02), d2l.Digits, "val_acc", 0.8),
    Case("dropout", lambda: DropoutMLP(10, 64, 0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", lambda: BatchNormNet(0.2), Shuffled, "train_loss", 1),
    Case("conv net", lambda: ConvNet((8, 8), 0.2), Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, Counting, "val_ppl", 4, 6),
    Case("stacked", stacked, Counting, "val_ppl", 7, 4),
    Case("gru", lambda: GRULanguageModel(0.03), Counting, "val_ppl", 7),
    Case("decay", lambda: WeightDecay(1.5, 0.01), regression, "val_loss", 35),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
