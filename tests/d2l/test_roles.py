"""Barriers, roles and the SM that runs them in clocks, against sums by hand."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import numpy
import pytest

pytestmark = pytest.mark.shared
TURNS = 48


def matrices(rows=128, turns=TURNS):
    """Return two matrices of small integers, whose products are exact."""
    rng = numpy.random.default_rng(0)
    A = rng.integers(-3, 4, (rows, turns * 64))
    return A.astype("float64"), rng.integers(-3, 4, (turns * 64, 128)).astype("float64")


def clocks_of_a_turn(product):
    ends = [w.end for w in product.sm.works if w.unit == "the tensor cores"]
    return (ends[36] - ends[24]) / 12


def skip(role, name):
    return (wait for wait in role if not wait[0].name.startswith(name))


def flip(role, name):
    for barrier, phase in role:
        yield barrier, 1 - phase if barrier.name.startswith(name) else phase


def is_right(product, A, B):
    return bool(product.results) and numpy.array_equal(product.results[0], A @ B)


def test_a_phase_lasts_until_all_arrivals_and_all_bytes_are_there(d2l):
    barrier = d2l.Barrier("ready", arrivals=2)
    assert barrier.has_ended(1) and not barrier.has_ended(0)
    barrier.arrive(expect=96)
    barrier.receive(64)
    barrier.arrive()
    assert not barrier.has_ended(0)
    barrier.receive(32)
    assert barrier.has_ended(0) and not barrier.has_ended(1)
    barrier.arrive()
    assert not barrier.has_ended(1)
    barrier.arrive()
    assert barrier.has_ended(1) and not barrier.has_ended(0)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        # 900 + 400 + 512 = 1812, divided by the buffers, and at least 512
        ({}, [1812, 906, 604, 512, 512]),
        # 100 + 500 + 200 = 800, and at least the 500 of a copy
        (dict(latency=100, copy=500, product=200), [800, 500, 500, 500, 500]),
        # the latency decides: 3000 / s
        (dict(latency=2900, copy=50, product=50), [3000, 1500, 1000, 750, 500]),
    ],
)
def test_buffers_divide_the_wait_until_a_unit_is_the_limit(d2l, times, expected):
    A, B = matrices()
    for stages, clocks in zip((1, 2, 3, 4, 6), expected, strict=True):
        product = d2l.RoleProduct(A, B, stages, **times).run()
        assert clocks_of_a_turn(product) == clocks
        assert product.sm.mistakes == [] and is_right(product, A, B)


def test_each_turn_of_one_buffer_by_hand(d2l):
    A, B = matrices(turns=2)
    sm = d2l.RoleProduct(A, B, 1).run().sm
    spans = {
        unit: [(w.begin, w.end) for w in sm.works if w.unit == unit]
        for unit in ("the TMA", "the tensor cores", "the store")
    }
    assert spans["the TMA"] == [(900, 1100), (1100, 1300), (2712, 2912), (2912, 3112)]
    # the last one, of no clocks, tells when the products are done
    assert spans["the tensor cores"] == [(1300, 1812), (3112, 3624), (3624, 3624)]
    assert spans["the store"] == [(3624, 5124)] and sm.clock == 5124


def test_a_missing_wait_is_a_race_and_a_wrong_product(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.run(multiply=skip(product.multiply(), "ready"))
    assert product.sm.mistakes[0] == (
        "race at clock 0: a[0] is written by the TMA, "
        "and read by the tensor cores until 512"
    )
    assert not is_right(product, A, B)


def test_the_wrong_phase_of_the_producer_is_a_deadlock_at_once(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.run(load=flip(product.load(), "empty"))
    assert product.sm.mistakes[0] == (
        "deadlock at clock 0: load waits for phase 0 of empty[0]; "
        "missing arrivals: 1, bytes: 0"
    )
    assert len(product.sm.mistakes) == 3  # the other roles wait, too


def test_the_wrong_phase_of_the_consumer_is_a_race(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.run(multiply=flip(product.multiply(), "ready"))
    assert product.sm.mistakes[0].startswith("race at clock 0: a[0] is ")
    assert not is_right(product, A, B)


def test_an_arrival_that_never_comes_is_a_deadlock_that_names_the_barrier(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.empty[1] = d2l.Barrier("empty[1]", arrivals=2)
    product.run()
    # turn 5 needs buffer 1 again; turns 0 to 4 end at 1300 + 5 * 512 = 3860
    assert product.sm.mistakes[0] == (
        "deadlock at clock 3860: load waits for phase 0 of empty[1]; "
        "missing arrivals: 1, bytes: 0"
    )


@pytest.mark.parametrize(
    ("stages", "turns", "right"), [(4, 12, True), (4, 48, False), (3, 12, False)]
)
def test_an_early_arrival_is_a_race_even_if_the_product_is_right(
    d2l, stages, turns, right
):
    A, B = matrices(turns=turns)
    product = d2l.RoleProduct(A, B, stages)
    multiply = product.multiply_tiles

    def arrive_early(s, barrier):
        multiply(s, d2l.Barrier("none"))
        barrier.arrive()

    product.multiply_tiles = arrive_early
    product.run()
    assert product.sm.mistakes[0] == (
        "race at clock 1300: a[0] is written by the TMA, "
        "and read by the tensor cores until 1812"
    )
    assert is_right(product, A, B) == right


def test_an_arrival_too_many_leaves_a_negative_number_missing(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.run(load=skip(product.load(), "empty"))
    assert "phase 0 of ready[0]; missing arrivals: -2" in product.sm.mistakes[0]


def test_bytes_that_never_come_are_a_deadlock_that_counts_them(d2l):
    A, B = matrices(turns=12)
    product = d2l.RoleProduct(A, B, 4)
    product.ready[0].nbytes = 96  # as if the load role had announced so many more
    product.run()
    assert product.sm.mistakes[1] == (
        "deadlock at clock 2500: multiply waits for phase 0 of ready[0]; "
        "missing arrivals: 0, bytes: 96"
    )


def test_units_that_only_read_do_not_race(d2l):
    sm = d2l.RoleProduct(*matrices(turns=1), 1).sm
    sm.start("one", 10, lambda: None, reads=["a"])
    sm.start("two", 10, lambda: None, reads=["a"])
    assert sm.mistakes == []
    sm.start("three", 10, lambda: None, writes=["a"])
    assert len(sm.mistakes) == 2


@pytest.mark.parametrize(
    ("sums", "clocks"),
    [(1, 12 * 512 + 1500), (2, 12 * 512), (3, 12 * 512)],
)
def test_a_second_sum_hides_the_end_of_a_tile(d2l, sums, clocks):
    A, B = matrices(rows=6 * 128, turns=12)
    product = d2l.PersistentProduct(A, B, 4, sums).run()
    ends = [w.end for w in product.sm.works if w.unit == "the store"]
    assert ends[0] == 1300 + 12 * 512 + 1500
    assert {b - a for a, b in zip(ends, ends[1:], strict=False)} == {clocks}
    assert product.sm.mistakes == []
    assert numpy.array_equal(numpy.vstack(product.results), A @ B)


def test_a_sum_that_is_used_before_it_is_written_is_a_race(d2l):
    A, B = matrices(rows=4 * 128, turns=12)
    product = d2l.PersistentProduct(A, B, 4, 1)
    product.run(multiply=skip(product.multiply(), "free"))
    assert "sum[0] is read by the store" in product.sm.mistakes[0]
