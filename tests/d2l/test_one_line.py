"""Each mistake is one line that says what is wrong, where, and how to mend it.

Most of those of a trainer are found by `d2l/settings.py`.
"""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import contextlib
import inspect
import io
import itertools
import re
import warnings

import numpy as np
import pytest


@contextlib.contextmanager
def fails(message, *kinds):
    """Expect an error of one line that contains `message`, a regular expression."""
    with pytest.raises(kinds or Exception) as raised:
        yield
    text = str(raised.value)
    assert re.search(message, text) and "\n" not in text, text


def classifier(d2l):
    return d2l.MLP(10, 8, 0.1)


# Settings

# The values that a setting allows, and some that it refuses.
REFUSED = {
    "max_epochs": ("0, 1, 2, ...", [2.5, 2.0, "2", None, -1, [1], np.float32(1), True]),
    "num_gpus": ("0, 1, 2, ...", [-1, 1.5, 1.0, "1", None, [1], np.float64(1)]),
    "gradient_clip_val": (
        "0 (no limit) or a positive number",
        [-1, -0.1, float("nan"), "1", None, [1], 1j, True],
    ),
    "steps_per_epoch": ("None (all that there are) or 1, 2, ...", [0, 2.5]),
    "accumulate": ("1, 2, ...", [0, -1, 2.5, "2", None, True]),
    "precision": ("", ["bf16", "bfloat16", 16, None, np.float64]),
    "save_every": ("None", [0, -3, 2.5, "a", True]),
    "keep": ("", [0, 2.5, None]),
    "skip_damaged": ("True or False", ["yes", None, 1]),
    "devices": ("a list", ["cpu", [], [3], 2, ["/GPU:7"], ["CPU:99"], ["gpu"]]),
    "callbacks": ("a list", [3, [print]]),
}


@pytest.mark.parametrize(
    "name, value", [(name, value) for name in REFUSED for value in REFUSED[name][1]]
)
def test_a_value_that_is_not_allowed(d2l, name, value):
    begin, end = f"{name} must be {REFUSED[name][0]}", f"not {value!r}"
    for change in (
        lambda: d2l.Trainer(**{name: value}),
        lambda: setattr(d2l.Trainer(1), name, value),
    ):
        with fails(f"^{re.escape(begin)}.*{re.escape(end)}$", ValueError):
            change()


@pytest.mark.parametrize(
    "name, value",
    [
        *[("max_epochs", n) for n in (0, 1, np.int64(2))],
        *[("gradient_clip_val", x) for x in (0, 0.5, np.float32(1), float("inf"))],
        *[(name, np.int64(2)) for name in ("accumulate", "save_every")],
    ],
)
def test_a_value_that_is_allowed(d2l, name, value):
    with warnings.catch_warnings(action="error"):
        trainer = d2l.Trainer(**{name: value})
        assert getattr(trainer, name) == value
        setattr(trainer, name, type(value)(3))
    assert getattr(trainer, name) == 3 != getattr(d2l.Trainer(1), name)


