"""The layers of the section on model parallelism have the right gradients.

The classes and functions are those of the section's cells, with other models.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l

SECTION = Path(__file__).parents[2] / "chapter_gpus" / "model-parallelism.md"
CELL = re.compile(r"```\{\.python \.input[^\n]*\n%%tab pytorch\n(.*?)\n```", re.S)
DEFINITIONS = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef


def definitions() -> dict[str, Any]:
    """Return what the PyTorch cells of the section import and define."""
    cells = map(ast.parse, CELL.findall(SECTION.read_text()))
    nodes = [node for cell in cells for node in cell.body]
    body = [node for node in nodes if isinstance(node, DEFINITIONS)]
    names: dict[str, Any] = {}
    exec(compile(ast.Module([*body], []), SECTION.name, "exec"), names)
    return names


CELLS = definitions()


def largest(found: Any, expected: Any) -> float:
    pairs = zip(found, expected, strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


@pytest.mark.parametrize("n", [1, 3])
def test_megatrons_pair_gives_the_gradients_of_one_rank(n):
    def compare():
        torch.manual_seed(1)
        rank = dist.get_rank()
        X, A, B = torch.randn(5, 12), torch.randn(18, 12), torch.randn(6, 18)
        own = X, A.chunk(n)[rank], B.chunk(n, 1)[rank]
        results = []
        for split, tensors in (True, own), (False, (X, A, B)):
            x, a, b = (t.detach().clone().requires_grad_() for t in tensors)
            x_in = CELLS["CopyToRanks"].apply(x) if split else x
            terms = torch.tanh(x_in @ a.T) @ b.T
            Y = CELLS["SumOfRanks"].apply(terms) if split else terms
            results.append([Y, *torch.autograd.grad(Y.pow(3).sum(), (x, a, b))])
        whole = results[1]
        whole[2], whole[3] = whole[2].chunk(n)[rank], whole[3].chunk(n, 1)[rank]
        return largest(*results), whole[1].abs().max().item()

    for error, size in d2l.launch(compare, n):
        assert error < 1e-5 * max(1, size)


@pytest.mark.parametrize(("n", "T"), [(1, 4), (2, 10), (3, 6)])
def test_ring_attention_gives_the_gradients_of_one_rank(n, T):
    def compare():
        torch.manual_seed(1)
        whole = torch.randn(3, T, 8, requires_grad=True)
        weights = torch.randn(T, 8)
        rank = dist.get_rank()
        own = whole.detach().chunk(n, 1)[rank].requires_grad_()
        out = CELLS["ring_attention"](*own)
        (out * weights.chunk(n)[rank]).sum().backward()
        Y = F.scaled_dot_product_attention(*whole[:, None], is_causal=True)[0]
        (Y * weights).sum().backward()
        assert whole.grad is not None
        expected = Y.chunk(n)[rank], whole.grad.chunk(n, 1)[rank]
        return largest((out, own.grad), expected)

    assert max(d2l.launch(compare, n)) < 1e-5


@pytest.mark.parametrize("favorite", [None, 1])
def test_experts_and_their_gate_get_the_gradients_of_one_rank(favorite):
    """All tokens may choose one expert, so that others get none."""

    def compare():
        torch.manual_seed(1)
        rank, size = dist.get_rank(), dist.get_world_size()
        gate, X = nn.Linear(8, size), torch.randn(7 * size, 8)
        if favorite is not None:
            nn.init.zeros_(gate.weight)
            with torch.no_grad():
                gate.bias[favorite] = 9
        experts = [nn.Linear(8, 8) for _ in range(size)]
        own = X.chunk(size)[rank].requires_grad_()
        Y, count = CELLS["expert_layer"](own, gate, experts[rank])
        Y.square().sum().backward()
        expert, found = experts[rank].weight.grad, [Y, own.grad, gate.weight.grad]
        gate.weight.grad = own.grad = experts[rank].weight.grad = None

        weight, choice = gate(X).softmax(1).max(1)
        whole = torch.stack([experts[i](x) for i, x in zip(choice, X, strict=True)])
        (whole * weight[:, None]).square().sum().backward()
        expected_expert = experts[rank].weight.grad
        if expert is None or expected_expert is None:
            assert count == 0 and not (choice == rank).any()
        else:
            assert torch.allclose(expert, expected_expert, atol=1e-4)
        weight, choice = gate(own).softmax(1).max(1)
        mine = torch.stack([experts[i](x) for i, x in zip(choice, own, strict=True)])
        mine = mine * weight[:, None]
        grads = torch.autograd.grad(mine.square().sum(), (own, gate.weight))
        return largest(found, [mine, *grads]), count

    errors, counts = zip(*d2l.launch(compare, 3), strict=True)
    assert max(errors) < 1e-4 and sum(counts) == 21
    assert favorite is None or counts == (0, 21, 0)
