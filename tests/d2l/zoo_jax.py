"""Models of Flax that were not written for this library, each with its minibatches.

They keep state wherever Flax lets them: in statistics, in collections with names of
their own, and in variables that the loss reads and the step assigns.
"""

# mypy: disable-error-code="attr-defined,override,union-attr,operator,misc"

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
import optax
from flax import linen as nn
from flax import nnx
from jax import numpy as jnp
from zoo import Entry

from d2l import jax as d2l

SIZES = 12, 12, 12, 10  # examples of the minibatches in an epoch
# The compiled step of a trainer may round at other places than that of a loop.
CLOSE = {"float32": 1e-5, "bfloat16": 0.05}


# Minibatches


def batches(*items: Any) -> list:
    """Return minibatches of items that functions make of a size and a generator."""
    rng = np.random.default_rng(7)
    return [tuple(item(n, rng) for item in items) for n in SIZES]


def reals(*shape: int) -> Any:
    return lambda n, rng: rng.normal(size=(n, *shape)).astype(np.float32)


def numbers(limit: int, *shape: int) -> Any:
    return lambda n, rng: rng.integers(limit, size=(n, *shape)).astype(np.int32)


vectors = partial(batches, reals(8), numbers(4))
images = partial(batches, reals(8, 8, 3), numbers(4))
sequences = partial(batches, reals(6, 8), numbers(4))
texts = partial(batches, numbers(16, 9))
pairs = partial(batches, reals(8), reals(8), numbers(4))


def dicts() -> list:
    return [{"x": x, "y": y} for x, y in vectors()]


# The loop to compare with


@dataclass
class State:
    """The part of a `TrainState` that the loop uses."""

    apply_fn: Any
    kept: dict
    dropout_rng: Any

    def variables(self, params: Any) -> dict:
        return {"params": params, **self.kept}

    def collections(self) -> dict:
        return self.kept

    def rngs(self) -> dict:
        return {
            "dropout": self.dropout_rng,
            "params": jax.random.split(self.dropout_rng)[1],
        }


def in_short(dtype: Any, function: Any, variables: dict, *args: Any, **options: Any):
    def cast(tree, dtype):
        real = lambda a: jnp.issubdtype(a.dtype, jnp.floating)  # noqa: E731
        return jax.tree.map(lambda a: a.astype(dtype) if real(a) else a, tree)

    variables = {**variables, "params": cast(variables["params"], dtype)}
    result = function(variables, *cast(args, dtype), **options)
    return cast(result, jnp.float32)


def split(batch: Any, parts: int) -> list:
    """Return parts of a minibatch, and the share of its examples in each."""
    n = len(jax.tree.leaves(batch)[0])
    size = -(-n // parts)
    first = n - (n - 1) // size * size  # the first part may be smaller
    ends = [0, *range(first, n + 1, size)]
    return [
        (jax.tree.map(lambda a, i=i, j=j: a[i:j], batch), (j - i) / n)
        for i, j in zip(ends, ends[1:], strict=False)
    ]


def two_keys(key: jax.Array) -> dict:
    """Return keys for the parameters and for dropout, as the trainer draws them."""
    params, dropout = jax.random.split(key)
    return {"params": params, "dropout": dropout}


def bare_loop(
    entry: Entry, epochs: int, parts: int, clip: float, precision: str
) -> dict[str, np.ndarray]:
    """Return the state after a loop that uses nothing of the library's trainer."""
    model, data = entry.model(), entry.batches()
    apply = model.apply
    if precision != "float32":
        apply = partial(in_short, getattr(jnp, precision), apply)
    keys = two_keys(jax.random.key(0))
    inputs = data[0][:-1] if isinstance(data[0], tuple) else (data[0],)
    kept = dict(model.apply_init(inputs, keys))
    params, optimizer = kept.pop("params"), model.configure_optimizers()
    kept.setdefault("batch_stats", {})
    kept.pop("losses", None)  # which layers sow anew in each call
    state = optimizer.init(params)

    @jax.jit
    def gradients(params, kept, key, part):
        value, grads = model.training_step(params, part, State(apply, kept, key))
        new = value[1] if isinstance(value, tuple) else {}
        return grads, {name: new.get(name, old) for name, old in kept.items()}

    @jax.jit
    def update(params, state, grads):
        changes, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, changes), state

    for step, batch in enumerate(data * epochs):
        key = jax.random.fold_in(keys["dropout"], step)
        total = jax.tree.map(jnp.zeros_like, params)
        for part, share in split(batch, parts):
            grads, kept = gradients(params, kept, key, part)
            total = jax.tree.map(lambda a, b, s=share: a + s * b, total, grads)
            key = jax.random.fold_in(key, 1)
        if clip:
            scale = jnp.minimum(1, clip / optax.tree.norm(total))
            total = jax.tree.map(lambda a, s=scale: a * s, total)
        params, state = update(params, state, total)
    return named({"params": params, "kept": kept, "optimizer": state})


