"""Checkpoints: a resumed run equals an undisturbed one, whatever stopped it."""

# The library is a variable, and a process that is to be killed replaces its functions.
# mypy: disable-error-code="arg-type, name-defined"

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from frameworks import ROOT
from training import STEPS, assert_equal, at_step, noisy, run

from d2l import storage

# The folder


def save(d2l, folder, step, text):
    """Save a checkpoint that contains one text."""
    draft = d2l.draft_checkpoint(folder, step)
    (draft / "text").write_text(text)
    return d2l.publish_checkpoint(draft)


def test_a_cut_between_two_names_leaves_a_checkpoint(d2l, tmp_path, monkeypatch):
    """A step that is saved again has no folder with its final name for a moment."""
    rename = Path.rename

    def cut(path, target):
        if path.suffix == ".draft":
            raise KeyboardInterrupt
        return rename(path, target)

    save(d2l, tmp_path, 2, "before")
    save(d2l, tmp_path, 3, "first")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", cut)
        with pytest.raises(KeyboardInterrupt):
            save(d2l, tmp_path, 3, "second")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"step-00000002", "step-00000003.old", "step-00000003.draft"}
    for _ in range(2):  # the next save is cut as well
        newest = d2l.latest_checkpoint(tmp_path)
        assert newest is not None and (newest / "text").read_text() == "first"
        d2l.draft_checkpoint(tmp_path, 4)
    assert save(d2l, tmp_path, 3, "third") == d2l.latest_checkpoint(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"step-00000002", "step-00000003"}


def three_steps(d2l, fw, folder, epochs=1, lr=0.1, **settings):
    """Return a trainer that has trained with checkpoints, three steps an epoch."""
    model, data = partial(d2l.MLP, 10, 8, lr), partial(d2l.Digits, 500)
    return run(fw, model, data, folder, epochs=epochs, **settings)


