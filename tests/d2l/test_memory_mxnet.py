"""The memory of training steps in MXNet, accumulation, checkpointing and precision."""

from typing import Any

import mxnet as mx
import numpy as onp
import pytest
from mxnet import autograd, gluon, np, npx  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

from d2l import mxnet as d2l  # noqa: E402

npx.set_np()


class Adam(d2l.Classifier):
    """A classifier whose layers are given, trained by Adam."""

    def __init__(self, *layers):
        super().__init__()
        self.net = nn.HybridSequential()
        self.net.add(*layers)
        self.net.initialize(mx.init.Xavier())

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "adam", {"learning_rate": 1e-3})


class Residual(nn.HybridBlock):
    """Two convolutions with batch normalization beside a shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.layers = nn.HybridSequential()
        for _ in range(2):
            self.layers.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm())

    def hybrid_forward(self, F, X):
        return F.npx.relu(self.layers(X) + X)


class LanguageModel(d2l.Classifier):
    """A small Transformer; with `tied`, its head is its embedding."""

    def __init__(self, vocab_size, width, depth, tied=False):
        super().__init__()
        self.embedding, self.layers = nn.Embedding(vocab_size, width), nn.Sequential()
        self.layers.add(*(d2l.TransformerLayer(width, 2) for _ in range(depth)))
        shared = self.embedding.params if tied else None
        self.head = nn.Dense(
            vocab_size, flatten=False, use_bias=False, in_units=width, params=shared
        )
        self.initialize()

    def forward(self, X):
        return self.head(self.layers(self.embedding(X)))

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "sgd", {"momentum": 0.9})


class PlainArrays(d2l.Classifier):
    """A network with one hidden layer that has no layers of the framework."""

    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W1, self.b1 = np.random.normal(0, 0.1, (64, 48)), np.zeros(48)
        self.W2, self.b2 = np.random.normal(0, 0.1, (48, 10)), np.zeros(10)
        for array in self.get_scratch_params():
            array.attach_grad()

    def forward(self, X):
        H = np.maximum(np.dot(X, self.W1) + self.b1, 0)
        return np.dot(H, self.W2) + self.b2


def images(n, channels=3, size=16):
    return np.random.normal(size=(n, channels, size, size)), labels(n)


def labels(*shape):
    return np.zeros(shape, dtype=np.int32)


def lenet():
    return Adam(
        nn.Conv2D(6, 5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(2, 2),
        nn.Conv2D(16, 5, activation="sigmoid"),
        nn.Dense(84, activation="sigmoid"),
        nn.Dense(10),
    )


def residual_stack():
    return Adam(
        nn.Conv2D(8, 3, padding=1),
        *(Residual(8) for _ in range(4)),
        nn.GlobalAvgPool2D(),
        nn.Dense(10),
    )


def embedding_bag():
    return Adam(nn.Embedding(40000, 16), nn.Dense(4))


def words(n, length):
    return labels(n, length), labels(n, length)


CASES = {
    "linear": (
        lambda: d2l.LinearRegression(0.1),
        lambda: (np.ones((512, 100)), np.ones((512, 1))),
    ),
    "MLP": (lambda: d2l.MLP(10, 64, 0.1), lambda: (np.ones((128, 64)), labels(128))),
    "deep": (lambda: d2l.DeepMLP(6, 64), lambda: [np.ones((300, 64))] * 2),
    "LeNet": (lenet, lambda: images(64, 1, 28)),
    "residual": (residual_stack, lambda: images(32)),
    "Transformer": (lambda: LanguageModel(100, 32, 3), lambda: words(6, 40)),
    "tied": (lambda: LanguageModel(2000, 32, 1, True), lambda: words(12, 16)),
    "embedding": (embedding_bag, lambda: (labels(32, 8), labels(32))),
    "plain arrays": (PlainArrays, lambda: (np.ones((256, 64)), labels(256))),
}


def count_step(model, batch):
    """Return the bytes kept by a forward pass, and the least peak of later steps."""
    optimizer = model.configure_optimizers()

    def loss():
        return model.loss(model(*batch[:-1]), batch[-1])

    def step():
        with autograd.record():
            value = loss()
        value.backward()
        optimizer.step(1)

    model.hybridize()
    for _ in range(4):
        step()
    states = [list(u.states.values()) for u in getattr(optimizer, "_updaters", [])]
    arrays = d2l.all_arrays(model)
    grads = [a.grad for a in d2l.trained_arrays(model)]
    fixed = [*arrays, *grads, *d2l.flatten(states)]
    peaks = []
    for _ in range(5):  # the engine may free an array later than usual
        with d2l.MemoryTape([*fixed, *batch]) as record:
            step()
        peaks.append(max(record.tape))
    return d2l.saved_bytes(loss), min(peaks)


@pytest.mark.parametrize("name", CASES)
def test_prediction_is_within_five_percent_of_counted_bytes(name):
    make_model, make_batch = CASES[name]
    batch = make_batch()
    predicted = d2l.predict_memory(make_model(), batch)
    activations, peak = count_step(make_model(), batch)
    assert predicted.activations == pytest.approx(activations, rel=0.05)
    assert predicted.peak == pytest.approx(peak, rel=0.05)


def test_roles_of_adam_and_of_momentum():
    memory = d2l.predict_memory(d2l.DeepMLP(2, 32), [np.ones((8, 32))] * 2)
    assert memory[:3] == (8448, 8448, 16896) and memory.batch == 8 * 32 * 4
    model = LanguageModel(50, 16, 1)
    memory = d2l.predict_memory(model, words(4, 8))
    assert memory.weights == memory.gradients == memory.optimizer


def test_frozen_parameters_have_no_gradients():
    model = d2l.DeepMLP(2, 32)
    model.net[0].collect_params().setattr("grad_req", "null")
    memory = d2l.predict_memory(model, [np.ones((8, 32))] * 2)
    assert memory[:3] == (8448, 4224, 8448)


def test_prediction_changes_neither_weights_nor_statistics():
    model, batch = residual_stack(), images(8)
    model(batch[0])
    before = [p.data().copy() for p in model.parameters()]
    d2l.predict_memory(model, batch)
    assert all(
        (a == p.data()).all() for a, p in zip(before, model.parameters(), strict=True)
    )


def test_batch_may_be_a_view_without_memory():
    X = onp.broadcast_to(onp.float32(0), (2**20, 32))
    memory = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))
    assert memory.batch == 2**27
    assert memory.activations == pytest.approx(3 * 2**27, rel=0.01)


def test_batch_may_be_smaller_than_the_runs_of_the_prediction():
    X = np.ones((2, 32))
    memory = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))
    assert memory.activations == pytest.approx(3 * 2 * 32 * 4, abs=16)


def test_accumulation_divides_the_activations():
    X = np.ones((64, 32))
    whole = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))
    parts = d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X), accumulate=4)
    assert parts.activations == pytest.approx(whole.activations / 4, rel=0.01)
    assert parts[:3] == whole[:3] and parts.peak < whole.peak


def test_a_model_that_does_not_run_raises_one_clear_error():
    X = np.ones((8, 5))
    with pytest.raises(RuntimeError, match="^DeepMLP does not run on 4 examples: .+"):
        d2l.predict_memory(d2l.DeepMLP(2, 32), (X, X))


def test_a_model_without_parameters_in_memory_raises_one_clear_error():
    model = d2l.DeepMLP(2, 32)
    model.net = nn.HybridSequential()
    model.net.add(nn.Dense(3))
    X = np.ones((8, 32))
    with pytest.raises(RuntimeError, match="not been initialized"):
        d2l.predict_memory(model, (X, X))


def test_tape_counts_arrays_until_they_are_freed():
    X = np.ones(1000)
    with d2l.MemoryTape([X, X]) as record:
        Y = np.zeros(500)
        record.wait()
        del Y
    assert record.tape[0] == 4000
    assert max(record.tape) == 6000 and record.tape[-1] == 4000


def test_tape_of_an_error_ends_the_profile():
    with pytest.raises(KeyError), d2l.MemoryTape() as record:
        raise KeyError
    assert record.tape[-1] == 0


@pytest.mark.parametrize(("length", "heads"), [(16, 2), (40, 4)])
def test_a_transformer_layer_keeps_what_arithmetic_says(length, heads):
    layer = d2l.TransformerLayer(32, heads)
    layer.initialize()
    X = np.random.normal(size=(3, length, 32))
    X.attach_grad()
    layer(X).wait_to_read()
    saved = d2l.saved_bytes(lambda: layer(X).sum()) / 2 + d2l.nbytes([X]) / 2
    predicted = 40 + 6 * heads * length / 32
    assert saved / X.size == pytest.approx(predicted, rel=0.01)


@pytest.mark.parametrize("num_chunks", [1, 3, 7])
def test_chunked_loss_has_the_gradients_of_the_whole_loss(num_chunks):
    X, W = np.random.normal(size=(20, 8)), np.random.normal(size=(8, 50))
    y, grads = np.random.randint(0, 50, (20,)), []
    for array in (X, W):
        array.attach_grad()
    for chunks in (None, num_chunks):
        with autograd.record():
            loss = (
                d2l.chunked_loss(X, W, y, chunks)
                if chunks
                else -npx.pick(npx.log_softmax(np.dot(X, W)), y).mean()
            ) * 3
        loss.backward()
        grads.append((loss, X.grad.copy(), W.grad.copy()))
    assert all(np.allclose(a, b, 1e-4, 1e-6) for a, b in zip(*grads, strict=True))


class Checkpointed(d2l.DeepMLP):
    """Each layer is checkpointed if `on` is true."""

    on = False

    def forward(self, X):
        for layer in self.net:
            X = d2l.checkpoint(layer, X) if self.on else layer(X)
        return X


@pytest.mark.parametrize("needs_gradient", [False, True])
def test_checkpointing_changes_no_gradient(needs_gradient):
    X, model, grads = np.random.normal(size=(64, 32)), Checkpointed(8, 32), []
    if needs_gradient:
        X.attach_grad()
    for model.on in (False, True):
        with autograd.record():
            loss = model.loss(model(X), X)
        loss.backward()
        d2l.wait_for_checkpoints()
        grads.append([p.grad().copy() for p in model.parameters()])
    assert all((a == b).all() for a, b in zip(*grads, strict=True))
    assert all(abs(a).max() > 0 for a in grads[0])


def test_a_checkpointed_model_trains_as_before(fw):
    weights = []
    for on in (False, True):
        fw.seed(0)
        model = Checkpointed(3, 8)
        model.on = on
        d2l.Trainer(2).fit(model, Copies(20, 8))
        weights.append([p.data().copy() for p in model.parameters()])
    assert all(np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(*weights, strict=True))


class Copies(d2l.DataModule):
    """Random examples that are their own labels."""

    def __init__(self, num_examples, width, batch_size=8):
        super().__init__()
        self.save_hyperparameters()
        self.X = np.random.normal(size=(num_examples, width))

    def get_dataloader(self, train):
        return self.get_tensorloader((self.X, self.X), train)


def fit(fw, make_model, make_data, parts, clip=0):
    """Return the trained arrays after a fit, and the points on the board."""
    fw.seed(0)
    model, data = make_model(), make_data()
    trainer: Any = d2l.Trainer(3, gradient_clip_val=clip)
    trainer.accumulate = parts
    trainer.fit(model, data)
    return [a.copy() for a in d2l.trained_arrays(model)], model.board.data


FITS = {
    "layers": (lambda: d2l.DeepMLP(3, 8), lambda: Copies(30, 8)),
    "plain arrays": (PlainArrays, lambda: d2l.Digits(batch_size=100)),
    "metrics": (lambda: d2l.MLP(10, 32, 0.1), lambda: d2l.Digits(batch_size=100)),
}


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("clip", [0, 0.01])
@pytest.mark.parametrize("name", FITS)
def test_accumulation_equals_the_whole_minibatch(fw, name, clip, parts):
    whole, board = fit(fw, *FITS[name], 1, clip)
    added, points = fit(fw, *FITS[name], parts, clip)
    assert all(np.allclose(a, b, 1e-4, 1e-5) for a, b in zip(whole, added, strict=True))
    assert board.keys() == points.keys()
    assert float(points["val_loss"][-1].y) == pytest.approx(
        float(board["val_loss"][-1].y), rel=1e-4
    )


def test_accumulation_leaves_gradients_that_are_written():
    model = d2l.DeepMLP(2, 8)
    trainer: Any = d2l.Trainer(1)
    trainer.accumulate = 3
    trainer.fit(model, Copies(16, 8))
    X, grads = np.ones((4, 8)), []
    for _ in range(2):
        with autograd.record():
            loss = model.loss(model(X), X)
        loss.backward()
        grads.append(model.parameters()[0].grad().copy())
    assert (grads[0] == grads[1]).all()


def test_accumulation_with_checkpoints_and_a_chunked_loss(fw):
    class Model(Checkpointed):
        def __init__(self):
            super().__init__(3, 8)
            self.head = nn.Dense(12, in_units=8)
            self.head.initialize(mx.init.Xavier())

        def loss(self, y_hat, y):
            labels = np.arange(len(y)) % 12
            W = self.head.weight.data().T
            return d2l.chunked_loss(y_hat, W, labels, 2) + self.head(y_hat).mean()

    def make(on):
        model = Model()
        model.on = on
        return model

    def data():
        return Copies(24, 8, batch_size=12)

    # each part of one example has the label 0, so the labels do not depend on parts
    whole, _ = fit(fw, lambda: make(False), lambda: Copies(8, 8, 1), 1)
    again, _ = fit(fw, lambda: make(True), lambda: Copies(8, 8, 1), 1)
    assert all(np.allclose(a, b, 1e-4, 1e-5) for a, b in zip(whole, again, strict=True))
    plain, _ = fit(fw, lambda: make(False), data, 2)
    added, _ = fit(fw, lambda: make(True), data, 2)
    assert all(np.allclose(a, b, 1e-4, 1e-5) for a, b in zip(plain, added, strict=True))


def test_a_chunked_loss_adds_to_the_gradient_of_a_parameter():
    X, W = np.random.normal(size=(6, 4)), np.random.normal(size=(4, 9))
    y = np.arange(6)
    grads = []
    for request in ("write", "add"):  # X has no gradient
        W.attach_grad(request)
        for _ in range(2):
            with autograd.record():
                loss = d2l.chunked_loss(X, W, y, 3)
            loss.backward()
        grads.append(W.grad.copy())
    assert np.allclose(2 * grads[0], grads[1], 1e-5, 1e-6)


class Scale(d2l.Module):
    """A model without products, since those of float16 need a real GPU."""

    def __init__(self, lr=0.5, target=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.scale = gluon.Parameter("scale", shape=(8,), init="ones")
        self.params.update(_dict(self.scale))
        self.initialize()

    def forward(self, X):
        return X * self.scale.data().astype(X.dtype)

    def loss(self, y_hat, y):
        return ((y_hat - self.target * y) ** 2).mean()

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "sgd", {"learning_rate": self.lr})


def _dict(parameter):
    params = gluon.ParameterDict()
    params.update({parameter.name: parameter})
    return params


def train(model, precision, epochs=3):
    trainer: Any = d2l.Trainer(epochs, num_gpus=1)
    trainer.precision = precision
    trainer.fit(model, Copies(32, 8))
    return trainer


def test_float16_trains_with_masters_in_float32(fake_gpu):
    model = Scale(target=0.5)
    trainer = train(model, np.float16)
    assert model.scale.data().dtype == np.float16
    assert float(model.board.data["val_loss"][-1].y) < 0.2
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert master.dtype == np.float32
    assert model(np.ones((1, 8), ctx=fake_gpu)).dtype == np.float32


def test_masters_keep_updates_that_float16_would_lose(fake_gpu):
    model = Scale(lr=1e-3, target=0.5)
    trainer = train(model, np.float16, epochs=1)
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert 0 < abs(master.asnumpy() - 1).max() < 2e-3


def test_small_gradients_survive_in_float16(fake_gpu):
    model = Scale(lr=1.0, target=1 - 1e-7)  # its gradients are about 1e-8
    trainer = train(model, np.float16, epochs=1)
    [master] = d2l.flatten(list(trainer.optim._updaters[0].states.values()))
    assert abs(master.asnumpy() - 1).max() > 0


def test_a_gradient_that_overflows_skips_the_step(fake_gpu):
    model = Scale(target=1e4)
    trainer = train(model, np.float16, epochs=1)
    assert trainer.loss_scale < 2**16
    assert d2l.Trainer(1).loss_scale == 2**16
    assert np.isfinite(model.scale.data().astype(np.float32)).all()


def test_a_model_returns_to_float32(fake_gpu):
    model = Scale()
    train(model, np.float16)
    train(model, np.float32)
    assert model.scale.data().dtype == np.float32 == model.precision


def test_unknown_precisions_raise_one_clear_error(fake_gpu):
    with pytest.raises(ValueError, match="float32 or np.float16"):
        train(Scale(), "bfloat16")


def test_float16_without_a_gpu_raises_one_clear_error(fw, monkeypatch):
    fw.pretend(monkeypatch)
    trainer: Any = d2l.Trainer(1)
    trainer.precision = np.float16
    with pytest.raises(ValueError, match="only on GPUs"):
        trainer.fit(Scale(), Copies(8, 8))
