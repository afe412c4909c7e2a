"""Memory in TensorFlow: predictions against the allocator, parts, precision."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # counts bytes on the CPU

import tensorflow as tf  # noqa: E402

from d2l import tensorflow as d2l  # noqa: E402

MIB = 2**20
layers = tf.keras.layers


def ints(shape, limit):
    return tf.random.uniform(shape, 0, limit, tf.int32)


class Net(d2l.Classifier):
    def __init__(self, net=None):
        super().__init__()
        self.net = net

    def configure_optimizers(self):
        return tf.keras.optimizers.Adam(0.01)


class Block(tf.keras.layers.Layer):
    def __init__(self, channels):
        super().__init__()
        conv = layers.Conv2D(channels, 3, padding="same")
        self.body = tf.keras.Sequential(
            [conv, layers.BatchNormalization(), layers.ReLU()]
        )
        self.shortcut = layers.Conv2D(channels, 1)

    def call(self, X):
        return tf.nn.relu(self.body(X) + self.shortcut(X))


class Tied(Net):
    """A small Transformer whose embedding is also its last layer."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(2000, 128)
        self.blocks = [d2l.TransformerLayer(128, 4) for _ in range(3)]

    def forward(self, X):
        X = self.embedding(X)
        for block in self.blocks:
            X = block(X)
        return tf.matmul(X, self.embedding.embeddings, transpose_b=True)


class Plain(d2l.Module):
    """A model of plain tensors, with an optimizer of its own."""

    def __init__(self):
        super().__init__()
        self.lr = 0.1
        self.W = [tf.Variable(tf.random.normal((256, 256)) / 16) for _ in range(4)]

    def forward(self, X):
        for W in self.W:
            X = tf.tanh(X @ W)
        return X

    def loss(self, y_hat, y):
        return tf.reduce_mean((y_hat - y) ** 2)

    def configure_optimizers(self):
        return d2l.SGD(self.lr)


def residual():
    pooled = [layers.GlobalAveragePooling2D(), layers.Dense(10)]
    model = Net(tf.keras.Sequential([Block(16), Block(32), *pooled]))
    return model, (tf.random.normal((64, 32, 32, 3)), ints((64,), 10))


def embedding():
    pooled = [layers.GlobalAveragePooling1D(), layers.Dense(10)]
    model = Net(tf.keras.Sequential([layers.Embedding(50000, 64), *pooled]))
    return model, (ints((64, 32), 50000), ints((64,), 10))


def tied():
    return Tied(), (ints((8, 128), 2000), ints((8, 128), 2000))


def plain():
    X = tf.random.normal((2048, 256))
    return Plain(), (X, X)


def in_use():
    return d2l.memory_info()["current"]


@pytest.fixture(params=[residual, embedding, tied, plain], ids=lambda f: f.__name__)
def example(fw, request):
    return request.param()


def test_roles_are_the_bytes_of_the_arrays(example):
    model, (X, y) = example
    predicted = d2l.predict_memory(model, (X, y))
    optimizer, X = model.configure_optimizers(), tf.convert_to_tensor(X)
    with tf.GradientTape() as tape:
        loss = model.loss(model(X, training=True), y)
    params = model.trainable_variables
    grads = d2l.add_gradients([], tape.gradient(loss, params))
    optimizer.apply_gradients(zip(grads, params, strict=True))

    def counted(tensors):
        return sum(np.array(t).nbytes for t in tensors)

    assert predicted.weights == counted(model.variables)
    assert predicted.gradients == counted(grads)
    assert predicted.optimizer == counted(getattr(optimizer, "variables", []))
    assert predicted.batch == X.numpy().nbytes + (y is not X) * y.numpy().nbytes


