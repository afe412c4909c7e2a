"""Wraps a model of plain PyTorch, Flax, Keras or Gluon as a `Module` of this library.

`wrap(model, loss, optimizer)` gives the model a loss and an optimizer, so that what
this library trains or predicts for a `d2l.Module`, it does for any model. In a
minibatch, the inputs of the model come first and the labels last.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

OWN = "own"  # the model computes its loss itself
LABELS = ("labels", "targets", "target")  # the argument of such a model
# The arguments that put a model of Flax into its training mode.
TRAINING = {"train": True, "training": True, "is_training": True} | {
    "deterministic": False,
    "use_running_average": False,
}
# Keras comes first, because its layers may be modules of PyTorch, too.
BASES = {
    "keras": ("Layer", "d2l.tensorflow"),
    "flax.linen": ("Module", "d2l.jax"),
    "flax.nnx": ("Module", "d2l.jax"),
    "mxnet.gluon": ("Block", "d2l.mxnet"),
    "torch.nn": ("Module", "d2l.torch"),
}


def library_of(model: Any) -> str:
    """Return the name of this library's module for a model's framework, or ""."""
    for package, (name, library) in BASES.items():
        base = getattr(sys.modules.get(package), name, None)
        if base is not None and isinstance(model, base):
            return library
    return ""


def is_module(model: Any) -> bool:
    """Return whether a model is a `d2l.Module`, with a loss and an optimizer."""
    library = sys.modules.get(library_of(model))
    return library is not None and isinstance(model, library.Module)


def wrap(model: Any, loss: Any, optimizer: Any) -> Any:
    """Return a `d2l.Module` that trains `model` with a loss and an optimizer.

    Both are names, or objects of the framework. Raises ValueError if the framework has
    no loss or no optimizer of that name, and TypeError for other objects.
    """
    library: Any = importlib.import_module(library_of(model))
    wrapped: Any
    wrapped, losses, optimizers = WRAPPERS[library.__name__](library, model)
    scalar, fitting, method = CALLERS[library.__name__]
    if isinstance(loss, str):
        wrapped.named_loss = staticmethod(chosen("loss", losses, loss))
    elif callable(loss) and not isinstance(loss, type):
        wrapped.named_loss = staticmethod(scalar(library, loss))
    else:
        raise TypeError(f"loss must be a name or a function, not {loss!r:.60}")
    if isinstance(optimizer, str):
        make_optimizer = chosen("optimizer", optimizers, optimizer)
    elif hasattr(optimizer, method) and not isinstance(optimizer, type):
        make_optimizer = functools.partial(fitting, library, optimizer)
    else:
        example = EXAMPLES[library.__name__]
        raise TypeError(
            f"optimizer must be a name, or an object such as {example}, not "
            f"{optimizer!r:.60}"
        )
    wrapped.configure_optimizers = lambda self: make_optimizer(self)
    wrapped.__name__ = type(model).__name__  # in messages
    return wrapped()


def as_module(model: Any, loss: Any = None, optimizer: Any = None) -> Any:
    """Return `model`, or if it is a network of the framework, a `d2l.Module` around it.

    Raises TypeError if a network lacks a loss or an optimizer, or a module gets one.
    """
    library, kind = library_of(model), type(model).__name__
    if not library or is_module(model) or hasattr(model, "training_step"):
        if loss is not None or optimizer is not None:
            raise TypeError(
                f"a {kind} does not take loss= and optimizer=; it has its own, by the "
                "methods loss and configure_optimizers"
            )
        return model
    if loss is None or optimizer is None:
        raise TypeError(
            f"a {kind} needs a loss and an optimizer: write fit(model, data, "
            f"loss='cross_entropy', optimizer={EXAMPLES[library]}), or derive it from "
            "d2l.Module"
        )
    return wrap(model, loss, optimizer)


def chosen(name: str, table: Mapping[str, Any], choice: str) -> Any:
    """Return the entry of a table; raise ValueError with its names if there is none."""
    if choice not in table:
        known = ", ".join(table)
        raise ValueError(f"the {name} '{choice}' is unknown; write {known}")
    return table[choice]


# The outputs and the labels


def predictions(outputs: Any) -> Any:
    """Return the logits among a model's outputs, or else the first array.

    Raises TypeError if there is no array.
    """
    if hasattr(outputs, "dtype") and hasattr(outputs, "shape"):
        return outputs
    if getattr(outputs, "logits", None) is not None:
        return predictions(outputs.logits)
    if isinstance(outputs, Mapping) and outputs:
        return predictions(outputs.get("logits", next(iter(outputs.values()))))
    if isinstance(outputs, (list, tuple)) and outputs:
        return predictions(outputs[0])
    kind = type(outputs).__name__
    raise TypeError(
        f"the model returns {kind}, and a loss needs an array; if {kind} holds the "
        "loss itself, choose the loss 'own', except in Keras"
    )


def own_loss(outputs: Any) -> Any:
    """Return the loss that a model has computed among its outputs: a scalar.

    Raises ValueError if there is none.
    """
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    if isinstance(outputs, Mapping):
        found = [outputs["loss"]] if "loss" in outputs else [*outputs.values()]
    else:
        found = [*outputs] if isinstance(outputs, (list, tuple)) else [outputs]
    for item in found:
        if getattr(item, "shape", None) in ((), (1,)):
            return item
    raise ValueError("the loss 'own': none of the model's outputs is a scalar loss")


def labels_by_name(function: Callable) -> str:
    """Return the name of a model's argument for labels; "" if they go last."""
    names = inspect.signature(function).parameters
    return next((name for name in LABELS if name in names), "")


