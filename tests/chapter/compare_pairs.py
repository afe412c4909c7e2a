"""Compare the results of the pairs that `make bench-kernels` times, on the CPU.

    python compare_pairs.py TAB FILE SECTION

FILE is the module of `benchmarks/loops` for the tab, and SECTION the module with the
functions of the chapter. The sizes are no multiples of the tiles.
"""

import importlib
import sys

import pairs

_, tab, file, section = sys.argv
loop = importlib.import_module(file)
if tab in ("mxnet", "tensorflow"):
    option = loop.FRAMEWORKS[tab]()
else:  # JAX's attention in 16 bits needs a GPU
    option = {"pytorch": "cpu", "jax": "float32"}[tab]
sizes = pairs.Sizes(numbers=1100, n=72, rows=3, columns=50, positions=70, width=16)
cases = loop.cases(importlib.import_module(section), sizes, option)
to_numpy = getattr(loop, "to_numpy", lambda array: array)
pairs.check(dict(zip(sizes.names(32), cases, strict=True)), to_numpy)
if tab == "pytorch":
    more = loop.products(importlib.import_module(section), sizes, option)
    pairs.check(more, to_numpy)
    cases += more.values()

for ours, theirs in cases:  # `check` notices a wrong result of each pair
    try:
        pairs.check({"twice": (lambda f=ours: 2 * to_numpy(f()), theirs)}, to_numpy)
    except ValueError as error:
        print(error)
