"""Times the kernels of the JAX tab beside JAX's operations; see `pairs.py`.

All functions are compiled by `jax.jit`. The attention of `jax.nn` is that of XLA, its
default, which stores the scores; cuDNN's has to be requested.
"""

import re
from functools import partial
from types import ModuleType

import jax
import numpy as np
import pairs
from jax import numpy as jnp


def cases(
    kernels: ModuleType, sizes: pairs.Sizes, dtype: str = "float16"
) -> list[pairs.Pair]:
    """Return pairs of the chapter's function and JAX's, on the same arrays.

    `dtype` is that of the product and of the attention.
    """
    random = partial(jax.random.normal, jax.random.key(0))
    x, y = random((2, sizes.numbers), "float32")
    A, B = random((2, sizes.n, sizes.n), dtype)
    X = random((sizes.rows, sizes.columns), "float32")
    Q, K, V = random((3, sizes.positions, sizes.width), dtype)
    return [
        both(partial(kernels.add, size=1024), jnp.add, x, y),
        both(partial(kernels.matmul, T=128), jnp.matmul, A, B),
        both(kernels.softmax, jax.nn.softmax, X),
        both(partial(kernels.attention, T=64), attention, Q, K, V),
    ]


def both(ours: pairs.Function, theirs: pairs.Function, *args: jax.Array) -> pairs.Pair:
    """Return two compiled functions as functions without arguments."""
    return partial(jax.jit(ours), *args), partial(jax.jit(theirs), *args)


def attention(Q: jax.Array, K: jax.Array, V: jax.Array) -> jax.Array:
    """Return the attention of one head, computed by JAX."""
    return jax.nn.dot_product_attention(*(X[:, None] for X in (Q, K, V)))[:, 0]


def gpu_name(device: jax.Device) -> str | None:
    """Return the name of a GPU that `run_kernel` compiles for, or None.

    On other devices, `run_kernel` interprets the kernels.
    """
    capability = str(getattr(device, "compute_capability", ""))
    version = re.match(r"(\d+)\.", capability)
    return device.device_kind if version and int(version[1]) >= 8 else None


def main() -> None:
    """Print what was measured as JSON."""
    gpu = gpu_name(jax.devices()[0])
    if gpu is None:
        pairs.report_no_gpu()
        return
    pairs.run(
        gpu,
        f"jax {jax.__version__}",
        cases,
        np.asarray,
        pairs.timer(jax.block_until_ready),
    )


if __name__ == "__main__":
    main()
