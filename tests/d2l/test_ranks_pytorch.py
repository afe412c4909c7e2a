"""Ranks of what only PyTorch has: copies of a process, collectives, DDP."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined,override"

import os
import subprocess
import sys
import time
import warnings
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any

import models_pytorch
import numpy as np
import pytest
import torch
from frameworks import PyTorch
from test_checkpoints_pytorch import AugmentedDigits
from torch import distributed as dist
from torch import nn
from training import assert_equal, curves, run

from d2l import torch as d2l

FW = PyTorch()


# Processes that are copies of this one


class Few(d2l.DataModule):
    """A few digits, in minibatches of a given size, shuffled by PyTorch's generator."""

    def __init__(self, batch_size, num_train=20, num_val=11):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.X, self.y = digits.X, digits.y

    def get_dataloader(self, train):
        n = self.num_train
        rows = slice(0, n) if train else slice(n, n + self.num_val)
        return self.get_tensorloader((self.X, self.y), train, rows)


def mlp():
    return FW.model(16, "relu", 10)


def train(model, data, n=1, epochs=2, **settings):
    """Return a trainer that has trained a model on `n` ranks, from the same seeds."""
    devices = [d2l.cpu()] * n
    return run(FW, model, data, epochs=epochs, devices=devices, **settings)


def compare(model, data, n=2, tolerance=1e-6, **settings):
    """Check that `n` ranks train as one device does; return their trainer."""
    one, many = (train(model, data, k, **settings) for k in (1, n))
    assert_equal(FW, one, many, tolerance)
    return many


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