COUNT = """
import sys
sys.path[:0] = sys.argv[1:2]
import tensorflow as tf
from d2l import tensorflow as d2l
import test_memory_tensorflow as examples

tf.config.threading.set_inter_op_parallelism_threads(1)  # always the same order
tf.config.threading.set_intra_op_parallelism_threads(1)
pool = tf.zeros(2**26)  # large, so that pieces of it have the size asked for
del pool
model, batch = getattr(examples, sys.argv[2])()
predicted = d2l.predict_memory(model, batch)
optimizer, model.training = model.configure_optimizers(), True

@tf.function(autograph=False)
def step(X, y):
    with tf.GradientTape() as tape:
        loss = model.loss(model(X), y)
    params = model.trainable_variables
    grads = d2l.add_gradients([], tape.gradient(loss, params))
    optimizer.apply_gradients(zip(grads, params))

rises = []  # the threads of the executor do not always take the same order
for _ in range(5):
    before = d2l.memory_info()["current"]
    tf.config.experimental.reset_memory_stats("CPU:0")
    step(*batch)
    rises.append(d2l.memory_info()["peak"] - before)
there = predicted.weights + predicted.optimizer + predicted.batch
print((min(rises) + there) / predicted.peak)
"""


@pytest.mark.parametrize(
    "name, low, high",
    [("tied", 0.98, 1.05), ("embedding", 0.95, 1.1), ("residual", 0.98, 1.25)],
)
def test_peak_is_near_the_one_of_the_allocator(fw, name, low, high):
    """In a new process, where no pieces of memory of other tests are left."""
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": str(here.parents[1])}
    child = subprocess.run(
        [sys.executable, "-c", COUNT, str(here), name],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert not child.returncode, child.stderr
    assert low < float(child.stdout) < high


def test_nothing_is_allocated_for_a_model_that_does_not_fit(fw):
    before = in_use()
    with tf.Graph().as_default():
        X = tf.TensorSpec((64, 65536))
        size = d2l.predict_memory(d2l.DeepMLP(depth=8, width=65536), (X, X))
    assert size.weights == 8 * (65536**2 + 65536) * 4
    assert size.gradients == size.weights and size.peak > 4 * size.weights
    assert in_use() - before < MIB


def test_parts_and_precision_reduce_the_activations(fw):
    X = tf.TensorSpec((2048, 128))

    def activations(**options):
        return d2l.predict_memory(d2l.DeepMLP(), (X, X), **options).activations / MIB

    assert activations() == 17
    assert activations(accumulate=4) == 4.25
    halves = 16 * 0.5 + 0.5 + 16 * 128**2 * 2 / MIB + 1  # copies; differences
    assert activations(precision=tf.bfloat16) == pytest.approx(halves, rel=0.01)


def test_a_prediction_changes_nothing(fw):
    model, batch = residual()
    model(batch[0])
    before = [np.array(v) for v in model.variables]
    policies = [layer.dtype_policy for layer in model._flatten_layers()]
    d2l.predict_memory(model, batch, accumulate=2, precision=tf.bfloat16)
    for old, new in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, new)
    assert policies == [layer.dtype_policy for layer in model._flatten_layers()]
    assert model.training is None and model(batch[0]).shape == (64, 10)


class Asking(Plain):
    def forward(self, X):
        return X if float(tf.reduce_sum(X)) > 0 else -X


class Looping(Net):
    def __init__(self):
        super().__init__(
            tf.keras.Sequential([layers.GRU(8), layers.Dense(10)]),
        )


@pytest.mark.parametrize(
    "model, shape, words", [(Asking, (4, 256), "forward"), (Looping, (4, 5, 6), "loop")]
)
def test_models_that_cannot_be_traced(fw, model, shape, words):
    X = tf.zeros(shape)
    y = tf.zeros(4, tf.int32) if model is Looping else X
    with pytest.raises(
        RuntimeError, match=f"{model.__name__} cannot be traced"
    ) as info:
        d2l.predict_memory(model(), (X, y))
    assert words in str(info.value) and "\n" not in str(info.value)


