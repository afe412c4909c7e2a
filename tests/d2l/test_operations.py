"""Operations of a program: FLOPs by hand, bytes, types, and phases of a profile."""

import json
import operator
import time
from functools import partial

import numpy as np
import pytest
from test_memory import images, numbers


def flops(operations):
    return sum(operation.flops for operation in operations)


def listed(fw, function, *arrays):
    return fw.d2l.list_operations(function, *arrays)


@pytest.mark.parametrize(
    "left, right, size",
    [
        ((5, 7), (7, 3), 5 * 7 * 3),
        ((4, 5, 7), (4, 7, 3), 4 * 5 * 7 * 3),
        ((2, 4, 5, 7), (2, 4, 7, 3), 8 * 5 * 7 * 3),
        ((4, 5, 7), (7, 3), 4 * 5 * 7 * 3),
    ],
)
def test_a_product_has_two_flops_per_multiplication(fw, left, right, size):
    arrays = numbers(fw, *left), numbers(fw, *right)
    assert flops(listed(fw, operator.matmul, *arrays)) == 2 * size


@pytest.mark.parametrize(
    "equation, left, right, size",
    [
        ("ij,j->i", (5, 7), (7,), 5 * 7),
        ("i,i->", (13,), (13,), 13),
        ("bij,bjk->bik", (3, 5, 7), (3, 7, 11), 3 * 5 * 7 * 11),
        ("bqhc,bkhc->bhqk", (2, 6, 3, 4), (2, 9, 3, 4), 2 * 3 * 6 * 9 * 4),
        ("...ij,...jk->...ik", (9, 2, 3), (9, 3, 4), 9 * 2 * 3 * 4),
    ],
)
def test_products_of_an_equation(fw, equation, left, right, size):
    if fw.tab != "mxnet":  # which has no formula for them
        product = partial(fw.functions.einsum, equation)
        arrays = numbers(fw, *left), numbers(fw, *right)
        assert flops(listed(fw, product, *arrays)) == 2 * size


FIRST, SECOND = 2 * 8 * 24 * 32, 2 * 8 * 32 * 10  # FLOPs of 8 examples


def test_a_step_has_three_forward_passes_but_for_the_gradient_of_the_inputs(fw):
    model, X = fw.model(32, "relu", 10), numbers(fw, 8, 24)
    forward, step = fw.operations(model, X)
    assert flops(forward) == FIRST + SECOND
    assert flops(step) == 2 * FIRST + 3 * SECOND


def test_a_convolution_and_its_gradients(fw):
    model = fw.model(("conv", 6), "relu", ("conv", 4))
    X, _ = images(fw, 2, 3, 9)
    forward, step = fw.operations(model, X)
    outputs = [2 * 2 * 81 * 9 * inputs * c for inputs, c in ((3, 6), (6, 4))]
    assert flops(forward) == sum(outputs)
    if fw.tab != "jax":  # which does not count what padding adds to gradients
        assert flops(step) == 2 * outputs[0] + 3 * outputs[1]


def test_a_transformer_layer_has_the_flops_of_its_formula(fw):
    b, s, h = 3, 10, 48
    model = fw.model(("transformer", h, 4))
    forward, step = fw.operations(model, numbers(fw, b, s, h))
    assert flops(forward) == b * s * (24 * h * h + 4 * h * s)
    assert flops(step) == 3 * flops(forward)


def test_bytes_of_elementwise_operations(d2l, fw):
    found = listed(fw, lambda X: (X + X) * d2l.tanh(X), numbers(fw, 1000))
    assert sorted(operation.nbytes for operation in found) == [8000, 8000, 12000]
    assert {operation.dtype for operation in found} == {"float32"}
    assert flops(found) == 0


def test_views_move_no_bytes(d2l, fw):
    def views(X):
        return d2l.reshape(d2l.expand_dims(d2l.reshape(X, (5, 20)), 0), (20, 5))

    if fw.tab != "mxnet":  # which copies what it reshapes
        found = listed(fw, views, numbers(fw, 10, 10))
        assert not any(operation.nbytes for operation in found)


def test_types_of_operations(fw):
    for dtype, size in ("float16", 2), ("float32", 4):
        X = fw.tensor(np.ones((8, 8)), dtype)
        if fw.tab != "mxnet" or size == 4:  # which multiplies the others on GPUs
            *_, found = listed(fw, operator.matmul, X, X)
            reads = 2 if fw.tab in ("jax", "tensorflow") else 1  # or X once
            assert (found.dtype, found.nbytes) == (dtype, (reads + 1) * 64 * size)


def test_an_error_ends_the_recording(fw):
    def fail():
        raise KeyError("mine")

    before = listed(fw, operator.neg, numbers(fw, 9))
    with pytest.raises(KeyError, match="mine"):
        fw.d2l.list_operations(fail)
    assert listed(fw, operator.neg, numbers(fw, 9)) == before


# Profiles


@pytest.mark.timing
def test_a_trace_has_the_marked_phases_and_can_be_opened(d2l, fw, tmp_path):
    path = tmp_path / "trace.json"

    def step():
        for name in "one", "two", "one":
            with fw.phase(name):
                time.sleep(0.02)

    for _ in range(2):
        begin = time.perf_counter()
        events = d2l.trace_events(step, str(path))
        total = time.perf_counter() - begin
        assert [name for name, *_ in events] == ["one", "two", "one"]
        starts, lengths = ([event[i] for event in events] for i in (1, 2))
        assert min(lengths) >= 0.02 and sum(lengths) < total
        assert all(starts[i] + lengths[i] <= starts[i + 1] for i in (0, 1))
    assert json.loads(path.read_text())["traceEvents"]


def test_an_error_stops_the_profiler(d2l, fw, tmp_path):
    def fail():
        raise KeyError("mine")

    def step():
        with fw.phase("one"):
            fw.numpy(fw.tensor([1.0]) + 1)

    path = str(tmp_path / "trace.json")
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            d2l.trace_events(fail, path)
        assert [name for name, *_ in d2l.trace_events(step, path)] == ["one"]
