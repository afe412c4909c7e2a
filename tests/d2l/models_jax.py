"""Models for JAX, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

from functools import partial

import jax
import numpy as np
import optax
from flax import linen as nn
from frameworks import Case, named_layers
from jax import numpy as jnp

from d2l import jax as d2l


class Counting(d2l.DataModule):
    """Sequences that count modulo 10 from a random start, with a step given."""

    def __init__(self, batch_size=32, num_steps=4, n=640):
        super().__init__()
        self.save_hyperparameters()
        key1, key2 = jax.random.split(jax.random.PRNGKey(0))
        start = jax.random.randint(key1, (n, 1), 0, 10)
        self.step = jax.random.randint(key2, (n, 1), 1, 3)
        whole = (start + self.step * d2l.arange(num_steps + 1)) % 10
        self.X, self.Y = whole[:, :-1], whole[:, 1:]

    def get_dataloader(self, train):
        i = slice(0, 512) if train else slice(512, None)
        return self.get_tensorloader((self.X, self.step, self.Y), train, i)


class Shuffled(d2l.DataModule):
    """The digits as images, from a loader made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.images, self.labels = digits.X.reshape(-1, 8, 8, 1), digits.y

    def train_dataloader(self):
        order = np.random.permutation(len(self.labels))
        parts = np.split(order[: 20 * self.batch_size], 20)
        return [(self.images[i], self.labels[i]) for i in parts]

    def val_dataloader(self):
        return None


