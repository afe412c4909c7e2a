"""Predicted and counted memory of models that the section on memory does not show."""

from typing import Any

import jax
import numpy as np
import optax
import pytest
from flax import linen as nn
from jax import numpy as jnp

from d2l import jax as d2l

KEY = jax.random.key(0)
MiB = 2**20


class ResNet(d2l.Classifier):
    """Residual blocks of convolutions and batch normalization."""

    lr: float = 0.1
    training: bool = True
    channels: tuple = (8, 16)

    @nn.compact
    def __call__(self, X):
        def norm(X):
            return nn.BatchNorm(use_running_average=not self.training)(X)

        for c in self.channels:
            Y = nn.relu(norm(nn.Conv(c, (3, 3), use_bias=False)(X)))
            Y = norm(nn.Conv(c, (3, 3), use_bias=False)(Y))
            X = X if X.shape[-1] == c else nn.Conv(c, (1, 1))(X)
            X = nn.relu(X + Y)
        return nn.Dense(10)(X.mean((1, 2)))

    def configure_optimizers(self):
        return optax.sgd(self.lr, momentum=0.9)


class TiedTransformer(d2l.Classifier):
    """A language model whose embedding is also its output layer."""

    vocab: int = 300
    width: int = 32
    layers: int = 2
    lr: float = 1e-3
    training: bool = True

    @nn.compact
    def __call__(self, X):
        embedding = nn.Embed(self.vocab, self.width)
        X = embedding(X)
        for _ in range(self.layers):
            X = d2l.TransformerLayer(self.width, 4, training=self.training)(X)
        return embedding.attend(X)

    def configure_optimizers(self):
        return optax.adam(self.lr)


class BagOfWords(d2l.Classifier):
    """A model most of which is its embedding."""

    lr: float = 1e-3

    @nn.compact
    def __call__(self, X):
        return nn.Dense(4)(nn.Embed(20000, 16)(X).mean(1))

    def configure_optimizers(self):
        return optax.adam(self.lr)


class Plain(d2l.Module):
    """A model whose parameters are declared one by one, in a loop of JAX."""

    lr: float = 0.1

    def setup(self):
        normal = nn.initializers.normal(0.1)
        self.W = self.param("W", normal, (6, 32, 32))

    def forward(self, X):
        return jax.lax.scan(lambda X, W: (jnp.tanh(X @ W), None), X, self.W)[0]

    def loss(self, params, X, y, state):
        return ((state.apply_fn({"params": params}, *X) - y) ** 2).mean()


def tokens(*shape, high=300):
    return jax.random.randint(KEY, shape, 0, high)


def normal(*shape):
    return jax.random.normal(KEY, shape)


MODELS = {
    "resnet": (ResNet, lambda: (normal(16, 16, 16, 3), tokens(16, high=10))),
    "transformer": (TiedTransformer, lambda: (tokens(4, 32), tokens(4, 32))),
    "embedding": (BagOfWords, lambda: (tokens(8, 12), tokens(8, high=4))),
    "plain": (Plain, lambda: (normal(64, 32), normal(64, 32))),
    "regression": (
        lambda: d2l.LinearRegression(0.1),
        lambda: (normal(9, 2), normal(9, 1)),
    ),
    "mlp": (lambda: d2l.MLP(10, 32, 0.1), lambda: (normal(64, 64), tokens(64, high=9))),
}


@pytest.fixture(params=MODELS)
def model_and_batch(request: pytest.FixtureRequest) -> tuple:
    model, batch = MODELS[request.param]
    return model(), batch()


def prepared(model: Any, batch: Any, **settings: Any) -> Any:
    """Return a trainer that has `model` ready for its first step."""
    trainer = d2l.Trainer(max_epochs=1)
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.key, trainer.train_dataloader = KEY, [batch]
    trainer.prepare_model(model)
    return trainer


