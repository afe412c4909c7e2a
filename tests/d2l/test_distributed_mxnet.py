"""Several processes, and a trainer on several devices: what is MXNet's alone."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import models_mxnet as models
import mxnet as mx
import numpy as onp
import psutil
import pytest
from mxnet import gluon, np, npx
from mxnet.gluon import nn

from d2l import mxnet as d2l

npx.set_np()
ROOT = Path(__file__).parents[2]


# Processes


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Check that no process, file or listening port is left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    yield tmp_path
    assert {child.pid for child in me.children(recursive=True)} <= before
    assert list(tmp_path.iterdir()) == []
    assert [c for c in me.net_connections() if c.status == "LISTEN"] == []


def test_results_come_by_rank(clean):
    scale = 10.0

    def total(x):
        store, key = d2l.worker_store(), d2l.new_key()
        array = np.array([scale * store.rank + x])
        store.broadcast(key, array, np.zeros(1))
        store.pushpull(key, array)
        shared = d2l.share_object(store, ["of rank", store.rank, onp.arange(3)])
        return store.rank, store.num_workers, float(array), shared[:2]

    assert d2l.launch(total, 3, 1) == [
        (rank, 3, 33, ["of rank", 0]) for rank in range(3)
    ]


def fail(rank: int) -> None:
    if d2l.worker_store().rank == rank:
        raise KeyError("a name")
    time.sleep(600)


def test_an_error_of_a_rank_names_the_rank_and_holds_its_traceback(clean):
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        d2l.launch(fail, 2, 1)
    assert str(caught.value) == "rank 1 of 2 raised KeyError: 'a name'"
    assert "in fail\n" in caught.value.__notes__[0]
    assert time.monotonic() - start < 50


def die() -> None:
    if d2l.worker_store().rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    array = np.zeros(1)
    d2l.worker_store().broadcast(d2l.new_key(), array, array)


def test_a_killed_rank_is_reported_at_once(clean):
    with pytest.raises(RuntimeError, match="^rank 1 of 2 was killed by SIGKILL$"):
        d2l.launch(die, 2)


def test_a_rank_that_exits(clean):
    def leave():
        print("the last words", flush=True)
        os._exit(3)

    with pytest.raises(RuntimeError, match="rank 0 of 1 ended with exit status 3") as e:
        d2l.launch(leave, 1)
    assert "the last words" in e.value.__notes__[0]


def wait_in_vain() -> None:
    store, array = d2l.worker_store(), np.zeros(1)
    store.broadcast(1, array, array.copy())
    if store.rank == 0:
        store.pushpull(1, array)


def test_a_hang_ends_in_a_clear_error(clean):
    with pytest.raises(TimeoutError) as caught:
        d2l.launch(wait_in_vain, 2, timeout=9)
    text = "no result from rank 0 of 2 within 9 seconds;"
    assert str(caught.value).startswith(text)
    (note,) = caught.value.__notes__
    assert "in rank_group" in note and "site-packages" not in note


def test_an_interrupt_ends_all_processes(clean):
    # A shell that starts a job in the background lets it ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        while not list(clean.glob("*/*.ready")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        d2l.launch(time.sleep, 1, 600)


def test_no_processes():
    with pytest.raises(ValueError, match="must be 1, 2, ... processes, not 0"):
        d2l.launch(time.sleep, 0)


SCRIPT = """
from d2l import mxnet as d2l
def work(x):
    import time
    rank = d2l.worker_store().rank
    open(f"{x}/{rank}", "w").close()
    time.sleep(600)
