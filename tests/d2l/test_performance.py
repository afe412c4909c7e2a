"""Bounds, timings, verdicts and the MFU, which all frameworks compute alike."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from training import assert_equal, run


@pytest.fixture
def machine(d2l):
    """A machine on which each resource is easy to compute by hand."""
    rates = {"float32": 1e9, "float16": 4e9}
    return d2l.Machine(
        "mine", rates, 1e8, overhead=1e-6, spread=0.25, functions=2e9, reading=3e9
    )


# Machines


@pytest.mark.shared
@pytest.mark.parametrize(
    "work, seconds",
    [
        ((5e9, 1e8), 5),
        ((1e9, 7e8), 7),
        ((1e9, 1e8, "float32", 3_000_000), 3),
        ((8e9, 0, "float16"), 2),
        ((0, 1e8, "float64"), 1),  # a type without a rate may be moved
        ((0, 0), 1e-6),
        ((0, 0, "float32", 0), 0),
        ((1e9, 1e8, "float32", 1, 4e9), 2),
    ],
)
def test_a_bound_is_the_time_of_the_slowest_resource(machine, work, seconds):
    assert machine.bound(*work) == pytest.approx(seconds)


@pytest.mark.shared
def test_the_rate_of_another_type_is_never_substituted(machine):
    with pytest.raises(
        ValueError, match="no rate for float64; it has rates for float32"
    ):
        machine.bound(1e9, 0, "float64")


@pytest.mark.shared
def test_a_prediction_is_the_sum_of_the_bounds_of_operations(d2l, machine):
    operations = [
        d2l.Operation("product", 2e9, 1e6, "float32"),
        d2l.Operation("product", 2e9, 1e6, "float16"),
        d2l.Operation("sum", 0, 3e8, "float32"),
        d2l.Operation("nothing", 0, 4, "int32"),
    ]
    assert machine.predict(operations) == pytest.approx(2 + 0.5 + 3 + 1e-6)
    assert machine.predict([]) == 0


def test_at_the_ridge_arithmetic_takes_as_long_as_memory(machine):
    for dtype, flops_per_byte in ("float32", 10), ("float16", 40):
        assert machine.ridge(dtype) == flops_per_byte
    assert machine.ridge() == 10


def test_a_machine_is_printed_in_one_line(machine):
    assert str(machine) == (
        "mine: products in GFLOP/s: float32 1, float16 4; memory 0.1 GB/s; "
        "1.0 µs per operation; 2 billion functions per second; "
        "matrices are read at 3 GB/s; spread 25 percent"
    )


@pytest.mark.shared
def test_a_machine_may_not_know_its_rate_of_special_functions(d2l):
    card = d2l.Machine("card", {}, 1e9)
    assert card.bound(0, 0, functions=1e12) == 0
    assert "functions" not in str(card) and "matrices" not in str(card)


# Measurements


class Clock:
    """A timer that returns given times, one after the other."""

    def __init__(self, times):
        self.times = iter(times)

    def __call__(self):
        return self

    def start(self):
        pass

    def stop(self):
        return next(self.times)


def test_functions_are_timed_in_turn(d2l, monkeypatch):
    calls = []
    # the first round does not count, whether it is slow or fast
    clock = Clock([90, 1, *(4, 20), *(3, 90), *(6, 30)])
    monkeypatch.setattr(d2l, "Timer", clock)
    monkeypatch.setattr(d2l, "synchronize", lambda: calls.append("wait"))
    functions = {name: lambda name=name: calls.append(name) for name in "ab"}
    times = d2l.time_in_turn(functions, rounds=3)
    assert calls == ["wait", "a", "wait", "wait", "b", "wait"] * 4
    assert times == {"a": (3, pytest.approx(4 / 3 - 1)), "b": (20, 0.5)}


def test_a_machine_is_computed_from_its_measurements(d2l, monkeypatch):
    device, types, sums = object(), d2l.product_types(), []
    for name in "small_sums", "vector_product", "many_tanhs", "square_product":
        monkeypatch.setattr(d2l, name, lambda *args, name=name: (name, *args))
    monkeypatch.setattr(d2l, "large_sum", lambda *args: lambda: sums.append(args))
    # Two sums, 2**21 functions and products of 512 rows take long enough.
    seconds = iter([0.005, 0.02, 0.02, *[0.005, 0.02] * len(types)])
    monkeypatch.setattr(d2l, "time_call", lambda function, repeats: next(seconds))

    def times(experiments, rounds):
        experiments.pop("sum")()
        assert sums == [(2**25, device)] * 2 and rounds == 5
        assert set(experiments.values()) == {
            ("small_sums", 1000, device),
            ("vector_product", 8192, device),
            ("many_tanhs", 2**21, device),
            *(("square_product", 512, dtype, device) for dtype in types),
        }
        seconds = {"sum": 0.5, "calls": 0.003, "vector": 0.25}
        names = ["sum", *experiments]
        return {name: (seconds.get(name, 2.0), len(name) / 10) for name in names}

    monkeypatch.setattr(d2l, "time_in_turn", times)
    machine = d2l.measure_machine(device, rounds=5)
    assert machine.rates == dict.fromkeys(types, 2 * 512**3 / 2)
    assert machine.bandwidth == 2 * 3 * 4 * 2**25 / 0.5
    assert machine.overhead == pytest.approx(3e-6)
    assert machine.functions == 2**21 / 2
    assert machine.reading == 4 * 8192**2 / 0.25
    assert machine.spread == max(map(len, [*types, "vector"])) / 10
    assert machine.name == str(device)


def test_measured_peaks_are_those_of_a_computer(d2l):
    machine = d2l.measure_machine(rounds=2)
    assert tuple(machine.rates) == d2l.product_types()
    assert all(1e8 < rate < 1e16 for rate in machine.rates.values())
    assert 1e8 < machine.bandwidth < 1e14
    assert 1e-8 < machine.overhead < 1e-2
    assert 1e6 < machine.functions < 1e14 and 1e8 < machine.reading < 1e14
    assert machine.spread >= 0 and machine.name == str(d2l.try_gpu())


@pytest.mark.parametrize("place", ["first", "second"])
def test_experiments_do_what_they_say(d2l, fw, place):
    device = fw.second if place == "second" else d2l.try_gpu()
    large, small = d2l.large_sum(5, device), d2l.small_sums(7, device)
    assert fw.device(large()) == device and len(small()) == 7
    np.testing.assert_array_equal(d2l.numpy(large()), [2] * 5)
    assert d2l.vector_product(6, device)().shape == (1, 6)
    tanhs = d2l.numpy(d2l.many_tanhs(5, device)())
    np.testing.assert_allclose(tanhs, [np.tanh(1)] * 5, rtol=1e-5)
    for dtype in d2l.product_types():
        product = d2l.square_product(8, dtype, device)
        assert product().shape == (8, 8) and dtype in str(product().dtype)
        assert fw.device(product()) == device
    if fw.tab != "tensorflow":  # there, what depends on no argument is a constant
        (operation,) = d2l.list_operations(large)
        assert operation.nbytes == 3 * 4 * 5 and len(d2l.list_operations(small)) == 7
        assert [op.flops for op in d2l.list_operations(product)] == [2 * 8**3]


def test_keep_freed_memory_does_nothing_on_other_systems(d2l, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: pytest.fail("used"))
    d2l.keep_freed_memory()


FAULTS = """
import numpy, resource
if fw.tab == "jax":
    fw.jax.config.update("jax_cpu_enable_async_dispatch", False)
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    fw.d2l.numpy(X + X)  # waits
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
X = fw.tensor(numpy.ones(2**24))
print(min(faults() for _ in range(8)))
fw.d2l.keep_freed_memory()
print(min(faults() for _ in range(8)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="faults are counted on Linux")
def test_freed_memory_is_kept(fw):
    if fw.tab in ("pytorch", "jax"):  # the others have their own pools
        printed, _ = fw.start(FAULTS, stdout=subprocess.PIPE).communicate()
        before, after = map(int, printed.split())
        assert before > 10_000 and after < 100


# Verdicts


@pytest.mark.shared
def test_the_needs_of_a_step_are_sums_over_its_operations(d2l, machine):
    operations = [
        d2l.Operation("product", 2e9, 1e6, "float32"),
        d2l.Operation("product", 2e9, 2e6, "float16"),
        d2l.Operation("sum", 1e9, 3e6, "int64"),
    ]
    needs = d2l.step_needs(machine, operations, waiting=0.7)
    assert needs == pytest.approx(
        {"input": 0.7, "launches": 3e-6, "bytes": 0.06, "FLOPs": 2 + 0.5 + 1}
    )
    assert d2l.step_needs(machine, [])["input"] == 0


@pytest.mark.shared
@pytest.mark.parametrize(
    "flops, nbytes, number, waiting, resource",
    [
        (1e6, 1e4, 1, 0, "FLOPs"),
        (1e3, 1e4, 1, 0, "bytes"),
        (1e2, 1e1, 1, 0, "launches"),
        (1e2, 1e1, 1000, 5e-4, "launches"),
        (1e2, 1e1, 1000, 2e-3, "input"),
        (1e6, 1e4, 1, 1, "input"),
    ],
)
def test_the_verdict_is_the_resource_that_needs_the_most_time(
    d2l, machine, flops, nbytes, number, waiting, resource
):
    operations = [d2l.Operation("any", flops, nbytes, "float32")] * number
    assert d2l.verdict(machine, operations, waiting) == resource


# The trainer

RATES = {"float32": 1e12, "float16": 1e18, "bfloat16": 1e18}


def trained(d2l, fw, machine=None, batch_size=479, dropout=0.0, **settings):
    """Return a trainer that has trained an MLP, from the same random numbers."""
    layers = [32, "relu", "norm", dropout, 10] if dropout else [32, "relu", 10]
    callbacks = [d2l.MFU(machine)] if machine else []

    def model():
        made = fw.model(*layers)
        fw.build(made, fw.tensor(np.ones((2, 64))))  # draws the same numbers each time
        return made

    return run(
        fw, model, lambda: d2l.Digits(batch_size), callbacks=callbacks, **settings
    )


@pytest.fixture
def imagined(d2l):
    return d2l.Machine("imagined", RATES, 1e9)


def flops_of_mlp(fw, batch_size):
    """Return the FLOPs of a step of `trained`: three passes, or what gradients need."""
    passes = 2 if fw.tab in ("pytorch", "jax") else 3  # the inputs need no gradient
    return 2 * batch_size * (passes * 64 * 32 + 3 * 32 * 10)


def test_the_model_flops_of_a_step(d2l, fw, imagined):
    for dropout in 0.0, 0.5:
        trainer = trained(d2l, fw, imagined, 100, dropout)  # the last one has 37
        assert trainer.callbacks[0].step_flops == flops_of_mlp(fw, 100)


def test_the_model_flops_of_a_model_from_scratch(d2l, fw, imagined):
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=64)
    trainer = d2l.Trainer(max_epochs=1, callbacks=[d2l.MFU(imagined)])
    fw.fit(trainer, d2l.LinearRegressionScratch(2, lr=0.03), data)
    passes = 2 if fw.tab in ("pytorch", "jax") else 3
    assert trainer.callbacks[0].step_flops == passes * 2 * 32 * 2