def compiled_step(trainer: Any) -> Any:
    """Return the compiled step, from (state, batch) to (state, curves)."""
    return d2l.Compiled(trainer.train_step, trainer.model).compiled


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def count_residuals(model: Any, state: Any, batch: Any) -> int:
    """Return the bytes of the real arrays that the gradients need."""

    @jax.jit
    def residuals(params, batch):
        def loss(params):
            return first(model.loss(params, batch[:-1], batch[-1], state))

        known = {id(a) for a in jax.tree.leaves((params, batch))}
        _, pullback = jax.vjp(loss, params)
        return [a for a in jax.tree.leaves(pullback) if id(a) not in known]

    kept = residuals(state.params, batch)
    constant = [a for a in kept if a.size > 1 and np.unique(a).size == 1]
    return sum(a.nbytes for a in kept) - sum(a.nbytes for a in constant)


def test_prediction_is_what_real_arrays_have(model_and_batch):
    model, batch = model_and_batch
    trainer = prepared(model, batch)
    state, step = trainer.state, compiled_step(trainer)
    predicted = d2l.predict_memory(model, batch)
    after, _ = step(state, batch)
    assert predicted.weights == d2l.nbytes([state.params, state.batch_stats])
    assert predicted.gradients == d2l.nbytes(after.params)
    assert predicted.optimizer == d2l.nbytes(after.opt_state)
    assert predicted.batch == d2l.nbytes(batch)
    counted = count_residuals(model, state, batch)
    assert predicted.activations == pytest.approx(counted, rel=0.05, abs=64)
    held = 2 * (predicted.weights + predicted.optimizer) + predicted.batch
    assert held < predicted.peak


def test_prediction_needs_shapes_only(model_and_batch):
    model, batch = model_and_batch
    shapes = jax.eval_shape(lambda *batch: batch, *batch)
    assert d2l.predict_memory(model, shapes) == d2l.predict_memory(model, batch)


def test_prediction_leaves_the_model_alone():
    model, batch = d2l.MLP(10, 32, 0.1), (normal(64, 64), tokens(64, high=9))
    trainer = prepared(model, batch)
    d2l.predict_memory(model, batch)
    assert model.trainer is trainer and model is trainer.model
    assert not model.board.data and not hasattr(model, "training")


def test_a_model_that_is_too_large_for_this_machine():
    shape = jax.ShapeDtypeStruct((2**20, 2**14), jnp.float32)
    size = d2l.predict_memory(d2l.DeepMLP(width=2**14), (shape, shape))
    assert size.weights == 4 * 16 * (2**28 + 2**14)
    assert size.activations == pytest.approx(17 * 2**36, rel=0.01)
    assert size.peak > 17 * 2**36


def test_a_model_that_cannot_be_traced_is_one_clear_error():
    class Branching(d2l.MLP):
        def forward(self, X):
            return self.net(X) if X.sum() > 0 else self.net(-X)

    model, batch = Branching(10, 32, 0.1), (normal(64, 64), tokens(64, high=9))
    with pytest.raises(ValueError, match="^JAX cannot trace Branching: ") as caught:
        d2l.predict_memory(model, batch)
    message = str(caught.value)
    assert "\n" not in message and "X.sum() > 0" in message
    assert d2l.Compiled.collected is None


def test_peak_is_the_trainers_own():
    X = normal(512, 64)
    model = d2l.DeepMLP(depth=4, width=64)
    trainer = prepared(model, (X, X))
    step = compiled_step(trainer).lower(trainer.state, (X, X))
    plan = step.compile().memory_analysis()
    predicted = d2l.predict_memory(model, (X, X)).peak
    assert predicted == (
        plan.argument_size_in_bytes
        + plan.output_size_in_bytes
        - plan.alias_size_in_bytes
        + plan.temp_size_in_bytes
    )


# The tape


def test_tape_of_a_chain():
    def chain(X):
        Y = jnp.sin(X)  # + 4 KiB
        Z = jnp.cos(Y)  # + 4, then Y is free
        return Z.sum()  # + 4 bytes, then Z is free

    tape = d2l.memory_tape(chain, jnp.ones(1024))
    assert tape == [4096, 8192, 8192, 4100, 4]


