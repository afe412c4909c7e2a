"""A zoo of foreign models: each trains, and resumes, as a bare loop or one run does.

`zoo_TAB.py` has the models of a framework, the loop to compare with, and the state of a
model, which it finds without the library. A framework without such a file has no test.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from training import run
from zoo import OTHER, REFUSED, SAME, UNSHARED

EPOCHS = 2
CUT_AT, SAVE_EVERY = 5, 2  # of eight steps, so that the last save is that of step 4


def train(fw, entry, folder=None, **settings):
    """Return the state after training, or after the power was cut at a step."""
    zoo = fw.zoo
    settings.setdefault("seed", 1)
    if "precision" in settings:
        settings["precision"] = fw.dtype(settings["precision"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the optimizer has skipped|.*sparse")
        data = lambda: (entry.batches(), None)  # noqa: E731
        trainer = run(fw, entry.model, data, folder, epochs=EPOCHS, **settings)
    return None if "cut_at" in settings else zoo.state_of(trainer)


def bare(fw, entry, parts=1, clip=0.0, precision="float32"):
    """Return the state after a loop without a trainer."""
    fw.seed(1)
    return fw.zoo.bare_loop(entry, EPOCHS, parts, clip, precision)


def differences(one, other, close=0.0):
    """Return the names of what differs, with the largest difference of each."""
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    return {
        name: float(np.abs(value - other[name]).max())
        for name, value in one.items()
        if not np.allclose(value, other[name], rtol=0, atol=close, equal_nan=True)
    }


# One device


def check_against_a_bare_loop(fw, entry, parts=1, clip=0.0, precision="float32"):
    expected = bare(fw, entry, parts, clip, precision)
    settings = {"accumulate": parts, "clip": clip}
    if precision != "float32":
        settings["precision"] = precision
    trained = train(fw, entry, **settings)
    assert differences(trained, expected, fw.zoo.CLOSE[precision]) == {}
    assert all(np.isfinite(value).all() for value in expected.values())


@pytest.mark.parametrize(
    "settings",
    [{}, {"parts": 3}, {"precision": "bfloat16"}, {"precision": "float16"}],
    ids=lambda settings: settings.get("precision", "-".join(settings)) or "plain",
)
def test_the_trainer_does_what_a_bare_loop_does(fw, entry, settings):
    precision = settings.get("precision", "float32")
    possible = {"float32", *fw.short_types} & fw.zoo.CLOSE.keys()
    if precision in possible and (entry.half or precision != "float16"):
        check_against_a_bare_loop(fw, entry, **settings)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_trainer_clips_as_a_bare_loop_does(fw, entry, parts):
    if entry.clip:
        check_against_a_bare_loop(fw, entry, parts, clip=0.1)


def test_the_bare_loop_trains(fw, entry):
    """Otherwise it would be equal to a trainer that does nothing."""
    fw.seed(1)
    before = fw.zoo.state_before(entry)
    after = bare(fw, entry)
    assert any(not np.array_equal(value, after[name]) for name, value in before.items())


def cut_and_resume(fw, entry, folder, **settings):
    """Return the state after a run that ended at a step and was resumed by a new model.

    The new model begins with other random numbers.
    """
    settings["save_every"] = SAVE_EVERY
    train(fw, entry, folder, cut_at=CUT_AT, **settings)
    return train(fw, entry, folder, seed=2, **settings)


def whole_run(fw, entry, folder, **settings):
    """Return the state after a run that was not cut.

    It saves checkpoints, too, in a framework that they give other random numbers.
    """
    place = folder / "whole" / entry.name if fw.saving_reseeds else None
    return train(fw, entry, place, save_every=SAVE_EVERY, **settings)


def test_a_run_that_is_resumed_equals_one_that_is_not(fw, entry, tmp_path):
    resumed = cut_and_resume(fw, entry, tmp_path / "cut")
    differing = differences(resumed, whole_run(fw, entry, tmp_path))
    assert (differing == {}) == entry.restored, differing


# Other processes


RESUME = """
import sys
import numpy as np
from pathlib import Path
import test_zoo
fw.zoo  # is imported before a rank needs it
for entry in fw.zoo.ZOO:
    folder = Path(sys.argv[1], entry.name)
    if folder.is_dir():
        settings = {"seed": 2, "save_every": test_zoo.SAVE_EVERY}
        np.savez(folder / "state.npz", **test_zoo.train(fw, entry, folder, **settings))
"""


def resumed_elsewhere(fw, entries, folder):
    """Return the states after a new process has resumed runs that were cut."""
    for entry in entries:
        place = folder / entry.name
        train(fw, entry, place, cut_at=CUT_AT, save_every=SAVE_EVERY)
    assert fw.start(RESUME, folder).wait(600) == 0
    return {e.name: dict(np.load(folder / e.name / "state.npz")) for e in entries}


@pytest.mark.parametrize(
    "thin", [pytest.param(False, marks=pytest.mark.slow), True], ids=["all", "few"]
)
def test_a_new_process_resumes(fw, tmp_path, thin):
    entries = [entry for entry in fw.zoo.ZOO if entry.thin or not thin]
    states = resumed_elsewhere(fw, entries, tmp_path)
    for entry in entries:
        differing = differences(states[entry.name], whole_run(fw, entry, tmp_path))
        known = entry.restored and not entry.reasons("is_resumed")
        assert (differing == {}) == known, (entry.name, differing)


def on_two(fw, entry):
    return {"devices": fw.d2l.try_devices(2)} | dict(entry.settings)


@pytest.mark.slow
def test_two_devices_train_as_one_does(fw, entry):
    if entry.devices == REFUSED:
        with pytest.raises(Exception, match="several devices cannot share"):
            train(fw, entry, **on_two(fw, entry))
        return
    several = train(fw, entry, **on_two(fw, entry))
    differing = differences(several, train(fw, entry))
    largest = max(differing.values(), default=0)
    known = entry.returned and entry.devices == SAME
    assert (largest < 1e-5) == known, differing


@pytest.mark.slow
def test_two_devices_resume(fw, entry, tmp_path):
    if entry.devices == REFUSED:
        return
    settings = on_two(fw, entry)
    resumed = cut_and_resume(fw, entry, tmp_path / "cut", **settings)
    differing = differences(resumed, whole_run(fw, entry, tmp_path, **settings))
    known = entry.restored and entry.devices != UNSHARED
    assert (differing == {}) == known, differing


# The table in the appendix

APPENDIX = Path(__file__).parents[2] / "chapter_gpus/rank-tools.md"
SHARED = {
    SAME: "as on one device",
    OTHER: "one for all, from a share",
    UNSHARED: "each rank its own, with a warning",
    REFUSED: "refused",
}


def test_the_appendix_tells_what_is_shared_and_restored(fw):
    section = APPENDIX.read_text("utf-8").partition("## What Devices Share")[2]
    table = section.partition(f":begin_tab:`{fw.tab}`")[2].partition(":end_tab:")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \| (yes|no) \|$", table, re.M)
    entries = {entry.name: entry for entry in fw.zoo.ZOO}
    for state, shared, restored in rows:
        entry = entries[fw.zoo.STATES[state]]
        on_two = "two_devices_train_as_one_does"
        assert shared == ("fails" if entry.reasons(on_two) else SHARED[entry.devices])
        known = entry.restored and not entry.reasons("a_run_that_is_resumed_equals")
        assert restored == ("yes" if known else "no"), state
    assert {state for state, _, _ in rows} == fw.zoo.STATES.keys()
