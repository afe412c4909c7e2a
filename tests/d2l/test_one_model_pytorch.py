"""ResNet-18, which goes through the book: what PyTorch itself counts."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from d2l import torch as d2l


def step(model, X, y):
    F.cross_entropy(model(X), y).backward()


def test_the_flops_of_a_step_are_those_of_the_counter_of_pytorch():
    X, y = torch.randn(2, 1, 96, 96), torch.zeros(2, dtype=torch.int64)
    for checkpointing in (False, True):
        model = d2l.ResNet18(checkpointing=checkpointing)
        model(X)  # gives lazy layers their shapes
        with FlopCounterMode(display=False) as counter:
            step(model, X, y)
        counted = d2l.resnet18_operations(2, True, checkpointing)
        assert sum(op.flops for op in counted) == counter.get_total_flops()


def test_the_peak_is_that_of_the_tape_of_real_steps():
    model, (X, y) = d2l.ResNet18(), (torch.randn(4, 1, 96, 96), torch.arange(4))
    model(X)
    optimizer = model.configure_optimizers()
    with d2l.MemoryTape([*model.parameters(), *model.buffers(), X, y]) as record:
        for _ in range(2):
            optimizer.zero_grad()
            step(model, X, y)
            with torch.no_grad():
                optimizer.step()
    assert d2l.resnet18_memory(4).peak == pytest.approx(max(record.tape), rel=0.02)


def test_checkpointing_leaves_the_gradients_as_they_are():
    X, y = torch.randn(2, 1, 96, 96), torch.zeros(2, dtype=torch.int64)
    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        model = d2l.ResNet18(checkpointing=checkpointing)
        model(X[:1])
        step(model, X, y)
        gradients.append([p.grad for p in model.parameters()])
    for plain, twice in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, twice)
