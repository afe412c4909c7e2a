"""Several devices, and several processes, train a model as one device does."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import os
import random
import signal
import subprocess
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from training import assert_equal, at_step, curves, named, parts, run

from d2l import storage

# Devices


def on(d2l, n):
    return {"devices": d2l.try_devices(n)}


def net(fw, *layers, **settings):
    return lambda: fw.model(*(layers or (8, "relu", 10)), **settings)


def one_and(fw, n, model, data, **settings):
    """Return trainers that have trained on one device and on `n` devices."""
    return [run(fw, model, data, **on(fw.d2l, k), **settings) for k in (1, n)]


SETTINGS: list[tuple] = [
    (2, [7, 7, 3], {}),
    (4, [9, 4, 8], {}),
    (3, [5, 4], {"clip": 0.05}),
    (2, [9, 6, 2], {"accumulate": 2}),
    (4, [8, 4], {"accumulate": 3, "clip": 0.1}),
]


@pytest.mark.parametrize("n, sizes, settings", SETTINGS)
def test_devices_change_nothing(fw, n, sizes, settings):
    one, several = one_and(fw, n, net(fw), lambda: parts(fw, *sizes), **settings)
    assert_equal(fw, several, one, 2e-6)
    assert several.epoch == one.epoch == 1
    modes = [vars(trainer.model).get("training") for trainer in (one, several)]
    assert modes[0] == modes[1]


def test_short_numbers_on_several_devices(fw):
    for dtype in fw.short_types:
        short, model = {"precision": fw.dtype(dtype)}, net(fw, optimizer="sgd")
        one, two = one_and(fw, 2, model, lambda: parts(fw, 6, 6), **short)
        for a, b in zip(fw.params(one), fw.params(two), strict=True):
            np.testing.assert_allclose(fw.numpy(a), fw.numpy(b), atol=0.01)


def test_minibatches_smaller_than_the_number_of_devices(fw):
    several = partial(one_and, fw, 4, net(fw), lambda: parts(fw, 1, 8, 2))
    if fw.tab == "pytorch":
        with pytest.raises(RuntimeError, match="cannot share a minibatch of 1 example"):
            several()
    else:
        assert_equal(fw, *several(), 2e-6)


@pytest.mark.parametrize("settings", [{}, {"accumulate": 3}])
def test_minibatches_that_are_dicts(d2l, fw, settings):
    def model():
        return named(fw, d2l.MLP)(10, 8, 0.1)

    data = partial(parts, fw, 7, 6, names="Xy")
    assert_equal(fw, *one_and(fw, 2, model, data, **settings), 2e-6)


def test_statistics_are_those_of_the_first_device(fw):
    """In JAX, they are those of the whole minibatch."""
    model = net(fw, "norm", 10)
    two = run(fw, model, lambda: parts(fw, 10, 10), **on(fw.d2l, 2))
    size = 10 if fw.tab == "jax" else 5

    class First:
        """The minibatches that the first device gets."""

        def train_dataloader(self):
            whole = parts(fw, 10, 10).train_dataloader()
            return [(X[:size], y[:size]) for X, y in whole]

        def val_dataloader(self):
            return None

    first = run(fw, model, First)
    for a, b in zip(fw.statistics(two), fw.statistics(first), strict=True):
        np.testing.assert_allclose(fw.numpy(a), fw.numpy(b), rtol=1e-5, atol=1e-6)


def test_models_of_d2l(fw):
    cases = {case.name: case for case in fw.cases()}
    for name in fw.models.ON_DEVICES:
        case = cases[name]
        digits = case.curve == "val_acc"
        data = (lambda: parts(fw, 7, 3, 4)) if digits else case.data
        assert_equal(fw, *one_and(fw, 3, case.model, data, clip=5), 5e-6)


def test_optimizers_from_scratch(fw):
    for make in fw.models.OWN_OPTIMIZERS:
        several = partial(one_and, fw, 3, make, lambda: parts(fw, 7, 3))
        if fw.tab == "pytorch":
            with pytest.raises(RuntimeError, match="devices cannot .* an nn.Parameter"):
                several()
        else:
            assert_equal(fw, *several(), 2e-6)


def test_the_utilization_counts_all_devices(d2l, fw):
    machine = d2l.Machine("made up", {"float32": 1e9}, 1e9)
    flops = []
    for n in 1, 4:
        mfu = [d2l.MFU(machine)]
        trainer = run(fw, net(fw), lambda: parts(fw, 8), callbacks=mfu, **on(d2l, n))
        flops.append(mfu[0].step_flops if fw.tab != "pytorch" else 4 // n)
        points = trainer.model.board.data["mfu"]
        assert len(points) == 2 and all(point.y > 0 for point in points)
    assert flops[0] == 4 * flops[1] > 0


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_model_trains_again_on_other_devices(d2l, fw, epochs):
    """Its arrays stay the same objects, which the program may hold elsewhere."""
    model = net(fw)()
    fw.build(model, fw.tensor(np.ones((1, 64))))
    arrays = fw.arrays(model)
    for n in 2, 1, 3:
        trainer = d2l.Trainer(epochs, **on(d2l, n))
        fw.fit(trainer, model, parts(fw, 6, 5))
        assert trainer.train_batch_idx == 2 * epochs
        assert trainer.model is model and model.trainer is trainer
        if fw.tab != "mxnet":  # which makes new ones on other devices
            assert [*map(id, fw.arrays(model))] == [*map(id, arrays)]
    assert len(model.board.data.get("val_loss", ())) == 3 * epochs


def test_devices_that_are_twice_the_same(d2l, fw):
    if fw.tab == "pytorch":
        return  # ranks may share one
    devices = [d2l.try_devices(2)[i] for i in (0, 1, 0)]
    with pytest.raises(ValueError, match="must be different devices"):
        run(fw, net(fw), lambda: parts(fw, 5), devices=devices)


@pytest.mark.parametrize(
    "items, message",
    [
        (((4, 64), (3,)), "the lengths of this one are 4, 3"),
        (((4, 64), ()), "it consists of arrays; this one contains"),
    ],
)
def test_a_minibatch_that_cannot_be_divided(d2l, fw, items, message):
    class Odd(d2l.DataModule):
        def get_dataloader(self, train):
            kinds = "float32", "int64" if fw.tab == "pytorch" else "int32"
            pairs = zip(items, kinds, strict=True)
            return [tuple(fw.tensor(np.ones(shape), kind) for shape, kind in pairs)]

    class Any(d2l.MLP):
        """A model for which the items of a minibatch may have any lengths."""

        def training_step(self, batch):
            return d2l.reduce_mean(self(batch[0]))

    if fw.tab != "jax":  # XLA copies what it cannot divide
        with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
            run(fw, lambda: Any(10, 8, 0.1), Odd, **on(d2l, 2))


# Processes


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """Check that a test leaves no process, folder or listening port behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    yield
    assert {child.pid for child in me.children(recursive=True)} <= before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]
    assert not [c for c in me.net_connections() if c.status == "LISTEN"]