def test_the_mfu_uses_the_peak_of_the_precision(d2l, fw, imagined):
    for precision in set(fw.short_types) & {"bfloat16"}:
        full, half = (
            trained(d2l, fw, imagined, precision=fw.dtype(name))
            for name in ("float32", precision)
        )
        assert full.callbacks[0].step_flops == half.callbacks[0].step_flops
        last = [t.model.board.data["mfu"][-1].y for t in (full, half)]
        assert 0 < last[1] < last[0] / 1000


def test_the_mfu_is_the_fraction_of_the_peak(d2l, fw, imagined, monkeypatch):
    monkeypatch.setattr(d2l, "Timer", Clock([0.5, 0.25]))  # seconds of the epochs
    trainer = trained(d2l, fw, imagined)
    flops = 3 * trainer.callbacks[0].step_flops  # in an epoch of three minibatches
    points = trainer.model.board.data["mfu"]
    assert [point.x for point in points] == [1, 2]
    assert [point.y for point in points] == pytest.approx(
        [flops / 0.5 / 1e12, flops / 0.25 / 1e12]
    )


def test_the_mfu_counts_the_examples_of_the_last_minibatch(
    d2l, fw, imagined, monkeypatch
):
    monkeypatch.setattr(d2l, "Timer", Clock([0.5]))
    trainer = trained(d2l, fw, imagined, 100, epochs=1)
    flops = 14.37 * trainer.callbacks[0].step_flops  # of 1437 examples
    (point,) = trainer.model.board.data["mfu"]
    assert point.y == pytest.approx(flops / 0.5 / 1e12)