def test_a_tensor_of_unknown_shape_counts_as_its_input(fw):
    class Masked(Plain):
        def forward(self, X):
            return tf.boolean_mask(super().forward(X), X[:, 0] > 0)

        def loss(self, y_hat, y):
            return tf.reduce_mean(y_hat**2)

    X = tf.random.normal((2048, 256))
    size = d2l.predict_memory(Masked(), (X, X))
    assert 4 * 2 * MIB <= size.activations <= 6.1 * 2 * MIB


def test_a_layer_keeps_what_the_formula_says_and_what_the_text_adds(fw):
    layer, forward = d2l.TransformerLayer(64, 4), set()

    def step(X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = layer(X, training=True)
        forward.update(Y.graph.get_operations())
        return tape.gradient(Y, [X, *layer.trainable_variables])

    spec = tf.TensorSpec((2, 32, 64))
    d2l.trace(layer, spec)
    saved = d2l.saved_tensors(d2l.trace(step, spec), forward)
    floats = sum(size for t, size in saved if t.dtype == tf.float32)
    masks = sum(size for t, size in saved if t.dtype == tf.bool)
    scores = 4 * 32 / 64  # as/h
    assert masks == (2 + scores) * 2 * 32 * 64
    # gelu, normalizations without the argument, queries to results, scores
    predicted = 4 * 4 + 5 + 4 + 2 * scores
    assert floats / (4 * 2 * 32 * 64) == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize("num_chunks", [1, 3, 50])
def test_chunks_of_a_loss(fw, num_chunks):
    X, W, y = tf.random.normal((50, 8)), tf.random.normal((8, 30)), ints((50,), 30)

    def whole(X, W):
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=X @ W)
        )

    def chunked(X, W):
        return d2l.chunked_loss(X, W, y, num_chunks)

    results = []
    for function in whole, chunked, tf.function(chunked):
        for V in W, tf.Variable(W):
            with tf.GradientTape() as tape:
                tape.watch([X, V])
                loss = 3 * function(X, V)
            results.append([loss, *tape.gradient(loss, [X, V])])
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Penalized(d2l.MLP):
    """Its loss has one number in a list, and one variable gets no gradient."""

    def __init__(self):
        super().__init__(10, 32, lr=0.3)
        l2 = tf.keras.regularizers.l2(0.01)
        self.net.add(layers.Dense(10, kernel_regularizer=l2))
        self.unused = tf.Variable(1.0)

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) + self.net.losses


def mlp():
    return d2l.MLP(10, 32, lr=0.3)


def trained(make, accumulate=1, precision=tf.float32, clip=0, **options):
    tf.keras.utils.set_random_seed(0)
    model = make()
    model.board.display = False
    model.plot_train_per_epoch = 15
    trainer = d2l.Trainer(max_epochs=2, gradient_clip_val=clip, **options)
    trainer.accumulate, trainer.precision = accumulate, precision
    trainer.fit(model, d2l.Digits(batch_size=100))  # the last has 37
    return trainer