def fits(shape: Sequence, other: Sequence) -> bool:
    """Return whether two shapes may be the same; an unknown size fits any size."""
    return len(shape) == len(other) and all(
        m == n or None in (m, n) for m, n in zip(shape, other)
    )


def class_axis(Y: Any, y: Any) -> int | None:
    """Return the axis of `Y` along which classes lie, 1 or -1.

    It is None if the labels `y` are probabilities. Raises ValueError if labels and
    outputs do not fit.
    """
    if "float" in str(y.dtype):
        if fits(Y.shape, y.shape):
            return None
    elif fits(y.shape, Y.shape[:-1]) or fits(y.shape, (*Y.shape[:-1], 1)):
        return -1
    elif fits(y.shape, (*Y.shape[:1], *Y.shape[2:])):
        return 1
    raise ValueError(
        f"cross_entropy: outputs of shape {tuple(Y.shape)} need one class per "
        f"prediction as labels, such as {'x'.join(map(str, Y.shape[:-1]))}:int64, "
        f"not {y.dtype} of shape {tuple(y.shape)}"
    )


def elementwise(name: str, function: Callable, cast: Callable) -> Callable:
    """Return a loss of outputs and labels of one shape, which raises ValueError else.

    `cast` gives the labels the type of the outputs.
    """

    def loss(outputs: Any, y: Any) -> Any:
        Y = predictions(outputs)
        if not fits(Y.shape, y.shape):
            raise ValueError(
                f"{name}: outputs and labels need the same shape, but have "
                f"{tuple(Y.shape)} and {tuple(y.shape)}"
            )
        return function(Y, y if y.dtype == Y.dtype else cast(y, Y.dtype))

    return loss


def means(functions: Mapping[str, Callable]) -> dict[str, Callable]:
    """Return losses by name, the means of what the functions return for each element.

    Outputs and labels are arrays with the methods of NumPy's.
    """

    def mean(function: Callable) -> Callable:
        return lambda Y, y: function(Y, y).mean()

    def cast(y: Any, dtype: Any) -> Any:
        return y.astype(dtype)

    return {name: elementwise(name, mean(f), cast) for name, f in functions.items()}


# PyTorch


