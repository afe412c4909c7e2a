"""Definitions of the sections on performance and kernels that the figures repeat.

A test takes a definition from `d2l/torch.py` if it is there, and otherwise from here.
Delete this file when both sections have saved their definitions in the library.
"""

from collections import namedtuple
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Machine:
    """The peaks of a device, measured or from a data sheet.

    `rates` are FLOP/s of matrix products by type, such as 'float32'.
    `bandwidth` is that of its memory in B/s, and `overhead` is the host's time
    per operation in seconds. `spread` is the largest relative difference
    between a median measurement and a peak.
    """

    name: str
    rates: dict[str, float]
    bandwidth: float
    overhead: float = 0.0
    spread: float = 0.0

    def bound(
        self, flops: float, nbytes: float, dtype: str = "float32", launches: int = 1
    ) -> float:
        """Return the seconds that work takes at least."""
        return max(
            flops / self.rates.get(dtype, self.rates["float32"]),
            nbytes / self.bandwidth,
            launches * self.overhead,
        )

    def predict(self, operations: Iterable) -> float:
        """Return the sum of the bounds of several operations, in seconds."""
        return sum(self.bound(op.flops, op.nbytes, op.dtype) for op in operations)

    def ridge(self, dtype: str = "float32") -> float:
        """Return the FLOPs per byte above which arithmetic is the limit."""
        return self.rates[dtype] / self.bandwidth

    def __str__(self) -> str:
        rates = ", ".join(
            f"{name} {rate / 1e9:,.3g}" for name, rate in self.rates.items()
        )
        return (
            f"{self.name}: products in GFLOP/s: {rates}; "
            f"memory {self.bandwidth / 1e9:,.3g} GB/s; "
            f"{1e6 * self.overhead:.1f} µs per operation; "
            f"spread {100 * self.spread:.0f} percent"
        )


GPULimits = namedtuple(
    "GPULimits", "capability processors warps blocks shared bandwidth"
)


GPU_LIMITS = {
    "T4": GPULimits(75, 40, 32, 16, 64 * 1024, 320e9),
    "V100": GPULimits(70, 80, 64, 32, 96 * 1024, 900e9),
    "A100": GPULimits(80, 108, 64, 32, 164 * 1024, 2.04e12),
    "H100": GPULimits(90, 132, 64, 32, 228 * 1024, 3.35e12),
    "B200": GPULimits(100, 148, 64, 32, 228 * 1024, 7.7e12),
}


def wave_efficiency(programs: int, processors: int) -> float:
    """Return the share of the processors that is busy, one program on each."""
    return programs / (processors * -(-programs // processors))


def occupancy(
    limits: GPULimits, num_warps: int, registers: int, shared: int = 0
) -> float:
    """Return the share of the warps of an SM that is in use, from 0 to 1.

    A block has `num_warps` warps and `shared` bytes of shared memory, and each
    of its threads has `registers`.
    """
    per_warp = -(-32 * registers // 256) * 256
    reserved = 1024 if limits.capability >= 80 else 0
    blocks = min(
        4 * (16384 // per_warp) // num_warps,
        limits.shared // max(shared + reserved, 1),
        limits.warps // num_warps,
        limits.blocks,
    )
    return blocks * num_warps / limits.warps
