"""Memory in TensorFlow: its allocator, and what only it has."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import os
import subprocess

import pytest

os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")  # counts bytes on the CPU

import tensorflow as tf  # noqa: E402
from training import assert_equal, parts, run  # noqa: E402

from d2l import tensorflow as d2l  # noqa: E402

MIB = 2**20
layers = tf.keras.layers
TEXT = ("embed", 2000, 128), *[("transformer", 128, 4)] * 3, "tied"
IMAGES = ("conv", 16), "norm", "relu", ("conv", 32), "norm", "relu", "pool", 10


def ints(shape, limit):
    return tf.random.uniform(shape, 0, limit, tf.int32)


def residual(fw):
    return fw.model(*IMAGES), (tf.random.normal((64, 32, 32, 3)), ints((64,), 10))


def embedding(fw):
    batch = ints((64, 32), 50000), ints((64, 32), 10)
    return fw.model(("embed", 50000, 64), 10), batch


def tied(fw):
    return fw.model(*TEXT), (ints((8, 128), 2000), ints((8, 128), 2000))


COUNT = """
import sys
import tensorflow as tf
from d2l import tensorflow as d2l
import test_memory_tensorflow as examples

tf.config.threading.set_inter_op_parallelism_threads(1)  # always the same order
tf.config.threading.set_intra_op_parallelism_threads(1)
pool = tf.zeros(2**26)  # large, so that pieces of it have the size asked for
del pool
model, batch = getattr(examples, sys.argv[1])(fw)
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
    child = fw.start(COUNT, name, stdout=subprocess.PIPE)
    printed, _ = child.communicate()
    assert not child.returncode and low < float(printed) < high


STEPS = """
import tensorflow as tf
from d2l import tensorflow as d2l

tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)
pool = tf.zeros(2**25)
del pool
model, X = fw.model(*[("transformer", 64, 4)] * 3), tf.random.normal((16, 64, 64))
batch = X, tf.zeros((16, 64), tf.int32)
size = d2l.predict_memory(model, batch)
rises = []

class Rises(d2l.Callback):
    def before_step(self, trainer, batch):
        self.before = d2l.memory_info()["current"]
        tf.config.experimental.reset_memory_stats("CPU:0")

    def after_step(self, trainer):
        rises.append(d2l.memory_info()["peak"] - self.before)

data = d2l.DataModule()
data.get_dataloader = lambda train: [batch] * 4
d2l.Trainer(1, callbacks=[Rises()]).fit(model, data)
there = size.weights + size.optimizer + size.batch
print(rises[0] / (size.peak - there), rises[0] / min(rises[1:]))
"""


def test_the_first_step_of_a_trainer_takes_the_memory_that_is_predicted(fw):
    child = fw.start(STEPS, stdout=subprocess.PIPE)
    printed, _ = child.communicate()
    assert not child.returncode
    predicted, later = map(float, printed.split())
    assert 0.95 < predicted < 1.25 and later < 1.2


def in_use():
    return d2l.memory_info()["current"]


def test_nothing_is_allocated_for_a_model_that_does_not_fit(fw):
    before = in_use()
    with tf.Graph().as_default():
        X = tf.TensorSpec((64, 65536))
        size = d2l.predict_memory(d2l.DeepMLP(depth=8, width=65536), (X, X))
    assert size.weights == 8 * (65536**2 + 65536) * 4
    assert size.gradients == size.weights and size.peak > 4 * size.weights
    assert in_use() - before < MIB


def test_a_prediction_keeps_the_types_of_layers(fw):
    model, batch = residual(fw)
    model(batch[0])
    policies = [layer.dtype_policy for layer in model._flatten_layers()]
    d2l.predict_memory(model, batch, accumulate=2, precision=tf.bfloat16)
    assert policies == [layer.dtype_policy for layer in model._flatten_layers()]
    assert model.training is None and model(batch[0]).shape == (64, 10)


