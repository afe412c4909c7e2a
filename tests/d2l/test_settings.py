"""The settings of a trainer: keyword arguments that are checked, and attributes."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import contextlib
import inspect
import io
import re
import shutil

import numpy as np
import pytest


def fit(d2l, fw, folder=None, lr=0.1, batch_size=500, epochs=1, **settings):
    """Return a trainer that has trained, with checkpoints if there is a folder."""
    fw.seed(0)
    trainer, model = d2l.Trainer(epochs, **settings), d2l.MLP(10, 8, lr)
    model.board.display = False
    options = {"key": fw.jax.random.key(0)} if fw.tab == "jax" else {}
    data = d2l.Digits(batch_size=batch_size)
    trainer.fit(model, data, checkpoint_dir=folder, **options)
    return trainer


BAD = {
    "accumulate": [0, -1, 2.5, "2", None],
    "precision": ["bf16", 16, None, np.float64],
    "save_every": [0, -3, 2.5, "a"],
    "skip_damaged": ["yes", None],
    "devices": ["cpu", [], [3], 2],
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
    with pytest.raises(TypeError, match="the method train_dataloader as data"):
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


@pytest.mark.parametrize(
    ("shapes", "error", "words"),
    [
        ([(8, 64), (3,)], ValueError, "the lengths of this one are 8, 3"),
        ([(8, 64), ()], TypeError, "it consists of arrays; this one contains"),
    ],
)
def test_only_items_with_a_row_for_each_example_have_parts(
    d2l, fw, shapes, error, words
):
    trainer, model = d2l.Trainer(1, accumulate=2), d2l.MLP(10, 8, 0.1)
    with pytest.raises(error, match=words):
        fw.fit(trainer, model, Whole(batches(fw, *shapes)))


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


# Resuming with other arguments


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 0.3}, "lr=0.1, and this run has 0.3"),
        ({"accumulate": 2}, "accumulate=1, and this run has 2; the new value counts"),
        ({"batch_size": 700}, None),
    ],
)
def test_a_resumed_run_says_what_has_changed(d2l, fw, tmp_path, change, words):
    fit(d2l, fw, tmp_path)
    if words is None:
        with pytest.raises(
            ValueError, match="num_train_batches 3, and this run has 3?"
        ):
            fit(d2l, fw, tmp_path, epochs=2, batch_size=100)
        return
    with pytest.warns(UserWarning, match=words):
        fit(d2l, fw, tmp_path, epochs=2, **change)


def halve(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


DAMAGES = {
    "halved": halve,
    "emptied": lambda file: file.write_bytes(b""),
    "deleted": lambda file: file.unlink(),
    "overwritten": lambda file: file.write_bytes(b"\x93" * file.stat().st_size),
}


def files_of(checkpoint):
    return sorted(file for file in checkpoint.rglob("*") if file.is_file())


def damage(checkpoint):
    """Cut the files of a checkpoint in half."""
    for file in files_of(checkpoint):
        halve(file)


@pytest.mark.parametrize(
    "kind",
    ["halved", *(pytest.param(k, marks=pytest.mark.slow) for k in [*DAMAGES][1:])],
)
def test_a_damaged_file_is_one_line_or_does_not_matter(d2l, fw, tmp_path, kind):
    whole = fit(d2l, fw, tmp_path / "whole", epochs=2)
    newest, refused = d2l.latest_checkpoint(tmp_path / "whole"), []
    for i, file in enumerate(files_of(newest)):
        run = tmp_path / str(i)
        shutil.copytree(tmp_path / "whole", run)
        DAMAGES[kind](run / file.relative_to(tmp_path / "whole"))
        try:
            resumed = fit(d2l, fw, run, epochs=2)
        except ValueError as error:
            assert re.search("step-00000006 cannot be read .* skip_damaged", str(error))
            assert "\n" not in str(error)
            refused.append(file.name)
        else:  # Orbax writes files that it does not read
            for a, b in zip(fw.params(resumed), fw.params(whole), strict=True):
                np.testing.assert_array_equal(fw.numpy(a), fw.numpy(b))
    assert "progress.json" in refused and len(refused) > 1


def test_a_checkpoint_that_lost_its_file_of_arrays_may_be_skipped(d2l, fw, tmp_path):
    fit(d2l, fw, tmp_path, epochs=2)
    newest = d2l.latest_checkpoint(tmp_path)
    for file in files_of(newest):
        if file.name != "progress.json":
            file.unlink()
    with pytest.warns(UserWarning, match="cannot be read .*; it is skipped"):
        resumed = fit(d2l, fw, tmp_path, epochs=2, skip_damaged=True)
    assert resumed.train_batch_idx == 6


def test_a_damaged_checkpoint_is_one_line_and_may_be_skipped(d2l, fw, tmp_path):
    undisturbed = fit(d2l, fw, tmp_path / "other", epochs=3)
    fit(d2l, fw, tmp_path / "run", epochs=2)
    damage(d2l.latest_checkpoint(tmp_path / "run"))
    with pytest.raises(ValueError, match="step-00000006 cannot be read .*skip_damaged"):
        fit(d2l, fw, tmp_path / "run", epochs=3)
    with pytest.warns(UserWarning, match="cannot be read .*; it is skipped"):
        resumed = fit(d2l, fw, tmp_path / "run", epochs=3, skip_damaged=True)
    assert resumed.train_batch_idx == undisturbed.train_batch_idx == 9
    if fw.tab != "mxnet":  # whose masks depend on when checkpoints are saved
        assert [*resumed.model.board.data] == [*undisturbed.model.board.data]
        last = (t.model.board.data["val_loss"][-1].y for t in (resumed, undisturbed))
        assert np.isclose(*last, rtol=1e-5)


def test_a_folder_whose_checkpoints_are_all_damaged(d2l, fw, tmp_path):
    fit(d2l, fw, tmp_path)
    damage(d2l.latest_checkpoint(tmp_path))
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        pytest.raises(ValueError, match="no checkpoint in .* can be read; choose"),
    ):
        fit(d2l, fw, tmp_path, skip_damaged=True)


def test_values_that_json_does_not_know_come_back(d2l):
    value = {
        "tuple": (1, (2.5, None)),
        3: [True, "a", float("inf"), 2**100],
        "array": np.arange(3, dtype="uint32"),
        "number": np.float32(0.1),
    }
    back = d2l.unpack(d2l.pack(value))
    assert back["tuple"] == value["tuple"] and back[3] == value[3]
    assert back["array"].dtype == "uint32" and back["array"].tolist() == [0, 1, 2]
    assert back["number"] == np.float32(0.1)
    with pytest.raises(TypeError, match="a checkpoint cannot restore <built-in"):
        d2l.pack({"f": print})


def test_the_names_in_a_folder_are_on_the_disk(d2l, tmp_path, monkeypatch):
    """Both the files and the folder with the new name are waited for."""
    waited = []
    monkeypatch.setattr(d2l, "wait_for_disk", lambda path: waited.append(path.name))
    draft = d2l.draft_checkpoint(tmp_path, 3)
    (draft / "text").write_text("a")
    d2l.publish_checkpoint(draft)
    assert waited == ["text", "step-00000003.draft", tmp_path.name]
