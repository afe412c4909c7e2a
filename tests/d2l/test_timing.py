"""Waiting for devices, timing them, and what moves data: benchmarks, fits, threads."""

import threading
import time
import weakref

import numpy as np
import pytest

pytestmark = pytest.mark.timing


@pytest.fixture
def queue(d2l, fw, monkeypatch):
    """Queue a product that takes a while, and return it; work that can be waited for.

    TensorFlow's CPU is given a queue; PyTorch's cannot have one.
    """
    if fw.tab == "pytorch":
        pytest.skip("PyTorch computes on the CPU before a call returns")
    x = fw.tensor(np.random.default_rng(0).normal(size=(1500, 1500)))
    d2l.matmul(x, x)
    d2l.synchronize()
    if fw.tab == "tensorflow":
        execute = fw.tf.config.experimental.set_synchronous_execution
        execute(False)
        yield lambda: d2l.matmul(x, x)
        execute(True)
    else:
        yield lambda: d2l.matmul(x, x)


def seconds(function):
    """Return how long a call takes by the clock of the host, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def test_synchronize_waits_for_what_is_queued(d2l, fw, queue):
    times = []
    for _ in range(10):  # other programs may disturb some of them
        queued, y = seconds(queue)
        waited, _ = seconds(d2l.synchronize)
        fetched, _ = seconds(lambda y=y: fw.numpy(y))
        times.append((queued, waited, fetched))
    assert any(max(queued, fetched) < waited / 2 for queued, waited, fetched in times)


def test_synchronize_waits_for_all_gpus(d2l, fw, monkeypatch):
    if fw.tab != "pytorch":
        pytest.skip("here one call waits for all devices")
    waited: list[int] = []
    monkeypatch.setattr(d2l, "num_gpus", lambda: 2)
    monkeypatch.setattr(d2l.torch.accelerator, "synchronize", waited.append)
    d2l.synchronize()
    assert waited == [0, 1]


def test_synchronize_passes_arrays_that_were_given_away(d2l, fw):
    if fw.tab != "jax":
        pytest.skip("only JAX deletes arrays that the program holds")
    x = fw.tensor([1, 2])
    x.delete()
    d2l.synchronize()
    assert x.is_deleted()


# Benchmark


@pytest.mark.parametrize("names", [["a nap"], []])
def test_a_benchmark_prints_and_keeps_its_time(d2l, capsys, names):
    with d2l.Benchmark(*names) as benchmark:
        time.sleep(0.02)
    assert 0.02 <= benchmark.seconds < 20
    name = names[0] if names else "Done"
    assert capsys.readouterr().out == f"{name}: {benchmark.seconds:.4f} sec\n"


def least_seconds(d2l, queue):
    """Return how long the work takes alone, on a machine that other programs use."""
    return min(seconds(lambda: (queue(), d2l.synchronize()))[0] for _ in range(5))


def test_a_benchmark_counts_its_own_work_alone(d2l, queue, capsys):
    alone = least_seconds(d2l, queue)
    nothing = []
    for _ in range(5):  # other programs may disturb some of them
        before = [queue() for _ in range(2)]
        with d2l.Benchmark() as empty:
            pass
        nothing.append(empty.seconds)
    with d2l.Benchmark() as full:
        inside = [queue() for _ in range(2)]
    assert len(before) == len(inside)
    assert min(nothing) < alone / 2 < full.seconds


def test_a_benchmark_that_fails_says_nothing(d2l, capsys):
    with pytest.raises(KeyError, match="mine"), d2l.Benchmark() as benchmark:
        raise KeyError("mine")
    assert np.isnan(benchmark.seconds) and capsys.readouterr().out == ""


# time_call


def test_of_the_calls_after_the_first_the_fastest_counts(d2l):
    pauses = [0.0, 0.5, 0.02, 0.5]
    least = d2l.time_call(lambda: time.sleep(pauses.pop(0)), repeats=3)
    assert 0.02 <= least < 0.5 and pauses == []


def test_a_call_gets_its_arguments(d2l):
    calls = []
    d2l.time_call(lambda *args: calls.append(args), 1, "x", repeats=2)
    assert calls == [(1, "x")] * 3


def test_a_call_is_over_when_the_devices_are_done(d2l, queue):
    alone = least_seconds(d2l, queue)
    assert d2l.time_call(queue, repeats=2) > alone / 4


def test_a_result_is_given_up_before_the_next_call(d2l):
    class Result:
        pass

    alive: list[int] = []

    def call():
        alive.append(sum(result() is not None for result in results))
        result = Result()
        results.append(weakref.ref(result))
        return result

    results: list = []
    d2l.time_call(call, repeats=3)
    assert alive == [0, 0, 0, 0]


@pytest.mark.parametrize("repeats", [0, -1])
def test_nothing_to_time(d2l, repeats):
    with pytest.raises(ValueError, match=f"repeats.*{repeats}"):
        d2l.time_call(lambda: None, repeats=repeats)


# Copies

SIZES = [4**i for i in range(5, 14)]


def test_the_fit_finds_latency_and_bandwidth(d2l):
    times = [10e-6 + size / 64e9 for size in SIZES]
    latency, bandwidth = d2l.fit_copy(SIZES, times)
    assert latency == pytest.approx(10e-6) and bandwidth == pytest.approx(64e9)
    assert type(latency) is float and type(bandwidth) is float


def test_small_copies_count_as_much_as_large_ones(d2l):
    times = [10e-6 + size / 64e9 for size in SIZES]
    times[-1] *= 1.5  # half a millisecond, 50 times the latency
    latency, bandwidth = d2l.fit_copy(SIZES, times)
    assert latency == pytest.approx(10e-6, rel=0.2)
    assert bandwidth == pytest.approx(64e9, rel=0.4)


# in_background


@pytest.mark.shared
def test_batches_come_in_their_order(d2l):
    assert list(d2l.in_background(range(5))) == [0, 1, 2, 3, 4]
    assert list(d2l.in_background([None, 0, None])) == [None, 0, None]
    assert list(d2l.in_background([])) == []


@pytest.mark.shared
def test_the_next_batch_is_made_meanwhile(d2l):
    second = threading.Event()

    def batches():
        yield 1
        second.set()
        yield 2

    for batch in d2l.in_background(batches()):
        assert second.wait(60), batch  # set while this batch is in use


@pytest.mark.shared
def test_no_more_than_one_batch_is_made_ahead(d2l):
    made = []

    def batches():
        for i in range(6):
            made.append(i)
            yield i

    for batch in d2l.in_background(batches()):
        assert len(made) <= batch + 2


@pytest.mark.shared
def test_an_error_of_the_loader_is_raised(d2l):
    def batches():
        yield 1
        raise KeyError("mine")

    seen = []
    with pytest.raises(KeyError, match="mine"):
        for batch in d2l.in_background(batches()):
            seen.append(batch)
    assert seen == [1]


@pytest.mark.shared
def test_a_loop_that_stops_early_leaves_no_thread(d2l):
    before = threading.active_count()
    for _ in d2l.in_background(range(100)):
        break
    assert threading.active_count() == before
