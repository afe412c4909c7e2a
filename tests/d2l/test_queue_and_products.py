"""The queue of a device, and whether a product or a step is worth moving to one."""

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


# Steps


GPU = {"gpu_rate": 100, "memory_bandwidth": 10, "copy_latency": 0.5}


@pytest.mark.parametrize(
    ("needs", "longest"),
    [
        ((7, 600, 60, 5), 7),
        ((5, 800, 60, 5), 8),
        ((5, 600, 90, 5), 9),
        ((5, 600, 60, 7), 7),
    ],
)
def test_the_longest_of_four_times_follows_the_copies_of_a_step(d2l, needs, longest):
    assert d2l.gpu_step_time(*needs, **GPU) == 2 * 0.5 + longest
    assert d2l.gpu_step_time(*needs, **GPU, num_copies=0) == longest


def test_a_step_and_a_product_are_predicted_for_the_same_gpu(d2l):
    n = 1024
    _, copies, gpu = d2l.product_times(n, launch_time=14e-6)
    flops, nbytes = 2 * n**3, 3 * n**2 * 4
    alone = d2l.gpu_step_time(0, flops, nbytes, num_copies=0)
    assert alone == pytest.approx(gpu - 14e-6)
    three = d2l.gpu_step_time(0, 0, 0, num_copies=3)
    assert three == pytest.approx(copies - nbytes / 64e9)


@pytest.mark.parametrize(
    ("cpu", "gpu", "verdict"),
    [
        (0.33e-3, 0.23e-3, "too close to call"),  # 64 hidden units, once "above 1205"
        (0.12e-3, 0.23e-3, "too close to call"),
        (0.1e-3, 0.23e-3, "the CPU wins"),
        (0.867e-3, 0.23e-3, "the GPU wins"),
        (1, 0.5, "too close to call"),
    ],
)
def test_the_faster_device_wins_by_more_than_a_factor_of_two(d2l, cpu, gpu, verdict):
    assert d2l.faster_device(cpu, gpu) == verdict
    swapped = verdict.replace("CPU", "x").replace("GPU", "CPU").replace("x", "GPU")
    assert d2l.faster_device(gpu, cpu) == swapped


def test_no_margin_leaves_only_equal_times_undecided(d2l):
    assert d2l.faster_device(1, 0.99, margin=1) == "the GPU wins"
    assert d2l.faster_device(1, 1, margin=1) == "too close to call"