# Hand-written collectives


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["star_all_reduce", "ring_all_reduce"])
def test_all_reduce_by_hand(name, n):
    arrays = [torch.randn(n, *shape) for shape in [(1,), (2,), (7,), (1001,), (3, 5)]]

    def sums():
        own = [array[dist.get_rank()] for array in arrays]
        return [(x, getattr(d2l, name)(x)) for x in own]

    for array, results in zip(
        arrays, zip(*d2l.launch(sums, n), strict=True), strict=True
    ):
        found, traffic = zip(*results, strict=True)
        assert torch.allclose(found[0], array.sum(0), atol=1e-5)
        assert all(torch.equal(x, found[0]) for x in found)
        sent, received = np.array(traffic).T
        size = array[0].numel()
        assert sent.sum() == received.sum() == 2 * (n - 1) * 4 * size
        if name == "ring_all_reduce":
            assert sent.max() <= 2 * (n - 1) * 4 * -(-size // n)


# Collectives that are counted


NUMBERS = 1000


def call_each():
    """Call each kind of collective operation on arrays of known sizes."""
    size = dist.get_world_size()
    x, part = torch.ones(NUMBERS), torch.ones(NUMBERS // size)
    dist.all_reduce(x)
    dist.all_reduce(x.double())
    dist.all_gather_into_tensor(x, part)
    dist.reduce_scatter_tensor(part, x)
    dist.all_gather([torch.empty_like(x) for _ in range(size)], x)


def test_kinds_and_bytes_are_those_of_whole_arrays():
    for collectives in d2l.launch(lambda: d2l.count_collectives(call_each), 2):
        found = {c.kind: (c.count, c.nbytes) for c in collectives}
        assert found["all-reduce"] == (2, 4 * NUMBERS + 8 * NUMBERS)
        assert found["reduce-scatter"] == (1, 4 * NUMBERS)
        assert found["all-gather"][0] == 2


def test_collectives_of_the_backward_pass_count():
    def count():
        net = nn.parallel.DistributedDataParallel(nn.Linear(10, 5))
        return d2l.count_collectives(lambda: net(torch.ones(2, 10)).sum().backward())

    expected = [d2l.Collective("all-reduce", 1, 4 * 55)]
    assert d2l.launch(count, 2) == [expected] * 2


def test_without_collectives_there_is_nothing():
    assert d2l.count_collectives(lambda: torch.ones(3) @ torch.ones(3)) == []


def test_prediction_of_buckets():
    spans = d2l.schedule_buckets([1, 2, 10], [4, 4, 4], 1, 2)
    assert spans == [(1, 4), (4, 7), (10, 13)]
    assert d2l.ring_time(8, 4, 0.5, 2) == 2 * 3 * (0.5 + 1)
    assert d2l.bus_bandwidth(8, d2l.ring_time(8, 4, 0, 2), 4) == 2
    assert d2l.scaling_efficiency(3, 8, 4, 0, 2) == 3 / 9
    assert d2l.scaling_efficiency(3, 8, 4, 0, 2, hidden=1) == 1


# The Trainer


def test_uneven_minibatches(capfd):
    """The last minibatch to validate on is smaller than 4."""
    compare(mlp, lambda: Few(9, 26), 4)
    assert "Warning" not in capfd.readouterr().err  # of unused parameters, for example


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


class Noticing(d2l.MLP):
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
    compared, first, second = (first[:2], second[:2]), first[2:], second[2:]
    assert compared == (alone[:2], alone[:2])  # before the first step, in all ranks
    assert len(first) == len(second) == 90
    assert not {*noise} & {*other} and len({*noise}) == 90  # ranks draw other numbers
    assert torch.equal(state, same)
    for i in range(0, 80, 20):  # the same examples in each minibatch as on one device
        share = slice(i // 2, i // 2 + 10)  # later, the noise changes the order
        assert {*first[share]} | {*second[share]} == {*alone[i : i + 20]}


class Divided(d2l.DataModule):
    """Digits in an order of each rank's own, or a sampler that divides them."""

    def __init__(self, kind: str):
        self.kind = kind

    def get_dataloader(self, train: bool) -> Any:
        digits, rank = d2l.Digits(), dist.get_rank()
        order = torch.arange(40).roll(rank if self.kind == "order" else 0)
        pairs = torch.utils.data.TensorDataset(digits.X[order], digits.y[order])
        sampler = None
        if self.kind == "sampler":
            sampler = torch.utils.data.DistributedSampler(pairs, 2, rank)
        return torch.utils.data.DataLoader(pairs, 10, sampler=sampler)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("order", "rank 1 has other examples than rank 0 in the first minibatch"),
        ("sampler", "rank 1 draws other examples than rank 0, .*; use no sampler that"),
    ],
)
def test_ranks_that_do_not_share_the_same_minibatches(kind, message):
    def train_divided():
        warnings.filterwarnings("error", message="rank 1")
        d2l.Trainer(1).fit(mlp(), Divided(kind))

    with pytest.raises(RuntimeError, match=message):
        d2l.launch(train_divided, 2)


class Short(list):
    """Minibatches of which rank 1 has one less than it says."""

    def __iter__(self) -> Any:
        return iter(self[: 3 - dist.get_rank()])


def test_a_loader_with_a_wrong_length_is_named():
    class Wrong(d2l.DataModule):
        def get_dataloader(self, train: bool) -> Any:
            digits = d2l.Digits()
            return Short([(digits.X[:4], digits.y[:4])] * 3)

    words = "rank 1 of 2 raised ValueError: a loader has 2 minibatches, .* length is 3"
    with pytest.raises(RuntimeError, match=words):
        d2l.launch(lambda: d2l.Trainer(1).fit(mlp(), Wrong()), 2)


@pytest.mark.parametrize(("workers", "stay"), [(0, False), (2, False), (2, True)])
def test_a_loader_with_workers_gives_the_same_minibatches(workers, stay):
    options = {"num_workers": workers, "persistent_workers": stay}
    data = partial(AugmentedDigits, noise=False, **options)
    one, many = (train(mlp, data, k) for k in (1, 2))
    AugmentedDigits.end_workers()
    assert_equal(FW, one, many, 1e-6)


def test_compiled_model():
    compare(mlp, lambda: Few(10, 20, 20), epochs=1, compiled=True)


class Unused(d2l.MLP):
    """A model with parameters that have no part in the loss."""

    def __init__(self):
        super().__init__(10, 16, 0.05)
        self.unused = nn.Linear(3, 3)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01, weight_decay=0.5)


def test_parameters_without_a_gradient_do_not_change():
    with pytest.raises(RuntimeError, match="find_unused_parameters=True"):
        train(Unused, lambda: Few(7), 2)
    many = compare(Unused, lambda: Few(7), 2, 1e-5, find_unused_parameters=True)
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


class Sleeping(d2l.MLP):
    """A model that sleeps in rank 1."""

    def training_step(self, batch):
        if dist.get_rank() == 1 and self.trainer.train_batch_idx == 1:
            self.sleep()
        return super().training_step(batch)

    def sleep(self):
        time.sleep(500)