def test_many_parts_are_predicted_like_two():
    """Only two parts are traced: after the first one, sums of gradients exist."""
    calls: list = []

    class Counted(d2l.DeepMLP):
        def training_step(self, batch):
            calls.append(1)
            return super().training_step(batch)

    def predict(examples, number):
        calls.clear()
        spec = tf.TensorSpec((examples, 128))
        size = d2l.predict_memory(Counted(depth=4), (spec, spec), number)
        return size.peak - size.batch, size.activations, len(calls)

    many, two, one = predict(100, 50), predict(4, 2), predict(2, 1)
    assert many == two
    assert many[0] > one[0] + 4 * 128 * 128  # the sums
    assert many[1] == pytest.approx(one[1], abs=4)  # without the parts themselves


class Looping(d2l.Classifier):
    def __init__(self):
        super().__init__()
        self.lr, self.net = 0.1, tf.keras.Sequential([layers.GRU(8), layers.Dense(10)])


def test_a_loop_cannot_be_traced(fw):
    with pytest.raises(RuntimeError, match="Looping cannot be traced.*loop") as info:
        d2l.predict_memory(Looping(), (tf.zeros((4, 5, 6)), tf.zeros(4, tf.int32)))
    assert "\n" not in str(info.value)


def test_a_tensor_of_unknown_shape_counts_as_its_input(fw):
    class Masked(d2l.DeepMLP):
        def forward(self, X):
            return tf.boolean_mask(super().forward(X), X[:, 0] > 0)

        def loss(self, y_hat, y):
            return tf.reduce_mean(y_hat**2)

    X = tf.random.normal((2048, 256))
    size = d2l.predict_memory(Masked(depth=4, width=256), (X, X))
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


class Penalized(d2l.MLP):
    """Its loss has one number in a list, and one variable gets no gradient."""

    def __init__(self):
        super().__init__(10, 32, lr=0.3)
        l2 = tf.keras.regularizers.l2(0.01)
        self.net.add(layers.Dense(10, kernel_regularizer=l2))
        self.unused = tf.Variable(1.0)

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) + self.net.losses


def test_parts_of_a_model_with_penalties(fw):
    whole, added = (
        run(fw, Penalized, lambda: parts(fw, 30, 7), accumulate=n) for n in (1, 3)
    )
    assert_equal(fw, whole, added, 1e-5)


def test_the_layers_of_a_model_with_penalties_are_built(fw):
    model, batch = Penalized(), (tf.zeros((7, 10)), tf.zeros(7, tf.int32))
    d2l.build_layers(model, batch)
    assert all(layer.built for layer in model.net.layers)
    model = Penalized()
    total = d2l.predict_memory(model, batch).weights
    assert total == 4 * sum(
        variable.shape.num_elements() for variable in model.variables
    )


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


def test_parts_in_a_loop_wait_for_each_other(fw):
    X = tf.random.normal((64, 128))
    model, trainer = Silent(), d2l.Trainer(max_epochs=1)
    trainer.model, trainer.optim = model, model.configure_optimizers()
    trainer.ranks, trainer.accumulate = d2l.Ranks(trainer), 3
    model(X[:1])
    operations = d2l.trace(trainer.train_step, (X, X)).get_operations()
    loops = [op for op in operations if "While" in op.type]
    assert [op.get_attr("parallel_iterations") for op in loops] == [1]


def test_float16_needs_an_optimizer_that_can_scale(fw):
    class OwnOptimizer(d2l.MLP):
        def configure_optimizers(self):
            return d2l.SGD(self.lr)

    trainer = d2l.Trainer(1, precision=tf.float16)
    with pytest.raises(ValueError, match="float16 needs an optimizer of Keras"):
        trainer.fit(OwnOptimizer(10, 32, lr=0.3), parts(fw, 8))


def test_memory_is_that_of_the_first_gpu(fw, monkeypatch):
    asked: list = []
    experimental = tf.config.experimental
    monkeypatch.setattr(experimental, "get_memory_info", asked.append)
    d2l.memory_info()
    fw.pretend(monkeypatch, d2l.Device("/GPU:0"))
    d2l.memory_info()
    assert asked == ["CPU:0", "GPU:0"]
