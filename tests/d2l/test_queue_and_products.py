"""The queue of a device, and whether a product is worth moving to one."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.shared

ROOT = Path(__file__).parents[2]


# The queue


def closed_form(n, k, h, d, c):
    """The end of `n` steps as the chapter derives it."""

    def block(steps):
        return steps * max(h, d) + min(h, d) if steps else 0

    blocks, rest = divmod(n, k) if k else (0, n)
    return blocks * (block(k) + c) + block(rest)


STEPS = [(n, k) for n in (1, 2, 7, 12) for k in (0, 1, 3, 12, 20)]
TIMES = [(44e-6, 2.5e-3, 1e-5), (3, 1, 2), (1, 3, 0), (2, 2, 1), (0, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize("times", TIMES)
def test_queue_ends_as_the_formula_says(d2l, times):
    for n, k in STEPS:
        *_, end = d2l.queue_times(n, k, *times)
        assert end == pytest.approx(closed_form(n, k, *times))


def apart(spans):
    """Whether spans are in order and do not overlap."""
    flat = [time for span in spans for time in span]
    return flat == sorted(flat)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("k", [0, 1, 3, 20])
def test_queue_makes_sense(d2l, k, times, n=7):
    host, waits, device, end = d2l.queue_times(n, k, *times)
    fetched = [device[i][1] for i in range(n) if k and (i + 1) % k == 0]
    assert len(host) == n + len(fetched) and len(device) == n
    assert apart(device) and apart(sorted(host + waits))
    assert [e - s for s, e in device] == pytest.approx([times[1]] * n)
    assert [stop for _, stop in waits] == fetched
    assert {(stop, stop + times[2]) for stop in fetched} <= set(host)
    assert end == max(host[-1][1], device[-1][1])


def test_queue_step_by_step(d2l):
    host, waits, device, end = d2l.queue_times(3, 2, 1, 3, 2)
    assert host == [(0, 1), (1, 2), (7, 9), (9, 10)]
    assert waits == [(2, 7)]
    assert device == [(1, 4), (4, 7), (10, 13)]
    assert end == 13


def test_queue_of_the_cited_products(d2l):
    host, _, _, end = d2l.queue_times(32, 0, 1.4e-3 / 32, 80e-3 / 32, 1e-5)
    assert host[-1][1] == pytest.approx(1.4e-3)
    assert end == pytest.approx(80e-3, rel=1e-3)


def test_queue_of_nothing(d2l):
    assert d2l.queue_times(0, 1, 1, 1, 1) == ([], [], [], 0)


@pytest.mark.parametrize("wrong", range(5))
def test_queue_refuses_what_is_negative(d2l, wrong):
    arguments = [4, 2, 1.0, 1.0, 1.0]
    arguments[wrong] *= -1
    with pytest.raises(ValueError, match="must not be negative"):
        d2l.queue_times(*arguments)


# Products


MACHINE = {
    "itemsize": 4,
    "cpu_rate": 7.168e12,
    "gpu_rate": 66.9e12,
    "link_bandwidth": 64e9,
    "memory_bandwidth": 3.35e12,
    "copy_latency": 1e-5,
    "launch_time": 14e-6,
    "num_products": 1,
}


def test_products_by_hand(d2l):
    # 16 operations and 3 * 4 numbers of 4 bytes
    times = d2l.product_times(2, 4, 8, 4, 24, 48, 0.5, 0.25, 3)
    assert times == (3 * 16 / 8, 3 * 0.5 + 48 / 24, 3 * (max(16 / 4, 48 / 48) + 0.25))
    *_, gpu = d2l.product_times(2, 4, 8, 4, 24, 6, 0.5, 0.25, 3)
    assert gpu == 3 * (48 / 6 + 0.25)  # the memory of the GPU is what takes longer


def test_moving_pays_for_large_products_only(d2l):
    cpu, copies, gpu = d2l.product_times(256, **MACHINE)
    assert cpu < copies + gpu
    cpu, copies, gpu = d2l.product_times(4096, **MACHINE)
    assert gpu < copies < cpu / 5


def test_the_defaults_are_those_of_the_section(d2l):
    assert d2l.product_times(300) == d2l.product_times(300, **MACHINE)


def test_copies_do_not_depend_on_how_many_products(d2l):
    one = d2l.product_times(512, **MACHINE)
    ten = d2l.product_times(512, **MACHINE | {"num_products": 10})
    assert ten == pytest.approx((10 * one[0], one[1], 10 * one[2]))


@pytest.mark.parametrize("sign", [0, -1])
@pytest.mark.parametrize("name", [*list(MACHINE)[:5], "n"])
def test_products_refuse_what_is_not_positive(d2l, name, sign):
    with pytest.raises(ValueError, match="must be positive"):
        d2l.product_times(**{"n": 8, **MACHINE, name: sign})


@pytest.mark.parametrize("name", list(MACHINE)[5:])
def test_products_refuse_what_is_negative(d2l, name):
    with pytest.raises(ValueError, match="must not be negative"):
        d2l.product_times(8, **MACHINE | {name: -1})