def test_other_things_in_the_folder_are_ignored(d2l, fw, tmp_path):
    (tmp_path / "step-notes").mkdir()
    (tmp_path / "step-notes.old").mkdir()
    (tmp_path / "step-00000099").write_text("a file")
    assert d2l.latest_checkpoint(tmp_path) is None
    three_steps(d2l, fw, tmp_path)
    names = {"step-notes", "step-notes.old", "step-00000099", "step-00000003", "lock"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_file_in_place_of_the_folder_is_an_error_at_once(d2l, fw, tmp_path):
    (tmp_path / "file").touch()
    for name in "file", "file/folder":
        with pytest.raises(ValueError, match="file.*cannot be made: .*; choose") as e:
            three_steps(d2l, fw, tmp_path / name)
        assert "\n" not in str(e.value)


def test_a_checkpoint_of_another_framework_is_one_clear_error(d2l, fw, tmp_path):
    (tmp_path / "step-00000099").mkdir()
    message = f"not a checkpoint of {fw.tab}.; choose another folder, or set"
    with pytest.raises(ValueError, match=f"(?i){message}"):
        three_steps(d2l, fw, tmp_path)


def test_a_run_with_fewer_epochs_than_the_checkpoint_warns(d2l, fw, tmp_path):
    three_steps(d2l, fw, tmp_path, 2)
    with pytest.warns(UserWarning, match="a later epoch than max_epochs=1, so noth"):
        assert three_steps(d2l, fw, tmp_path).train_batch_idx == 6


def test_a_copy_of_a_checkpoint_stays(d2l, tmp_path):
    best = save(d2l, tmp_path, 3, "best")
    shutil.copytree(best, tmp_path / "step-00000003.best")
    for step in 4, 5, 6:
        save(d2l, tmp_path, step, "later")
    assert (tmp_path / "step-00000003.best/text").read_text() == "best"
    assert not best.exists()


def test_curves_are_those_of_the_checkpoint(d2l, fw, tmp_path):
    """An earlier training of the same model has drawn other curves."""
    trainer, model = d2l.Trainer(1), d2l.MLP(10, 8, 0.1)
    data = d2l.Digits(batch_size=500)
    trainer.fit(model, data)
    once = {name: [p.x for p in curve] for name, curve in model.board.data.items()}
    trainer.fit(model, data, checkpoint_dir=tmp_path)
    again = {name: [p.x for p in curve] for name, curve in model.board.data.items()}
    assert again == once


# The run


def net(fw, *layers, **settings):
    """Return a maker of models with dropout, statistics and a stateful optimizer."""
    return lambda: fw.model(*(layers or (16, "relu", "norm", 0.3, 10)), **settings)


def fit(fw, folder, model=None, data=None, **settings):
    return run(fw, model or net(fw), data or (lambda: noisy(fw)), folder, **settings)


@pytest.fixture
def undisturbed(fw, tmp_path):
    """Train without a cut: in MXNet, which gets new seeds at each save, with saves."""

    def train(**settings):
        folder = tmp_path / "whole" if fw.tab == "mxnet" else None
        return fit(fw, folder, **settings)

    return train


CUTS = [(1, 1), (3, 2), (STEPS - 1, 3), (STEPS, STEPS), (STEPS + 1, None), (13, 3)]


@pytest.mark.parametrize("cut_at, save_every", CUTS)
def test_a_resumed_run_equals_an_undisturbed_one(
    d2l, fw, tmp_path, undisturbed, cut_at, save_every
):
    fit(fw, tmp_path / "cut", cut_at=cut_at, save_every=save_every)
    newest = d2l.latest_checkpoint(tmp_path / "cut")
    saved = cut_at - cut_at % (save_every or STEPS)
    assert newest is not None and newest.name == f"step-{saved:08}"
    resumed = fit(fw, tmp_path / "cut", save_every=save_every)
    assert_equal(fw, resumed, undisturbed(save_every=save_every))


def test_a_run_that_is_cut_again_and_again(fw, tmp_path, undisturbed):
    """Whatever seeds the program sets, the resumed run has the first ones."""
    for cut_at in 3, 4, 9, 15:
        fit(fw, tmp_path / "cut", cut_at=cut_at, save_every=1, seed=1 + (cut_at > 3))
    resumed = fit(fw, tmp_path / "cut", save_every=1, seed=7)
    assert_equal(fw, resumed, undisturbed(save_every=1))


def test_checkpoints_change_nothing(d2l, fw, tmp_path, monkeypatch):
    model = net(fw, 16, "norm", 10)
    saved = fit(fw, tmp_path, model, save_every=3)
    monkeypatch.setattr(d2l.Checkpoints, "__init__", None)  # is not called
    assert_equal(fw, saved, fit(fw, None, model))


def test_a_finished_run_returns_at_once_and_a_longer_one_goes_on(
    fw, tmp_path, undisturbed
):
    finished = fit(fw, tmp_path / "cut")
    again = fit(fw, tmp_path / "cut", cut_at=0)
    assert_equal(fw, again, finished)
    longer = fit(fw, tmp_path / "cut", epochs=3)
    assert longer.train_batch_idx == 3 * STEPS
    assert_equal(fw, longer, undisturbed(epochs=3))


def train_and_die(fw, folder, at, saving):
    """Kill this process before a step, or in the first save from this step on."""

    def die(*args):
        os.kill(os.getpid(), signal.SIGKILL)

    def act():
        vars(fw.d2l)["publish_checkpoint"] = die
        if saving == "False":
            die()

    fit(fw, folder, save_every=2, callbacks=[at_step(fw, int(at), act)])


@pytest.mark.parametrize("saving", [False, True])
def test_a_process_is_killed_at_a_random_step(d2l, fw, tmp_path, undisturbed, saving):
    at = random.SystemRandom().randrange(2, 2 * STEPS)
    code = "import sys, test_checkpoints as t\nt.train_and_die(fw, *sys.argv[1:])"
    child = fw.start(code, tmp_path / "cut", at, saving)
    assert child.wait() == -signal.SIGKILL, at
    assert list((tmp_path / "cut").glob("*.draft")) or not saving
    resumed = fit(fw, tmp_path / "cut", save_every=2)
    assert_equal(fw, resumed, undisturbed(save_every=2))
    assert not list((tmp_path / "cut").glob("*.draft"))


def train_until_killed(fw, folder):
    """Copy the folder, say that the training has begun, and wait in its second step."""

    def wait():
        shutil.copytree(folder, f"{folder} (copy)")
        print("training", flush=True)
        signal.pause()

    three_steps(fw.d2l, fw, folder, callbacks=[at_step(fw, 1, wait)])


def test_a_second_job_in_the_folder_is_one_clear_error(d2l, fw, tmp_path):
    code = "import sys, test_checkpoints as t\nt.train_until_killed(fw, sys.argv[1])"
    with fw.start(code, tmp_path, stdout=subprocess.PIPE) as child:
        assert "training" in child.stdout.read(9)
        try:
            with pytest.raises(
                ValueError, match="another job trains in .*; end it"
            ) as e:
                three_steps(d2l, fw, tmp_path)
            # The lock comes before the resume, which would find damage.
            (tmp_path / "step-00000002").mkdir()
            with pytest.raises(ValueError, match="another job trains"):
                three_steps(d2l, fw, tmp_path)
            (tmp_path / "step-00000002").rmdir()
        finally:
            child.kill()
    assert "\n" not in str(e.value)
    assert three_steps(d2l, fw, tmp_path).train_batch_idx == 3


@pytest.mark.shared
def test_a_child_process_does_not_keep_the_lock_of_a_job_that_died(tmp_path):
    """Such as a worker of a loader, which notices the end of its parent late."""
    code = (
        "import os, sys, time; from d2l import storage\n"
        "with storage.locked(sys.argv[1]):\n"
        "    if os.fork() == 0: print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as job:
        assert job.stdout
        child = int(job.stdout.readline())
        try:
            with (
                pytest.raises(ValueError, match="another job"),
                storage.locked(tmp_path),
            ):
                pass
            job.kill()
            job.wait()
            with storage.locked(tmp_path):
                os.kill(child, 0)  # the child is still there
        finally:
            os.kill(child, signal.SIGKILL)


def fail_to_write(fw, folder):
    """Print the error of a training that cannot write its second checkpoint."""

    def limit():
        while not fw.d2l.latest_checkpoint(folder):  # a thread writes the first one
            time.sleep(0.01)
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))

    model, data = partial(fw.d2l.MLP, 10, 600, 0.1), partial(fw.d2l.Digits, 500)
    try:
        run(fw, model, data, folder, callbacks=[at_step(fw, 4, limit)])
    except OSError as error:
        print(error)


