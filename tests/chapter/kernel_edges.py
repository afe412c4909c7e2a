"""Try the kernels of the chapter outside of the sizes in its text, on the CPU.

    python kernel_edges.py TAB SECTION

SECTION is the module with the functions of the chapter. Prints a line for each fault.
"""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

_, tab, name = sys.argv
section = importlib.import_module(name)
if tab == "pytorch":
    import torch

    array: Callable[[np.ndarray], Any] = torch.tensor
    huge: Callable[[tuple], Any] = torch.ones(()).expand  # takes no memory
elif tab == "jax":
    import jax
    from jax import numpy as jnp
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams

    array = jnp.array
    huge = partial(jax.ShapeDtypeStruct, dtype="float32")
    vars(section)["interpreter"] = InterpretGPUParams(detect_races=True)
else:
    array = np.array


def ones(shape: tuple) -> Any:
    """Return an array of 16-bit ones."""
    return array(np.ones(shape, "float16"))


def refuses(function: Callable, *shapes: tuple, make: Callable = ones) -> None:
    """Print a line unless a function refuses arrays of some shapes in one line."""
    try:
        function(*map(make, shapes))
    except AssertionError as error:
        if str(error) and "\n" not in str(error):
            return
        print(f"{function.__name__}: the message is {error!s:.80}")
    else:
        print(f"{function.__name__} accepts {shapes}")


def expect(what: str, result: Any, exact: np.ndarray) -> None:
    """Print a line unless a result is right up to rounding."""
    if not np.allclose(np.asarray(result), exact, atol=1e-4):
        print(f"{what} is wrong")


refuses(section.add, (10,), (5,))
refuses(section.add, (5,), (10,))
refuses(section.matmul, (5, 7), (9, 3))
refuses(section.attention, (5, 8), (50, 8), (50, 8))
refuses(section.attention, (5, 8), (5, 8), (5, 4))
refuses(section.attention, *[(0, 8)] * 3)
refuses(section.softmax, (5, 0))
refuses(section.softmax, (5, 7), make=lambda shape: array(np.ones(shape, "int32")))
if tab != "pytorch":  # Triton adds and multiplies empty arrays.
    refuses(section.add, (0,), (0,))
    refuses(section.matmul, (0, 7), (7, 3))
if tab in ("mxnet", "tensorflow"):

    def narrow_blocks(A: Any, B: Any) -> Any:
        return section.matmul(A, B, T=20, W=8)

    refuses(narrow_blocks, (5, 7), (7, 3))

if tab in ("pytorch", "jax"):
    refuses(section.add, *[(2**31,)] * 2, make=huge)
    refuses(section.attention, *[(2**28, 8)] * 3, make=huge)

rng = np.random.default_rng(0)
Q, K, V = abs(rng.standard_normal((3, 70, 8), "float32"))
K[:40] = -np.inf  # all scores of the first tile
S = Q @ K[40:].T * 8**-0.5
E = np.exp(S - S.max(1, keepdims=True))
weights = E / E.sum(1, keepdims=True)
expect("a tile of -inf", section.attention(*map(array, (Q, K, V))), weights @ V[40:])

if tab == "pytorch":
    refuses(section.descriptor_matmul, (81, 97), (97, 49))
    refuses(section.descriptor_matmul, (16, 16), (32, 16))
    A, B = rng.standard_normal((81, 104)), rng.standard_normal((104, 56))
    A, B = A.astype("float16"), B.astype("float16")
    exact = A.astype("float64") @ B.astype("float64")
    expect("81 x 104 x 56", section.descriptor_matmul(array(A), array(B)), exact)
if tab == "jax":
    refuses(section.pipelined_matmul, (250, 256), (256, 128))
    refuses(section.pipelined_matmul, (256, 200), (200, 128))
    refuses(section.pipelined_matmul, (256, 256), (256, 100))
    refuses(section.pipelined_matmul, (256, 128), (256, 128))
