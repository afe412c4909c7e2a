"""Waves and occupancy, against numbers that NVIDIA publishes and against counting."""

import pytest

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(("threads", "share"), [(128, 0.75), (320, 0.625)])
def test_nvidias_example_of_occupancy(d2l, threads, share):
    # The CUDA C++ Best Practices Guide, on the registers of a V100, which has as many
    # registers and places for warps and blocks as an A100
    limits = d2l.gpu_limits("A100")._replace(capability=70, shared=96 * 1024)
    assert d2l.occupancy(limits, threads // 32, 37) == share


@pytest.mark.parametrize(
    ("registers", "shared", "num_warps", "share"),
    [
        (32, 0, 4, 1.0),
        (33, 0, 4, 0.75),  # 40 registers are allocated
        (255, 0, 4, 0.125),
        (255, 0, 16, 0.0),  # a block that does not fit
        (16, 0, 1, 0.5),  # as many blocks as an SM can hold
        (32, 163 * 1024, 8, 0.125),  # one block, with all of the shared memory
        (32, 82 * 1024, 8, 0.125),
        (32, 81 * 1024, 8, 0.25),  # the reserved memory counts
    ],
)
def test_each_limit_can_decide(d2l, registers, shared, num_warps, share):
    limits = d2l.gpu_limits("A100")
    assert d2l.occupancy(limits, num_warps, registers, shared) == share


def test_a_t4_holds_half_as_many_warps(d2l):
    assert d2l.occupancy(d2l.gpu_limits("T4"), 8, 64) == 1.0
    assert d2l.occupancy(d2l.gpu_limits("A100"), 8, 64) == 0.5


@pytest.mark.parametrize(
    ("programs", "share"), [(1, 1 / 132), (132, 1.0), (133, 133 / 264), (264, 1.0)]
)
def test_the_last_wave_may_be_nearly_empty(d2l, programs, share):
    assert d2l.wave_efficiency(programs, 132) == pytest.approx(share)
