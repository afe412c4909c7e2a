"""Performance in TensorFlow: counts against counts by hand, and XLA."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import numpy as np
import pytest
import tensorflow as tf

from d2l import tensorflow as d2l

layers = tf.keras.layers
Spec = tf.TensorSpec


def flops(function, *args):
    return sum(op.flops for op in d2l.list_operations(function, *args))


def moved(function, *args):
    return sum(op.nbytes for op in d2l.list_operations(function, *args))


def names(function, *args):
    return [op.name for op in d2l.list_operations(function, *args)]


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_flops_of_products(fw, batch, transpose_a, transpose_b):
    a = Spec((*batch, 4, 7) if transpose_a else (*batch, 7, 4))
    b = Spec((*batch, 9, 4) if transpose_b else (*batch, 4, 9))

    def product(a, b):
        return tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)

    assert flops(product, a, b) == 2 * np.prod(batch, dtype=int) * 7 * 4 * 9


def built(layer, shape):
    layer.build(shape)
    return layer


@pytest.mark.parametrize(
    "layer, shape, multiplications",
    [
        (layers.Conv2D(6, (3, 1), strides=2), (2, 9, 9, 4), 2 * 20 * 3 * 4 * 6),
        (layers.Conv2D(6, 3, groups=2), (2, 9, 9, 4), 2 * 49 * 9 * 2 * 6),
        (layers.DepthwiseConv2D(3, depth_multiplier=2), (2, 9, 9, 4), 2 * 49 * 9 * 8),
        (layers.Conv1D(6, 3), (2, 9, 4), 2 * 7 * 3 * 4 * 6),
        (layers.Conv3D(6, 2), (2, 5, 5, 5, 4), 2 * 64 * 8 * 4 * 6),
        (layers.Conv2DTranspose(6, 3, strides=2), (2, 5, 5, 4), 2 * 25 * 9 * 4 * 6),
        (layers.Dense(6), (2, 5, 4), 2 * 5 * 4 * 6),
    ],
)
def test_flops_of_a_layer_and_its_gradients(fw, layer, shape, multiplications):
    built(layer, shape)
    assert flops(layer, Spec(shape)) == 2 * multiplications

    def gradients(X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = layer(X)
        return Y, tape.gradient(Y, [X, layer.trainable_variables[0].value])

    assert flops(gradients, Spec(shape)) == 3 * 2 * multiplications


def test_flops_of_a_recurrent_layer(fw):
    layer = layers.LSTM(6, unroll=True)
    layer(tf.zeros((2, 5, 4)))
    first = 2 * 2 * 4 * (4 * 6)  # for one of five positions
    assert flops(layer, Spec((2, 5, 4))) == 5 * (first + 2 * 2 * 6 * (4 * 6))


def test_a_loop_is_an_error(fw):
    def loop(X):
        return tf.while_loop(lambda X: tf.reduce_sum(X) < 9, lambda X: (X @ X,), (X,))

    with pytest.raises(NotImplementedError, match="unroll"):
        d2l.list_operations(loop, Spec((3, 3)))


def test_a_product_of_unknown_shape_is_an_error(fw):
    with pytest.raises(ValueError, match="unknown shape"):
        d2l.list_operations(tf.matmul, Spec((None, 3)), Spec((3, 4)))


def test_bytes_of_elementwise_operations(fw):
    X = Spec((1000, 100))
    size = 4 * 100_000
    assert moved(lambda X: X * X, X) == 2 * size  # read once
    assert moved(tf.tanh, Spec((1000, 100), tf.bfloat16)) == size
    assert moved(lambda X: tf.cast(X, tf.float16), X) == 1.5 * size


def test_views_and_constants_move_nothing(fw):
    def views(X):
        scale = tf.sqrt(tf.constant(4.0)) * 3  # computed once
        X = tf.expand_dims(tf.reshape(X, (-1, 5)), 0)
        return tf.reshape(tf.stop_gradient(X), (tf.shape(X)[1], -1)), scale

    assert names(views, Spec((10, 10))) == []
    assert names(lambda X: X * tf.sqrt(tf.constant(4.0)), Spec((2,))) == ["Mul"]


def test_random_numbers_are_no_constants(fw):
    listed = d2l.list_operations(lambda: tf.random.normal((100,)) + 1)
    assert "RandomStandardNormal" in [op.name for op in listed]


def test_what_no_result_needs_is_left_out(fw):
    def function(X):
        tf.linalg.matmul(X, X)
        return X + 1

    assert names(function, Spec((3, 3))) == ["AddV2"]


def test_a_variable_counts_where_it_is_written(fw):
    W = tf.Variable(tf.ones((50, 50)))

    def update(X):
        W.assign_sub(X)

    (operation,) = d2l.list_operations(update, Spec((50, 50)))
    assert (operation.name, operation.nbytes) == ("AssignSubVariableOp", 2 * 4 * 2500)


def mlp(X, W):
    return tf.reduce_sum(tf.tanh(tf.tanh(X @ W) @ W), 1)


def test_functions_that_call_functions(fw):
    X, W = Spec((8, 16)), Spec((16, 16))
    inner = tf.function(mlp)
    outer = tf.function(lambda X, W: 2 * inner(X, W))
    assert names(outer, X, W) == [*names(mlp, X, W), "Mul"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_function_of_xla_is_its_products_and_one_more(fw, nested):
    X, W = Spec((8, 16)), Spec((16, 16))
    function = tf.function(tf.function(mlp) if nested else mlp, jit_compile=True)
    listed = d2l.list_operations(function, X, W)
    assert [op.name for op in listed] == ["MatMul", "MatMul", "XLA"]
    assert flops(function, X, W) == flops(mlp, X, W)


def test_xla_reads_the_arguments_and_writes_the_results(fw):
    def chain(X, Y):
        for _ in range(7):
            X = X * Y + 1
        return X

    X = Spec((100, 100))
    assert moved(tf.function(chain, jit_compile=True), X, X) == 3 * 40_000
    assert moved(chain, X, X) == 7 * (3 + 2) * 40_000 + 7 * 4


def test_xla_moves_no_bytes_twice(fw):
    X = Spec((64, 64))
    product = tf.function(tf.matmul, jit_compile=True)
    assert moved(product, X, X) == moved(tf.matmul, X, X)


def test_xla_reads_variables(fw):
    W = tf.Variable(tf.ones((50, 50)))
    update = tf.function(lambda X: W.assign(W * 0.9 + X), jit_compile=True)
    assert moved(update, Spec((50, 50))) >= 2 * 4 * 2500


def test_gradients_of_a_function_of_xla(fw):
    W = tf.Variable(tf.ones((16, 16)))
    loss = tf.function(lambda X: tf.reduce_sum(mlp(X, W)), jit_compile=True)

    def step(X):
        with tf.GradientTape() as tape:
            value = loss(X)
        return tape.gradient(value, W)

    # the function returns the gradient of X, too, whether it is needed or not
    assert flops(step, Spec((8, 16))) == 6 * 2 * 8 * 16 * 16


def test_of_an_if_the_first_branch_counts(fw):
    @tf.function
    def choose(X):
        if tf.reduce_sum(X) > 0:
            X = X @ X
        return X

    assert flops(choose, Spec((5, 5))) == 2 * 125


def trained(make, **options):
    tf.keras.utils.set_random_seed(0)
    model, trainer = make(), d2l.Trainer(max_epochs=2, **options)
    model.board.display = False
    trainer.fit(model, d2l.Digits(batch_size=100))  # the last has 37
    return trainer


def small():
    return d2l.MLP(10, 32, lr=0.3)


def test_xla_compiles_the_whole_step(fw):
    """XLA has lists of tensors, as in the gradient of `LSTM`, only within a program."""

    def make():
        model = d2l.Classifier()
        model.lr, reshape = 0.1, layers.Reshape((8, 8))
        model.net = tf.keras.Sequential([reshape, layers.LSTM(8), layers.Dense(10)])
        return model

    plain, compiled = trained(make), trained(make, compiled=True)
    for one, other in zip(plain.model.variables, compiled.model.variables, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert compiled.train.compiled._jit_compile
    compiled.compiled = False
    compiled.fit(compiled.model, d2l.Digits(batch_size=100))
    assert not compiled.train.compiled._jit_compile


def test_xla_compiles_the_model_for_training_and_for_validation(fw):
    class Mode(d2l.MLP):
        def call(self, X, *args, training=None):
            modes.append((training, tf.executing_eagerly()))
            return super().call(X, *args, training=training)

    modes: list[tuple] = []
    trained(lambda: Mode(10, 32, lr=0.3), compiled=True)
    assert {mode for mode, _ in modes} == {True, False}
    assert not any(eager for _, eager in modes)


def test_a_failed_fit_leaves_the_model_as_it_was(fw):
    class Failing(d2l.MLP):
        def loss(self, Y_hat, Y, averaged=True):
            raise RuntimeError("on purpose")

    model, trainer = Failing(10, 32, lr=0.3), d2l.Trainer(max_epochs=1)
    trainer.compiled = True
    with pytest.raises(RuntimeError, match="on purpose"):
        trainer.fit(model, d2l.Digits())
    assert "call" not in vars(model)


class Looping(d2l.Classifier):
    """A recurrent network, whose graph has a loop."""

    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([layers.SimpleRNN(4), layers.Dense(10)])


class Choosing(d2l.Classifier):
    def forward(self, X):
        return X if tf.reduce_sum(X) > 0 else -X


class Headless(d2l.Classifier):
    """Its training step does not call the model."""


@pytest.mark.parametrize(
    "model, reason",
    [
        (Looping, "unroll"),
        (Choosing, "Using a symbolic .* as a Python `bool`"),
        (Headless, "define net, or a forward method of your own"),
    ],
)
def test_flops_that_cannot_be_counted_are_one_sentence(fw, model, reason):
    trainer = d2l.Trainer(1)
    trainer.model = model()
    batch = tf.ones((2, 3, 4)), tf.zeros(2, tf.int32)
    words = f"^the FLOPs of {model.__name__} cannot be counted; .*{reason}"
    with pytest.raises(ValueError, match=words) as failed:
        d2l.step_flops(trainer, batch)
    assert "\n" not in str(failed.value) and trainer.model.training is None
