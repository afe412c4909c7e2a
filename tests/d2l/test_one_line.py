"""Each mistake is one line that says what is wrong, where, and how to mend it."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import contextlib
import copy
import inspect
import pickle
import re
import sys
import warnings

import numpy as np
import pytest

# A setting at construction, with the whole message.
CONSTRUCTED = {
    "max_epoch": (3, "'max_epoch' is not a setting .* did you mean 'max_epochs'"),
    "num_gpu": (1, "did you mean 'num_gpus'"),
    "gradient_clip": (1, "did you mean 'gradient_clip_val'"),
    "step_per_epoch": (1, "did you mean 'steps_per_epoch'"),
    "max_epochs": (True, "max_epochs must be 0, 1, 2, ..., not True"),
    "accumulate": (True, "accumulate must be 1, 2, ..., not True"),
    "gradient_clip_val": (True, "gradient_clip_val must be 0 .* not True"),
    "skip_damaged": (1, "skip_damaged must be True or False, not 1"),
    "save_every": (True, "save_every must be None .* not True"),
    "steps_per_epoch": (0, "steps_per_epoch must be None .* not 0"),
}
# An assignment to a trainer.
ASSIGNED = {
    "acumulate": (4, "'acumulate' is not a setting .* did you mean 'accumulate'"),
    "max_epochs": (-3, "max_epochs must be 0, 1, 2, ..., not -3"),
    "gradient_clip_val": (-1, "gradient_clip_val must be 0 .* not -1"),
    "num_gpus": (1, r"num_gpus cannot be changed; set devices=d2l.try_devices\(n\)"),
    "steps_per_epoch": (2.5, "steps_per_epoch must be None .* not 2.5"),
}


@contextlib.contextmanager
def fails(message, kind=Exception):
    """Expect an error of one line that contains `message`, a regular expression."""
    with pytest.raises(kind) as raised:
        yield
    text = str(raised.value)
    assert re.search(message, text) and "\n" not in text, text


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_setting_at_construction(d2l, name):
    value, message = CONSTRUCTED[name]
    with fails(message, (TypeError, ValueError)):
        d2l.Trainer(**{name: value})


@pytest.mark.parametrize("name", ASSIGNED)
def test_setting_that_is_assigned(d2l, name):
    value, message = ASSIGNED[name]
    trainer = d2l.Trainer(1)
    with fails(message, (AttributeError, ValueError)):
        setattr(trainer, name, value)


def test_other_attributes_may_be_assigned(d2l):
    trainer = d2l.Trainer(1)
    trainer.best_loss = trainer.epochs_without_progress = 3
    assert trainer.best_loss == 3


@pytest.mark.parametrize("name", ["max_epochs", "accumulate", "save_every"])
def test_whole_number_of_numpy(d2l, name):
    assert getattr(d2l.Trainer(**{name: np.int64(2)}), name) == 2


def with_optimizer(d2l, make):
    """Return a model whose `configure_optimizers` returns `make(optimizer)`."""

    class Model(d2l.MLP):
        def configure_optimizers(self):
            return make(super().configure_optimizers())

    return Model(10, 8, 0.1)


class Scheduler:
    """A schedule, as Lightning's programs return it beside the optimizer."""

    def step(self):
        """Change the learning rate."""


