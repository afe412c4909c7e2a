"""Times the kernels of the PyTorch tab beside PyTorch's operations; see `pairs.py`."""

from functools import partial
from types import ModuleType

import pairs
import torch
from torch.nn import functional as F

from d2l.tables import stored_turns


def cases(
    kernels: ModuleType, sizes: pairs.Sizes, device: str = "cuda"
) -> list[pairs.Pair]:
    """Return pairs of the chapter's function and PyTorch's, on the same tensors."""

    def random(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
        return torch.randn(*shape, dtype=dtype, device=device)

    x, y = random(2, sizes.numbers, dtype=torch.float32)
    A, B = random(2, sizes.n, sizes.n)
    X = random(sizes.rows, sizes.columns, dtype=torch.float32)
    Q, K, V = random(3, sizes.positions, sizes.width)
    return [
        (partial(kernels.add, x, y, size=1024), partial(torch.add, x, y)),
        (partial(kernels.matmul, A, B, T=128), partial(torch.matmul, A, B)),
        (partial(kernels.softmax, X), partial(torch.softmax, X, 1)),
        (partial(kernels.attention, Q, K, V, T=64), partial(attention, Q, K, V)),
    ]


def products(
    kernels: ModuleType, sizes: pairs.Sizes, device: str = "cuda"
) -> dict[str, pairs.Pair]:
    """Return the product in each plan of `turns.csv`, beside PyTorch's."""
    A, B = torch.randn(2, sizes.n, sizes.n, dtype=torch.float16, device=device)
    found = {}
    for _, tile, warps, stages, _ in stored_turns():
        ours = partial(kernels.descriptor_matmul, A, B, *tile)
        if tile[2] == 32:
            ours = partial(kernels.matmul, A, B, tile[0])
        name = f"product, tiles of {' x '.join(map(str, tile))}, {warps} warps"
        found[name] = (
            partial(ours, num_warps=warps, num_stages=stages),
            partial(torch.matmul, A, B),
        )
    return found


def attention(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """Return the attention of one head, computed by PyTorch."""
    return F.scaled_dot_product_attention(*(X[None, None] for X in (Q, K, V)))[0, 0]


def main() -> None:
    """Print what was measured as JSON."""
    if not torch.cuda.is_available():
        pairs.report_no_gpu()
        return
    import triton
    from triton.testing import do_bench

    pairs.run(
        torch.cuda.get_device_name(),
        f"torch {torch.__version__}, triton {triton.__version__}",
        cases,
        torch.Tensor.cpu,
        partial(do_bench, return_mode="median"),
        more=products,
    )


if __name__ == "__main__":
    main()