MISSPELT = {
    "max_epoch": "max_epochs",
    "num_gpu": "num_gpus",
    "gradient_clip": "gradient_clip_val",
    "step_per_epoch": "steps_per_epoch",
    "acumulate": "accumulate",
    "save_evry": "save_every",
    "device": "devices",
    "presicion": "precision",
    "epochs": "max_epochs",
    "clip": "gradient_clip_val",
    "max_grad_norm": "gradient_clip_val",
    "accumulate_grad_batches": "accumulate",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_name_that_does_not_exist(d2l, name):
    message = f"'{name}' is not a setting .* did you mean '{MISSPELT[name]}'"
    with fails(message, TypeError):
        d2l.Trainer(**{name: 2})
    if name != "device":  # an attribute of the trainer
        with fails(message, AttributeError):
            setattr(d2l.Trainer(1), name, 2)


def test_attributes_that_are_no_settings(d2l):
    trainer = d2l.Trainer(1)
    trainer.best_loss = trainer.epochs_without_progress = 3
    assert trainer.best_loss == 3
    message = r"num_gpus cannot be changed; set devices=d2l.try_devices\(n\)"
    with fails(message, AttributeError):
        trainer.num_gpus = 1


def test_hyperparameters_are_the_arguments_but_the_first(d2l):
    class Named(d2l.HyperParameters):
        def __init__(this, width, *, depth=2, **others):  # noqa: N805
            this.save_hyperparameters(ignore=["depth"])

    assert Named(3, bias=True).hparams == {"width": 3, "others": {"bias": True}}


def settings_of(d2l):
    members = inspect.getmembers(d2l.Trainer, lambda m: isinstance(m, d2l.Setting))
    return dict(members)


def test_help_explains_each_setting(d2l):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        help(d2l.Trainer)
    words = " ".join(text.getvalue().replace("|", "").split())
    assert {*REFUSED} <= {*settings_of(d2l)}
    for setting in settings_of(d2l).values():
        first, *_ = setting.__doc__.split(":")
        assert " ".join(first.split()) in words


def test_signature_has_all_settings(d2l):
    parameters = inspect.signature(d2l.Trainer).parameters
    assert sorted(parameters) == [*settings_of(d2l)]
    assert [*parameters][:3] == ["max_epochs", "num_gpus", "gradient_clip_val"]
    assert parameters["save_every"].default is None

    class Own(d2l.Trainer):
        def __init__(self, folder, **settings):
            super().__init__(**settings)

    parameters = inspect.signature(Own).parameters
    assert [*parameters][0] == "folder" and "max_epochs" in parameters


def test_arguments_after_the_data_are_keywords(d2l):
    with fails("takes 3 positional arguments", TypeError):
        d2l.Trainer(1).fit(classifier(d2l), d2l.Digits(), "folder")
    *_, kind = inspect.signature(d2l.Trainer.fit).parameters.values()
    assert (kind.name, kind.kind) == ("checkpoint_dir", kind.KEYWORD_ONLY)


@pytest.mark.shared
@pytest.mark.parametrize("n", [-1, 2.0, "8"])
def test_a_largest_batch_that_makes_no_sense(d2l, n):
    with fails("batch_size must be 0, 1, 2", ValueError):
        d2l.largest_batch(lambda n: False, n)


def test_a_hyperparameter_may_not_hide_a_method(d2l):
    class Data(d2l.DataModule):
        def __init__(self, get_dataloader):
            self.save_hyperparameters()

    with fails("rename the argument 'get_dataloader'", ValueError):
        Data(3)


# Models


def test_objects_that_cannot_be_trained(d2l):
    model, data = classifier(d2l), d2l.Digits()
    for pair in (data, model), (d2l.MLP, data):
        with fails("needs an object with the method training_step", TypeError):
            d2l.Trainer(1).fit(*pair)
    for wrong in [1, 2], None:
        words = "the method train_dataloader, or a pair of loaders, as data"
        with fails(words, TypeError):
            d2l.Trainer(1).fit(model, wrong)


class Scheduler:
    """A schedule, as Lightning's programs return it beside the optimizer."""

    def step(self):
        """Change the learning rate."""


OPTIMIZERS: dict = {
    "None": lambda optimizer: None,
    "class": type,
    "dict": lambda optimizer: {"optimizer": optimizer},
    "scheduler": lambda optimizer: (optimizer, [Scheduler()]),
    "no optimizer": lambda optimizer: [],
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_wrong_optimizer(d2l, fw, name):
    class Model(d2l.MLP):
        def configure_optimizers(self):
            return OPTIMIZERS[name](super().configure_optimizers())

    with fails("configure_optimizers must return (an|one) optimizer", TypeError):
        fw.fit(d2l.Trainer(1), Model(10, 8, 0.1), d2l.Digits())


@pytest.mark.parametrize("lr", [None, "0.1", -0.1], ids=str)
def test_wrong_learning_rate(d2l, fw, lr):
    with pytest.raises((TypeError, ValueError), match="lr|learning rate|'<'"):
        fw.fit(d2l.Trainer(1), d2l.MLP(10, 8, lr), d2l.Digits())


def test_a_dictionary_to_validate(d2l, fw):
    X, Y = fw.tensor([[0.0] * 64] * 8), fw.tensor([0] * 8, "int32")
    if fw.tab == "pytorch":
        Y = Y.long()
    data = [(X, Y)], [{"X": X, "Y": Y}]
    with fails(r"minibatches that are tuples \(inputs, labels\), not a", TypeError):
        fw.fit(d2l.Trainer(1), d2l.MLP(10, 8, 0.1), data)


RESULTS = {"None": None, "dict": {"loss": 1.0}, "float": 0.5}


@pytest.mark.parametrize("name", RESULTS)
def test_wrong_result_of_a_training_step(d2l, fw, name):
    class Model(d2l.MLP):
        def training_step(self, *args):
            super().training_step(*args)
            return RESULTS[name]

    with fails(r"training_step must return the loss.* not [N{0]", TypeError):
        fw.fit(d2l.Trainer(1), Model(10, 8, 0.1), d2l.Digits())


@pytest.mark.parametrize(("accumulate", "devices"), [(1, 1), (2, 1), (1, 2)])
def test_a_loss_that_is_no_scalar(d2l, fw, accumulate, devices):
    class Vector(d2l.LinearRegression):
        def loss(self, y_hat, y):
            return (y_hat - y) ** 2

    if fw.tab == "jax":
        return  # jax.grad refuses such a loss
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=32)
    trainer = d2l.Trainer(accumulate=accumulate, devices=d2l.try_devices(devices))
    message = r"loss must be a scalar, not of shape \(\d+, 1\); take its mean"
    with pytest.raises((RuntimeError, ValueError), match=message):
        fw.fit(trainer, Vector(0.1), data)


def test_model_without_a_learning_rate(d2l, fw):
    class Model(d2l.Classifier):
        def forward(self, X):
            return X

    with fails("define lr, or configure_optimizers of your own", AssertionError):
        fw.fit(d2l.Trainer(1), Model(), d2l.Digits())


def test_model_without_a_network(d2l, fw):
    class Model(d2l.Classifier):
        lr: float = 0.1

    message = "define net, or a forward method|this model has no parameters"
    with pytest.raises((AssertionError, ValueError), match=message):  # Keras adds lines
        fw.fit(d2l.Trainer(1), Model(), d2l.Digits())
    with pytest.raises(AssertionError, match="define net, or a forward method"):
        fw.build(Model(), fw.tensor([[1.0, 2.0]]))
        fw.fit(d2l.Trainer(1), Model(), d2l.Digits())


def test_model_with_nothing_to_train(d2l, fw):
    class Fixed(d2l.Module):
        lr: float = 0.1
        loss = d2l.LinearRegressionScratch.loss

        def forward(self, X):
            return d2l.matmul(X, fw.tensor([[1.0], [1.0]]))

    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2)
    with fails("no (parameters|variables) to train|empty parameter list", ValueError):
        fw.fit(d2l.Trainer(1), Fixed(), data)


