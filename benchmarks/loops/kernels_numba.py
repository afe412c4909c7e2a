"""Times the kernels of the MXNet and the TensorFlow tab; see `pairs.py`.

Numba's kernels get arrays that are on the GPU, and arrays for their results, so no copy
is timed. They use no tensor cores. All inputs have 32 bits, since MXNet multiplies
16-bit matrices only on a GPU, where this file has not been tested. TensorFlow rounds
32-bit matrices to TF32.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pairs
from numba import cuda


def tensorflow() -> SimpleNamespace:
    """Return TensorFlow's operations, and a function that waits for them."""
    os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # leaves memory to Numba
    import tensorflow as tf

    def attention(*inputs: Any) -> Any:
        heads = (X[None, :, None] for X in inputs)
        return tf.keras.ops.dot_product_attention(*heads)[0, :, 0]

    return SimpleNamespace(
        version=f"tensorflow {tf.__version__}",
        num_gpus=len(tf.config.list_physical_devices("GPU")),
        operations=(tf.add, tf.matmul, tf.nn.softmax, tf.function(attention)),
        array=tf.constant,
        wait=tf.test.experimental.sync_devices,
    )


def mxnet() -> SimpleNamespace:
    """Return MXNet's operations, and a function that waits for them.

    The attention consists of several operations, since MXNet has none of its own.
    """
    import mxnet
    from mxnet import np as mnp
    from mxnet import npx

    npx.set_np()

    def attention(Q: Any, K: Any, V: Any) -> Any:
        S = mnp.dot(Q, K.T) * Q.shape[1] ** -0.5
        return mnp.dot(npx.softmax(S), V)

    device = npx.gpu() if npx.num_gpus() else npx.cpu()
    return SimpleNamespace(
        version=f"mxnet {mxnet.__version__}",
        num_gpus=npx.num_gpus(),
        operations=(mnp.add, mnp.dot, npx.softmax, attention),
        array=partial(mnp.array, ctx=device),
        wait=npx.waitall,
    )


FRAMEWORKS = {"mxnet": mxnet, "tensorflow": tensorflow}


def cases(
    kernels: ModuleType, sizes: pairs.Sizes, framework: SimpleNamespace
) -> list[pairs.Pair]:
    """Return pairs of the chapter's kernel and the framework's operation."""
    rng = np.random.default_rng(0)
    inputs = (
        rng.standard_normal((2, sizes.numbers), "float32"),
        rng.standard_normal((2, sizes.n, sizes.n), "float32"),
        rng.standard_normal((1, sizes.rows, sizes.columns), "float32"),
        rng.standard_normal((3, sizes.positions, sizes.width), "float32"),
    )
    tiles = blocks(sizes.n, 64)
    scale = np.float32(sizes.width**-0.5)
    launches = (
        (kernels.add_kernel, blocks(sizes.numbers, 256), 256),
        (kernels.matmul_kernel(64, 16), (tiles, tiles), (16, 16)),
        (kernels.softmax_kernel(128, blocks(sizes.columns, 128)), sizes.rows, 128),
        (kernels.attention_kernel(sizes.width, 64), blocks(sizes.positions, 64), 64),
    )
    return [
        (
            launch(kernels.run_kernel, *chosen, arrays, *rest),
            partial(operation, *map(framework.array, arrays)),
        )
        for chosen, arrays, operation, rest in zip(
            launches, inputs, framework.operations, ((), (), (), (scale,)), strict=True
        )
    ]


def blocks(numbers: int, size: int) -> int:
    """Return the number of blocks of a size that cover some numbers."""
    return -(-numbers // size)


def launch(
    run_kernel: Callable,
    kernel: Any,
    grid: Any,
    threads: Any,
    arrays: np.ndarray,
    *rest: Any,
) -> pairs.Function:
    """Return a function that runs a kernel, on the GPU if there is one."""
    put = cuda.to_device if cuda.is_available() else np.array
    *ours, result = (put(array) for array in (*arrays, arrays[0]))

    def run() -> Any:
        run_kernel(kernel, grid, threads, *ours, result, *rest)
        return result

    return run


def to_numpy(array: Any) -> np.ndarray:
    """Return an array of Numba or of a framework as an array of NumPy."""
    for method in "copy_to_host", "asnumpy", "numpy":
        if hasattr(array, method):
            return getattr(array, method)()
    return array


def main() -> None:
    """Print what was measured as JSON."""
    framework = FRAMEWORKS[sys.argv[1]]()
    if not (cuda.is_available() and framework.num_gpus):
        pairs.report_no_gpu()
        return

    def wait(_: Any) -> None:
        framework.wait()
        cuda.synchronize()

    name = cuda.get_current_device().name
    pairs.run(
        name.decode() if isinstance(name, bytes) else name,
        framework.version,
        partial(cases, framework=framework),
        to_numpy,
        pairs.timer(wait),
        bits=32,
    )


if __name__ == "__main__":
    main()
