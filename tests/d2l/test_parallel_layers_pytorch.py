"""The expert layer of the section on model parallelism with an unusual gate.

The section itself compares its layers with those of one rank.
"""

import ast
import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

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


def test_all_tokens_may_choose_one_expert():
    """Its rank computes all of them, and the others compute none."""

    def compare():
        torch.manual_seed(1)  # all ranks have the same expert
        gate, expert = nn.Linear(8, 3), nn.Linear(8, 8)
        X = torch.randn(7, 8, requires_grad=True)
        nn.init.zeros_(gate.weight)
        nn.init.constant_(gate.bias[1], 9)
        Y, count = CELLS["expert_layer"](X, gate, expert)
        Y.square().sum().backward()
        expected = gate(X).softmax(1)[:, 1:2] * expert(X)
        grads = torch.autograd.grad(expected.square().sum(), (X, gate.weight))
        pairs = (Y, expected), (X.grad, grads[0]), (gate.weight.grad, grads[1])
        return count, all(torch.allclose(a, b, atol=1e-4) for a, b in pairs)

    assert d2l.launch(compare, 3) == [(0, True), (21, True), (0, True)]
