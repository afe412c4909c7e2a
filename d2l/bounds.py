"""Predicts single operations: a product of matrices, and an all-reduce in a ring.

The libraries of the frameworks have the same formulas in `Machine.bound` and
`ring_time`, which the sections define; `tests/d2l/test_audit.py` compares them.
"""


def product_time(
    shape: tuple[int, int, int], itemsize: float, rate: float, bandwidth: float
) -> float:
    """Return the seconds that a product takes at least.

    `shape` are the rows, the inner length and the columns, `itemsize` the bytes of a
    factor's value; those of the product have 2. `rate` is in FLOP/s, and `bandwidth`
    in B/s.
    """
    rows, inner, columns = shape
    factors = itemsize * (rows * inner + inner * columns)
    nbytes = factors + 2 * rows * columns
    return max(2 * rows * inner * columns / rate, nbytes / bandwidth)


def ring_time(nbytes: float, n: int, latency: float, bandwidth: float) -> float:
    """Return the seconds that a ring of `n` devices needs to add up arrays.

    `latency` (s) and `bandwidth` (B/s) are those of a message to a neighbor.
    """
    return 2 * (n - 1) * (latency + nbytes / n / bandwidth)


def bus_bandwidth(nbytes: float, seconds: float, n: int) -> float:
    """Return the bus bandwidth of an all-reduce in B/s, as nccl-tests defines it."""
    return 2 * (n - 1) / n * nbytes / seconds