class Even(d2l.DataModule):
    """The digits in minibatches of one size, so that nothing is compiled twice."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        self.digits = d2l.Digits()

    def get_dataloader(self, train):
        i = slice(0, 1408) if train else slice(1408, 1408 + 320)
        return self.get_tensorloader((self.digits.X, self.digits.y), train, i)


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    layers: tuple
    optimizer: str
    lr: float
    training: bool = True

    @nn.compact
    def __call__(self, X):
        named = [layer for layer in named_layers(self.layers) if layer != ("tied",)]
        made = [self.make(*layer) for layer in named]
        for layer in made:
            X = layer(X)
        return made[0].attend(X) if "tied" in self.layers else X

    def make(self, name, *args):
        off = not self.training
        makers = {
            "dense": nn.Dense,
            "dropout": lambda p: nn.Dropout(p, deterministic=off),
            "relu": lambda: nn.relu,
            "flatten": lambda: lambda X: X.reshape((X.shape[0], -1)),
            "norm": lambda: nn.BatchNorm(use_running_average=off),
            "pool": lambda: lambda X: X.mean((1, 2)),
            "conv": lambda channels: nn.Conv(channels, (3, 3)),
            "embed": nn.Embed,
            "transformer": partial(d2l.TransformerLayer, training=self.training),
        }
        return makers[name](*args)

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return optax.adam(self.lr)
        return optax.sgd(self.lr, momentum=0.9)


class SoftmaxScratch(d2l.Classifier):
    num_inputs: int
    num_outputs: int
    lr: float
    sigma: float = 0.01

    def setup(self):
        self.W = self.param(
            "W",
            nn.initializers.normal(self.sigma),
            (self.num_inputs, self.num_outputs),
        )
        self.b = self.param("b", nn.initializers.zeros, self.num_outputs)

    def forward(self, X):
        X = d2l.reshape(X, (-1, self.W.shape[0]))
        exps = d2l.exp(d2l.matmul(X, self.W) + self.b)
        return exps / d2l.reduce_sum(exps, 1, keepdims=True)

    @partial(jax.jit, static_argnums=(0,))
    def loss(self, params, X, y, state):
        y_hat = state.apply_fn({"params": params}, *X)
        picked = y_hat[list(range(len(y_hat))), y]
        return -d2l.reduce_mean(d2l.log(picked)), {}


class MLPScratch(d2l.Classifier):
    num_inputs: int
    num_outputs: int
    num_hiddens: int
    lr: float
    sigma: float = 0.1

    def setup(self):
        normal, zeros = nn.initializers.normal(self.sigma), nn.initializers.zeros
        self.W1 = self.param("W1", normal, (self.num_inputs, self.num_hiddens))
        self.b1 = self.param("b1", zeros, self.num_hiddens)
        self.W2 = self.param("W2", normal, (self.num_hiddens, self.num_outputs))
        self.b2 = self.param("b2", zeros, self.num_outputs)

    def forward(self, X):
        H = jnp.maximum(d2l.matmul(X, self.W1) + self.b1, 0)
        return d2l.matmul(H, self.W2) + self.b2


class DropoutMLP(d2l.Classifier):
    num_outputs: int
    num_hiddens: int
    dropout: float
    lr: float
    training: bool = True

    @nn.compact
    def __call__(self, X):
        X = nn.relu(nn.Dense(self.num_hiddens)(d2l.reshape(X, (X.shape[0], -1))))
        X = nn.Dropout(self.dropout, deterministic=not self.training)(X)
        return nn.Dense(self.num_outputs)(X)

    @partial(jax.jit, static_argnums=(0, 5))
    def loss(self, params, X, Y, state, averaged=True):
        Y_hat = state.apply_fn(
            {"params": params},
            *X,
            mutable=False,
            rngs={"dropout": jax.random.fold_in(state.dropout_rng, 1)},
        )
        Y_hat = d2l.reshape(Y_hat, (-1, Y_hat.shape[-1]))
        fn = optax.softmax_cross_entropy_with_integer_labels
        each = fn(Y_hat, d2l.reshape(Y, (-1,)))
        return (d2l.reduce_mean(each) if averaged else each), {}


class BatchNormNet(d2l.Classifier):
    lr: float
    training: bool = True

    def setup(self):
        self.net = nn.Sequential(
            [
                nn.Conv(8, kernel_size=(3, 3), padding="SAME"),
                nn.BatchNorm(not self.training),
                nn.sigmoid,
                lambda x: x.reshape((x.shape[0], -1)),
                nn.Dense(10),
            ]
        )

    @partial(jax.jit, static_argnums=(0, 5))
    def loss(self, params, X, Y, state, averaged=True):
        Y_hat, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            *X,
            mutable=["batch_stats"],
            rngs={"dropout": state.dropout_rng},
        )
        fn = optax.softmax_cross_entropy_with_integer_labels
        each = fn(d2l.reshape(Y_hat, (-1, Y_hat.shape[-1])), d2l.reshape(Y, (-1,)))
        return (d2l.reduce_mean(each) if averaged else each), updates


class RNNScratch(nn.Module):
    num_inputs: int
    num_hiddens: int
    sigma: float = 0.3

    def setup(self):
        normal, h = nn.initializers.normal(self.sigma), self.num_hiddens
        self.W_xh = self.param("W_xh", normal, (self.num_inputs, h))
        self.W_hh = self.param("W_hh", normal, (h, h))
        self.b_h = self.param("b_h", nn.initializers.zeros, h)

    def __call__(self, inputs, state=None):
        outputs = []
        for X in inputs:
            past = 0 if state is None else d2l.matmul(state, self.W_hh)
            state = d2l.tanh(d2l.matmul(X, self.W_xh) + past + self.b_h)
            outputs.append(state)
        return outputs, state


class LanguageModel(d2l.Classifier):
    rnn: nn.Module
    vocab_size: int
    lr: float

    def setup(self):
        normal = nn.initializers.normal(0.3)
        shape = (self.rnn.num_hiddens, self.vocab_size)
        self.W_hq = self.param("W_hq", normal, shape)
        self.b_q = self.param("b_q", nn.initializers.zeros, self.vocab_size)

    def training_step(self, params, batch, state):
        value, grads = jax.value_and_grad(self.loss, has_aux=True)(
            params, batch[:-1], batch[-1], state
        )
        self.plot("ppl", d2l.exp(value[0]), train=True)
        return value, grads

    def validation_step(self, params, batch, state):
        loss, _ = self.loss(params, batch[:-1], batch[-1], state)
        self.plot("ppl", d2l.exp(loss), train=False)

    def forward(self, X, step, state=None):
        inputs = jax.nn.one_hot(X.T, self.vocab_size)
        steps = d2l.expand_dims(d2l.repeat(step, X.shape[1], 1).T, 2)
        inputs = d2l.concat((inputs, d2l.astype(steps, d2l.float32)), 2)
        outputs, _ = self.rnn(inputs, state)
        return d2l.stack([d2l.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)


class GRU(nn.Module):
    num_hiddens: int

    @nn.compact
    def __call__(self, inputs, state=None, training=False):
        outputs = nn.RNN(nn.GRUCell(self.num_hiddens), time_major=True)(inputs)
        return nn.Dropout(0.05, deterministic=not training)(outputs), state


class GRULanguageModel(LanguageModel):
    training: bool = True

    def setup(self):
        self.linear = nn.Dense(self.vocab_size)

    def forward(self, X, step, state=None):
        inputs = jax.nn.one_hot(X.T, self.vocab_size)
        steps = d2l.expand_dims(d2l.repeat(step, X.shape[1], 1).T, 2)
        inputs = d2l.concat((inputs, steps), 2)
        outputs, _ = self.rnn(inputs, state, self.training)
        return d2l.swapaxes(self.linear(outputs), 0, 1)

    def configure_optimizers(self):
        return optax.adam(self.lr)


class WeightDecay(d2l.LinearRegression):
    wd: int = 0

    def configure_optimizers(self):
        return optax.chain(
            optax.add_decayed_weights(self.wd), optax.sgd(self.lr, momentum=0.5)
        )


class Residual(d2l.nn_Module):
    width: int

    @nn.compact
    def __call__(self, X):
        return X + d2l.sigmoid(nn.Dense(self.width)(X))


class Blocks(d2l.Classifier):
    """Blocks inside blocks, and a loss and an accuracy of its own."""

    lr: float = 0.02

    def setup(self):
        inner = nn.Sequential([Residual(64), Residual(64)])
        self.net = nn.Sequential([inner, nn.Dense(10)])

    def loss(self, params, X, Y, state, averaged=True):
        value, updates = super().loss(params, X, Y, state, averaged)
        return value * 2, updates

    def validation_step(self, params, batch, state):
        Y_hat = state.apply_fn({"params": params}, *batch[:-1])
        right = d2l.astype(d2l.argmax(Y_hat, 1), batch[-1].dtype) == batch[-1]
        self.plot("acc", d2l.reduce_mean(d2l.astype(right, d2l.float32)), train=False)


class ClippedSGD(d2l.HyperParameters):
    """An optimizer without a state, for which it returns the class `EmptyState`."""

    def __init__(self, rate):
        self.save_hyperparameters()

    def init(self, params):
        return optax.EmptyState

    def update(self, grads, state, params=None):
        def change(grad):
            return -self.rate * jnp.clip(grad, -1, 1)

        return jax.tree_util.tree_map(change, grads), state


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD(self.lr)


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        self.model.training = True
        for batch in map(self.prepare_batch, self.train_dataloader):
            old = self.state
            _, grads = self.model.training_step(old.params, batch, old)
            if self.gradient_clip_val:
                grads = self.clip_gradients(self.gradient_clip_val, grads)
            key = jax.random.fold_in(old.dropout_rng, self.train_batch_idx)
            self.state = old.apply_gradients(grads=grads).replace(dropout_rng=key)
            self.train_batch_idx += 1
        self.model.training = False
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(self.state.params, batch, self.state)
            self.val_batch_idx += 1


@jax.custom_vjp
def reverse(x):
    """Return the input; its gradient changes the sign."""
    return x


reverse.defvjp(lambda x: (x, None), lambda _, grad: (-grad,))


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def setup(self):
        self.generator, self.critic = nn.Dense(8), nn.Dense(1)

    def __call__(self, real, noise):
        return self.critic(real), self.critic(reverse(self.generator(noise)))

    def loss(self, params, X, ones, state):
        real, fake = state.apply_fn({"params": params}, *X)
        bce = optax.sigmoid_binary_cross_entropy
        return (bce(real, ones) + bce(fake, jnp.zeros_like(ones))).mean()

    def configure_optimizers(self):
        return optax.multi_transform(
            {"generator": optax.adam(0.01), "critic": optax.sgd(0.1, momentum=0.9)},
            lambda params: {name: name for name in params},
        )


def regression():
    w = d2l.tensor([2, -3.4])
    return d2l.SyntheticRegressionData(w, 4.2, num_val=100, batch_size=100)


def rnn():
    return LanguageModel(RNNScratch(11, 32), 10, lr=2)


def gru():
    return GRULanguageModel(GRU(32), 10, lr=0.02)


# Several devices train these as one device does.
ON_DEVICES = "softmax", "dropout", "blocks", "own optimizer"
OWN_OPTIMIZERS = [lambda: OwnOptimizer(64, 0.01)]
CASES = [
    Case("softmax", lambda: SoftmaxScratch(64, 10, 0.5), Even, "val_acc", 0.8),
    Case("mlp", lambda: MLPScratch(64, 10, 32, 0.3), Even, "val_acc", 0.8),
    Case("dropout", lambda: DropoutMLP(10, 64, 0.3, 0.5), Even, "val_acc", 0.8),
    Case("batch norm", lambda: BatchNormNet(0.2), Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.3), regression, "val_loss", 0.1, 6),
    Case("rnn", rnn, Counting, "val_ppl", 2, 6),
    Case("gru", gru, Counting, "val_ppl", 1.5, 6),
    Case("decay", lambda: WeightDecay(lr=0.01, wd=3), regression, "val_loss", 15),
    Case("blocks", Blocks, Even, "val_acc", 0.6, 5),
]
