"""Features that only TensorFlow has: scopes, traces, datasets, recomputation."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

import numpy as np
import pytest
import tensorflow as tf
from training import assert_equal, run

from d2l import tensorflow as d2l

SECOND = d2l.Device("/CPU:1")


def test_devices_are_names():
    assert d2l.cpu() == "/CPU:0" and d2l.gpu(2) == "/GPU:2"
    assert repr(d2l.gpu()) == "'/GPU:0'"


def test_loaders_read_main_memory(fw, monkeypatch):
    """Where the default device is a GPU, minibatches would come from it and go back."""
    places: list = []
    gather = tf.gather

    def spy(a, i):
        places.append(fw.device(a))
        return gather(a, i)

    monkeypatch.setattr(tf, "gather", spy)
    for make in (d2l.Digits, lambda: d2l.SyntheticRegressionData(tf.ones(2), 0.0)):
        with SECOND:
            data = make()
            next(iter(data.train_dataloader()))
    assert places == [d2l.cpu()] * 4


def test_tf32_is_on_by_default():
    assert tf.config.experimental.tensor_float_32_execution_enabled()


def test_a_scope_inside_itself(fw):
    with SECOND:
        with d2l.cpu():
            with SECOND:
                inner = tf.ones(1)
            between = tf.ones(1)
        outer = tf.ones(1)
    places = [fw.device(x) for x in (inner, between, outer, tf.ones(1))]
    assert places == [SECOND, d2l.cpu(), SECOND, d2l.cpu()]


def test_a_scope_ends_with_an_error(fw):
    with pytest.raises(KeyError):
        with SECOND:
            raise KeyError
    assert fw.device(tf.ones(1)) == d2l.cpu()


def test_operands_on_two_devices_are_copied_unless_forbidden(fw):
    with SECOND:
        y = tf.ones(2)
    tf.config.experimental.set_device_policy("explicit")
    try:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.ones(2) + y
    finally:
        tf.config.experimental.set_device_policy("silent")
    assert fw.device(tf.ones(2) + y) == d2l.cpu()


def test_variables_are_found_fast_in_deep_networks():
    def nested(depth):
        if depth == 0:
            return tf.keras.layers.Dense(2)
        return tf.keras.Sequential([nested(depth - 1), nested(depth - 1)])

    model = d2l.Module()
    model.net = nested(5)
    model(tf.ones((1, 2)))
    timer = d2l.Timer()
    for _ in range(5):
        timer.start()
        assert len(model.trainable_variables) == 2 * 2**5
        timer.stop()
    assert min(timer.times) < 0.3


def test_the_first_step_draws_no_minibatch_of_its_own(fw):
    class Loader(list):
        def __iter__(self):
            passes.append(1)
            return super().__iter__()

    passes: list = []
    digits = d2l.Digits(batch_size=479)
    loaders = digits.train_dataloader(), digits.val_dataloader()
    d2l.Trainer(max_epochs=1).fit(fw.model(16, 10), tuple(map(Loader, loaders)))
    assert len(passes) == 2  # one for training, one for validation


class Deciding(d2l.Classifier):
    """Its `forward` has an `if` on a value, between two layers."""

    def __init__(self):
        super().__init__()
        self.lr, self.layers_ = 0.1, [tf.keras.layers.Dense(n) for n in (16, 10)]
        self.board.display = False

    def forward(self, X):
        X = self.layers_[0](X)
        if tf.reduce_mean(X) > -1000:
            X = tf.nn.relu(X)
        return self.layers_[1](X)


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
@pytest.mark.parametrize("num_devices", [1, 2])
@pytest.mark.parametrize("predict", [False, True])
def test_a_model_that_cannot_be_traced_trains(num_devices, predict):
    """A trace that fails leaves no variable without a value."""
    model = Deciding()
    if predict:
        with pytest.raises(RuntimeError, match="cannot be traced"):
            d2l.predict_memory(model, (tf.ones((4, 64)), tf.zeros(4, tf.int32)))
    trainer = d2l.Trainer(1, devices=d2l.try_devices(num_devices))
    trainer.fit(model, d2l.Digits(batch_size=300))
    assert trainer.train.compiled is None and len(model.trainable_variables) == 4


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
@pytest.mark.parametrize("num_devices", [1, 2])
def test_making_variables_without_a_trace_counts_no_step(fw, num_devices):
    class Counted(Deciding):
        def __init__(self):
            super().__init__()
            self.steps = self.add_weight((), "zeros", trainable=False)

        def training_step(self, batch):
            loss = super().training_step(batch)  # fails in a trace
            self.steps.assign(self.steps + 1)
            return loss

    model, devices = Counted(), d2l.try_devices(num_devices)
    d2l.Trainer(1, devices=devices).fit(model, d2l.Digits(batch_size=300))
    assert float(model.steps) == 5


def test_autograph_reaches_a_forward_that_is_a_function(fw):
    """The graph of `forward` reads the variables, not the values they began with."""

    class Decorated(Deciding):
        forward = tf.function(Deciding.forward)

    fw.seed(1)
    model, trainer, digits = Decorated(), d2l.Trainer(2), d2l.Digits()
    trainer.fit(model, digits)
    assert trainer.train.compiled and trainer.validate.compiled
    X, (W, b, V, c) = digits.X[:8], model.get_weights()
    expected = np.maximum(X @ W + b, 0) @ V + c
    np.testing.assert_allclose(model(X), expected, rtol=1e-4, atol=1e-5)
    losses = [point.y for point in model.board.data["val_loss"]]
    assert losses[1] < losses[0]


def test_a_variable_of_keras_in_an_attribute_is_saved(tmp_path):
    data = d2l.SyntheticRegressionData(tf.constant([2.0, -3.4]), 4.2)
    model, other = (d2l.LinearRegressionScratch(2, lr=0.1) for _ in range(2))
    d2l.Trainer(1).fit(model, data)
    model.save_weights(tmp_path / "a.weights.h5")
    other(tf.ones((1, 2)))  # Keras loads into models that have been called
    other.load_weights(tmp_path / "a.weights.h5")
    assert len(model.get_weights()) == 2 and not model.get_scratch_params()
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_layers_are_found_as_keras_finds_them():
    """A public attribute of Keras has only the outermost layers."""
    layers = tf.keras.layers
    model, shared = d2l.MLP(10, 8, 0.1), layers.Dense(2)
    model.rows = [shared, layers.Dense(2)]
    model.named = {"a": layers.Dropout(0.5), "b": [shared]}
    model.pair = layers.Dense(2), d2l.TransformerLayer(16, 4)
    X = tf.keras.Input((8,))
    model.functional = tf.keras.Model(
        X, layers.Bidirectional(layers.GRU(2))(X[..., None])
    )
    found = d2l.layers_of(model)
    assert len(found) == len({*map(id, found)}) > 20
    assert {*map(id, found)} == {*map(id, model._flatten_layers())}


class Images(d2l.DataModule):
    """Random numbers in a data set that `change` changes, with texts if asked for."""

    def __init__(self, change=lambda data: data, texts=()):
        super().__init__()
        self.save_hyperparameters()

    def get_dataloader(self, train):
        rows = tf.random.stateless_normal((40, 8), (0, 1)), tf.range(40) % 10
        data = tf.data.Dataset.from_tensor_slices((*self.texts, *rows))
        return self.change(data.shuffle(40).batch(8))


def test_minibatches_are_copied_to_a_gpu_ahead_of_the_steps(fw, fake_gpu, tmp_path):
    """A resumed run has the order of the second epoch, in which it was cut."""

    def fit(*args, **settings):
        return run(fw, lambda: fw.model(8, 10), Images, *args, **settings)

    plain, whole = fit(), fit(devices=[fake_gpu])
    fit(tmp_path, 7, devices=[fake_gpu], save_every=1)
    resumed = fit(tmp_path, devices=[fake_gpu])
    for other in whole, resumed:
        assert_equal(fw, plain, other, 1e-6)
    X, y = next(iter(whole.train_dataloader))
    assert {fw.device(X), fw.device(y)} == {fake_gpu}
    assert fw.device(next(iter(plain.train_dataloader))[0]) == d2l.cpu()


def test_texts_and_shared_minibatches_are_not_copied_ahead(fw, fake_gpu):
    texts = tf.fill(40, "a")
    for data, devices in ((Images(texts=(texts,)), [fake_gpu]), (Images(), None)):
        trainer = d2l.Trainer(1, devices=devices or d2l.try_devices(2))
        trainer.prepare_data(data)
        assert fw.device(next(iter(trainer.train_dataloader))[-1]) == d2l.cpu()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.filter(lambda X, y: True),
        lambda data: data.apply(tf.data.experimental.prefetch_to_device("/CPU:0")),
        lambda data: data.repeat(),
    ],
)
def test_a_data_set_of_unknown_length_is_told_how_to_state_it(change):
    with pytest.raises(TypeError, match=r"assert_cardinality\(n\).*steps_per_epoch"):
        d2l.Trainer(1).fit(d2l.MLP(10, 8, 0.1), Images(change))
    stated = tf.data.experimental.assert_cardinality(5)
    data = Images(lambda data: data.filter(lambda X, y: True).apply(stated))
    trainer = d2l.Trainer(1)
    trainer.fit(d2l.MLP(10, 8, 0.1), data)
    assert trainer.num_train_batches == 5


def test_the_argument_training_of_a_call_counts(fw):
    model, X = fw.model(16, "norm", 0.5, 10), tf.random.normal((4, 64))
    assert np.array_equal(model(X, training=False), model(X, training=False))
    assert not np.array_equal(model(X, training=True), model(X, training=True))
    assert model.training is True


def test_clipping_passes_over_variables_without_gradient():
    grads = [tf.constant([3.0, 4.0]), None]
    clipped = d2l.Trainer(max_epochs=1).clip_gradients(1, grads)
    np.testing.assert_allclose(clipped[0], [0.6, 0.8])
    assert clipped[1] is None


def test_the_norm_of_an_embedding_counts_repeated_rows_as_one():
    slices = tf.IndexedSlices(tf.ones((4, 1)), [0, 0, 0, 1], (2, 1))
    [clipped] = d2l.Trainer(1).clip_gradients(0.1, [slices])
    assert tf.norm(clipped).numpy() == pytest.approx(0.1)


def test_adam_of_keras_moves_too_far_for_repeated_rows(fw):
    """If this fails, the trainer need not make gradients of embeddings dense."""
    slices, moved = tf.IndexedSlices(tf.ones((4, 1)), [0] * 4, (1, 1)), []
    for gradient in tf.convert_to_tensor(slices), slices:
        variable = tf.keras.Variable([[0.0]])
        adam = tf.keras.optimizers.Adam(0.1)
        for _ in range(3):
            adam.apply_gradients([(gradient, variable)])
        moved.append(float(variable[0, 0]))
    assert moved == pytest.approx([-0.3, -0.6], abs=1e-4)


class Stateful(tf.keras.layers.Layer):
    """A block with batch normalization and dropout, whose layers are built late."""

    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(16)
        self.norm = tf.keras.layers.BatchNormalization(momentum=0.9)
        self.drop = tf.keras.layers.Dropout(0.5)

    def call(self, X):
        return self.drop(self.norm(self.dense(X)))


def stateful_run(wrap, block, mode):
    """Return the loss and gradients of two steps, and the state after them."""
    tf.keras.utils.set_random_seed(0)
    net = tf.keras.Sequential([wrap(block()) for _ in range(2)])
    X = tf.random.stateless_normal((4, 5, 16), (0, 1))
    net(X)

    def step(X):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(X, training=True) ** 2)
        variables = [v.value for v in net.trainable_variables]
        return loss, *tape.gradient(loss, variables)

    if mode != "eager":
        step = tf.function(step, autograph=False, jit_compile=mode == "compiled")
    results = [*step(X), *step(X)]
    return [*results, *(tf.convert_to_tensor(v) for v in net.non_trainable_variables)]


COMPILED = pytest.param("compiled", marks=pytest.mark.slow)


@pytest.mark.parametrize("mode", ["eager", "graph", COMPILED])
@pytest.mark.parametrize(
    "block", [Stateful, lambda: d2l.TransformerLayer(16, 4, 0.3)], ids=["norm", "layer"]
)
def test_recomputing_draws_the_same_masks_and_counts_once(fw, block, mode):
    plain = stateful_run(lambda block: block, block, mode)
    again = stateful_run(d2l.Recompute, block, mode)
    for a, b in zip(plain, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"compiled": True}], ids=str)
def test_the_trainer_recomputes_parts_on_several_devices(fw, settings):
    def fitted(wrap):
        tf.keras.utils.set_random_seed(0)
        model, digits = d2l.MLP(10, 8, 0.1), d2l.Digits(64, 128)
        model.net = tf.keras.Sequential([wrap(Stateful()), tf.keras.layers.Dense(10)])
        devices = d2l.try_devices(2)
        d2l.Trainer(1, accumulate=2, devices=devices, **settings).fit(model, digits)
        return model.get_weights()

    for a, b in zip(fitted(lambda block: block), fitted(d2l.Recompute), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_recomputing_refuses_random_numbers_of_others(fw):
    class Unseeded(tf.keras.layers.Layer):
        def call(self, X):
            return tf.keras.random.dropout(X, 0.5)

    with pytest.raises(ValueError, match="not its own; give .* a .*SeedGenerator"):
        d2l.Recompute(Unseeded())(tf.ones((2, 3)))


def test_recomputing_refuses_a_block_whose_losses_it_would_lose(fw):
    activity = tf.keras.layers.Dense(2, activity_regularizer="l2")
    with pytest.raises(ValueError, match="adds losses, which Recompute would lose"):
        d2l.Recompute(activity)(tf.ones((2, 3)))
    weights = d2l.Recompute(tf.keras.layers.Dense(2, kernel_regularizer="l2"))
    weights(tf.ones((2, 3)))
    assert len(weights.losses) == 1  # depends on the weights only


def test_recomputing_of_tensorflow_draws_another_mask(fw):
    """If this fails, `tf.recompute_grad` does what `Recompute` does."""
    drop, X = tf.keras.layers.Dropout(0.5, seed=1), tf.ones(1000)
    with tf.GradientTape() as tape:
        tape.watch(X)
        Y = tf.recompute_grad(drop)(X, training=True)
    agree = tf.reduce_mean(tf.cast(Y == tape.gradient(Y, X), tf.float32))
    assert 0.4 < agree < 0.6


def test_a_batch_of_sequences_is_decoded_by_products_of_matrices():
    """A product for each sequence, or of a transposed embedding, is a slow kernel."""
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    cache, tokens = d2l.make_cache(model, 2, 3), tf.ones((2, 3), tf.int32)
    traced = d2l.decode_step.get_concrete_function(
        model, tokens, cache, tf.constant(0), tf.matmul
    )
    operations = traced.graph.get_operations()
    assert not [op for op in operations if op.type.startswith("BatchMatMul")]
    products = [op for op in operations if op.type == "MatMul"]
    *_, logits = products
    assert len(products) == 5
    assert logits.get_attr("transpose_b")
    assert logits.inputs[0].shape == (10, 16)


class Penalized(d2l.Classifier):
    """Penalties of weights, of activities, and of a layer that adds its own."""

    def __init__(self, counted=False):
        super().__init__()
        self.lr, self.counted = 0.1, counted
        l2 = tf.keras.regularizers.L2(0.5)
        self.net = tf.keras.layers.Dense(
            10, kernel_regularizer=l2, activity_regularizer=l2
        )
        self.board.display = False

    def loss(self, Y_hat, Y, averaged=True):
        loss = super().loss(Y_hat, Y, averaged)
        return loss + sum(self.net.losses) if self.counted else loss


def whole(model, X, y):
    return float(d2l.whole_loss(model, model(X), y))


@pytest.mark.parametrize("counted", [False, True])
def test_losses_of_layers_count_once(fw, counted):
    """Also if the method `loss` adds them itself."""
    model, X, y = Penalized(counted), tf.ones((2, 64)), tf.constant([1, 2])
    plain = float(d2l.Classifier.loss(model, model(X), y))
    activities = tf.reduce_sum(model(X) ** 2) / 2  # a mean over the examples
    penalties = 0.5 * (activities + tf.reduce_sum(model.net.kernel**2))
    assert whole(model, X, y) == pytest.approx(plain + float(penalties), rel=1e-5)
    assert tf.keras.layers.Layer.losses is d2l.LAYER_LOSSES


class PenalizedLine(d2l.LinearRegression):
    """No classifier, so its validation step is that of each module."""

    def __init__(self):
        super().__init__(0.1)
        l2 = tf.keras.regularizers.L2(0.5)
        self.net = tf.keras.layers.Dense(1, kernel_regularizer=l2)
        self.board.display = False


@pytest.mark.parametrize("kind", [Penalized, PenalizedLine])
def test_the_curves_contain_the_losses_of_layers(fw, kind):
    model = kind()
    batch = tf.ones((4, 64)), tf.zeros(4, tf.int32)
    model.configure_optimizers = lambda: tf.keras.optimizers.SGD(0.0)
    d2l.Trainer(1, accumulate=3).fit(model, ([batch], [batch]))
    expected = pytest.approx(whole(model, *batch), rel=1e-5)
    curves = model.board.data
    assert [curves[f"{kind}_loss"][-1].y for kind in ("train", "val")] == [expected] * 2


def test_an_error_in_the_loss_leaves_keras_as_it_was():
    class Wrong(Penalized):
        def loss(self, Y_hat, Y, averaged=True):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        whole(Wrong(), tf.ones((2, 64)), tf.constant([1, 2]))
    assert tf.keras.layers.Layer.losses is d2l.LAYER_LOSSES


def calls_to_trace(fw, accumulate, num_devices=1):
    """Return how often a step of 100 examples is traced, and the trained model."""
    calls: list = []

    class Counted(d2l.MLP):
        def training_step(self, batch):
            calls.append(1)
            return super().training_step(batch)

    fw.seed(1)
    model = Counted(10, 8, 0.1)
    model.board.display = False
    batch = d2l.Digits().X[:100], d2l.Digits().y[:100]
    devices = d2l.try_devices(num_devices)
    trainer = d2l.Trainer(1, accumulate=accumulate, devices=devices)
    trainer.fit(model, ([batch], None))
    assert trainer.train.compiled
    return len(calls), model


@pytest.mark.parametrize("num_devices", [1, 2])
def test_many_parts_are_one_loop(fw, num_devices):
    """The graph has no copy of the model for each part."""
    few, _ = calls_to_trace(fw, 4, num_devices)
    many, model = calls_to_trace(fw, 50, num_devices)
    assert few == many
    _, one = calls_to_trace(fw, 1)
    for a, b in zip(model.get_weights(), one.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    losses = [m.board.data["train_loss"][-1].y for m in (model, one)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_parts_of_ragged_arrays_train(fw):
    class Ragged(d2l.MLP):
        def training_step(self, batch):
            X, y = batch
            return super().training_step((X.to_tensor(shape=(None, 64)), y))

    X = tf.RaggedTensor.from_tensor(d2l.Digits().X[:6])
    model = Ragged(10, 8, 0.1)
    d2l.Trainer(1, accumulate=2).fit(model, ([(X, d2l.Digits().y[:6])], None))
    assert "train_loss" in model.board.data


def test_a_warning_of_an_uncompiled_step_names_the_cause():
    with pytest.warns(UserWarning, match="runs uncompiled") as found:
        d2l.Trainer(1).fit(Deciding(), d2l.Digits(batch_size=500))
    text = str(found[0].message)
    assert "`if tf.reduce_mean(X) > -1000:`: Using a symbolic" in text
    assert "bool" in text and "Exception encountered" not in text and "\x1b" not in text


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("train", [True, False])
def test_a_vector_is_not_plotted(train, accumulate):
    class Plotting(d2l.MLP):
        def training_step(self, batch):
            self.plot("both", tf.ones(2), True) if train else None
            return super().training_step(batch)

        def validation_step(self, batch):
            self.plot("both", tf.ones(2), False)

    words = r"^the plotted both must be a scalar, not of shape \(2,\); take its mean\n"
    with pytest.raises(ValueError, match=words):
        trainer = d2l.Trainer(1, accumulate=accumulate)
        trainer.fit(Plotting(10, 8, 0.1), d2l.Digits(batch_size=500))
