"""Code that runs only where there is a GPU, with stand-ins for what it calls."""

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from frameworks import PyTorch
from training import assert_equal, parts, run

from d2l import torch as d2l

FW = PyTorch()
GPUS = [torch.device("cuda", i) for i in range(2)]


@pytest.mark.slow
def test_ranks_train_alike_in_new_interpreters(monkeypatch):
    """A process that uses a GPU cannot be copied."""
    assert d2l.can_fork()
    FW.pretend(monkeypatch, torch.device("meta"))
    assert not d2l.can_fork()
    model, data = partial(FW.model, 8, "relu", 10), partial(parts, FW, 7, 3)
    one, two = (run(FW, model, data, devices=[d2l.cpu()] * n) for n in (1, 2))
    assert_equal(FW, two, one, 2e-6)


def test_the_random_numbers_of_a_ranks_gpu_are_its_own(monkeypatch):
    forked = []

    def fork(devices):
        forked.append(devices)
        return nullcontext()

    monkeypatch.setattr(torch.random, "fork_rng", fork)
    rank: Any = SimpleNamespace(seed=1, rank=0, device=GPUS[1])
    with torch.random.fork_rng([]), d2l.Ranks.own_randomness(rank, 2):
        pass
    assert forked == [[], [GPUS[1]]]


def test_checkpoints_have_the_random_state_of_the_gpu(monkeypatch):
    kept: list = []
    module = SimpleNamespace(get_rng_state=lambda: "state", set_rng_state=kept.append)
    monkeypatch.setattr(torch, "get_device_module", lambda: module)
    checkpoints: Any = d2l.Checkpoints.__new__(d2l.Checkpoints)
    checkpoints.loader = []
    checkpoints.trainer = SimpleNamespace(val_dataloader=None)
    assert "gpu" not in checkpoints.random_state()
    FW.pretend(monkeypatch, torch.device("meta"))
    state = checkpoints.random_state()
    checkpoints.set_random_state(state)
    assert state["gpu"] == "state" and kept == ["state"]


def test_a_kernel_runs_on_the_gpu_of_its_arguments():
    class Kernel(dict):
        def __missing__(self, grid):
            return lambda *args, **constants: started.append((grid, args, constants))

    started: list = []
    x = SimpleNamespace(is_cuda=True)
    d2l.run_kernel(Kernel(), (4,), x, 8, T=128)
    assert started == [((4,), (x, 8), {"T": 128})]