def test_a_full_disk_is_one_line_and_harms_nothing(d2l, fw, tmp_path):
    """A limit on the size of files takes the place of the full disk."""
    code = "import sys, test_checkpoints as t\nt.fail_to_write(fw, sys.argv[1])"
    with fw.start(code, tmp_path, stdout=subprocess.PIPE) as child:
        lines = child.stdout.read().splitlines()
    assert re.search(r"step-0000000.* cannot be written \(.* MiB of its", lines.pop())
    assert not [line for line in lines if "cannot be written" in line]
    # A draft that stays would keep the disk full.
    assert {path.name for path in tmp_path.iterdir()} == {"lock", "step-00000003"}
    model, data = partial(d2l.MLP, 10, 600, 0.1), partial(d2l.Digits, 500)
    assert run(fw, model, data, tmp_path).train_batch_idx == 6


def average(fw, methods):
    """Return a callback that averages the first parameters, an array, and counts."""

    class Average(fw.d2l.Callback):
        def __init__(self):
            self.count, self.mean, self.seen = 0, np.float32(0), {"steps": [0]}

        def after_step(self, trainer):
            value = fw.numpy(fw.params(trainer)[0])
            self.mean, self.count = 0.9 * self.mean + value, self.count + 1
            self.seen["steps"].append(self.count)

    class Saving(Average):
        """Its state also has an array of the framework."""

        def state_dict(self):
            return {"mean": fw.tensor(self.mean), "others": (self.count, self.seen)}

        def load_state_dict(self, state):
            mean, (self.count, self.seen) = state["mean"], state["others"]
            self.mean = mean if isinstance(mean, np.ndarray) else fw.numpy(mean)

    return (Saving if methods else Average)()


