"""The loops of the bench in TensorFlow: a bare loop, the Trainer, and Keras's fit."""

import contextlib
from typing import Any

import tensorflow as tf
import workloads
from workloads import CLASSES, HIDDENS, RATE, Clock, Workload

from d2l import tensorflow as d2l

VERSIONS = {"tensorflow": tf.__version__, "keras": tf.keras.__version__}
# Loops that take turns leave their scopes in another order than they entered them. With
# one device, the scope changes nothing, but TensorFlow checks the order.
tf.distribute.get_strategy().scope = contextlib.nullcontext


def data(workload: Workload) -> Any:
    """Return the data module of a workload."""
    X, y = map(tf.constant, workloads.arrays(workload))
    return workloads.dataset(d2l, X, y, workload)


def network(workload: Workload) -> Any:
    """Return the network of a workload."""
    inputs, layers = tf.keras.Input((workload.inputs,)), tf.keras.layers
    if workload.name == "linear":
        return tf.keras.Sequential([inputs, layers.Dense(1)])
    hidden = layers.Dense(HIDDENS, activation="relu")
    return tf.keras.Sequential([inputs, hidden, layers.Dense(CLASSES)])


def loss_of(workload: Workload) -> Any:
    """Return the loss function of a workload."""
    if workload.name == "linear":
        return tf.keras.losses.MeanSquaredError()
    return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class MLP(d2l.Classifier):  # type: ignore[name-defined]
    """The MLP for the Trainer."""

    def __init__(self, num_hiddens: int, lr: float):
        super().__init__()
        self.save_hyperparameters()
        hidden = tf.keras.layers.Dense(num_hiddens, activation="relu")
        self.net = tf.keras.Sequential([hidden, tf.keras.layers.Dense(CLASSES)])


def bare(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with the bare loop of the chapter, which knows its validation loss."""
    module, classify = data(workload), workload.name == "mlp"
    clock.restart()
    train, val = module.train_dataloader(), module.val_dataloader()
    net, cross_entropy = tf.keras.layers.Dense(1), loss_of(workload)
    if classify:
        net = network(workload)
    net.build((None, workload.inputs))
    optim = tf.keras.optimizers.SGD(RATE)
    optim.build(net.trainable_variables)

    def loss_fn(y: Any, out: Any) -> Any:
        return cross_entropy(y, out) if classify else tf.reduce_mean((out - y) ** 2)

    @tf.function
    def step(X: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, net(X))
        grads = tape.gradient(loss, net.trainable_variables)
        optim.apply_gradients(zip(grads, net.trainable_variables, strict=True))

    @tf.function
    def evaluate(X: Any, y: Any) -> Any:
        out = net(X)
        if not classify:
            return (loss_fn(y, out),)
        right = tf.cast(tf.argmax(out, axis=1) == y, tf.float32)
        return loss_fn(y, out), tf.reduce_mean(right)

    for _ in range(epochs):
        clock.epoch()
        for X, y in train:
            step(X, y)
        metrics = [evaluate(X, y) for X, y in val]
        for values in zip(*metrics, strict=True):
            float(d2l.mean(values))
        clock.stop()


def keras(workload: Workload, clock: Clock, epochs: int) -> None:
    """Train with Keras's fit, without progress bars."""
    module = data(workload)
    clock.restart()
    model = network(workload)
    metrics = ["accuracy"] if workload.name == "mlp" else []
    optimizer = tf.keras.optimizers.SGD(RATE)
    model.compile(optimizer, loss_of(workload), metrics=metrics)
    model.fit(
        module.train_dataloader(),
        validation_data=module.val_dataloader(),
        epochs=epochs,
        verbose=0,
        callbacks=[tf.keras.callbacks.LambdaCallback(on_epoch_begin=clock.epoch)],
    )
    clock.stop()


VARIANTS = {
    "bare": bare,
    **workloads.trainers(d2l, MLP, data),
    "peer": keras,
}