def test_loss_that_is_not_a_number_is_told_once(d2l, fw):
    model = d2l.MLP(10, 8, 1e30)
    with warnings.catch_warnings(record=True, action="always") as told:
        fw.fit(d2l.Trainer(2), model, d2l.Digits(batch_size=500))
    (message,) = [str(w.message) for w in told if "NaN" in str(w.message)]
    assert message.startswith("train_loss is NaN at epoch 0.")
    assert "lower the learning rate" in message and "\n" not in message


# Data

# A loader made from a minibatch, and what is wrong with it.
LOADERS: dict = {
    "stream": (
        lambda batch: (batch for _ in itertools.count()),
        "this generator does not; make a list of .* or set steps_per_epoch",
    ),
    "iterator": (lambda batch: iter([batch]), "this list_iterator does not; make a"),
    "none": (lambda batch: None, "this NoneType does not"),
    "number": (lambda batch: 3, "this int does not"),
    "dict": (lambda batch: {"X": batch}, "this dict contains names; make a list"),
    "empty dict": (lambda batch: {}, "this dict contains names"),
    "empty": (lambda batch: [], "not be empty, and this list has no minibatch"),
}


def digits(fw):
    """Return a minibatch of digits."""
    return next(iter(fw.d2l.Digits(batch_size=8).val_dataloader()))


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("which", ["train", "val"])
def test_a_loader_that_cannot_be_used(d2l, fw, name, which):
    if (name, which) == ("none", "val"):
        return  # there need be no validation data
    make, message = LOADERS[name]
    good, model = [digits(fw)], classifier(d2l)
    pair = (make(good[0]), good) if which == "train" else (good, make(good[0]))
    with fails(rf"^{which}_dataloader\(\) must .*{message}", TypeError, ValueError):
        fw.fit(d2l.Trainer(1), model, pair)
    assert not hasattr(model, "trainer") and model.board.data == {}