def test_results_come_by_rank(d2l, fw):
    scale = 10.0  # a closure
    results = d2l.launch(lambda x: (fw.rank(), fw.add_up(scale * fw.rank() + x)), 2, 1)
    assert results == [(0, 12), (1, 12)]


def fail(fw, how):
    """Fail in rank 1 while the others wait for it."""
    if fw.rank() == 1:
        how()
    fw.add_up(1.0)


def raise_error():
    raise LookupError("this rank fails")


def read_slowly():
    raise TimeoutError("reading s3://bucket/shard-17 timed out")


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "how, message",
    [
        (raise_error, "raised LookupError: this rank fails"),
        (read_slowly, "raised TimeoutError: reading s3://bucket/shard-17 timed out"),
        (kill, "was killed by SIGKILL"),
    ],
)
def test_a_rank_that_fails_is_reported_at_once(d2l, fw, how, message):
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        d2l.launch(fail, 2, fw, how)
    assert str(caught.value) == f"rank 1 of 2 {message}"
    assert how is kill or f"in {how.__name__}\n" in caught.value.__notes__[0]
    assert time.monotonic() - start < 50


def wait_in_vain(fw):
    fw.add_up(1.0)
    if fw.rank() == 0:
        fw.add_up(1.0)


def test_a_hang_ends_in_a_clear_error(d2l, fw):
    with pytest.raises(TimeoutError) as caught:
        d2l.launch(wait_in_vain, 2, fw, timeout=9)
    assert str(caught.value).startswith("no result from rank 0 of 2 within 9 seconds;")
    (note,) = caught.value.__notes__
    assert note.startswith("Rank 0:") and "in wait_in_vain\n" in note
    assert "site-packages" not in note and "launcher.py" not in note


def wait(fw, folder, children):
    """Write the number of this rank into a folder, start a process, and wait."""
    if children:
        subprocess.Popen(["sleep", "600"])
    Path(folder, f"{fw.rank()}").touch()
    time.sleep(600)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_caller_ends_all_processes(fw, tmp_path, sign):
    """In MXNet, they include a scheduler and a server."""
    children = sign == signal.SIGINT or fw.tab == "pytorch"  # else only ranks notice it
    code = "import signal, sys, test_ranks as t\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"fw.d2l.launch(t.wait, 2, fw, sys.argv[1], {children})"
    error = tmp_path / "error"
    with error.open("w") as file, fw.start(code, tmp_path, stderr=file) as caller:
        while len(list(tmp_path.glob("[01]"))) < 2:
            time.sleep(0.05)
            assert caller.poll() is None
        processes = psutil.Process(caller.pid).children(recursive=True)
        caller.send_signal(sign)
    assert len(processes) >= 2 + 2 * children
    assert sign == signal.SIGKILL or "KeyboardInterrupt" in error.read_text()
    assert psutil.wait_procs(processes, timeout=50)[1] == []


