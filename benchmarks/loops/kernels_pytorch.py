"""Times the kernels of the chapter beside PyTorch's operations, on a GPU.

    python kernels_pytorch.py MODULE ROUNDS

`benchmarks/kernels.py` starts this file. MODULE holds the functions that the section
defines. The last line that is printed is a JSON object with `gpu`, which is null if
there is none.
"""

import importlib
import json
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType

import torch
from torch.nn import functional as F

Pair = tuple[Callable, Callable]


def cases(kernels: ModuleType, device: str) -> dict[str, Pair]:
    """Return the chapter's function and PyTorch's, by name, on the same tensors."""

    def random(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
        return torch.randn(*shape, dtype=dtype, device=device)

    x, y = random(2, 2**26, dtype=torch.float32)
    A, B = random(2, 4096, 4096)
    X = random(8192, 4096, dtype=torch.float32)
    Q, K, V = random(3, 8192, 64)
    return {
        "addition, 64 M numbers, 32 bits": (
            partial(kernels.add, x, y, size=1024),
            partial(torch.add, x, y),
        ),
        "product, 4096 x 4096, 16 bits": (
            partial(kernels.matmul, A, B, T=128),
            partial(torch.matmul, A, B),
        ),
        "softmax, 8192 x 4096, 32 bits": (
            partial(kernels.softmax, X),
            partial(torch.softmax, X, 1),
        ),
        "attention, 8192 positions of width 64, 16 bits": (
            partial(kernels.attention, Q, K, V, T=64),
            partial(attention, Q, K, V),
        ),
    }


def attention(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """Return the attention of one head, computed by PyTorch."""
    return F.scaled_dot_product_attention(*(X[None, None] for X in (Q, K, V)))[0, 0]


def check(name: str, ours: Callable, theirs: Callable) -> None:
    """Raise an error if the two functions return different results."""
    expected = theirs().float()
    difference = (ours().float() - expected).abs().max() / expected.abs().max()
    if not difference < 0.01:
        raise ValueError(f"{name}: the results differ by {float(difference):.2g}")


def measure(pairs: dict[str, Pair], rounds: int) -> dict[str, list]:
    """Return the median times of both functions in milliseconds, for each round."""
    from triton.testing import do_bench

    times: dict[str, list] = {name: [] for name in pairs}
    for _ in range(rounds):
        for name, pair in pairs.items():
            times[name].append([do_bench(f, return_mode="median") for f in pair])
    return times


def main(module: str, rounds: int) -> None:
    """Print what was measured as JSON."""
    if not torch.cuda.is_available():
        print(json.dumps({"gpu": None}))
        return
    pairs = cases(importlib.import_module(module), "cuda")
    for name, pair in pairs.items():
        check(name, *pair)
    triton = importlib.import_module("triton")
    found = {
        "gpu": torch.cuda.get_device_name(),
        "versions": f"torch {torch.__version__}, triton {triton.__version__}",
        "rounds": rounds,
        "times": measure(pairs, rounds),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
