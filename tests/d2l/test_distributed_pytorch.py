"""Groups of processes in PyTorch: `launch`, collectives by hand, and the Trainer."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,override"

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import models_pytorch
import numpy as np
import pytest
import torch
from torch import distributed as dist
from torch import nn

from d2l import tables
from d2l import torch as d2l

# Functions that ranks run


def add_ranks(failing=None):
    """Return the sum of the ranks; one of them may fail."""
    rank = torch.tensor(float(dist.get_rank()))
    if rank == failing:
        raise LookupError("this rank fails")
    dist.all_reduce(rank)
    return rank.item()


def wait_forever(*ranks):
    """Wait in some ranks for the others."""
    if dist.get_rank() in ranks:
        dist.barrier()
    return os.getpid()


def end_abruptly(rank, how):
    """Let one rank end while the others wait for it."""
    if dist.get_rank() == rank:
        how()
    dist.barrier()


def report_pid(folder):
    """Write the number of this process and of a child into a folder; then hang."""
    child = subprocess.Popen(["sleep", "100"])
    Path(folder, f"{os.getpid()}").touch()
    Path(folder, f"{child.pid}").touch()
    time.sleep(100)


def running(pid):
    """Return whether a process exists and has not ended."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pids):
    """Wait until all of these processes have ended, for 50 seconds at most."""
    end = time.monotonic() + 50
    while any(map(running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(running, pids))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """Check after each test that it has left no process, folder or open file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = len(os.listdir("/proc/self/fd"))
    yield
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    assert [pid for pid in children.split() if running(pid)] == []
    assert [p for p in tmp_path.iterdir() if p.name.startswith("tmp")] == []
    assert len(os.listdir("/proc/self/fd")) <= files


# launch


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_come_by_rank(n):
    offset = torch.tensor([[1.0, 2.0]])
    results = d2l.launch(lambda k: (dist.get_rank(), k * offset), n, 3)
    assert [rank for rank, _ in results] == list(range(n))
    assert all(torch.equal(x, 3 * offset) for _, x in results)


def test_ranks_have_one_thread_and_the_variables_of_a_launcher():
    def describe():
        names = "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"
        return torch.get_num_threads(), [os.environ[name] for name in names]

    assert d2l.launch(describe, 2) == [
        (1, ["0", "0", "2", "2"]),
        (1, ["1", "1", "2", "2"]),
    ]
    assert "RANK" not in os.environ


def test_ranks_work_after_the_caller_used_several_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        A = torch.randn(500, 500)
        (A @ A).exp().sum()
        assert len(d2l.launch(lambda: (A @ A).exp().sum().item(), 3, timeout=200)) == 3
    finally:
        torch.set_num_threads(threads)


def test_results_larger_than_a_pipe():
    results = d2l.launch(lambda: torch.full((10**6,), float(dist.get_rank())), 2)
    assert [x[-1].item() for x in results] == [0, 1]


def test_error_of_a_rank_names_the_rank_and_has_its_traceback():
    with pytest.raises(RuntimeError) as caught:
        d2l.launch(add_ranks, 3, 1)
    assert str(caught.value) == "rank 1 of 3 raised LookupError: this rank fails"
    (note,) = caught.value.__notes__
    assert "in add_ranks" in note and note.endswith("LookupError: this rank fails")


def test_result_that_cannot_be_sent_is_an_error_of_the_rank():
    with pytest.raises(RuntimeError, match="rank 0 of 1 raised .*pickle"):
        d2l.launch(lambda: lambda: 0, 1)


def seconds(function):
    """Return how long a call takes."""
    start = time.monotonic()
    function()
    return time.monotonic() - start


def test_hang_ends_with_the_ranks_and_the_lines_that_wait(monkeypatch):
    # Give ranks that other programs disturb 2 s instead of 0.2 s to write their lines.
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(10 * seconds))
    with pytest.raises(
        TimeoutError, match="no result from rank 0, 2 of 3 within 3 s"
    ) as e:
        d2l.launch(wait_forever, 3, 0, 2, timeout=3)
    assert [note.split(":")[0] for note in e.value.__notes__] == ["Rank 0", "Rank 2"]
    assert all("in wait_forever" in note for note in e.value.__notes__)


def test_hang_ends_soon_after_its_time_limit():
    def hang():
        with pytest.raises(TimeoutError):
            d2l.launch(wait_forever, 3, 0, 2, timeout=1)

    assert any(seconds(hang) < 6 for _ in range(5))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by SIGKILL"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "was killed by SIGTERM"),
        (lambda: os._exit(3), "ended with exit status 3 before it returned a result"),
    ],
)
def test_end_of_a_rank_is_an_error_at_once(how, message):
    def end():
        with pytest.raises(RuntimeError, match=f"^rank 1 of 3 {message}$"):
            d2l.launch(end_abruptly, 3, 1, how)

    assert any(seconds(end) < 6 for _ in range(5))  # other programs may disturb some


def test_first_error_is_reported_when_the_others_follow():
    for _ in range(3):
        with pytest.raises(RuntimeError, match="rank 2 of 4 raised LookupError"):
            d2l.launch(add_ranks, 4, 2)


def test_messages_reach_the_caller_in_order():
    heard: list[Any] = []

    def tell():
        for i in range(50):
            d2l.tell_caller(dist.get_rank(), i)

    d2l.launch(tell, 2, receive=lambda rank, i: heard.append((rank, i)))
    assert sorted(heard) == [(rank, i) for rank in range(2) for i in range(50)]
    assert [i for rank, i in heard if rank == 1] == list(range(50))


def test_number_of_processes_must_be_positive():
    with pytest.raises(ValueError, match="1, 2, ... processes, not 0"):
        d2l.launch(add_ranks, 0)


def test_processes_of_ranks_end_with_them(tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    with pytest.raises(TimeoutError):
        d2l.launch(report_pid, 2, str(folder), timeout=3)
    pids = [p.name for p in folder.iterdir()]
    assert len(pids) == 4
    wait_for_end(pids)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_end_of_the_caller_ends_the_ranks(tmp_path, sign):
    folder = tmp_path / "pids"
    folder.mkdir()
    code = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}\n"
        "import signal, test_distributed_pytorch as t\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"t.d2l.launch(t.report_pid, 2, {str(folder)!r})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE
    ) as caller:
        while len(list(folder.iterdir())) < 4:
            time.sleep(0.05)
            assert caller.poll() is None
        caller.send_signal(sign)
        caller.communicate()
    wait_for_end([p.name for p in folder.iterdir()])


def test_rank_can_start_processes():
    def run_python():
        return subprocess.run([sys.executable, "-c", "exit(3)"], check=False).returncode

    assert d2l.launch(run_python, 2) == [3, 3]


# Hand-written collectives


@pytest.mark.parametrize("all_reduce", [d2l.star_all_reduce, d2l.ring_all_reduce])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_sums_of_odd_sizes(all_reduce, n):
    shapes = (1,), (2,), (7,), (1001,), (3, 5), (2, 3, 4)

    def sums():
        arrays = [torch.randn(n, *shape) for shape in shapes]
        traffic = []
        for array in arrays:
            x = array[dist.get_rank()]
            traffic.append(all_reduce(x))
        return [array[dist.get_rank()] for array in arrays], traffic

    torch.manual_seed(0)
    expected = [torch.randn(n, *shape).sum(0) for shape in shapes]
    torch.manual_seed(0)
    results = d2l.launch(sums, n)
    for arrays, _ in results:
        for x, total, same in zip(arrays, expected, results[0][0], strict=True):
            assert torch.allclose(x, total, atol=1e-5) and torch.equal(x, same)
    sent = np.array([[s for s, _ in traffic] for _, traffic in results])
    received = np.array([[r for _, r in traffic] for _, traffic in results])
    sizes = np.array([4 * x.numel() for x in expected])
    assert (sent.sum(0) == received.sum(0)).all()
    assert (sent.sum(0) == 2 * (n - 1) * sizes).all()
    if all_reduce is d2l.ring_all_reduce:
        assert sent.max() <= 2 * (n - 1) * -(-sizes.max() // 4 // n) * 4


def test_prediction_of_buckets():
    spans = d2l.schedule_buckets([1, 2, 10], [4, 4, 4], 1, 2)
    assert spans == [(1, 4), (4, 7), (10, 13)]
    assert d2l.ring_time(8, 4, 0.5, 2) == 2 * 3 * (0.5 + 1)
    assert d2l.bus_bandwidth(8, d2l.ring_time(8, 4, 0, 2), 4) == 2
    assert d2l.scaling_efficiency(3, 8, 4, 0, 2) == 3 / 9
    assert d2l.scaling_efficiency(3, 8, 4, 0, 2, hidden=1) == 1


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize(
    "framework, scaling", [("pytorch", "weak"), ("pytorch", "strong"), ("jax", "weak")]
)
def test_scaling_of_rtx_4090s(framework, scaling, n):
    """A ResNet-18 with 11.2 million parameters, 256 examples on each GPU or 512 on all.

    If nothing is hidden, all six efficiencies are predicted within 4.5 points.
    """
    one, many = (tables.cited(f"scaling-{scaling}-{framework}-{k}") for k in (1, n))
    share = 256 if scaling == "weak" else 512 / n
    bandwidth = 1e9 * tables.cited("allreduce-pytorch-default") / 2
    predicted = d2l.scaling_efficiency(share / one, 4 * 11.2e6, n, 0, bandwidth)
    assert predicted == pytest.approx(many / one / n, abs=0.045)


# The Trainer


def train(model, data, n=1, epochs=2, **settings):
    """Return a trainer that has trained a model on `n` ranks, from the same seeds."""
    torch.manual_seed(1)
    random.seed(1)
    trainer = d2l.Trainer(epochs, gradient_clip_val=settings.pop("clip", 0))
    trainer.devices = [d2l.cpu()] * n
    for name, value in settings.items():
        setattr(trainer, name, value)
    trainer.fit(model(), data())
    return trainer


def points(trainer):
    """Return the points of all curves of a model."""
    return {name: np.array(curve) for name, curve in trainer.model.board.data.items()}


def assert_equal(one, many, bound=1e-6):
    """Check that two trainers have the same parameters, buffers, curves and counts."""
    tensors = zip(d2l.all_tensors(one.model), d2l.all_tensors(many.model), strict=True)
    assert max((a - b).abs().max().item() for a, b in tensors) < bound
    assert points(one).keys() == points(many).keys()
    for name, curve in points(one).items():
        assert np.allclose(curve, points(many)[name], atol=bound, rtol=1e-6)
    for count in "epoch", "train_batch_idx", "val_batch_idx", "num_train_batches":
        assert getattr(one, count) == getattr(many, count)


CASES = {case.name: case for case in models_pytorch.CASES}
SAME = "decay", "blocks"
SCRATCH = "softmax", "list", "own optimizer", "penalty"


@pytest.mark.parametrize("name", SAME)
def test_model_of_d2l_trains_as_on_one_device(name):
    case = CASES[name]
    one = train(case.model, case.data, clip=5)
    assert_equal(one, train(case.model, case.data, 3, clip=5), 2e-6)


@pytest.mark.parametrize("name", SCRATCH)
def test_a_trained_tensor_that_is_no_parameter_is_refused(name):
    case = CASES[name]
    with pytest.raises(RuntimeError, match="several devices cannot .* an nn.Parameter"):
        train(case.model, case.data, 2)


@pytest.mark.parametrize("name", ["dropout", "batch norm", "conv net", "gru"])
def test_other_model_of_d2l_learns_on_two_ranks(name):
    case = CASES[name]
    one, two = (points(train(case.model, case.data, n, 3)) for n in (1, 2))
    for curves in one, two:
        curve = next(c for label, c in curves.items() if label.startswith("train"))
        assert curve[-1, 1] < 0.6 * curve[0, 1]


class Momentum(d2l.MLP):
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


class Few(d2l.DataModule):
    """A few digits, in minibatches of a given size, shuffled by Python's generator."""

    def __init__(self, batch_size, num_train=20, num_val=11):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.X, self.y = (
            digits.X[: num_train + num_val],
            digits.y[: num_train + num_val],
        )

    def get_dataloader(self, train):
        return Minibatches(self, train)


class Minibatches:
    def __init__(self, data, train):
        self.data, self.train = data, train
        self.n = data.num_train if train else data.num_val

    def __len__(self):
        return -(-self.n // self.data.batch_size)

    def __iter__(self):
        order = list(range(self.n)) if self.train else [*range(-self.n, 0)]
        if self.train:
            random.shuffle(order)
        for i in range(0, self.n, self.data.batch_size):
            rows = order[i : i + self.data.batch_size]
            yield [self.data.X[rows], self.data.y[rows]]


def mlp():
    return Momentum(10, 16, 0.05)


@pytest.mark.parametrize(
    ("batch_size", "n"), [(3, 2), (6, 2), (20, 2), (9, 4), (20, 4)]
)
def test_uneven_minibatches(batch_size, n):
    """The last minibatch to validate on is smaller than 4 if there are 11 examples."""
    one, many = (train(mlp, lambda: Few(batch_size, 26), k) for k in (1, n))
    assert_equal(one, many)
    states = [t.optim.state_dict()["state"] for t in (one, many)]
    for state, same in zip(*(s.values() for s in states), strict=True):
        assert torch.allclose(*(s["momentum_buffer"] for s in (state, same)), atol=1e-6)


@pytest.mark.parametrize(("batch_size", "n"), [(1, 2), (3, 4), (6, 4)])
def test_a_minibatch_smaller_than_the_number_of_ranks_is_refused(batch_size, n):
    with pytest.raises(RuntimeError, match="cannot share a minibatch of . example"):
        train(mlp, lambda: Few(batch_size), n)


class Counted(torch.utils.data.Dataset):
    """Digits, with random noise, that count how often they are read."""

    def __init__(self):
        self.digits, self.reads = d2l.Digits(), []

    def __len__(self):
        return 90

    def __getitem__(self, i):
        self.reads.append(i)
        return self.digits.X[i], self.digits.y[i], torch.rand(())


class CountedDigits(d2l.DataModule):
    def __init__(self):
        self.dataset = Counted()

    def get_dataloader(self, train):
        if not train:
            return [(self.dataset.digits.X[:4], self.dataset.digits.y[:4])]
        return torch.utils.data.DataLoader(self.dataset, 20, shuffle=True)


class Noticing(Momentum):
    """A model that keeps the noise that its loader has drawn."""

    def __init__(self):
        super().__init__(10, 16, 0.05)
        self.noise = []

    def training_step(self, batch):
        self.noise += batch[2].tolist() if len(batch) > 2 else []
        return super().training_step(batch[:2])


def test_each_rank_reads_only_its_share():
    def reads():
        torch.manual_seed(0)
        model, data = Noticing(), CountedDigits()
        d2l.Trainer(2).fit(model, data)
        noise = [x for x in model.noise if x]  # zeros gave the lazy layer its shape
        return data.dataset.reads, noise, torch.rand(1)

    alone, _, _ = reads()
    (first, noise, state), (second, other, same) = d2l.launch(reads, 2)
    assert len(first) == len(second) == 90
    assert not {*noise} & {*other} and len({*noise}) == 90  # ranks draw other numbers
    assert torch.equal(state, same)
    for i in range(0, 80, 20):  # the same examples in each minibatch as on one device
        share = slice(i // 2, i // 2 + 10)  # later, the noise changes the order
        assert {*first[share]} | {*second[share]} == {*alone[i : i + 20]}


@pytest.mark.parametrize(("workers", "stay"), [(0, False), (2, False), (2, True)])
def test_a_loader_with_workers_gives_the_same_minibatches(workers, stay):
    class Workers(d2l.Digits):
        def get_dataloader(self, train):
            rows = slice(0, 1437) if train else slice(1437, None)
            dataset = torch.utils.data.TensorDataset(self.X[rows], self.y[rows])
            loader = torch.utils.data.DataLoader(
                dataset,
                100,
                shuffle=train,
                num_workers=workers,
                persistent_workers=stay,
            )
            loaders.append(loader)
            return loader

    loaders: list = []
    one, many = (train(mlp, Workers, k) for k in (1, 2))
    for loader in loaders:
        loader._iterator = None  # ends the workers at once
    gc.collect()  # closes their pipes
    assert_equal(one, many)


@pytest.mark.parametrize("settings", [{"clip": 0.05}, {"accumulate": 3}])
def test_clipping_and_accumulation(settings):
    one, many = (train(mlp, lambda: d2l.Digits(100), k, **settings) for k in (1, 3))
    assert_equal(one, many)


@pytest.mark.parametrize(
    ("precision", "bound"), [(torch.bfloat16, 0.01), (torch.float16, 0.1)]
)
def test_lower_precision(precision, bound):
    one, many = (train(mlp, lambda: Few(6), k, precision=precision) for k in (1, 2))
    assert_equal(one, many, bound)


def test_compiled_model():
    one, many = (
        train(mlp, lambda: Few(10, 20, 20), k, 1, compiled=True) for k in (1, 2)
    )
    assert_equal(one, many)


def test_share_of_the_peak_is_drawn():
    machine = d2l.Machine("test", {"float32": 1e12}, 1e12)
    mfu = points(train(mlp, lambda: Few(6), 2, callbacks=[d2l.MFU(machine)]))["mfu"]
    assert mfu.shape == (2, 2) and (mfu[:, 1] > 0).all()


class Unused(Momentum):
    """A model with parameters that have no part in the loss."""

    def __init__(self):
        super().__init__(10, 16, 0.05)
        self.unused = nn.Linear(3, 3)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01, weight_decay=0.5)


def test_parameters_without_a_gradient_do_not_change():
    with pytest.raises(RuntimeError, match="find_unused_parameters=True"):
        train(Unused, lambda: Few(7), 2)
    one, many = (
        train(Unused, lambda: Few(7), k, find_unused_parameters=True) for k in (1, 2)
    )
    assert_equal(one, many, 1e-5)
    torch.manual_seed(1)
    assert torch.equal(many.model.unused.weight, Unused().unused.weight)


class Depth(d2l.MLP):
    """A model that skips a layer at random, and uses another only to validate."""

    def __init__(self):
        super().__init__(10, 16, 0.1)
        self.net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
        self.skipped, self.last = nn.Linear(64, 64), nn.Linear(10, 10)

    def forward(self, X):
        if self.training and torch.rand(()) < 0.7:
            return self.net(X)
        Y = self.net(X + self.skipped(X))
        return Y if self.training else self.last(Y)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_parameters_that_some_steps_do_not_use(accumulate, capfd):
    settings = {"accumulate": accumulate, "find_unused_parameters": True}
    trainer = train(Depth, lambda: Few(10), 2, 10, **settings)
    assert trainer.train_batch_idx == 20
    torch.manual_seed(1)
    before, after = Depth(), trainer.model
    assert not torch.equal(after.skipped.weight, before.skipped.weight)
    assert torch.equal(after.last.weight, before.last.weight)
    assert "unused" not in capfd.readouterr().err


def test_ranks_print_no_warning_if_all_parameters_are_used(capfd):
    train(mlp, lambda: Few(10), 2, 1)
    assert "Warning" not in capfd.readouterr().err


class Waiting(d2l.MLP):
    """A model that waits for ever in rank 1."""

    def training_step(self, batch):
        if dist.get_rank() == 1:
            dist.barrier()
        return super().training_step(batch)


@pytest.mark.timing
def test_a_hang_of_fit_ends_in_an_error(monkeypatch):
    monkeypatch.setattr(d2l, "timedelta", lambda minutes: timedelta(seconds=8))
    with pytest.raises(RuntimeError, match=r"rank \d of 2 raised .*(8000ms|Timed out)"):
        train(lambda: Waiting(10, 16, 0.1), lambda: Few(10), 2)


def test_the_start_of_ranks_has_a_limit(monkeypatch):
    seconds, join = time.monotonic, d2l.join_ranks
    monkeypatch.setattr(time, "monotonic", lambda: 100 * seconds())
    monkeypatch.setattr(
        d2l, "join_ranks", lambda rank, *args: time.sleep(9) if rank else join(0, *args)
    )
    with pytest.raises(TimeoutError, match="no result from rank .* within 120 seconds"):
        d2l.launch(add_ranks, 2, timeout=float("inf"))


class Masks(d2l.LinearRegression):
    """Its loss is a sum of random numbers, which it plots."""

    def training_step(self, batch):
        mask = torch.rand(())
        self.plot("mask", mask, train=True)
        return self.loss(self(batch[0]), batch[1]) * mask

    def validation_step(self, batch):
        self.plot("mask", torch.rand(()), train=False)


def test_ranks_draw_different_masks_in_each_step_and_the_same_order():
    def masks(n):
        data = d2l.SyntheticRegressionData(torch.tensor([2.0]), 1, num_train=64)
        torch.manual_seed(3)
        model, trainer = Masks(0.01), d2l.Trainer(2)
        model.plot_train_per_epoch = 2  # one for each minibatch
        trainer.fit(model, data)
        seen = [batch[1] for batch in data.train_dataloader()]
        return points(trainer)["train_mask"][:, 1], torch.rand(1), seen

    (same, state, order), (curve, other, others) = d2l.launch(masks, 2, 2)
    assert np.array_equal(same, curve) and len(set(curve)) == len(curve) == 4
    assert torch.equal(state, other) and all(map(torch.equal, order, others))
    assert 0 < curve.std() < 0.29  # the mean of two has a smaller deviation


def test_statistics_are_those_of_rank_0():
    def shares(n):
        torch.manual_seed(0)
        model = models_pytorch.BatchNormNet(0.1)
        trainer = d2l.Trainer(1)
        trainer.fit(model, models_pytorch.Shuffled(100))
        return [buffer.clone() for buffer in model.buffers()]

    first, second = d2l.launch(shares, 2, 2)
    torch.manual_seed(0)
    model, trainer = models_pytorch.BatchNormNet(0.1), d2l.Trainer(1)
    trainer.devices = [d2l.cpu()] * 2
    trainer.fit(model, models_pytorch.Shuffled(100))
    for buffer, same in zip(model.buffers(), first, strict=True):
        assert torch.allclose(buffer.float(), same.float())


class Plain(d2l.MLP):
    """A model with a random constant and a running mean in plain attributes."""

    def __init__(self):
        super().__init__(10, 16, 0.1)
        self.mixing, self.mean = torch.randn(64, 64), torch.zeros(64)

    def forward(self, X):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * X.mean(0)
        return super().forward((X - self.mean) @ self.mixing)


def test_state_in_a_plain_attribute_gives_a_warning():
    def warned():
        torch.manual_seed(0)
        with warnings.catch_warnings(record=True, action="always") as caught:
            d2l.Trainer(1).fit(Plain(), Few(6))
        return [str(w.message) for w in caught]

    for texts in d2l.launch(warned, 2):
        (text,) = {text for text in texts if "register_buffer" in text}
        assert text.startswith("model.mean changes while the model trains")


class Normalized(d2l.MLP):
    def __init__(self):
        super().__init__(10, 16, 0.1)
        self.net = nn.Sequential(
            nn.Linear(64, 16), nn.BatchNorm1d(16), nn.Linear(16, 10)
        )


def test_ranks_validate_the_model_that_fit_returns():
    trainer = train(Normalized, lambda: Few(10, 20, 10), 2)
    digits, model = Few(10, 20, 10), trainer.model
    loss = model.loss(model(digits.X[-10:]), digits.y[-10:])
    assert trainer.model.board.data["val_loss"][-1].y == pytest.approx(loss.item())


def test_the_model_is_left_in_the_same_mode_as_by_one_device():
    one, many = (train(mlp, lambda: Few(6), n) for n in (1, 2))
    assert one.model.training is many.model.training is False


class Sharing(d2l.Classifier):
    """A model whose first layer gets the weight of another one in each step."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 10), nn.Linear(64, 64)
        self.lr, self.shared = 0.1, [None]

    def forward(self, X):
        vars(self.first)["shared"] = self.second.weight
        return self.first(torch.tanh(nn.functional.linear(X, self.first.shared)))


def test_a_parameter_with_a_second_name_is_returned():
    one, many = (
        train(Sharing, lambda: Few(6), n, find_unused_parameters=True) for n in (1, 2)
    )
    for a, b in zip(one.model.parameters(), many.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_random_state_afterwards_is_that_of_one_device():
    numbers = []
    for n in 1, 3:
        train(mlp, lambda: d2l.Digits(300), n)
        numbers.append(torch.rand(3))
    assert torch.equal(*numbers)


def test_tensors_of_the_caller_change_in_place():
    torch.manual_seed(0)
    model = d2l.LinearRegression(0.1)
    model(torch.ones(1, 2))  # gives the lazy layer its shape
    w = model.net.weight
    before = w.detach().clone()
    trainer = d2l.Trainer(1)
    trainer.devices = d2l.try_devices(2)
    trainer.fit(model, models_pytorch.regression())
    assert model.net.weight is w and w.requires_grad and not torch.equal(w, before)
    assert model.trainer is trainer and trainer.model is model
    trainer.fit(model, models_pytorch.regression())  # and once more
    assert trainer.train_batch_idx == 32


class Keeping(d2l.MLP):
    """A model that keeps what it has computed."""

    def __init__(self):
        super().__init__(10, 16, 0.1)
        self.probabilities = None

    def forward(self, X):
        Y = super().forward(X)
        self.probabilities = Y.softmax(1)
        self.last = [Y, self.probabilities]
        return Y


def test_tensors_that_a_forward_pass_keeps_are_ignored():
    one, many = (train(Keeping, lambda: Few(6), n) for n in (1, 2))
    assert many.model.probabilities is None and not hasattr(many.model, "last")
    for a, b in zip(one.model.parameters(), many.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_nothing_to_train():
    trainer = train(mlp, lambda: Few(6), 2, epochs=0)
    assert isinstance(trainer.optim, torch.optim.SGD)
    assert trainer.model.board.data == {}


def test_points_are_drawn_by_the_caller_while_the_ranks_train(monkeypatch):
    drawn = []
    draw = d2l.ProgressBoard.draw

    def note(board, *args, **kwargs):
        drawn.append(args[2])
        draw(board, *args, **kwargs)

    monkeypatch.setattr(d2l.ProgressBoard, "draw", note)
    trainer = train(mlp, lambda: Few(6), 2, epochs=3)
    expected = 3 * (4 * ["train_loss"] + 2 * ["val_loss", "val_acc"])
    assert drawn == expected
    values = list(chain(*trainer.model.board.data.values()))
    assert all(isinstance(point.y, float) for point in values)


def test_several_cpus_need_no_gpu_and_more_gpus_than_there_are_warn():
    if d2l.num_gpus() == 0:
        with pytest.warns(UserWarning, match="num_gpus=2, but this machine has no GPU"):
            trainer = d2l.Trainer(1, num_gpus=2)
        assert trainer.devices == [d2l.cpu()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert d2l.Trainer(1).devices == [d2l.cpu()]


# Mistakes of a user


def test_error_of_a_model_names_the_line(capfd):
    class Broken(d2l.MLP):
        def training_step(self, batch):
            raise ValueError("this model is broken")

    with pytest.raises(
        RuntimeError, match="raised ValueError: this model is broken"
    ) as e:
        train(lambda: Broken(10, 4, 0.1), lambda: Few(6), 2)
    assert 'raise ValueError("this model is broken")' in "".join(e.value.__notes__)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            [torch.ones(4, 64), ["a", "b", "c", "d"]],
            "it consists of arrays; .* contains 'a'",
        ),
        ([torch.ones(4, 64), torch.tensor(3)], r"contains tensor\(3\)"),
        ([torch.ones(4, 64), torch.ones(3).long()], "lengths of this one are 4, 3"),
    ],
)
def test_minibatch_that_cannot_be_divided(batch, message):
    class Odd(d2l.DataModule):
        def get_dataloader(self, train):
            return [batch]

    with pytest.raises(RuntimeError, match=message):
        train(mlp, Odd, 2)


def test_trainer_with_a_loop_of_its_own_is_refused():
    trainer = models_pytorch.OwnLoop(1)
    trainer.devices = d2l.try_devices(2)
    with pytest.raises(
        RuntimeError, match="fit_epoch of your own must call train_step"
    ):
        trainer.fit(d2l.LinearRegressionScratch(2, 0.1), models_pytorch.regression())


def test_rank_killed_at_a_random_step():
    class Killed(d2l.MLP):
        def training_step(self, batch):
            if self.trainer.train_batch_idx == self.last and dist.get_rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().training_step(batch)

    for last in random.sample(range(8), 3):
        model = Killed(10, 8, 0.1)
        model.last = last
        with pytest.raises(RuntimeError, match="rank 1 of 2 was killed by SIGKILL"):
            train(lambda: model, lambda: Few(6), 2)  # noqa: B023


# Other ways to start ranks

SCRIPT = """
import os, sys, torch
from d2l import tables
from d2l import torch as d2l

class Model(d2l.MLP):
    pass

if len(sys.argv) > 1:
    sys.modules["d2l.torch"].num_gpus = lambda: 1  # a GPU forbids a fork
torch.manual_seed(1)
model, trainer = Model(10, 16, 0.05), d2l.Trainer(max_epochs=2)
trainer.devices = [d2l.cpu()] * len(sys.argv)
trainer.fit(model, d2l.Digits(batch_size=100))
if trainer.ranks.rank == 0:
    total = sum(p.double().sum() for p in model.parameters()).item()
    print(trainer.ranks.size, total, model.board.data["val_acc"][-1].y, flush=True)
os._exit(0)  # gloo sometimes aborts a normal exit
"""


@pytest.mark.parametrize(
    ("launcher", "options", "num_ranks"),
    [
        (["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"], [], 2),
        ([], ["new interpreters"], 1),  # the caller is no rank
    ],
)
def test_script_with_ranks_that_are_not_forked(tmp_path, launcher, options, num_ranks):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    printed = subprocess.check_output(
        [sys.executable, *launcher, str(script), *options],
        env=os.environ | variables | {"OMP_NUM_THREADS": "1"},
        text=True,
    ).split()
    one = train(lambda: d2l.MLP(10, 16, 0.05), lambda: d2l.Digits(100))
    total = sum(p.double().sum() for p in one.model.parameters()).item()
    accuracy = one.model.board.data["val_acc"][-1].y
    assert int(printed[0]) == num_ranks
    assert abs(float(printed[1]) - total) < 1e-4
    assert abs(float(printed[2]) - accuracy) < 1e-6


def test_objects_of_a_class_of_a_script_return_from_forked_ranks(tmp_path):
    script = tmp_path / "point.py"
    script.write_text(
        "from d2l import torch as d2l\n"
        "class Point:\n"
        "    x = 3\n"
        "print([point.x for point in d2l.launch(Point, 2)])\n"
    )
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    printed = subprocess.check_output(
        [sys.executable, str(script)], env=os.environ | variables, text=True
    )
    assert printed == "[3, 3]\n"


def test_what_ranks_print_reaches_a_file(tmp_path):
    script = tmp_path / "print.py"
    script.write_text(
        "from d2l import torch as d2l\n"
        "from torch import distributed as dist\n"
        "d2l.launch(lambda: print('rank', dist.get_rank()), 2)\n"
    )
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    others = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    printed = subprocess.check_output(
        [sys.executable, str(script)], env=others | variables, text=True
    )
    assert sorted(printed.splitlines()) == ["rank 0", "rank 1"]
