"""The settings of a trainer: keyword arguments that are checked, and attributes."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import contextlib
import inspect
import io

import numpy as np
import pytest

BAD = {
    "accumulate": [0, -1, 2.5, "2", None],
    "precision": ["bf16", "bfloat16", 16, None, np.float64],
    "save_every": [0, -3, 2.5, "a"],
    "keep": [0, 2.5, None],
    "skip_damaged": ["yes", None],
    "devices": ["cpu", [], [3], 2, ["/GPU:7"], ["CPU:99"], ["gpu"]],
    "callbacks": [3, [print]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in BAD for value in BAD[name]]
)
def test_a_value_that_is_not_allowed_is_one_clear_line(d2l, name, value):
    for change in (
        lambda: d2l.Trainer(1, **{name: value}),
        lambda: setattr(d2l.Trainer(1), name, value),
    ):
        with pytest.raises(ValueError) as caught:
            change()
        text = str(caught.value)
        assert text.startswith(f"{name} must be ") and text.endswith(f"not {value!r}")
        assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "close"),
    [("acumulate", "accumulate"), ("save_evry", "save_every"), ("device", "devices")],
)
def test_a_name_that_does_not_exist_is_an_error_with_a_suggestion(d2l, name, close):
    with pytest.raises(TypeError, match=f"{name}.* did you mean '{close}'"):
        d2l.Trainer(1, **{name: 2})


def test_help_explains_each_setting(d2l):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        help(d2l.Trainer)
    kinds = inspect.getmembers(d2l.Trainer, lambda m: isinstance(m, d2l.Setting))
    assert {*BAD} <= {name for name, _ in kinds}
    for _, setting in kinds:
        first, *_ = setting.__doc__.split(":")
        assert " ".join(first.split()) in " ".join(
            text.getvalue().replace("|", "").split()
        )


def test_a_setting_may_be_changed_between_two_calls_of_fit(d2l, fw):
    trainer = d2l.Trainer(1, accumulate=2)
    assert (trainer.accumulate, d2l.Trainer(1).accumulate) == (2, 1)
    trainer.accumulate = 3
    assert trainer.accumulate == 3


def test_no_point_is_drawn_if_none_is_wanted(d2l, fw):
    model = d2l.MLP(10, 8, 0.1)
    model.plot_train_per_epoch = 0
    fw.fit(d2l.Trainer(1), model, d2l.Digits(batch_size=500))
    assert "train_loss" not in model.board.data and model.board.data["val_loss"]


@pytest.mark.parametrize("swapped", [True, False])
def test_objects_that_cannot_be_trained(d2l, swapped):
    model, data = d2l.MLP(10, 8, 0.1), d2l.Digits()
    pair = (data, model) if swapped else (d2l.MLP, data)
    with pytest.raises(
        TypeError, match="needs an object with the method training_step"
    ):
        d2l.Trainer(1).fit(*pair)
    with pytest.raises(TypeError, match="the method train_dataloader, or a pair"):
        d2l.Trainer(1).fit(model, [1, 2])


def test_a_hyperparameter_may_not_hide_a_method(d2l):
    class Data(d2l.DataModule):
        def __init__(self, get_dataloader):
            self.save_hyperparameters()

    with pytest.raises(ValueError, match="rename the argument 'get_dataloader'"):
        Data(3)


@pytest.mark.parametrize("n", [-1, 2.0, "8"])
def test_a_largest_batch_that_makes_no_sense(d2l, n):
    with pytest.raises(ValueError, match="batch_size must be 0, 1, 2"):
        d2l.largest_batch(lambda n: False, n)


# Parts of a minibatch


def batches(fw, *shapes):
    """Return a minibatch whose items have these shapes, in a list."""
    return [tuple(fw.tensor(np.ones(shape)) for shape in shapes)]


class Whole:
    """Data whose minibatches come from a list."""

    def __init__(self, batches):
        self.batches = batches

    def train_dataloader(self):
        return self.batches

    def val_dataloader(self):
        return None


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
    [(X,)] = batches(fw, (8, 64))
    trainer, model = d2l.Trainer(1, accumulate=2), d2l.MLP(10, 8, 0.1)
    with pytest.raises((TypeError, ValueError)) as caught:
        fw.fit(trainer, model, Whole([(X, item(fw))]))
    text = str(caught.value)
    assert text.startswith("a minibatch can be divided among devices, or into parts")
    assert words in text and "\n" not in text


def test_a_step_in_one_part_leaves_all_items_whole(d2l, fw):
    """An item may be a table that all examples share, such as weights of classes."""
    seen = []

    class Model(d2l.MLP):
        def training_step(self, *args):
            i = 1 if fw.tab == "jax" else 0
            X, y = args[i]
            seen.append(len(y["table"]))
            return super().training_step(*args[:i], (X, y["labels"]), *args[i + 1 :])

    X, table = batches(fw, (8, 64), (10,))[0]
    kind = "int64" if fw.tab == "pytorch" else "int32"
    y = {"labels": fw.tensor(np.ones(8), kind), "table": table}
    fw.fit(d2l.Trainer(1), Model(10, 8, 0.1), Whole([(X, y)]))
    assert seen and set(seen) == {10}