d2l.launch(work, 2, FOLDER)
"""


def test_no_rank_outlives_its_launcher(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.replace("FOLDER", repr(str(tmp_path))))
    script = subprocess.Popen(
        [sys.executable, file], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    while not {"0", "1"} <= {path.name for path in tmp_path.iterdir()}:
        time.sleep(0.1)
        assert script.poll() is None
    processes = psutil.Process(script.pid).children(recursive=True)
    assert len(processes) == 4  # two ranks, a scheduler and a server
    script.kill()
    script.wait()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert alive == []


# A script under a launcher


def start_job(script: str, num_workers: int = 2) -> list[subprocess.Popen]:
    """Return the processes of a job: a scheduler, a server and the workers."""
    port = d2l.free_ports(1)[0]
    settings = {**d2l.group_environment(port, num_workers), "PYTHONPATH": str(ROOT)}
    roles = ["scheduler", "server", *["worker"] * num_workers]
    return [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**settings, "DMLC_ROLE": role},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for role in roles
    ]


TRAINING = """
from d2l import mxnet as d2l
assert d2l.worker_store().rank == 0 or not {fails}
model, trainer = d2l.MLP(10, 8, 0.1), d2l.Trainer(max_epochs=2)
trainer.fit(model, d2l.Digits(batch_size=500))
total = model.net[0].weight.data().sum()
print(trainer.ranks.rank, model.board.data.keys() != set(), total)
"""


def test_all_processes_of_a_job_end_by_themselves():
    processes = start_job(TRAINING.format(fails=False))
    answers = [p.communicate(timeout=300)[0].split() for p in processes]
    assert [p.returncode for p in processes] == [0] * 4
    (_, *first), (_, *second) = sorted(answers[2:])
    assert first[0] == "True" and second[0] == "False"  # one board
    assert first[1] == second[1]


def test_a_worker_that_fails_ends_at_once():
    processes = start_job(TRAINING.format(fails=True))
    try:
        while not any(process.poll() for process in processes[2:]):
            time.sleep(0.05)
        statuses = [process.poll() for process in processes]
        assert statuses.count(None) == 3  # the others wait for the one that failed
    finally:
        for process in processes:
            process.kill()
            process.communicate()


# A trainer on several devices


class Parts(d2l.DataModule):
    """Digits in minibatches of given sizes."""

    def __init__(self, *sizes: int):
        super().__init__()
        digits = d2l.Digits()
        ends = onp.cumsum([0, *sizes]).tolist()
        self.parts = [
            (digits.X[i:j], digits.y[i:j]) for i, j in zip(ends, ends[1:], strict=False)
        ]

    def get_dataloader(self, train: bool) -> list:
        return self.parts


class Shuffled(Parts):
    """Minibatches in an order that NumPy's global generator decides."""

    def get_dataloader(self, train: bool) -> list:
        return [self.parts[i] for i in onp.random.permutation(len(self.parts))]


class Adam(d2l.MLP):
    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "adam", {"learning_rate": 0.01})


def result(trainer: Any) -> tuple[list, list]:
    """Return all numbers of the trained model, and all points of the board."""
    board = trainer.model.board.data
    points = [point for label in sorted(board) for point in board[label]]
    return [a.asnumpy() for a in d2l.all_arrays(trainer.model)], points


def train(make: Callable, data: Any, n: int, **settings: Any) -> Any:
    """Return a trainer that has trained a new model on `n` devices."""
    random.seed(0)
    onp.random.seed(0)
    mx.random.seed(0)
    trainer = settings.pop("kind", d2l.Trainer)(
        max_epochs=2, gradient_clip_val=settings.pop("clip", 0)
    )
    trainer.devices = d2l.try_devices(n)
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.fit(make(), data)
    return trainer


def assert_same(some: Any, others: Any, tolerance: float = 1e-6) -> None:
    for one, other in zip(result(some), result(others), strict=True):
        for a, b in zip(one, other, strict=True):
            onp.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


SETTINGS: list[tuple] = [
    (2, [7, 7, 3], {}),
    (4, [1, 8, 2], {}),
    (3, [5, 4], {"clip": 0.05}),
    (2, [9, 6, 2], {"accumulate": 2}),
    (4, [8, 4], {"accumulate": 3, "clip": 0.1}),
]


@pytest.mark.parametrize("n, sizes, settings", SETTINGS)
def test_devices_change_nothing(n, sizes, settings):
    def make():
        return Adam(10, 8, 0.1)

    one, several = (train(make, Parts(*sizes), k, **settings) for k in (1, n))
    assert_same(one, several)
    assert {a.ctx for a in d2l.all_arrays(several.model)} == {several.devices[0]}