def test_no_mfu_is_drawn_without_a_machine(d2l, fw):
    board = trained(d2l, fw).model.board
    assert "mfu" not in board.data and len(board.data["val_loss"]) == 2


def test_counting_changes_neither_the_training_nor_the_mode(d2l, fw, imagined):
    plain, counted = (
        trained(d2l, fw, machine, dropout=0.5, epochs=1) for machine in (None, imagined)
    )
    assert_equal(fw, plain, counted, 1e-5)
    model = counted.model
    batch = next(iter(d2l.Digits().train_dataloader()))
    before = [fw.numpy(array) for array in fw.arrays(model)]
    for mode in True, False:
        if fw.tab == "pytorch":
            model.train(mode)
        model.training = mode
        d2l.step_flops(counted, batch)
        assert model.training is mode
    for old, new in zip(before, fw.arrays(model), strict=True):
        np.testing.assert_array_equal(old, fw.numpy(new))


def test_the_compiler_makes_the_same_model(d2l, fw):
    if fw.tab in ("pytorch", "tensorflow"):  # the others compile without a request
        plain, compiled = (trained(d2l, fw, compiled=c) for c in (False, True))
        assert_equal(fw, plain, compiled, 1e-4)


# Pictures


def test_pictures_show_all_phases_and_steps(d2l):
    from matplotlib import pyplot as plt

    events = [("input", 0.0, 0.01), ("forward", 0.01, 0.02)]
    d2l.plot_trace({"before": events, "after": events[1:]})
    assert len(plt.gca().patches) == 3
    d2l.plot_ladder({"mine": {"naive": 100.0, "better": 200.0}})
    assert [bar.get_width() for bar in plt.gca().patches] == [1, 2]