OPTIMIZERS = {
    "None": lambda optimizer: None,
    "class": type,
    "dict": lambda optimizer: {"optimizer": optimizer},
    "scheduler": lambda optimizer: (optimizer, [Scheduler()]),
    "no optimizer": lambda optimizer: [],
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_wrong_optimizer(d2l, fw, name):
    model = with_optimizer(d2l, OPTIMIZERS[name])
    with fails("configure_optimizers must return (an|one) optimizer", TypeError):
        fw.fit(d2l.Trainer(1), model, d2l.Digits())


RESULTS = {"None": None, "dict": {"loss": 1.0}, "float": 0.5}


@pytest.mark.parametrize("name", RESULTS)
def test_wrong_result_of_a_training_step(d2l, fw, name):
    class Model(d2l.MLP):
        def training_step(self, *args):
            super().training_step(*args)
            return RESULTS[name]

    with fails(r"training_step must return the loss.* not [N{0]", TypeError):
        fw.fit(d2l.Trainer(1), Model(10, 8, 0.1), d2l.Digits())


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


def test_minibatch_that_is_one_tensor(d2l, fw):
    loader = [fw.tensor(np.ones((8, 64)))]
    message = r"minibatches that are tuples \(inputs, labels\), not a .*training_step"
    with fails(message, TypeError):
        fw.fit(d2l.Trainer(1), d2l.MLP(10, 8, 0.1), (loader, None))


class Stream:
    """Minibatches without an end, which can be read only once."""

    def __init__(self, batch):
        self.batch, self.taken = batch, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.taken += 1
        return self.batch


def digits(fw):
    """Return a minibatch of digits."""
    return next(iter(fw.d2l.Digits(batch_size=8).val_dataloader()))


# A pair of loaders, made from a minibatch.
LOADERS = {
    "empty": (lambda b: ([b], []), r"val_dataloader\(\) must not be empty"),
    "no training": (lambda b: ([], [b]), r"train_dataloader\(\) must not be empty"),
    "none": (lambda b: (None, [b]), r"train_dataloader\(\) must .* this NoneType"),
    "stream": (lambda b: (Stream(b), [b]), r"train_.* or set steps_per_epoch"),
    "number": (lambda b: ([b], 3), r"val_dataloader\(\) must .* this int does not"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_wrong_loader(d2l, fw, name):
    make, message = LOADERS[name]
    with fails(message, (TypeError, ValueError)):
        fw.fit(d2l.Trainer(1), d2l.MLP(10, 8, 0.1), make(digits(fw)))


def test_more_steps_than_minibatches(d2l, fw):
    pair: tuple = [digits(fw)] * 3, None
    with fails("steps_per_epoch must be at most 3.* not 4", ValueError):
        fw.fit(d2l.Trainer(1, steps_per_epoch=4), d2l.MLP(10, 8, 0.1), pair)
    with fails("data end after 3 minibatches", ValueError):
        pair = iter(pair[0]), None
        fw.fit(d2l.Trainer(1, steps_per_epoch=4), d2l.MLP(10, 8, 0.1), pair)


@pytest.mark.parametrize("size", [0, -1])
def test_size_of_minibatches(d2l, fw, size):
    with fails(r"batch_size.* (1, 2, ..., not|positive).*-?\d", ValueError):
        fw.fit(d2l.Trainer(1), d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=size))


def test_loss_that_is_not_a_number_is_told_once(d2l, fw):
    model = d2l.MLP(10, 8, 1e30)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fw.fit(d2l.Trainer(2), model, d2l.Digits(batch_size=500))
    (message,) = [str(w.message) for w in told if "NaN" in str(w.message)]
    assert message.startswith("train_loss is NaN at epoch 0.")
    assert "lower the learning rate" in message and "\n" not in message


def test_arguments_after_the_data_are_keywords(d2l):
    with fails("takes 3 positional arguments", TypeError):
        d2l.Trainer(1).fit(d2l.MLP(10, 8, 0.1), d2l.Digits(), "folder")
    *_, kind = inspect.signature(d2l.Trainer.fit).parameters.values()
    assert (kind.name, kind.kind) == ("checkpoint_dir", kind.KEYWORD_ONLY)


def test_data_that_are_one_loader(d2l):
    with fails("train_dataloader, or a pair of loaders, as data", TypeError):
        d2l.Trainer(1).fit(d2l.MLP(10, 8, 0.1), [1, 2])


def test_signature_has_all_settings(d2l):
    parameters = inspect.signature(d2l.Trainer).parameters
    names = [
        name
        for name, _ in inspect.getmembers(
            d2l.Trainer, lambda member: isinstance(member, d2l.Setting)
        )
    ]
    assert sorted(parameters) == names and "accumulate" in names
    assert [*parameters][:3] == ["max_epochs", "num_gpus", "gradient_clip_val"]
    assert parameters["save_every"].default is None

    class Own(d2l.Trainer):
        def __init__(self, folder, **settings):
            super().__init__(**settings)

    parameters = inspect.signature(Own).parameters
    assert [*parameters][0] == "folder" and "max_epochs" in parameters


def test_pair_of_loaders(d2l, fw):
    model, data = d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500)
    pair = data.train_dataloader(), data.val_dataloader()
    trainer = d2l.Trainer(1)
    fw.fit(trainer, model, pair)
    assert trainer.train_batch_idx == trainer.num_train_batches == len(pair[0])
    assert model.board.data["val_loss"]


def test_stream_has_epochs_of_a_number_of_steps(d2l, fw, tmp_path):
    X, y = digits(fw)

    class Growing(d2l.DataModule):
        def train_dataloader(self):
            return ((X * i / 10, y) for i in range(6))

        def val_dataloader(self):
            return [(X, y)]

    def run(epochs, **options):
        fw.seed(1)
        trainer = d2l.Trainer(epochs, steps_per_epoch=3)
        fw.fit(trainer, d2l.MLP(10, 8, 0.1), Growing(), **options)
        return trainer

    whole = run(2)
    assert (whole.train_batch_idx, whole.num_train_batches) == (6, 3)
    run(1, checkpoint_dir=tmp_path)
    resumed = run(2, checkpoint_dir=tmp_path)  # skips the first three
    for a, b in zip(fw.params(whole), fw.params(resumed), strict=True):
        np.testing.assert_array_equal(fw.numpy(a), fw.numpy(b))


def test_loader_has_epochs_of_a_number_of_steps(d2l, fw):
    trainer = d2l.Trainer(2, steps_per_epoch=2)
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=100))
    assert (trainer.train_batch_idx, trainer.num_train_batches) == (4, 2)