def test_tape_follows_functions_and_loops():
    @jax.jit
    def inner(X):
        return jnp.tanh(X) + 1

    def function(X):
        return jax.lax.scan(lambda c, _: (inner(c), None), X, None, length=3)[0]

    tape = d2l.memory_tape(function, jnp.ones(1024))
    assert max(tape) - tape[0] > 4096 and tape[-1] == 4096
    assert d2l.memory_tape(inner, jnp.ones(1024)) == [4096, 8192, 8192, 4096]


def test_views_need_no_memory():
    def views(X):
        return jnp.broadcast_to(X.reshape(32, 32)[None], (50, 32, 32)).sum()

    assert max(d2l.memory_tape(views, jnp.ones(1024))) == 4100


# What is kept


def test_checkpointing_keeps_the_input_only():
    def f(X):
        return jnp.sin(jnp.exp(jnp.sin(X))).sum()

    X = jnp.ones(1024)
    assert len(d2l.saved_for_backward(f, X)) == 3
    assert d2l.saved_for_backward(jax.checkpoint(f), X) == []


def test_lean_tanh_is_tanh():
    X = normal(64)
    expected, pullback = jax.vjp(jnp.tanh, X)
    got, lean_pullback = jax.vjp(d2l.lean_tanh, X)
    np.testing.assert_allclose(got, expected)
    np.testing.assert_allclose(*lean_pullback(X), *pullback(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("num_chunks", [1, 3])
def test_chunked_loss_is_the_mean_over_all_examples(num_chunks):
    X, W, y = normal(10, 4), normal(4, 7), tokens(10, high=7)

    def whole(X, W):
        each = optax.softmax_cross_entropy_with_integer_labels(X @ W, y)
        return each.mean()

    expected = jax.value_and_grad(whole, (0, 1))(X, W)
    got = jax.value_and_grad(d2l.chunked_loss, (0, 1))(X, W, y, num_chunks)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6),
        expected,
        got,
    )


# Accumulation


class Regression(d2l.SyntheticRegressionData):
    """Two minibatches of 32 examples, and a last one of 11."""

    def __init__(self):
        super().__init__(
            jnp.array([2, -3.4]), 4.2, num_train=75, num_val=20, batch_size=32
        )


def fitted(model: Any, data: Any, **settings: Any) -> Any:
    epochs, clip = settings.pop("epochs", 2), settings.pop("clip", 0)
    trainer = d2l.Trainer(max_epochs=epochs, gradient_clip_val=clip)
    for name, value in settings.items():
        setattr(trainer, name, value)
    model.board.display = False
    trainer.fit(model, data, key=KEY)
    return trainer


def assert_same_fit(one: Any, other: Any, rtol: float = 1e-4) -> None:
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5),
        one.state.params,
        other.state.params,
    )
    for label, points in one.model.board.data.items():
        others = other.model.board.data[label]
        np.testing.assert_allclose(
            [point.y for point in others], [point.y for point in points], rtol=1e-3
        )


@pytest.mark.parametrize(("accumulate", "clip"), [(3, 0), (4, 0.5), (100, 0)])
def test_accumulation_equals_the_large_minibatch(accumulate, clip):
    one, other = (
        fitted(d2l.LinearRegression(0.03), Regression(), accumulate=n, clip=clip)
        for n in (1, accumulate)
    )
    assert other.train.compiled is not None
    assert_same_fit(one, other)


def test_accumulation_of_a_classifier():
    one, other = (
        fitted(d2l.MLP(10, 16, 0.3), d2l.Digits(batch_size=479), accumulate=n)
        for n in (1, 3)
    )
    assert_same_fit(one, other)


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
def test_accumulation_without_compilation():
    class Branching(d2l.LinearRegression):
        def forward(self, X):
            return self.net(X if X.sum() > 1e9 else 1 * X)

    one, other = (
        fitted(Branching(0.03), Regression(), accumulate=n, epochs=1) for n in (1, 3)
    )
    assert other.train.compiled is None
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        one.state.params,
        other.state.params,
    )