def test_a_number_of_processes_that_makes_no_sense(d2l):
    with pytest.raises(ValueError, match="must be 1, 2, ... processes, not 0"):
        d2l.launch(raise_error, 0)


def train_in_group(fw, rank, folder=None, dies_at=None):
    """Return the results of a process; its random numbers differ in each rank."""
    settings = {"callbacks": [at_step(fw, dies_at, kill, rank=1)], "save_every": 3}
    data = partial(parts, fw, 7, 5, 8, 4, shuffled=True)
    seed = 1 + (rank() if rank else 0)
    trainer = run(fw, net(fw), data, folder, seed=seed, clip=0.1, **settings)
    arrays = [fw.numpy(a) for a in fw.state(trainer)]
    drawn = [np.random.rand(), random.random()]
    shared = drawn[:1] if fw.tab == "jax" else drawn  # it shares only NumPy's state
    return arrays, curves(trainer), shared


def assert_same(one, other, tolerance=1e-6):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_several_processes_equal_one(d2l, fw):
    """The seed of rank 0 decides, and it draws the curves."""
    arrays, points, numbers = train_in_group(fw, None)
    first, second = d2l.launch(train_in_group, 2, fw, fw.rank, timeout=300)
    assert_same(first[0], arrays)
    assert_same(second[0], first[0], 0)
    assert_same(first[2], second[2], 0)
    assert first[1].keys() == points.keys()
    for name in points:
        assert_same(first[1][name], points[name])


def resume_counting(fw, rank, folder):
    """Return the files that this rank has read for digests, and its error."""
    digest, read = storage.digest, []

    def counted(file):
        read.append(str(file))
        return digest(file)

    storage.digest = counted
    try:
        train_in_group(fw, rank, folder)
    except ValueError as error:
        return read, f"{error}"
    finally:
        storage.digest = digest
    return read, ""


def test_each_rank_checks_its_share_of_the_digests_and_tells_the_others(
    d2l, fw, tmp_path
):
    train_in_group(fw, None, tmp_path)
    d2l.latest_checkpoint(tmp_path).joinpath("progress.json").write_text("{}")
    results = d2l.launch(resume_counting, 2, fw, fw.rank, tmp_path, timeout=300)
    (read, error), (read_by_other, other_error) = results
    assert read and read_by_other and not {*read} & {*read_by_other}
    assert "progress.json is not as it was saved" in error and error == other_error


def train_apart(fw, rank, folder):
    train_in_group(fw, rank, folder / f"{rank()}")


def test_ranks_with_a_folder_each_are_refused_before_the_first_step(d2l, fw, tmp_path):
    """As on machines that do not share the folder."""
    words = (
        "rank 1 does not see the files that rank 0 writes into checkpoint_dir=.*[01]'"
    )
    with pytest.raises(RuntimeError, match=words):
        d2l.launch(train_apart, 2, fw, fw.rank, tmp_path, timeout=300)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names <= {"lock"}


def train_unevenly(fw, rank):
    sizes = [6, 6, 6][: 3 - rank()]
    run(fw, net(fw), lambda: parts(fw, *sizes))


def test_loaders_of_different_lengths_are_refused_before_the_first_step(d2l, fw):
    words = "has 3 minibatches on rank 0 and 2 on rank 1, so some ranks would wait"
    with pytest.raises(RuntimeError, match=words):
        d2l.launch(train_unevenly, 2, fw, fw.rank, timeout=300)


def train_in_another_order(fw, rank):
    warnings.filterwarnings("error", message="rank 1")
    data = parts(fw, 6, 6, 6)
    whole = data.get_dataloader(True)
    order = [0, 1, 2] if rank() == 0 else [2, 1, 0]
    data.get_dataloader = lambda train: [whole[i] for i in order]
    run(fw, net(fw), lambda: data)


def test_ranks_whose_data_has_another_order_are_named(d2l, fw):
    words = "rank 1 has other examples than rank 0 in the first minibatch.*; sort what"
    with pytest.raises(RuntimeError, match=words):
        d2l.launch(train_in_another_order, 2, fw, fw.rank, timeout=300)


def test_a_rank_dies_and_fewer_ranks_continue(d2l, fw, tmp_path):
    at = random.SystemRandom().randrange(3, 8)
    with pytest.raises(RuntimeError, match="rank 1 of 2 was killed by SIGKILL"):
        d2l.launch(train_in_group, 2, fw, fw.rank, tmp_path / "cut", at, timeout=300)
    newest = d2l.latest_checkpoint(tmp_path / "cut")  # if a thread has written it
    saved = at - at % 3
    assert saved == 3 or newest is not None
    assert newest is None or int(newest.name[5:]) in (saved - 3, saved)
    arrays, points, _ = train_in_group(fw, None, tmp_path / "cut")
    alone, others, _ = train_in_group(fw, None)
    assert_same(arrays, alone, 1e-5)
    for name in others:
        assert_same(points[name], others[name], 1e-5)