@pytest.mark.slow
def test_a_hang_of_fit_names_the_rank_that_sleeps_and_shows_where():
    text = "rank 1 of 3 did not take part in a collective operation; rank [02] raised"
    with pytest.raises(TimeoutError, match=text) as caught:
        train(lambda: Sleeping(10, 16, 0.1), lambda: Few(10), 3, timeout=8)
    notes = caught.value.__notes__
    assert notes[0].startswith("Rank 1:") and "in sleep" in notes[0]
    assert sorted(note[:7] for note in notes[1:]) == ["Rank 0:", "Rank 2:"]
    assert all("in compute_gradients" in note for note in notes[1:])


@pytest.mark.parametrize("value", [0, -1, "10", None, float("inf"), float("nan"), 1e10])
def test_a_timeout_is_a_number_of_seconds(value):
    with pytest.raises(ValueError, match="timeout must be a number over 0 and at most"):
        d2l.Trainer(1, timeout=value)


# (GPUs that a rank sees, its LOCAL_RANK, trainer's number of GPUs, its own GPU)
VISIBLE = [
    (1, "3", 1, 0),  # Slurm or Kubernetes shows each rank one GPU
    (1, None, 1, 0),  # only RANK is known
    (8, "3", 8, 3),
    (8, "3", 1, 3),
    (4, "1", 2, 1),
    (8, "3", 0, None),
]


@pytest.mark.parametrize(("visible", "local", "num_gpus", "own"), VISIBLE)
def test_a_rank_uses_its_own_gpu_and_nccl(monkeypatch, visible, local, num_gpus, own):
    seen: dict = {}
    variables = {"RANK": "11", "WORLD_SIZE": "16", "MASTER_ADDR": "a"}
    monkeypatch.setattr(dist, "is_initialized", lambda: bool(seen))
    monkeypatch.setattr(dist, "get_rank", lambda: 11)
    monkeypatch.setattr(dist, "get_world_size", lambda: 16)
    monkeypatch.setattr(d2l, "Ranks", lambda *place: place)
    for name, value in {**variables, "MASTER_PORT": "1", "LOCAL_RANK": local}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(d2l, "num_gpus", lambda: visible)
    monkeypatch.setattr(d2l, "accelerator", lambda: "cuda")
    monkeypatch.setattr(torch.cuda, "set_device", lambda own: seen.update(set=own))
    monkeypatch.setattr(
        dist, "init_process_group", lambda kind, **rest: seen.update(rest, kind=kind)
    )
    trainer: Any = d2l.Trainer(1, timeout=7)
    devices = [torch.device("cuda", i) for i in range(num_gpus)] or [d2l.cpu()]
    vars(trainer)["devices"] = devices
    d2l.find_ranks(trainer)
    assert seen["timeout"] == timedelta(seconds=7)
    if own is None:
        assert seen["kind"] == "gloo" and "device_id" not in seen
        assert trainer.ranks == (11, 16, d2l.cpu())
    else:
        assert seen["kind"] == "cpu:gloo,cuda:nccl"
        assert seen["set"] == seen["device_id"] == torch.device("cuda", own)
        assert trainer.ranks == (11, 16, trainer.device) == (11, 16, seen["set"])


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
        return curves(trainer)["train_mask"][:, 1], torch.rand(1), seen

    (same, state, order), (curve, other, others) = d2l.launch(masks, 2, 2)
    assert np.array_equal(same, curve) and len(set(curve)) == len(curve) == 4
    assert torch.equal(state, other) and all(map(torch.equal, order, others))
    assert 0 < curve.std() < 0.29  # the mean of two has a smaller deviation


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


OPTIMIZERS = {
    "SGD": partial(torch.optim.SGD, lr=0.1),
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "Adam": partial(torch.optim.Adam, lr=0.01),
}


class Scaled(d2l.MLP):
    """A classifier whose inputs a plain tensor multiplies, trained or not, or none."""

    def __init__(self, kind, optimizer):
        super().__init__(10, 16, 0.1)
        self.make = OPTIMIZERS[optimizer]
        scale = torch.rand(64, requires_grad=kind == "scratch")
        self.scales = [] if kind == "none" else [scale]

    def forward(self, X):
        return super().forward(X * self.scales[0] if self.scales else X)

    def configure_optimizers(self):
        return self.make([*self.parameters(), *self.get_scratch_params()])


