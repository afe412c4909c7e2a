"""A zoo of foreign models: each trains, and resumes, as a bare loop or one run does.

`zoo_TAB.py` has the models of a framework, the loop to compare with, and the state of a
model, which it finds without the library. A framework without such a file has no test.
"""

import warnings

import numpy as np
import pytest
from training import run
from zoo import REFUSED, SAME, UNSHARED

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


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"parts": 3},
        {"clip": 0.1},
        {"parts": 3, "clip": 0.1},
        {"precision": "bfloat16"},
        {"precision": "float16"},
    ],
    ids=lambda settings: "-".join(settings) or "plain",
)
def test_the_trainer_does_what_a_bare_loop_does(fw, entry, settings):
    if "clip" in settings and not entry.clip:
        return
    precision = settings.get("precision", "float32")
    if precision not in fw.zoo.CLOSE or (precision == "float16" and not entry.half):
        return
    expected = bare(fw, entry, **settings)
    options = dict(settings)
    if "parts" in options:
        options["accumulate"] = options.pop("parts")
    close = fw.zoo.CLOSE[precision]
    assert differences(train(fw, entry, **options), expected, close) == {}
    assert all(np.isfinite(value).all() for value in expected.values())


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
    train(fw, entry, folder, cut_at=CUT_AT, save_every=SAVE_EVERY, **settings)
    return train(fw, entry, folder, seed=2, **settings)


def test_a_run_that_is_resumed_equals_one_that_is_not(fw, entry, tmp_path):
    differing = differences(cut_and_resume(fw, entry, tmp_path), train(fw, entry))
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
        np.savez(folder / "state.npz", **test_zoo.train(fw, entry, folder, seed=2))
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
        differing = differences(states[entry.name], train(fw, entry))
        assert (differing == {}) == entry.restored, (entry.name, differing)


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
    known = entry.restored and entry.devices == SAME
    assert (largest < 1e-5) == known, differing


@pytest.mark.slow
def test_two_devices_resume(fw, entry, tmp_path):
    if entry.devices == REFUSED:
        return
    settings = on_two(fw, entry)
    resumed = cut_and_resume(fw, entry, tmp_path, **settings)
    differing = differences(resumed, train(fw, entry, **settings))
    known = entry.restored and entry.devices != UNSHARED
    assert (differing == {}) == known, differing