@pytest.mark.parametrize("methods", [False, True])
def test_the_state_of_callbacks_resumes(d2l, fw, tmp_path, undisturbed, methods):
    def trained(train, *args, **settings):
        two = [average(fw, methods) for _ in range(2)]
        return train(*args, callbacks=two, save_every=3, **settings)

    trained(fit, fw, tmp_path / "cut", cut_at=11)
    pairs = trained(fit, fw, tmp_path / "cut"), trained(undisturbed)
    for each in zip(*(trainer.callbacks for trainer in pairs), strict=True):
        resumed, alone = map(vars, each)
        assert resumed["count"] == alone["count"] == 2 * STEPS
        assert resumed["seen"] == alone["seen"]
        np.testing.assert_array_equal(resumed["mean"], alone["mean"])
    with pytest.warns(UserWarning, match=r"(Average|Saving) 1, and this run has no"):
        fit(fw, tmp_path / "cut", save_every=3)


@pytest.mark.parametrize("kind", ["object", "array"])
def test_state_of_a_callback_that_no_checkpoint_can_restore(fw, tmp_path, kind):
    class Scheduler(fw.d2l.Callback):
        def __init__(self):
            self.state = fw.tensor([1.0]) if kind == "array" else object()

    words = "restore the callback Scheduler; give it the methods state_dict"
    with pytest.raises(TypeError, match=words) as error:
        fit(fw, tmp_path, callbacks=[Scheduler()])
    assert "\n" not in str(error.value)
    fit(fw, None, callbacks=[Scheduler()], epochs=1)  # without checkpoints, all is well


def devices(d2l, n):
    return {"devices": d2l.try_devices(n)}


@pytest.mark.parametrize("before, after", [(1, 3), (4, 2), (2, 1)])
def test_saved_on_some_devices_and_loaded_on_others(d2l, fw, tmp_path, before, after):
    model = net(fw, 16, "relu", 10)
    fit(fw, tmp_path, model, cut_at=11, save_every=5, **devices(d2l, before))
    resumed = fit(fw, tmp_path, model, save_every=5, **devices(d2l, after))
    assert_equal(fw, resumed, fit(fw, None, model), 1e-5)


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_run_on_several_devices_resumes(d2l, fw, tmp_path, undisturbed, n):
    several = devices(d2l, n) | {"save_every": 3}
    fit(fw, tmp_path / "cut", cut_at=10, **several)
    resumed = fit(fw, tmp_path / "cut", **several)
    in_other_order = fw.tab == "pytorch" and n > 2  # the buckets of DDP
    assert_equal(fw, resumed, undisturbed(**several), 1e-6 * in_other_order)


def test_optimizers_from_scratch_resume(fw, tmp_path):
    for i, make in enumerate(fw.models.OWN_OPTIMIZERS):
        fit(fw, tmp_path / f"{i}", make, cut_at=5, save_every=2)
        resumed, alone = (fit(fw, f, make) for f in (tmp_path / f"{i}", None))
        assert_equal(fw, resumed, alone)
        if fw.tab in ("pytorch", "mxnet"):  # the others compile their steps
            assert resumed.optim.steps == alone.optim.steps == 2 * STEPS


def settings_to_resume(fw):
    """Return settings of the trainer that a resumed run has to continue."""
    d2l = fw.d2l
    mfu = d2l.MFU(d2l.Machine("made up", {"float32": 1e12, "float16": 1e12}, 1e11))
    short = {"precision": fw.dtype("float16")} if fw.tab != "mxnet" else {}  # no GPU
    return [{"accumulate": 3, "clip": 0.05}, {"callbacks": [mfu], **short}]


@pytest.mark.parametrize("number", [0, 1])
def test_settings_of_the_trainer_resume(fw, tmp_path, undisturbed, number):
    settings = settings_to_resume(fw)[number] | {"save_every": 3}
    fit(fw, tmp_path / "cut", cut_at=11, **settings)
    resumed = fit(fw, tmp_path / "cut", **settings)
    assert_equal(fw, resumed, undisturbed(**settings))
    assert ("mfu" in resumed.model.board.data) == bool(number)


@pytest.mark.parametrize("keep", [None, 1, 3])
def test_only_the_newest_checkpoints_stay(d2l, fw, tmp_path, keep):
    """By default, two stay."""
    (tmp_path / "step-00000099.draft").mkdir()
    assert d2l.latest_checkpoint(tmp_path) is None
    fit(fw, tmp_path, save_every=5, **({"keep": keep} if keep else {}))
    names = ["step-00000010", "step-00000015", "step-00000016"][-(keep or 2) :]
    assert {path.name for path in tmp_path.iterdir()} == {"lock", *names}