MODELS = {
    "scratch": lambda: models.SoftmaxScratch(64, 10, lr=0.5),
    "hidden": lambda: models.MLPScratch(64, 10, 16, lr=0.3),
    "list": lambda: models.ListedArrays(0.5),
    "blocks": models.Blocks,
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_d2l(name):
    one, three = (train(MODELS[name], Parts(7, 3, 2), n) for n in (1, 3))
    assert_same(one, three)


def test_an_optimizer_that_knows_one_copy_only():
    def make():
        return models.OwnOptimizer(2, 0.1)

    data = models.regression()
    one, three = (train(make, data, n) for n in (1, 3))
    assert_same(one, three)


def test_all_copies_stay_equal():
    class Watching(d2l.Trainer):
        def val_step(self, batch):
            super().val_step(batch)
            for first, *others in self.ranks.replicas:
                assert len(others) == 2
                for other in others:
                    onp.testing.assert_array_equal(first.asnumpy(), other.asnumpy())

    train(MODELS["blocks"], Parts(7, 3), 3, kind=Watching)
    train(MODELS["scratch"], Parts(7, 3), 3, kind=Watching)


def test_shares_are_as_equal_as_possible():
    shares = []

    class Watching(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.net = 0.1, nn.Dense(10, in_units=64)
            self.net.initialize()

        def training_step(self, batch):
            shares.append((len(batch[0]), batch[0].ctx, mx.current_context()))
            return super().training_step(batch)

    devices = [npx.cpu(i) for i in range(4)]
    train(Watching, Parts(10), 4)
    assert [size for size, *_ in shares] == [3, 3, 2, 2] * 2
    assert [place for _, place, _ in shares] == devices * 2
    assert all(place == current for _, place, current in shares)


def test_the_mean_loss_has_the_weights_of_the_examples():
    trainer = train(MODELS["scratch"], Parts(5), 3)
    (first, *_) = trainer.model.board.data["train_loss"]
    assert first.y == pytest.approx(onp.log(10), abs=0.1)


def test_running_statistics_are_those_of_the_first_device():
    class Net(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.net = 0.1, nn.Sequential()
            self.net.add(nn.BatchNorm(in_channels=64), nn.Dense(10))
            self.net.initialize()

    data = Parts(10)
    trainer = train(Net, data, 2)
    expected = onp.zeros(64)
    for _ in range(2):
        expected = 0.9 * expected + 0.1 * data.parts[0][0][:5].asnumpy().mean(0)
    found = trainer.model.net[0].running_mean.data().asnumpy()
    onp.testing.assert_allclose(found, expected, atol=1e-6)


def test_gpus_of_the_trainer(fw, monkeypatch):
    devices = [npx.cpu(1), npx.cpu(2)]
    fw.pretend(monkeypatch, *devices)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = d2l.Trainer(max_epochs=1, num_gpus=2)
    assert trainer.devices == devices
    trainer.fit(d2l.MLP(10, 8, 0.1), Parts(5, 4))
    assert {p.ctx for p in fw.params(trainer)} == {devices[0]}


def test_devices_that_are_twice_the_same():
    trainer = d2l.Trainer(max_epochs=1, devices=[npx.cpu(i) for i in (0, 1, 0)])
    with pytest.raises(ValueError, match="must be different devices"):
        trainer.fit(d2l.MLP(10, 8, 0.1), Parts(5))


ODD_BATCHES = {
    "the lengths of this one are 4, 3": lambda X, y: (X[:4], y[:3]),
    "this one contains 'name'": lambda X, y: ("name", X, y),
}


@pytest.mark.parametrize("message", ODD_BATCHES)
def test_minibatches_that_cannot_be_divided(message):
    data = Parts(5)
    data.parts = [ODD_BATCHES[message](*data.parts[0])]
    with pytest.raises((TypeError, ValueError), match=message):
        train(MODELS["scratch"], data, 2)


def test_another_fit_on_other_devices():
    model, data = d2l.MLP(10, 8, 0.1), Parts(6, 5)
    for n in 2, 1, 3:
        trainer = d2l.Trainer(max_epochs=1)
        trainer.devices = d2l.try_devices(n)
        trainer.fit(model, data)
        assert model(data.parts[0][0]).shape == (6, 10)


def test_no_epoch_on_two_devices():
    trainer, model = d2l.Trainer(max_epochs=0), d2l.MLP(10, 8, 0.1)
    trainer.devices = d2l.try_devices(2)
    trainer.fit(model, Parts(5))
    assert model.parameters()[0].list_ctx() == [npx.cpu(0)]


def test_the_utilization_counts_all_devices():
    machine = d2l.Machine("made up", {"float32": 1e9}, 1e9)
    flops = []
    for n in 1, 4:
        trainer = train(MODELS["blocks"], Parts(8), n, callbacks=[d2l.MFU(machine)])
        flops.append(trainer.callbacks[0].step_flops)
        assert len(trainer.model.board.data["mfu"]) == 2
    assert flops[0] == 4 * flops[1] > 0


def train_in_group(sizes: tuple, n: int) -> tuple:
    store = d2l.worker_store()
    seed = store.rank if store else 0  # rank 0's seed decides
    results = []
    for make in MODELS["scratch"], MODELS["blocks"], lambda: Adam(10, 8, 0.1):
        mx.random.seed(seed)
        onp.random.seed(seed)
        trainer = d2l.Trainer(2, gradient_clip_val=0.1)
        trainer.devices = d2l.try_devices(n)
        trainer.fit(make(), Shuffled(*sizes))
        results.append(result(trainer))
    return results, trainer.ranks.rank, onp.random.rand()


def test_several_processes_equal_one():
    alone, *_ = train_in_group((7, 3, 4, 1), 1)
    ranks = d2l.launch(train_in_group, 2, (7, 3, 4, 1), 2)
    (first, _, number), (second, rank, same) = ranks
    assert rank == 1 and number == same
    for one, two, three in zip(alone, first, second, strict=True):
        for a, b, c in zip(one[0], two[0], three[0], strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
            onp.testing.assert_array_equal(b, c)
        onp.testing.assert_allclose(one[1], two[1], rtol=1e-6, atol=1e-6)
        assert three[1] == []  # rank 0 draws


# Collectives by hand


@pytest.mark.parametrize("n, size", [(1, 3), (2, 1), (3, 7), (4, 2), (4, 1000)])
@pytest.mark.parametrize("name", ["star_all_reduce", "ring_all_reduce"])
def test_all_reduce_by_hand(name, n, size):
    sent: dict = {}

    def send(array, device):
        assert array.ctx != device
        sent[array.ctx] = sent.get(array.ctx, 0) + array.size
        return array.copyto(device)

    devices = [npx.cpu(i) for i in range(n)]
    arrays = [np.random.normal(size=(size,), ctx=device) for device in devices]
    before = [array.asnumpy() for array in arrays]
    sums = getattr(d2l, name)(arrays, send)
    assert [x.ctx for x in sums] == devices
    for array, old, x in zip(arrays, before, sums, strict=True):
        onp.testing.assert_array_equal(array.asnumpy(), old)
        onp.testing.assert_allclose(x.asnumpy(), sum(before), atol=1e-5)
        onp.testing.assert_array_equal(x.asnumpy(), sums[0].asnumpy())
    expected = 2 * (n - 1) * size
    assert sum(sent.values()) == expected


class Named(d2l.MLP):
    """A model whose minibatches are dicts."""

    def training_step(self, batch):
        return super().training_step((batch["X"], batch["y"]))

    def validation_step(self, batch):
        super().validation_step((batch["X"], batch["y"]))


class NamedDigits(d2l.Digits):
    def get_dataloader(self, train):
        return [{"X": X, "y": y} for X, y in super().get_dataloader(train)]


@pytest.mark.parametrize("settings", [{}, {"accumulate": 3}])
def test_minibatches_that_are_dicts(settings):
    params = []
    for n in 1, 2:
        trainer = train(lambda: Named(10, 8, 0.1), NamedDigits(300), n, **settings)
        params.append([p.data().asnumpy() for p in trainer.model.parameters()])
    for one, other in zip(*params, strict=True):
        assert onp.allclose(one, other, atol=1e-6)