def test_an_empty_loader_without_a_name(d2l):
    with fails("^a loader must not be empty, and this list has no", ValueError):
        d2l.count_batches([])


def test_data_without_examples_or_loaders(d2l, fw):
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=0)
    with fails("must not be empty|num_samples=0", ValueError):
        fw.fit(d2l.Trainer(1), d2l.LinearRegression(lr=0.1), data)
    for size in 0, -1:
        with fails(r"batch_size.* (1, 2, ..., not|positive).*-?\d", ValueError):
            fw.fit(d2l.Trainer(1), classifier(d2l), d2l.Digits(batch_size=size))
    with fails("define get_dataloader", NotImplementedError):
        fw.fit(d2l.Trainer(1), classifier(d2l), d2l.DataModule())


def test_minibatch_that_is_one_tensor(d2l, fw):
    loader = [fw.tensor(np.ones((8, 64)))]
    message = r"minibatches that are tuples \(inputs, labels\), not a .*training_step"
    with fails(message, TypeError):
        fw.fit(d2l.Trainer(1), classifier(d2l), (loader, None))


def test_more_steps_than_minibatches(d2l, fw):
    trainer, batches = d2l.Trainer(1, steps_per_epoch=4), [digits(fw)] * 3
    message = "must be at most 3, the number of minibatches of this list, not 4"
    with fails(f"steps_per_epoch {message}", ValueError):
        fw.fit(trainer, classifier(d2l), (batches, None))
    with fails("data end after 3 minibatches", ValueError):
        fw.fit(trainer, classifier(d2l), (iter(batches), None))


# An item of a minibatch that cannot be divided.
ITEMS = {
    "table": (lambda fw: fw.tensor(np.ones(3)), "the lengths of this one are 8, 3"),
    "boxes": (lambda fw: [{"boxes": fw.tensor(np.ones((3, 4)))}] * 8, "are 8, 3"),
    "scalar": (lambda fw: fw.tensor(1.0), "consists of arrays; this one contains"),
    "text": (lambda fw: "text", "consists of arrays; this one contains 'text'"),
    "number": (lambda fw: 3, "consists of arrays; this one contains 3"),
    "nothing": (lambda fw: None, "consists of arrays; this one contains None"),
}


@pytest.mark.parametrize("name", ITEMS)
def test_only_items_with_a_row_for_each_example_have_parts(d2l, fw, name):
    if (fw.tab, name) == ("jax", "nothing"):
        return  # JAX gives None to each part
    item, words = ITEMS[name]
    batch = fw.tensor(np.ones((8, 64))), item(fw)
    begin = "^a minibatch can be divided among devices, or into parts.*"
    with fails(begin + words, TypeError, ValueError):
        fw.fit(d2l.Trainer(1, accumulate=2), classifier(d2l), ([batch], None))