def stopping(fw):
    """Return a callback that ends the training after the first epoch."""

    class Stopping(fw.d2l.Callback):
        def after_epoch(self, trainer):
            trainer.should_stop = True

    return Stopping()


def test_a_run_that_a_callback_has_ended_stays_ended(fw, tmp_path):
    """Its end is saved, also between two multiples of `save_every`."""
    for epochs in 3, 3, 4:
        trainer = fit(
            fw, tmp_path, epochs=epochs, save_every=5, callbacks=[stopping(fw)]
        )
        steps = STEPS if epochs == 3 else 2 * STEPS  # the last run is a longer one
        assert trainer.train_batch_idx == steps
        assert (tmp_path / f"step-{steps:08}").is_dir()


def test_a_run_that_is_to_end_finishes_its_epoch_first(fw, tmp_path, undisturbed):
    """A callback decides in a step, a checkpoint follows, and the power fails."""

    class Deciding(fw.d2l.Callback):
        def after_step(self, trainer):
            trainer.should_stop |= trainer.train_batch_idx == 2

    settings = {"save_every": 3, "callbacks": [Deciding()]}
    fit(fw, tmp_path / "cut", cut_at=5, **settings)
    resumed = fit(fw, tmp_path / "cut", **settings)
    assert resumed.train_batch_idx == STEPS
    assert_equal(fw, resumed, undisturbed(**settings))


def test_the_steps_go_on_while_a_thread_saves(d2l, fw, tmp_path, monkeypatch):
    """What is saved has been copied before the next step changes it."""
    if fw.tab == "mxnet":
        return  # which saves between two steps
    publish, going_on, waited = d2l.publish_checkpoint, threading.Event(), []

    def publish_late(*args):
        waited.append(going_on.wait(60))  # until the next steps are done
        return publish(*args)

    with monkeypatch.context() as patch:
        patch.setattr(d2l, "publish_checkpoint", publish_late)
        cut = fit(
            fw,
            tmp_path / "cut",
            save_every=4,
            cut_at=7,
            callbacks=[at_step(fw, 6, going_on.set)],
        )
    assert cut.train_batch_idx == 7 and waited == [True]
    assert d2l.latest_checkpoint(tmp_path / "cut").name == "step-00000004"
    assert_equal(fw, fit(fw, tmp_path / "cut"), fit(fw, None))


def of_another_run(fw):
    """Return settings that do not fit a checkpoint, with a part of the message."""
    own = fw.models.OWN_OPTIMIZERS[0]
    optimizer = {
        "jax": "another optimizer",
        "mxnet": r"optimizer Trainer\('adam'\), and this run has Trainer\('sgd'\)",
    }.get(fw.tab, "saved with optimizer Adam, and this run has SGD")
    return {
        "wider": ({"model": net(fw, 17, "relu", "norm", 10)}, "of another model: the "),
        "layer": ({"model": net(fw, 16, "norm", 10, 10)}, "of another (model|optim)"),
        "optimizer": ({"model": net(fw, optimizer="sgd")}, optimizer),
        "scratch": ({"model": own}, "another (model|optimizer)|saved with optimizer"),
        "data": (
            {"data": lambda: noisy(fw, 6)},
            "_batches 8, and this run has 6",
        ),
    }


def test_a_checkpoint_of_another_run_is_one_clear_error(d2l, fw, tmp_path):
    fit(fw, tmp_path, epochs=1, save_every=3)
    before = sorted(tmp_path.rglob("*"))
    for settings, message in of_another_run(fw).values():
        with pytest.raises(ValueError, match=message) as caught:
            fit(fw, tmp_path, **settings)
        assert "\n" not in str(caught.value)
        assert sorted(tmp_path.rglob("*")) == before


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
    assert sorted(waited[:2]) == [DIGESTS, "text"]
    assert waited[2:] == ["step-00000003.draft", tmp_path.name]


# Other arguments, and damage


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 0.3}, "lr=0.1, and this run has 0.3"),
        ({"accumulate": 2}, "accumulate=1, and this run has 2; the new value counts$"),
    ],
)
def test_a_resumed_run_says_what_has_changed(d2l, fw, tmp_path, change, words):
    three_steps(d2l, fw, tmp_path)
    with pytest.warns(UserWarning, match=words):
        three_steps(d2l, fw, tmp_path, epochs=2, **change)