@pytest.mark.parametrize(
    "make, accumulate, clip",
    [(mlp, 2, 0), (mlp, 40, 0), (mlp, 3, 0.1), (Penalized, 3, 0)],
)
def test_parts_give_the_result_of_the_whole_minibatch(fw, make, accumulate, clip):
    whole, parts = trained(make, clip=clip), trained(make, accumulate, clip=clip)
    for one, other in zip(whole.model.variables, parts.model.variables, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert parts.train.compiled and parts.validate.compiled
    curves = whole.model.board.data, parts.model.board.data
    assert curves[0].keys() == curves[1].keys()
    for label in curves[0]:
        points = [[(p.x, p.y) for p in curve[label]] for curve in curves]
        np.testing.assert_allclose(*points, rtol=1e-3)


class Silent(d2l.DeepMLP):
    def __init__(self, depth=4):
        super().__init__(depth)

    def plot(self, key, value, train):
        pass


def test_parts_wait_for_each_other(fw):
    """Otherwise the executor could compute them all at the same time."""
    X = tf.random.normal((64, 128))
    model, trainer = Silent(), d2l.Trainer(max_epochs=1)
    trainer.model, trainer.optim = model, model.configure_optimizers()
    model(X[:1])
    trainer.accumulate = 3
    operations = d2l.trace(trainer.train_step, (X, X)).get_operations()
    products = [op for op in operations if op.type == "MatMul"]

    def before(operation, found):
        for other in [t.op for t in operation.inputs] + operation.control_inputs:
            if other not in found:
                found.add(other)
                before(other, found)
        return found

    third = len(products) // 3
    assert products[third - 1] in before(products[third], set())
    assert products[2 * third - 1] in before(products[2 * third], set())


@pytest.mark.parametrize("precision", [tf.bfloat16, tf.float16])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_training_in_sixteen_bits(fw, precision, accumulate):
    exact, short = trained(mlp), trained(mlp, accumulate, precision)
    assert short.train.compiled and short.validate.compiled
    assert {v.dtype for v in short.model.variables} == {"float32"}
    losses = [t.model.board.data["val_loss"][-1].y for t in (exact, short)]
    assert losses[0] != losses[1] and losses[1] == pytest.approx(losses[0], rel=0.03)
    assert {layer.compute_dtype for layer in short.model.net.layers} == {"float32"}


def test_layers_compute_in_the_precision_of_the_trainer(fw):
    class Watching(d2l.MLP):
        def forward(self, X):
            Y = super().forward(X)
            seen.add(Y.dtype)
            return Y

        def loss(self, Y_hat, Y, averaged=True):
            seen.add(("loss", Y_hat.dtype))
            return super().loss(Y_hat, Y, averaged)

    seen: set[Any] = set()
    trained(lambda: Watching(10, 32, lr=0.3), precision=tf.bfloat16)
    assert seen == {tf.bfloat16, ("loss", tf.float32)}


def test_float16_scales_the_loss(fw):
    trainer = trained(mlp, precision=tf.float16)
    assert isinstance(trainer.optim, tf.keras.mixed_precision.LossScaleOptimizer)
    assert float(trainer.optim.dynamic_scale) == 2**15


def test_small_gradients_survive_in_float16(fw):
    """Without loss scaling they would be zero, and the weights would not change."""

    class Small(Silent):
        def loss(self, y_hat, y):
            return super().loss(y_hat, y) * 1e-7

        def configure_optimizers(self):
            return tf.keras.optimizers.SGD(1e7 * 0.1)

    def train(precision):
        tf.keras.utils.set_random_seed(0)
        model, trainer = Small(depth=2), d2l.Trainer(max_epochs=1)
        trainer.precision, trainer.model = precision, model
        trainer.optim = model.configure_optimizers()
        X = tf.random.normal((16, 128))
        with trainer.device_scope():
            trainer.train_step((X, X))
        return np.array(model.variables[0])

    tf.keras.utils.set_random_seed(0)
    start = Small(depth=2)
    start(tf.zeros((1, 128)))
    change = train(tf.float32) - np.array(start.variables[0])
    short = train(tf.float16) - np.array(start.variables[0])
    assert np.abs(short - change).max() < 0.02 * np.abs(change).max()


def test_clipping_in_float16_limits_the_gradient_itself(fw):
    exact = trained(mlp, clip=0.1)
    short = trained(mlp, precision=tf.float16, clip=0.1)
    for one, other in zip(exact.model.variables, short.model.variables, strict=True):
        np.testing.assert_allclose(one, other, atol=0.01)


def test_float16_needs_an_optimizer_that_can_scale(fw):
    class OwnOptimizer(d2l.MLP):
        def configure_optimizers(self):
            return d2l.SGD(self.lr)

    with pytest.raises(ValueError, match="float16 needs an optimizer of Keras"):
        trained(lambda: OwnOptimizer(10, 32, lr=0.3), precision=tf.float16)
