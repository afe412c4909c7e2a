"""Networks of the framework, with a loss and an optimizer, in place of a module."""

import importlib

import numpy as np
import pytest
from test_one_line import fails

X = np.random.default_rng(0).normal(size=(32, 64)).astype("float32")
Y = np.arange(32) % 10


@pytest.fixture
def foreign(fw):
    return importlib.import_module(f"foreign_{fw.tab}")


@pytest.fixture
def batch(fw):
    return fw.tensor(X), fw.tensor(Y, "int64" if fw.tab == "pytorch" else "int32")


@pytest.fixture
def train(d2l, fw, batch):
    """A function that trains a network for some steps and returns the trainer."""

    def train(net, loss, optimizer, max_epochs=1, devices=None, **options):
        fw.seed(0)
        settings = {"devices": devices} if devices else {}
        trainer = d2l.Trainer(max_epochs, **settings)
        options |= {"loss": loss, "optimizer": optimizer}
        fw.fit(trainer, net, ([batch], [batch, batch]), **options)
        return trainer

    return train


def values(fw, trainer):
    """Return the trained arrays by falling size: the weights, then the bias."""
    arrays = [fw.numpy(param) for param in fw.params(trainer)]
    return sorted(arrays, key=np.size, reverse=True)


def assert_equal(found, wanted, atol=1e-6):
    for first, second in zip(found, wanted, strict=True):
        np.testing.assert_allclose(first, second, atol=atol)


def cross_entropy(W, b):
    """Return the loss of softmax regression on the examples, and its gradients."""
    outputs = X @ W + b
    p = np.exp(outputs - outputs.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    error = (p - np.eye(10)[Y]) / len(X)
    return -np.log(p[np.arange(len(X)), Y]).mean(), X.T @ error, error.sum(0)


def weights(fw, trainer):
    """Return a matrix of 64 rows and a bias, as `cross_entropy` takes them."""
    W, b = values(fw, trainer)
    return W.reshape(10, 64).T if fw.tab in ("pytorch", "mxnet") else W, b


def test_a_step_is_that_of_the_mathematics(fw, foreign, train, linear):
    W, b = weights(fw, train(*linear(0.0)))
    trainer = train(*linear(0.5))
    _, dW, db = cross_entropy(W, b)
    assert_equal(weights(fw, trainer), (W - 0.5 * dW, b - 0.5 * db))
    loss, *_ = cross_entropy(*weights(fw, trainer))
    curves = trainer.model.board.data
    assert curves["val_loss"][-1].y == pytest.approx(loss, rel=1e-5)
    assert curves["train_loss"][-1].y == pytest.approx(cross_entropy(W, b)[0], rel=1e-5)


@pytest.fixture
def linear(fw, foreign):
    """A function of a learning rate: a layer with a loss and an optimizer."""

    def linear(lr):
        fw.seed(0)
        net = foreign.linear()
        return net, *foreign.given(net, lr)

    return linear


def test_dropout_rests_while_a_network_is_validated(fw, foreign, train):
    net = foreign.dropping()
    fw.seed(0)
    trainer = train(net, *foreign.given(net, 0.0))
    loss, *_ = cross_entropy(*weights(fw, trainer))
    curves = trainer.model.board.data
    assert curves["val_loss"][-1].y == pytest.approx(loss, rel=1e-5)
    assert abs(curves["train_loss"][-1].y / loss - 1) > 1e-3


def test_names_stand_for_a_loss_and_an_optimizer(fw, foreign, train, linear):
    net, loss, optimizer = linear(0.001)
    given = values(fw, train(net, loss, optimizer))
    named = values(fw, train(linear(0.0)[0], "cross_entropy", "sgd"))
    assert_equal(given, named)


def test_a_run_of_a_network_is_resumed(fw, foreign, train, tmp_path):
    def run(max_epochs, **options):
        fw.seed(0)
        return train(foreign.mlp(), "cross_entropy", "adam", max_epochs, **options)

    run(1, checkpoint_dir=tmp_path)
    resumed = run(3, checkpoint_dir=tmp_path)
    assert_equal(values(fw, run(3)), values(fw, resumed))


def test_two_devices_train_a_network_as_one_does(fw, d2l, train, linear):
    one = values(fw, train(*linear(0.5), max_epochs=2))
    two = values(fw, train(*linear(0.5), max_epochs=2, devices=d2l.try_devices(2)))
    assert_equal(one, two)


@pytest.mark.parametrize("given", [{}, {"loss": "mse"}, {"optimizer": "sgd"}])
def test_a_network_needs_a_loss_and_an_optimizer(d2l, foreign, batch, given):
    with fails(r"needs a loss and an optimizer: write fit\(.*optimizer=", TypeError):
        d2l.Trainer().fit(foreign.mlp(), ([batch], None), **given)


@pytest.mark.parametrize("given", [{"loss": "mse"}, {"optimizer": "sgd"}])
def test_a_module_has_a_loss_and_an_optimizer_of_its_own(d2l, fw, batch, given):
    with fails("Layers does not take loss= and optimizer=; it has its own", TypeError):
        d2l.Trainer().fit(fw.model(10), ([batch], None), **given)


def test_a_loss_and_an_optimizer_that_do_not_exist(d2l, foreign, batch):
    for given in ("nll", "sgd"), ("mse", "lion"):
        with fails("the (loss 'nll'|optimizer 'lion') is unknown; write ", ValueError):
            d2l.Trainer().fit(
                foreign.mlp(), ([batch], None), loss=given[0], optimizer=given[1]
            )


@pytest.mark.parametrize("loss", [3, type], ids=str)
def test_what_is_no_loss_is_refused(d2l, foreign, batch, loss):
    with fails("loss must be a name or a function, not ", TypeError):
        d2l.Trainer().fit(foreign.mlp(), ([batch], None), loss=loss, optimizer="sgd")


def test_what_is_no_optimizer_is_refused(d2l, foreign, batch):
    net = foreign.mlp()
    for optimizer in 0.1, type(foreign.given(net, 0.1)[1]):
        with fails("optimizer must be a name, or an object such as .*, not", TypeError):
            d2l.Trainer().fit(net, ([batch], None), loss="mse", optimizer=optimizer)