def test_a_run_that_resumes_as_it_began_warns_of_no_change(d2l, fw, tmp_path):
    """In JAX, the mode of a model with dropout is a field, which the trainer sets."""
    for epochs in 1, 2:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model, trainer = fw.model(8, 0.5, 10), d2l.Trainer(epochs)
            data = d2l.Digits(batch_size=479)
            fw.fit(trainer, model, data, checkpoint_dir=tmp_path)
        assert not [w for w in caught if "was saved with" in str(w.message)]
    assert trainer.train_batch_idx == 6


def halve(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[random.SystemRandom().randrange(len(content))] ^= 1 << 6
    file.write_bytes(content)


DAMAGES = {
    "flipped": flip_a_bit,
    "halved": halve,
    "emptied": lambda file: file.write_bytes(b""),
    "deleted": lambda file: file.unlink(),
    "overwritten": lambda file: file.write_bytes(b"\x93" * file.stat().st_size),
}
DIGESTS = "SHA256SUMS"


def files_of(checkpoint):
    return sorted(file for file in checkpoint.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    "kind",
    ["flipped", *(pytest.param(k, marks=pytest.mark.slow) for k in [*DAMAGES][1:])],
)
def test_a_damaged_file_is_refused_by_its_name_or_skipped(d2l, fw, tmp_path, kind):
    whole = three_steps(d2l, fw, tmp_path / "whole", epochs=2)
    checkpoint = d2l.latest_checkpoint(tmp_path / "whole")
    files = [file for file in files_of(checkpoint) if file.stat().st_size]
    assert {"progress.json", DIGESTS} < {file.name for file in files}
    for i, file in enumerate(files):
        folder = tmp_path / str(i)
        shutil.copytree(tmp_path / "whole", folder)
        DAMAGES[kind](folder / file.relative_to(tmp_path / "whole"))
        name = "" if file.name == DIGESTS else file.relative_to(checkpoint).as_posix()
        message = f"step-00000006 cannot be read .*{name} is .*skip_damaged"
        with pytest.raises(ValueError, match=message) as error:
            three_steps(d2l, fw, folder, epochs=2)
        assert "\n" not in str(error.value)
        with pytest.warns(UserWarning, match=f"{name} is .*; it is skipped"):
            skipped = three_steps(d2l, fw, folder, epochs=2, skip_damaged=True)
        assert skipped.train_batch_idx == 6
        resumed = three_steps(d2l, fw, folder, epochs=2)  # what has been saved since
        for a, b in zip(fw.params(resumed), fw.params(whole), strict=True):
            np.testing.assert_allclose(fw.numpy(a), fw.numpy(b), atol=1e-6)


@pytest.mark.shared
def test_a_list_of_digests_with_another_line_is_damaged(d2l, tmp_path):
    (tmp_path / "a").write_text("a")
    d2l.write_digests(tmp_path)
    text = (tmp_path / DIGESTS).read_text()
    for damaged in text.replace("\n", "J") * 2, f"{text}\n", text[1:], text.upper():
        (tmp_path / DIGESTS).write_text(damaged)
        assert d2l.damage_of(tmp_path, "none", "a") == f"the file {DIGESTS} is damaged"


@pytest.mark.shared
def test_digests_that_do_not_cover_all_files_are_damage(d2l, tmp_path):
    for name in "a", "b":
        (tmp_path / name).write_text(name)
    d2l.write_digests(tmp_path)
    assert d2l.damage_of(tmp_path, "none", "a") == ""
    lines = (tmp_path / DIGESTS).read_text().splitlines(keepends=True)
    for text, unlisted in (lines[0], "b"), (lines[1], "a"):
        (tmp_path / DIGESTS).write_text(text)
        words = f"the file {unlisted} is not listed in {DIGESTS}"
        assert d2l.damage_of(tmp_path, "none", "a") == words
    (tmp_path / DIGESTS).write_text("")
    words = f"the file {DIGESTS} is missing or empty"
    assert d2l.damage_of(tmp_path, "none", "a") == words
    (tmp_path / DIGESTS).unlink()
    assert d2l.damage_of(tmp_path, "none", "a") == words
    (tmp_path / DIGESTS).mkdir()
    words = f"the file {DIGESTS} is unreadable: Is a directory"
    assert d2l.damage_of(tmp_path, "none", "a") == words


@pytest.mark.shared
def test_an_error_of_the_disk_is_told_once(d2l, tmp_path):
    with pytest.raises(OSError, match="cannot be written") as told:
        with storage.writing(tmp_path / "draft"), storage.writing(tmp_path / "inner"):
            raise OSError(28, "No space left on device")
    assert f"{told.value}".count("cannot be written") == 1


@pytest.mark.shared
def test_a_folder_that_is_removed_while_a_thread_saves_is_named(d2l, tmp_path):
    draft = tmp_path / "job" / "step-00000003.draft"
    with pytest.raises(OSError, match=r"job has been removed") as told:
        with storage.writing(draft):
            (draft / "file").write_text("")
    assert f"{told.value}".endswith(f"the folder {tmp_path / 'job'} has been removed")


@pytest.mark.shared
def test_a_full_disk_is_named_although_another_error_follows(tmp_path):
    with pytest.raises(OSError, match="No space left on device"):
        with storage.hashed(tmp_path / "file"):
            try:
                raise OSError(28, "No space left on device")
            finally:
                raise RuntimeError("unexpected pos 704 vs 598")


@pytest.mark.shared
def test_digests_are_those_of_what_a_rank_has_written(d2l, tmp_path):
    with storage.hashed(tmp_path / "a") as file:
        file.write(b"right")
    (tmp_path / "b").write_text("b")
    (tmp_path / "a").write_bytes(b"wrong")  # on the way to the disk
    d2l.write_digests(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", DIGESTS}
    assert d2l.damage_of(tmp_path, "none", "a") == "the file a is not as it was saved"
    (tmp_path / "a").write_bytes(b"right")
    assert d2l.damage_of(tmp_path, "none", "a") == ""


@pytest.mark.shared
def test_a_save_that_is_not_over_in_time_keeps_its_draft(tmp_path):
    with pytest.raises(TimeoutError, match="draft is not complete after 0.1 seconds"):
        storage.wait_for_save(Future(), tmp_path / "draft", 0.1)


@pytest.mark.shared
def test_a_file_that_the_disk_cannot_read_is_damage(d2l, tmp_path, monkeypatch):
    """An error of rank 0 would leave the other ranks waiting for its answer."""
    (tmp_path / "a").write_text("a")
    d2l.write_digests(tmp_path)

    def fail(file):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(storage, "digest", fail)
    words = "the file a is unreadable: Input/output error"
    assert d2l.damage_of(tmp_path, "none", "a") == words


@pytest.mark.shared
def test_the_error_of_a_training_counts_before_that_of_a_save(d2l, tmp_path):
    class Failing:
        def __init__(self, trainer, folder):
            self.waited = 0

        def wait(self, limit=None):
            self.waited += 1
            raise OSError("the disk is full")

    ranks = SimpleNamespace(rank=0)
    trainer = SimpleNamespace(ranks=ranks, checkpoint_class=Failing)
    with pytest.raises(KeyError), d2l.checkpointing(trainer, tmp_path):
        raise KeyError
    assert trainer.checkpoints.waited == 1
    with pytest.raises(OSError, match="full"), d2l.checkpointing(trainer, tmp_path):
        pass


def test_other_programs_can_check_a_checkpoint(d2l, fw, tmp_path):
    three_steps(d2l, fw, tmp_path)
    check = ["sha256sum", "--check", "--strict", DIGESTS]
    folder = d2l.latest_checkpoint(tmp_path)
    assert subprocess.run(check, cwd=folder, capture_output=True).returncode == 0


def test_a_folder_whose_checkpoints_are_all_damaged(d2l, fw, tmp_path):
    three_steps(d2l, fw, tmp_path)
    for file in files_of(d2l.latest_checkpoint(tmp_path)):
        halve(file)
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        pytest.raises(ValueError, match="no checkpoint in .* can be read; choose"),
    ):
        three_steps(d2l, fw, tmp_path, skip_damaged=True)