def named(tree: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a tree by name."""
    leaves = jax.tree.leaves_with_path(tree)
    return {
        jax.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in leaves
        if hasattr(leaf, "shape")
    }


def state_before(entry: Entry) -> dict[str, np.ndarray]:
    """Return the parameters that a new model begins with."""
    batch = entry.batches()[0]
    inputs = batch[:-1] if isinstance(batch, tuple) else (batch,)
    return named({"params": entry.model().apply_init(inputs, None)["params"]})


def state_of(trainer: Any) -> dict[str, np.ndarray]:
    """Return the state of a model and of its optimizer after training."""
    state = trainer.state
    return named(
        {
            "params": state.params,
            "kept": state.collections(),
            "optimizer": state.opt_state,
        }
    )


# Models


class Model(d2l.Module):
    """A model that says how it is trained, and draws its first parameters itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.board.display = False

    def apply_init(self, dummy_input: Any, key: Any) -> Any:
        return self.init(two_keys(d2l.get_key()), *dummy_input)

    def training_step(self, params: Any, batch: Any, state: Any) -> tuple:
        return jax.value_and_grad(self.loss, has_aux=True)(params, batch, state)

    def outputs(self, params: Any, state: Any, *inputs: Any) -> tuple:
        """Return the outputs, and the new values of what is not trained."""
        return state.apply_fn(
            *(state.variables(params), *inputs),
            mutable=[*state.collections()],
            rngs=state.rngs(),
        )

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        *inputs, y = batch
        Y, updates = self.outputs(params, state, *inputs)
        loss = optax.softmax_cross_entropy_with_integer_labels(Y, y)
        return loss.mean(), updates

    def configure_optimizers(self) -> Any:
        return optax.sgd(0.05, momentum=0.9)


class Perceptron(Model):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        return nn.Dense(4)(jnp.tanh(nn.Dense(16)(X)))


class Convolutions(Model):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        X = nn.GroupNorm(2)(nn.relu(nn.Conv(6, (3, 3))(X)))
        return nn.Dense(4)(nn.max_pool(X, (2, 2), (2, 2)).mean((1, 2)))

    def configure_optimizers(self) -> Any:
        return optax.adam(0.01)


class BatchNorm(Model):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        X = nn.BatchNorm(use_running_average=False)(nn.Conv(6, (3, 3))(X))
        return nn.Dense(4)(nn.relu(X).mean((1, 2)))


class Recurrent(Model):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        return nn.Dense(4)(nn.RNN(nn.OptimizedLSTMCell(12))(X)[:, -1])


class GPT(Model):
    """A small Transformer with one matrix for inputs and outputs."""

    @nn.compact
    def __call__(self, words: jax.Array) -> jax.Array:
        embed = nn.Embed(16, 16)
        places = self.variable("constants", "places", lambda: jnp.arange(8))
        X = embed(words) + nn.Embed(8, 16)(places.value)
        mask = nn.make_causal_mask(words)
        attention = nn.MultiHeadDotProductAttention(2)
        X = X + attention(nn.LayerNorm()(X), mask=mask)
        X = X + nn.Dense(16)(nn.gelu(nn.Dense(32)(nn.LayerNorm()(X))))
        return embed.attend(X)

    def apply_init(self, dummy_input: Any, key: Any) -> Any:
        return super().apply_init([jnp.zeros((1, 8), int)], key)

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        Y, updates = self.outputs(params, state, batch[0][:, :-1])
        loss = optax.softmax_cross_entropy_with_integer_labels(Y, batch[0][:, 1:])
        return loss.mean(), updates


class Experts(Model):
    """A mixture of experts with a loss of its balance, which a layer sows."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        weights = nn.softmax(nn.Dense(3)(X))
        self.sow("losses", "balance", (weights.mean(0) ** 2).sum())
        H = jnp.stack([nn.Dense(8)(X) for _ in range(3)], 1)
        chosen = weights * (weights == weights.max(1, keepdims=True))
        return nn.Dense(4)(X + (chosen[..., None] * H).sum(1))

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        variables = {"params": params}
        Y, sown = state.apply_fn(variables, batch[0], mutable=["losses"])
        loss = optax.softmax_cross_entropy_with_integer_labels(Y, batch[1])
        return loss.mean() + 0.1 * sown["losses"]["balance"][0], {}


class Variational(Model):
    """A variational autoencoder, with a random stream of its own."""

    @nn.compact
    def __call__(self, X: jax.Array) -> tuple:
        mean, log_var = jnp.split(nn.Dense(6)(X), 2, 1)
        noise = jax.random.normal(self.make_rng("noise"), mean.shape)
        return nn.Dense(8)(mean + noise * jnp.exp(log_var / 2)), mean, log_var

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        (Y, mean, log_var), updates = self.outputs(params, state, batch[0])
        divergence = (mean**2 + jnp.exp(log_var) - 1 - log_var).sum(1).mean() / 2
        return ((Y - batch[0]) ** 2).mean() + 0.1 * divergence, updates


class Dropping(Model):
    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        X = nn.Dropout(0.3, deterministic=False)(nn.relu(nn.Dense(16)(X)))
        return nn.Dense(4)(X)


class Counting(Model):
    """Warms up by a counter of its calls, in a collection that it names."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        calls = self.variable("counters", "calls", lambda: jnp.zeros((), int))
        if not self.is_initializing():
            calls.value += 1
        return jnp.minimum(1, calls.value / 5) * nn.Dense(4)(X)


class Centres(Model):
    """Centres of the classes, which the loss reads and each step moves."""

    @nn.compact
    def __call__(self, X: jax.Array, y: jax.Array) -> tuple:
        H = nn.Dense(5)(X)
        centres = self.variable("centres", "value", lambda: jnp.zeros((4, 5)))
        loss = ((H - jax.lax.stop_gradient(centres.value[y])) ** 2).mean()
        if not self.is_initializing():
            moved = jax.lax.stop_gradient(H) - centres.value[y]
            centres.value = centres.value.at[y].add(0.1 * moved)
        return nn.Dense(4)(H), loss

    def apply_init(self, dummy_input: Any, key: Any) -> Any:
        return super().apply_init([*dummy_input, jnp.zeros(12, int)], key)

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        (Y, loss), updates = self.outputs(params, state, *batch)
        other = optax.softmax_cross_entropy_with_integer_labels(Y, batch[1])
        return other.mean() + loss, updates


class Averaged(Model):
    """A teacher whose weights are a moving average of the trained ones."""

    @nn.compact
    def __call__(self, X: jax.Array) -> tuple:
        net = nn.Dense(4)
        Y = net(X)
        own = jax.lax.stop_gradient(net.variables["params"]["kernel"])
        mean = self.variable("teacher", "kernel", lambda: own)
        taught = X @ mean.value
        if not self.is_initializing():
            mean.value = 0.9 * mean.value + 0.1 * own
        return Y, taught

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        (Y, taught), updates = self.outputs(params, state, batch[0])
        loss = optax.softmax_cross_entropy_with_integer_labels(Y, batch[1])
        return loss.mean() + ((Y - taught) ** 2).mean(), updates


class Masked(Model):
    """Has outputs that are impossible."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        return jnp.where(jnp.arange(6) < 4, nn.Dense(6)(X), -jnp.inf)


class Frozen(Model):
    """The first layer stays as it is, by the optimizer."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        return nn.Dense(4, name="head")(nn.relu(nn.Dense(16, name="body")(X)))

    def configure_optimizers(self) -> Any:
        kinds = {"head": optax.adam(0.01), "body": optax.set_to_zero()}
        return optax.multi_transform(kinds, {"head": "head", "body": "body"})


class Penalized(Perceptron):
    """A penalty for the gradients of the inputs."""

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        loss, updates = super().loss(params, batch, state)
        slope = jax.grad(lambda X: (self.outputs(params, state, X)[0] ** 2).sum())
        return loss + 0.01 * (slope(batch[0]) ** 2).sum(1).mean(), updates


class Spectral(Model):
    """Layers whose largest singular value is estimated anew in each step."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        norm = nn.SpectralNorm(nn.Dense(16))
        return nn.Dense(4)(jnp.tanh(norm(X, update_stats=True)))


class Contrastive(Model):
    """The two views of an example among those of the whole minibatch."""

    @nn.compact
    def __call__(self, X: jax.Array) -> jax.Array:
        Z = nn.Dense(5)(X)
        return Z / jnp.linalg.norm(Z, axis=1, keepdims=True)

    def apply_init(self, dummy_input: Any, key: Any) -> Any:
        return super().apply_init(dummy_input[:1], key)

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        one, updates = self.outputs(params, state, batch[0])
        two, _ = self.outputs(params, state, batch[0] + 0.1 * batch[1])
        labels = jnp.arange(len(one))
        return optax.softmax_cross_entropy_with_integer_labels(
            5 * one @ two.T, labels
        ).mean(), updates


class Named(Perceptron):
    """Minibatches that are dicts."""

    @nn.compact
    def __call__(self, batch: Any) -> jax.Array:
        X = batch["x"] if isinstance(batch, dict) else batch
        return nn.Dense(4)(jnp.tanh(nn.Dense(16)(X)))

    def loss(self, params: Any, batch: Any, state: Any) -> tuple:
        return super().loss(params, (batch["x"], batch["y"]), state)


class InNnx(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.dense = nnx.Linear(8, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.last = nnx.Linear(16, 4, rngs=rngs)

    def __call__(self, X: jax.Array) -> jax.Array:
        return self.last(jnp.tanh(self.norm(self.dense(X))))


class Bridged(Model):
    """A model of NNX, with statistics."""

    def setup(self) -> None:
        self.net = nnx.bridge.to_linen(InNnx)


class Scheduled(Perceptron):
    """An optimizer with a schedule and a clip of its own."""

    def configure_optimizers(self) -> Any:
        rate = optax.cosine_decay_schedule(0.1, 8)
        return optax.chain(optax.clip(0.5), optax.adamw(rate, weight_decay=0.1))


ZOO = [
    Entry("perceptron", Perceptron, vectors, thin=True),
    Entry("convolutions", Convolutions, images),
    Entry("batch norm", BatchNorm, images, thin=True),
    Entry("LSTM", Recurrent, sequences),
    Entry("GPT", GPT, texts),
    Entry("experts", Experts, vectors),
    Entry("VAE", Variational, vectors, thin=True),
    Entry("dropout", Dropping, vectors),
    Entry("counter", Counting, vectors, thin=True),
    Entry("centres", Centres, vectors),
    Entry("mean teacher", Averaged, vectors),
    Entry("masked", Masked, vectors),
    Entry("frozen", Frozen, vectors),
    Entry("penalty", Penalized, vectors),
    Entry("spectral norm", Spectral, vectors),
    Entry("contrastive", Contrastive, pairs),
    Entry("dicts", Named, dicts),
    Entry("NNX", Bridged, vectors),
    Entry("schedule", Scheduled, vectors),
]

# The rows of the table in the appendix, and the models that show them.
STATES = {
    "parameters": "perceptron",
    "`batch_stats`": "batch norm",
    "any other collection": "counter",
    "a random stream of its own": "VAE",
    "a model of NNX, by `nnx.bridge.to_linen`": "NNX",
}