def straight_and_resumed(kinds, folder):
    """Yield the tensors after a whole run, and after one that a new model continues."""

    def fit(seed, epochs, **options):
        torch.manual_seed(seed)
        model = Scaled(kind, name)
        d2l.Trainer(epochs).fit(model, Few(10), **options)
        return {k: t.detach().clone() for k, t in d2l.model_tensors(model).items()}

    for kind in kinds:
        for name in OPTIMIZERS:
            place = folder / f"{kind} {name}"
            straight = fit(0, 2)
            fit(0, 1, checkpoint_dir=place)
            yield kind, name, straight, fit(1, 2, checkpoint_dir=place)


@pytest.mark.parametrize(
    "n, kinds", [(1, ["plain", "scratch", "none"]), (2, ["plain", "none"])]
)
def test_each_kind_of_tensor_and_optimizer_is_saved(tmp_path, n, kinds):
    def runs():
        return [*straight_and_resumed(kinds, tmp_path)]

    for found in d2l.launch(runs, n, timeout=200):
        assert len(found) == len(kinds) * len(OPTIMIZERS)
        for kind, name, straight, resumed in found:
            assert straight.keys() == resumed.keys()
            for key in straight:
                assert torch.equal(straight[key], resumed[key]), (kind, name, key)


def test_the_caller_of_resumed_ranks_gets_their_plain_tensors(tmp_path):
    def scale(epochs, seed):
        model = partial(Scaled, "plain", "Adam")
        options = {"epochs": epochs, "seed": seed, "folder": tmp_path}
        return train(model, partial(Few, 10), 2, **options).model.scales[0]

    first, resumed = scale(1, seed=1), scale(2, seed=2)
    assert torch.equal(first, resumed)


def test_ranks_validate_the_model_that_fit_returns():
    trainer = train(lambda: FW.model(16, "norm", 10), lambda: Few(10, 20, 10), 2)
    digits, model = Few(10, 20, 10), trainer.model
    loss = model.loss(model(digits.X[20:30]), digits.y[20:30])
    assert trainer.model.board.data["val_loss"][-1].y == pytest.approx(loss.item())


def test_random_state_afterwards_is_that_of_one_device():
    numbers = []
    for n in 1, 3:
        train(mlp, lambda: d2l.Digits(300), n)
        numbers.append(torch.rand(3))
    assert torch.equal(*numbers)


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


class Sharing(d2l.Classifier):
    """A model whose first layer gets the weight of another one in each step."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 10), nn.Linear(64, 64)
        self.lr, self.shared, self.probabilities = 0.1, [None], None

    def forward(self, X):
        vars(self.first)["shared"] = self.second.weight
        return self.first(torch.tanh(nn.functional.linear(X, self.first.shared)))


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


@pytest.mark.parametrize("model", [Sharing, Keeping])
def test_models_that_keep_tensors_in_attributes(model):
    """One gives a layer another name of a weight, one keeps what it has computed."""
    settings = {"find_unused_parameters": model is Sharing}
    one, many = (train(model, lambda: Few(6), n, **settings) for n in (1, 2))
    assert many.model.probabilities is None and not hasattr(many.model, "last")
    for a, b in zip(one.model.parameters(), many.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_trainer_with_a_loop_of_its_own_is_refused():
    trainer = models_pytorch.OwnLoop(1)
    trainer.devices = d2l.try_devices(2)
    with pytest.raises(
        RuntimeError, match="fit_epoch of your own must call train_step"
    ):
        trainer.fit(d2l.LinearRegressionScratch(2, 0.1), models_pytorch.regression())


# Other ways to start ranks


SCRIPT = """
import sys
from torch import distributed as dist
from d2l import torch as d2l
if len(sys.argv) > 1:
    sys.modules["d2l.torch"].num_gpus = lambda: 1  # a GPU forbids a fork
class Point:
    x = 3
d2l.launch(lambda: print(f"rank{dist.get_rank()}"), 2)
print([point.x for point in d2l.launch(Point, 2)])
"""


@pytest.mark.parametrize("arguments", [[], ["new interpreters"]])
def test_objects_of_a_script_and_what_ranks_print_reach_the_caller(tmp_path, arguments):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    others = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    words = subprocess.check_output(
        [sys.executable, script, *arguments],
        env=others | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
    ).split()
    assert sorted(words[:2]) == ["rank0", "rank1"] and words[2:] == ["[3,", "3]"]
