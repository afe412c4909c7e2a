"""The times of the pairs of functions that `make bench-kernels` compares."""

import sys

import pytest

from benchmarks import kernels


@pytest.fixture
def pairs(monkeypatch):
    """Return the module, as the files beside it import it."""
    monkeypatch.syspath_prepend(str(kernels.LOOPS["jax"].parent))
    import pairs

    monkeypatch.delitem(sys.modules, "pairs")
    monkeypatch.setattr(pairs, "SECONDS", 0.01)
    return pairs


def test_the_clock_waits_for_the_last_call_of_each_batch(pairs):
    calls: list[None] = []
    waited: list[int] = []

    def function():
        calls.append(None)
        return len(calls)

    assert pairs.timer(waited.append)(function) > 0
    assert waited == list(range(pairs.BATCH, len(calls) + 1, pairs.BATCH))


def test_the_time_is_that_of_one_call(pairs, monkeypatch):
    now = [0.0]

    def function():
        now[0] += 0.002

    monkeypatch.setattr(pairs.time, "perf_counter", lambda: now[0])
    assert pairs.timer(lambda _: None)(function) == pytest.approx(2)


def test_the_two_functions_of_a_pair_take_turns(pairs):
    order = []

    def milliseconds(function):
        order.append(function)
        return len(order)

    times = pairs.measure({"x": ("a", "b"), "y": ("c", "d")}, 2, milliseconds)
    assert order == list("abcdabcd")
    assert times == {"x": [[1, 2], [5, 6]], "y": [[3, 4], [7, 8]]}
