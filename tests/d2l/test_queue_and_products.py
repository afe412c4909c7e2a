"""The queue of a device, and whether a product is worth moving to one."""

import pytest

pytestmark = pytest.mark.shared


# The queue


def closed_form(n, k, h, d, c):
    """The end of `n` steps as the chapter derives it."""

    def block(steps):
        return steps * max(h, d) + min(h, d) if steps else 0

    blocks, rest = divmod(n, k) if k else (0, n)
    return blocks * (block(k) + c) + block(rest)


STEPS = [(n, k) for n in (0, 1, 2, 7, 12) for k in (0, 1, 3, 12, 20)]
TIMES = [(44e-6, 2.5e-3, 1e-5), (3, 1, 2), (1, 3, 0), (2, 2, 1), (0, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize("times", TIMES)
def test_queue_ends_as_the_formula_says(d2l, times):
    for n, k in STEPS:
        *_, end = d2l.queue_times(n, k, *times)
        assert end == pytest.approx(closed_form(n, k, *times))


def test_queue_step_by_step(d2l):
    host, waits, device, end = d2l.queue_times(3, 2, 1, 3, 2)
    assert host == [(0, 1), (1, 2), (7, 9), (9, 10)]
    assert waits == [(2, 7)]
    assert device == [(1, 4), (4, 7), (10, 13)]
    assert end == 13


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
    # 54 operations and 3 * 9 numbers of 4 bytes
    times = d2l.product_times(3, 4, 9, 4, 36, 54, 0.5, 0.25, 3)
    assert times == (3 * 54 / 9, 3 * 0.5 + 108 / 36, 3 * (max(54 / 4, 108 / 54) + 0.25))
    *_, gpu = d2l.product_times(3, 4, 9, 4, 36, 6, 0.5, 0.25, 3)
    assert gpu == 3 * (108 / 6 + 0.25)  # the memory of the GPU is what takes longer


def test_the_defaults_are_those_of_the_section(d2l):
    assert d2l.product_times(300) == d2l.product_times(300, **MACHINE)


@pytest.mark.parametrize("sign", [0, -1])
@pytest.mark.parametrize("name", [*list(MACHINE)[:5], "n"])
def test_products_refuse_what_is_not_positive(d2l, name, sign):
    with pytest.raises(ValueError, match="must be positive"):
        d2l.product_times(**{"n": 8, **MACHINE, name: sign})


@pytest.mark.parametrize("name", list(MACHINE)[5:])
def test_products_refuse_what_is_negative(d2l, name):
    with pytest.raises(ValueError, match="must not be negative"):
        d2l.product_times(8, **MACHINE | {name: -1})