def wrap_torch(d2l: Any, model: Any) -> tuple[type, dict, dict]:
    """Return the class of the wrapper, the losses and the optimizers by name."""

    model = getattr(model, "_orig_mod", model)  # of torch.compile

    class Wrapped(d2l.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def batch_loss(self, batch: Sequence) -> Any:
            """Return the loss of a minibatch."""
            d2l.check_batch(batch)
            *inputs, y = batch
            if self.named_loss is not own_loss:
                return self.named_loss(self.net(*inputs), y)
            name = labels_by_name(self.net.forward)
            return own_loss(
                self.net(*inputs, **{name: y}) if name else self.net(*batch)
            )

        def training_step(self, batch: Sequence) -> Any:
            l = self.batch_loss(batch)
            self.plot("loss", l, train=True)
            return l

        def validation_step(self, batch: Sequence) -> None:
            self.plot("loss", self.batch_loss(batch), train=False)

    def optimizer(name: str, **options: float) -> Callable:
        def make(module: Any) -> Any:
            params = [p for p in module.parameters() if p.requires_grad]
            if not params:
                raise ValueError("this model has no parameters to train")
            return getattr(d2l.torch.optim, name)(params, lr=0.001, **options)

        return make

    optimizers = {
        "adam": optimizer("Adam"),
        "adamw": optimizer("AdamW"),
        "sgd": optimizer("SGD"),
        "momentum": optimizer("SGD", momentum=0.9),
        "rmsprop": optimizer("RMSprop"),
        "adagrad": optimizer("Adagrad"),
        "adafactor": optimizer("Adafactor"),
    }
    return Wrapped, torch_losses(d2l.F), optimizers


def torch_losses(F: Any) -> dict[str, Callable]:
    """Return the losses of PyTorch by name."""

    def cross_entropy(outputs: Any, y: Any) -> Any:
        Y = predictions(outputs)
        if class_axis(Y, y) == -1:
            return F.cross_entropy(Y.flatten(0, -2), y.flatten())
        return F.cross_entropy(Y, y)

    functions = {
        "binary_cross_entropy": F.binary_cross_entropy_with_logits,
        "mse": F.mse_loss,
        "l1": F.l1_loss,
    }

    def cast(y: Any, dtype: Any) -> Any:
        return y.to(dtype)

    others = {name: elementwise(name, f, cast) for name, f in functions.items()}
    return {"cross_entropy": cross_entropy, **others, OWN: own_loss}


# JAX


def wrap_jax(d2l: Any, model: Any) -> tuple[type, dict, dict]:
    """Return the class of the wrapper, the losses and the optimizers by name."""
    linen = isinstance(model, d2l.nn.Module)
    base: Any = (linen_classifier if linen else nnx_classifier)(d2l, model)
    names = inspect.signature(type(model).__call__).parameters
    name = labels_by_name(type(model).__call__)

    class Wrapped(base):
        training: bool = True

        @property
        def options(self) -> dict[str, bool]:
            """The arguments that tell the model its mode."""
            known = {key: value for key, value in TRAINING.items() if key in names}
            return {key: value is self.training for key, value in known.items()}

        @d2l.nn.nowrap
        def arguments(self, X: Sequence, y: Any) -> tuple[tuple, dict]:
            """Return the arguments of the model, with the labels if it needs them."""
            if self.named_loss is not own_loss:
                return (*X,), {}
            return ((*X,), {name: y}) if name else ((*X, y), {})

        def loss(
            self, params: Any, X: Any, y: Any, state: Any, averaged: bool = True
        ) -> tuple:
            """Return the loss that was chosen, and the statistics."""
            args, kwargs = self.arguments(X, y)
            outputs, updates = state.apply_fn(
                state.variables(params),
                *args,
                **kwargs,
                mutable=[*state.collections()],
                rngs=state.rngs(),
            )
            if self.named_loss is own_loss:
                return own_loss(outputs), updates
            return self.named_loss(outputs, y), updates

        @d2l.nn.nowrap
        def validation_step(self, params: Any, batch: Sequence, state: Any) -> None:
            l, _ = self.loss(params, batch[:-1], batch[-1], state)
            self.plot("loss", l, train=False)

    optax = d2l.optax
    optimizers = {
        "adam": optax.adam,
        "adamw": optax.adamw,
        "sgd": optax.sgd,
        "momentum": functools.partial(optax.sgd, momentum=0.9),
        "rmsprop": optax.rmsprop,
        "adagrad": optax.adagrad,
        "adafactor": optax.adafactor,
    }
    return (
        Wrapped,
        jax_losses(d2l),
        {key: lambda _, f=f: f(0.001) for key, f in optimizers.items()},
    )


def linen_classifier(d2l: Any, model: Any) -> type:
    """Return a class whose forward pass is that of a model of Flax Linen."""

    class Linen(d2l.Classifier):
        net: Any = model

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self.net(*args, **kwargs, **self.options)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.forward(*args, **kwargs)

        @d2l.nn.nowrap
        def apply_init(self, dummy_input: Sequence, key: Any) -> dict:
            batch = next(iter(self.trainer.train_dataloader))
            args, kwargs = self.arguments(dummy_input, batch[-1])
            return self.init(key, *args, **kwargs)

    return Linen


def nnx_classifier(d2l: Any, model: Any) -> type:
    """Return a class whose parameters and forward pass are those of a model of NNX.

    All state but parameters takes the place of the statistics of layers.
    """
    from flax import nnx

    model.eval()
    graph_to_validate = nnx.graphdef(model)
    model.train()
    graph_to_train, params, rest = nnx.split(model, nnx.Param, ...)

    def new_array(array: Any) -> Any:
        """Return a copy, which a step may overwrite; zeros if only a shape is known."""
        if not isinstance(array, d2l.jax.ShapeDtypeStruct):
            return d2l.jnp.copy(array)
        if d2l.jax.dtypes.issubdtype(array.dtype, d2l.jax.dtypes.prng_key):
            return d2l.jax.random.split(d2l.jax.random.key(0), array.shape)
        return d2l.jnp.zeros(array.shape, array.dtype)

    class Nnx(d2l.Classifier):
        @d2l.nn.nowrap
        def apply_init(self, dummy_input: Sequence, key: Any) -> dict:
            # A step gives back an empty dictionary in place of a state without arrays.
            state = {"params": params, "batch_stats": rest or {}}
            return d2l.jax.tree.map(new_array, state)

        @d2l.nn.nowrap
        def apply(self, variables: dict, *args: Any, mutable: Any, rngs: Any, **kwargs):
            # Variables may change only in the trace that has made them.
            made = d2l.jax.tree.map(lambda array: array, variables)
            graph = graph_to_train if self.training else graph_to_validate
            merged = nnx.merge(graph, made["params"], made["batch_stats"] or rest)
            outputs = merged(*args, **kwargs, **self.options)
            return outputs, {"batch_stats": nnx.split(merged, nnx.Param, ...)[2]}

    return Nnx


def jax_losses(d2l: Any) -> dict[str, Callable]:
    """Return the losses of JAX by name."""
    optax, jnp = d2l.optax, d2l.jnp

    def cross_entropy(outputs: Any, y: Any) -> Any:
        Y = predictions(outputs)
        axis = class_axis(Y, y)
        if axis is None:
            return optax.softmax_cross_entropy(Y, y).mean()
        Y = jnp.moveaxis(Y, axis, -1)
        return optax.softmax_cross_entropy_with_integer_labels(
            Y.reshape(-1, Y.shape[-1]), y.reshape(-1)
        ).mean()

    functions = {
        "binary_cross_entropy": optax.sigmoid_binary_cross_entropy,
        "mse": lambda Y, y: (Y - y) ** 2,
        "l1": lambda Y, y: jnp.abs(Y - y),
    }
    return {"cross_entropy": cross_entropy, **means(functions), OWN: own_loss}


# TensorFlow


def wrap_tensorflow(d2l: Any, model: Any) -> tuple[type, dict, dict]:
    """Return the class of the wrapper, the losses and the optimizers by name."""
    keras = d2l.tf.keras
    one = [p for p in inspect.signature(model.call).parameters.values() if required(p)]
    listed = isinstance(model, keras.Model) and len(one) <= 1  # of several inputs

    class Wrapped(d2l.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def forward(self, *inputs: Any) -> Any:
            if listed and len(inputs) > 1:
                return self.net([*inputs])
            return self.net(*inputs)

        def loss(self, outputs: Any, y: Any) -> Any:
            return self.named_loss(outputs, y)

    def optimizer(name: str, **options: float) -> Callable:
        return lambda _: getattr(keras.optimizers, name)(0.001, **options)

    optimizers = {
        "adam": optimizer("Adam"),
        "adamw": optimizer("AdamW"),
        "sgd": optimizer("SGD"),
        "momentum": optimizer("SGD", momentum=0.9),
        "rmsprop": optimizer("RMSprop"),
        "adagrad": optimizer("Adagrad"),
        "adafactor": optimizer("Adafactor"),
    }
    return Wrapped, keras_losses(d2l.tf), optimizers


def required(parameter: inspect.Parameter) -> bool:
    """Return whether a call must give this argument, by its position or name."""
    several = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind not in several


def keras_losses(tf: Any) -> dict[str, Callable]:
    """Return the losses of TensorFlow by name."""

    def cross_entropy(outputs: Any, y: Any) -> Any:
        Y = predictions(outputs)
        axis = class_axis(Y, y)
        if axis is None:
            return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, Y))
        Y = tf.keras.ops.moveaxis(Y, axis, -1)
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.reshape(y, (-1,)), tf.reshape(Y, (-1, Y.shape[-1]))
            )
        )

    functions = {
        "binary_cross_entropy": lambda Y, y: tf.nn.sigmoid_cross_entropy_with_logits(
            y, Y
        ),
        "mse": lambda Y, y: (Y - y) ** 2,
        "l1": lambda Y, y: tf.abs(Y - y),
    }

    def mean(f: Callable) -> Callable:
        return lambda Y, y: tf.reduce_mean(f(Y, y))

    others = {
        name: elementwise(name, mean(f), tf.cast) for name, f in functions.items()
    }
    return {"cross_entropy": cross_entropy, **others}


