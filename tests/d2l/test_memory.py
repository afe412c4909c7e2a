"""The memory of a training step: predictions, by role, against counted bytes."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import warnings

import numpy as np
import pytest
from counting import counted


def numbers(fw, *shape):
    return fw.tensor(np.random.normal(size=shape))


def labels(fw, *shape, limit=10):
    kind = "int64" if fw.tab == "pytorch" else "int32"
    return fw.tensor(np.random.randint(0, limit, shape), kind)


def images(fw, n, channels=3, size=16):
    last = fw.tab in ("jax", "tensorflow")
    shape = (n, size, size, channels) if last else (n, channels, size, size)
    return numbers(fw, *shape), labels(fw, n)


def words(fw, n, length, limit):
    return labels(fw, n, length, limit=limit), labels(fw, n, length, limit=limit)


def twice(fw, *shape):
    X = numbers(fw, *shape)
    return X, X


def scratch(fw):
    return next(case for case in fw.cases() if case.name == "mlp").model()


CONV = ("conv", 8), "norm", "relu", ("conv", 8), "norm", "relu", "pool", 10
TEXT = ("embed", 500, 32), ("transformer", 32, 4), ("transformer", 32, 4)
CASES = {
    "regression": (
        lambda fw: fw.d2l.LinearRegression(0.1),
        lambda fw: (numbers(fw, 512, 100), numbers(fw, 512, 1)),
    ),
    "MLP": (
        lambda fw: fw.model(64, "relu", 10),
        lambda fw: (numbers(fw, 128, 64), labels(fw, 128)),
    ),
    "deep": (lambda fw: fw.d2l.DeepMLP(6, 64), lambda fw: twice(fw, 300, 64)),
    "images": (lambda fw: fw.model(*CONV, optimizer="sgd"), lambda fw: images(fw, 32)),
    "text": (lambda fw: fw.model(*TEXT, 500), lambda fw: words(fw, 6, 40, 500)),
    "tied": (lambda fw: fw.model(*TEXT, "tied"), lambda fw: words(fw, 12, 16, 500)),
    "embedding": (
        lambda fw: fw.model(("embed", 20000, 16), 4),
        lambda fw: words(fw, 32, 8, 4),
    ),
    "scratch": (scratch, lambda fw: (numbers(fw, 256, 64), labels(fw, 256))),
}


@pytest.mark.filterwarnings("ignore:the peak leaves out")
@pytest.mark.parametrize("name", CASES)
def test_a_prediction_is_what_a_step_takes(d2l, fw, name):
    make, data = CASES[name]
    model, batch = make(fw), data(fw)
    for accumulate in (1, 3) if fw.tab == "pytorch" else (1,):
        predicted = d2l.predict_memory(model, batch, accumulate)
        for role, size in counted(fw, model, batch, accumulate).items():
            found = getattr(predicted, role)
            assert found == pytest.approx(size, rel=fw.memory_error, abs=64), role
        fixed = predicted.weights + predicted.optimizer + predicted.batch
        assert predicted.peak > fixed


def test_bytes_by_role(d2l, fw):
    size = d2l.predict_memory(d2l.DeepMLP(depth=4, width=32), twice(fw, 100, 32))
    weights = 4 * 4 * (32 * 32 + 32)
    assert (size.weights, size.gradients) == (weights, weights)
    assert size.optimizer == pytest.approx(2 * weights, rel=0.01)  # and step counts
    assert size.activations == pytest.approx(5 * 100 * 32 * 4, abs=16)
    assert size.batch == 100 * 32 * 4


def test_momentum_takes_as_much_as_the_weights(d2l, fw):
    batch = numbers(fw, 8, 32), labels(fw, 8)
    size = d2l.predict_memory(fw.model(64, 10, optimizer="sgd"), batch)
    assert size.weights == size.gradients == 4 * (33 * 64 + 65 * 10)
    assert size.optimizer == pytest.approx(size.weights, abs=12)


def test_parts_divide_the_activations(d2l, fw):
    batch = twice(fw, 2048, 64)
    whole, parts = (
        d2l.predict_memory(d2l.DeepMLP(16, 64), batch, accumulate=n) for n in (1, 4)
    )
    assert parts.activations == pytest.approx(whole.activations / 4, rel=0.01)
    assert parts[:3] == whole[:3]
    assert whole.peak - parts.peak > 0.5 * whole.activations


def test_16_bits_reduce_only_the_activations(d2l, fw):
    batch = twice(fw, 512, 128)
    full = d2l.predict_memory(d2l.DeepMLP(), batch)
    for precision in set(fw.short_types) & {"bfloat16"}:
        half = d2l.predict_memory(d2l.DeepMLP(), batch, precision=fw.dtype(precision))
        assert half[:3] == full[:3]
        assert 0.5 * full.activations < half.activations < 0.8 * full.activations


@pytest.mark.filterwarnings("ignore:the peak leaves out")
def test_a_prediction_changes_nothing(d2l, fw):
    model, batch = fw.model(*CONV), images(fw, 8)
    d2l.predict_memory(model, batch)  # gives lazy layers their shapes
    before, names = [fw.numpy(array) for array in fw.arrays(model)], {*vars(model)}
    assert not model.board.data and "trainer" not in names
    trainer = d2l.Trainer()
    object.__setattr__(model, "trainer", trainer)  # a model of Flax is frozen
    d2l.predict_memory(model, batch, accumulate=2)
    for old, new in zip(before, fw.arrays(model), strict=True):
        np.testing.assert_array_equal(old, fw.numpy(new))
    assert not model.board.data and model.trainer is trainer
    assert {*vars(model)} == names | {"trainer"}


# Models that define their training step themselves


def repeated(d2l, fw, times):
    """Return a model whose training step has several forward passes."""

    class Repeated(d2l.DeepMLP):
        def training_step(self, *args):
            if fw.tab == "jax":
                params, batch, state = args

                def loss(params):
                    inputs = [batch[0] * (1 + i) for i in range(times)]
                    return sum(self.loss(params, (X,), batch[1], state) for X in inputs)

                return fw.jax.value_and_grad(loss)(params)
            (batch,) = args
            inputs = [batch["X"] * (1 + i) for i in range(times)]
            return sum(self.loss(self(X), batch["y"]) for X in inputs)

    return Repeated(depth=2, width=32)


def test_the_training_step_of_the_model_is_counted(d2l, fw):
    X = numbers(fw, 256, 32)
    batch = (X, X) if fw.tab == "jax" else {"X": X, "y": X}
    with warnings.catch_warnings(record=True, action="always") as caught:
        one, four = (d2l.predict_memory(repeated(d2l, fw, n), batch) for n in (1, 4))
    assert four.weights == one.weights and four.batch == one.batch
    assert four.peak - one.peak > 2 * 256 * 32 * 4
    said = any("training_step of its own; its act" in f"{w.message}" for w in caught)
    assert said == (fw.tab == "jax")  # the only one that cannot list them
    assert said or four.activations > 3 * one.activations


def test_a_model_that_chooses_by_a_value_is_one_clear_error(d2l, fw):
    class Choosing(d2l.MLP):
        def forward(self, X):
            return super().forward(X if float(d2l.reduce_sum(X)) > 0 else 2 * X)

    if fw.tab == "mxnet":
        return  # which runs the model
    words = {
        "pytorch": "^Choosing reads .* in forward, `return super",
        "jax": r"^JAX cannot trace Choosing: .*return super\(\)",
        "tensorflow": "^Choosing cannot be traced.*forward",
    }
    with pytest.raises((ValueError, RuntimeError), match=words[fw.tab]) as raised:
        d2l.predict_memory(Choosing(10, 8, 0.1), (numbers(fw, 4, 64), labels(fw, 4)))
    assert "\n" not in str(raised.value)


def test_scratch_memory_of_convolutions_is_told(d2l, fw):
    if fw.tab in ("pytorch", "jax"):
        model = fw.model(("conv", 2), "flatten", 10)
        with pytest.warns(d2l.LowerBound, match="at least .* (third|34%)"):
            d2l.predict_memory(model, images(fw, 4))


# A loss in chunks


@pytest.mark.parametrize("num_chunks", [1, 3, 50])
def test_chunks_have_the_loss_and_the_gradients_of_the_whole(d2l, fw, num_chunks):
    X, W = np.random.normal(size=(50, 8)), np.random.normal(size=(8, 30))
    y = labels(fw, 50, limit=30)
    P = np.exp(X @ W) / np.exp(X @ W).sum(1, keepdims=True)
    picked = np.eye(30)[fw.numpy(y)]
    error = 3 * (P - picked) / 50
    whole = -3 * np.log(P[picked == 1]).mean(), error @ W.T, X.T @ error

    def chunked(X, W):
        return 3 * d2l.chunked_loss(X, W, y, num_chunks)

    found = fw.gradients(chunked, fw.tensor(X), fw.tensor(W))
    for a, b in zip(whole, found, strict=True):
        np.testing.assert_allclose(a, fw.numpy(b), rtol=1e-4, atol=1e-6)