def test_callback_sees_the_epochs_and_ends_the_training(d2l, fw):
    class Stop(d2l.Callback):
        def before_fit(self, trainer):
            self.seen: list = [("fit", trainer.optim is not None)]

        def after_epoch(self, trainer):
            self.seen.append(len(trainer.model.board.data["val_loss"]))
            trainer.should_stop = trainer.epoch == 1

    trainer = d2l.Trainer(5, callbacks=[Stop()])
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500))
    assert trainer.callbacks[0].seen == [("fit", True), 1, 2]
    assert trainer.epoch == 1
    trainer.callbacks = ()
    trainer.max_epochs = 1
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500))
    assert not trainer.should_stop


def test_copies_of_a_model_leave_its_trainer_out(d2l, fw):
    if fw.tab in ("mxnet", "tensorflow"):
        return  # these frameworks have ways of their own to save a model
    model = d2l.MLP(10, 8, 0.1)
    fw.fit(d2l.Trainer(1), model, d2l.Digits())
    copied = pickle.loads(pickle.dumps(model))
    assert not hasattr(copied, "trainer") and model.trainer is not None
    if fw.tab == "pytorch":
        assert not hasattr(copy.deepcopy(model), "trainer")
        assert len(pickle.dumps(model)) < 20_000


def test_line_of_a_program_in_a_folder_beside_the_library(d2l, monkeypatch):
    beside = __file__.rsplit("/", 1)[0].removesuffix("/")
    monkeypatch.setattr(sys.modules["d2l"], "__path__", [beside[:-1]])
    with pytest.raises(ZeroDivisionError) as raised, d2l.locate_errors():
        raise ZeroDivisionError
    assert "raise ZeroDivisionError" in raised.value.__notes__[0]