# MXNet


def wrap_mxnet(d2l: Any, model: Any) -> tuple[type, dict, dict]:
    """Return the class of the wrapper, the losses and the optimizers by name."""
    params = model.collect_params()
    if all(p._data is None and not p._deferred_init for p in params.values()):
        model.initialize()

    class Wrapped(d2l.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def forward(self, *inputs: Any) -> Any:
            return self.net(*inputs)

        def batch_loss(self, batch: Sequence) -> Any:
            """Return the loss of a minibatch."""
            d2l.check_batch(batch)
            *inputs, y = batch
            if self.named_loss is own_loss:
                return own_loss(self(*batch))
            return self.named_loss(self(*inputs), y)

        def training_step(self, batch: Sequence) -> Any:
            l = self.batch_loss(batch)
            self.plot("loss", l, train=True)
            return l

        def validation_step(self, batch: Sequence) -> None:
            self.plot("loss", self.batch_loss(batch), train=False)

    def optimizer(name: str, **options: float) -> Callable:
        settings = {"learning_rate": 0.001, **options}
        return lambda module: d2l.gluon.Trainer(module.parameters(), name, settings)

    optimizers = {
        "adam": optimizer("adam"),
        "sgd": optimizer("sgd"),
        "momentum": optimizer("sgd", momentum=0.9),
        "rmsprop": optimizer("rmsprop"),
        "adagrad": optimizer("adagrad"),
    }
    return Wrapped, mxnet_losses(d2l), optimizers


def mxnet_losses(d2l: Any) -> dict[str, Callable]:
    """Return the losses of MXNet by name."""
    np, npx = d2l.np, d2l.npx

    def cross_entropy(outputs: Any, y: Any) -> Any:
        Y = predictions(outputs)
        axis = class_axis(Y, y)
        if axis is None:
            return -(y * npx.log_softmax(Y)).sum(-1).mean()
        left = tuple(n for i, n in enumerate(Y.shape) if i != axis % Y.ndim)
        return -npx.pick(npx.log_softmax(Y, axis), y.reshape(left), axis).mean()

    binary = d2l.gluon.loss.SigmoidBCELoss()
    functions = {
        "binary_cross_entropy": lambda Y, y: binary(Y, y),
        "mse": lambda Y, y: (Y - y) ** 2,
        "l1": lambda Y, y: np.abs(Y - y),
    }
    return {"cross_entropy": cross_entropy, **means(functions), OWN: own_loss}


WRAPPERS = {
    "d2l.torch": wrap_torch,
    "d2l.jax": wrap_jax,
    "d2l.tensorflow": wrap_tensorflow,
    "d2l.mxnet": wrap_mxnet,
}

# A caller's own loss, as a function of outputs and labels that returns a scalar, and a
# caller's own optimizer


def keras_loss(d2l: Any, loss: Callable) -> Callable:
    """Return the mean of a loss of Keras, whose labels come first."""
    return lambda Y, y: d2l.tf.reduce_mean(loss(y, Y))


def mean_loss(d2l: Any, loss: Callable) -> Callable:
    """Return the mean of a loss that may return a value for each example."""
    return lambda Y, y: loss(Y, y).mean()


def same(d2l: Any, given: Any, module: Any = None) -> Any:
    """Return what the caller gives, as it is."""
    return given


def gluon_trainer(d2l: Any, optimizer: Any, module: Any) -> Any:
    """Return Gluon's trainer of a module's parameters with an optimizer of MXNet."""
    return d2l.gluon.Trainer(module.parameters(), optimizer)


# and a method that an optimizer has
CALLERS: dict[str, tuple[Callable, Callable, str]] = {
    "d2l.torch": (same, same, "step"),
    "d2l.jax": (mean_loss, same, "update"),
    "d2l.tensorflow": (keras_loss, same, "apply_gradients"),
    "d2l.mxnet": (mean_loss, gluon_trainer, "create_state"),
}
EXAMPLES = {
    "d2l.torch": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "d2l.jax": "optax.sgd(0.1)",
    "d2l.tensorflow": "tf.keras.optimizers.SGD(0.1)",
    "d2l.mxnet": "mx.optimizer.SGD(learning_rate=0.1)",
}