def test_parts_draw_their_own_dropout_and_update_statistics_in_turn():
    keys = []

    class Watched(ResNet):
        def training_step(self, params, batch, state):
            jax.debug.callback(
                lambda key: keys.append(tuple(np.ravel(key).tolist())),
                jax.random.key_data(state.dropout_rng),
                ordered=True,
            )
            return super().training_step(params, batch, state)

    batch = normal(6, 4, 4, 3), tokens(6, high=10)
    trainer = prepared(Watched(channels=(3,)), batch, accumulate=3)
    after, _ = compiled_step(trainer)(trainer.state, batch)
    jax.effects_barrier()
    assert len(keys) == len(set(keys)) == 3
    assert after.dropout_rng == trainer.state.dropout_rng
    state = trainer.state
    for i in range(0, 6, 2):
        part = batch[0][i : i + 2], batch[1][i : i + 2]
        _, updates = jax.jit(trainer.model.loss)(
            state.params, part[:-1], part[-1], state
        )
        state = state.replace(batch_stats=updates["batch_stats"])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5),
        state.batch_stats,
        after.batch_stats,
    )


def test_accumulation_saves_memory():
    X = jax.ShapeDtypeStruct((2048, 64), jnp.float32)
    whole, parts = (
        d2l.predict_memory(d2l.DeepMLP(width=64), (X, X), accumulate=n) for n in (1, 4)
    )
    assert parts.activations == whole.activations / 4
    assert whole.peak - parts.peak > 0.6 * whole.activations


# Precision


def network_dtypes(precision: Any) -> tuple[set, set]:
    """Return the types inside of the network, and those of its output."""
    seen = set()

    class Watched(d2l.MLP):
        def forward(self, X):
            Y = super().forward(X)
            seen.add(Y.dtype)
            return Y

    batch = normal(8, 4), tokens(8, high=10)
    trainer = prepared(Watched(10, 16, 0.1), batch, precision=precision)
    seen.clear()
    state = trainer.state
    outputs = state.apply_fn({"params": state.params}, batch[0])
    return seen, {outputs.dtype, *(p.dtype for p in jax.tree.leaves(state.params))}


@pytest.mark.parametrize("precision", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_the_network_computes_in_the_precision_of_the_trainer(precision):
    inside, outside = network_dtypes(precision)
    assert inside == {jnp.dtype(precision)} and outside == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize("precision", [jnp.bfloat16, jnp.float16])
def test_reduced_precision_trains(precision):
    one, other = (
        fitted(d2l.MLP(10, 32, 0.3), d2l.Digits(batch_size=479), precision=dtype)
        for dtype in (jnp.float32, precision)
    )
    losses = [trainer.model.board.data["val_loss"][-1].y for trainer in (one, other)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def test_scaled_gradients_are_the_gradients():
    batch, model = (normal(64, 32), normal(64, 32)), d2l.DeepMLP(1, 32)

    def gradients(**settings):
        state = prepared(model, batch, **settings).state
        loss = jax.jit(
            lambda params: 1e-6 * model.loss(params, batch[:1], batch[1], state)
        )
        return jax.grad(loss)(state.params)

    whole = gradients()
    lost, kept = (
        optax.tree.sub(gradients(precision=jnp.float16, loss_scale=scale), whole)
        for scale in (1.0, 2.0**16)
    )
    size = optax.tree.norm(whole)
    assert optax.tree.norm(lost) > 0.5 * size
    assert optax.tree.norm(kept) < 0.02 * size


def test_an_overflow_is_skipped():
    batch = normal(64, 32), normal(64, 32)
    trainer = prepared(
        d2l.DeepMLP(2, 32), batch, precision=jnp.float16, loss_scale=2.0**40
    )
    after, _ = compiled_step(trainer)(trainer.state, batch)
    jax.tree.map(np.testing.assert_array_equal, trainer.state.params, after.params)


def test_16_bits_halve_the_activations():
    X = jax.ShapeDtypeStruct((2048, 64), jnp.float32)
    full, half = (
        d2l.predict_memory(d2l.DeepMLP(width=64), (X, X), precision=dtype).activations
        for dtype in (jnp.float32, jnp.bfloat16)
    )
    assert 0.5 * full < half < 0.6 * full
