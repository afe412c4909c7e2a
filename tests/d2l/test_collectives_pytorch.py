"""`count_collectives` in PyTorch, on operations whose traffic is known."""

import torch
import torch.distributed as dist
from torch import nn

from d2l import torch as d2l

NUMBERS = 1000


def call_each() -> None:
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
    def count() -> list:
        net = nn.parallel.DistributedDataParallel(nn.Linear(10, 5))
        return d2l.count_collectives(lambda: net(torch.ones(2, 10)).sum().backward())

    expected = [d2l.Collective("all-reduce", 1, 4 * 55)]
    assert d2l.launch(count, 2) == [expected] * 2


def test_without_collectives_there_is_nothing():
    assert d2l.count_collectives(lambda: torch.ones(3) @ torch.ones(3)) == []
