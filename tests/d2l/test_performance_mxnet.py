"""Operations, peaks, traces and the MFU of training in MXNet."""

import os
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import pytest
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

from d2l import mxnet as d2l

npx.set_np()
ROOT = Path(__file__).parents[2]


def flops(function, *args):
    return sum(op.flops for op in d2l.list_operations(function, *args))


def names(function, *args):
    return [op.name for op in d2l.list_operations(function, *args)]


def initialized(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    net.initialize(mx.init.Xavier())
    return net


def gradients(net, X):
    """Compute the gradients of a model's mean square, without an update."""
    with autograd.record():
        loss = (net(X) ** 2).mean()
    loss.backward()


class Normalized(nn.HybridBlock):
    """Two convolutions with batch normalization beside a shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.layers = nn.HybridSequential()
        for _ in range(2):
            self.layers.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm())

    def hybrid_forward(self, F, X):
        return F.npx.relu(self.layers(X) + X)


def random(*shape):
    return np.random.normal(size=shape)


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (np.dot, [(7,), (7,)], 2 * 7),
        (np.dot, [(5, 7), (7,)], 2 * 5 * 7),
        (npx.batch_dot, [(4, 5, 7), (4, 7, 3)], 2 * 4 * 5 * 7 * 3),
        (
            lambda A, B: npx.batch_dot(A, B, transpose_b=True),
            [(4, 5, 7), (4, 3, 7)],
            2 * 4 * 5 * 7 * 3,
        ),
        (
            lambda A, B: npx.batch_dot(A, B, transpose_a=True),
            [(4, 7, 5), (4, 7, 3)],
            2 * 4 * 5 * 7 * 3,
        ),
    ],
)
def test_flops_of_products(function, shapes, expected):
    arrays = [random(*shape) for shape in shapes]
    assert flops(function, *arrays) == expected


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (nn.Dense(11), (6, 3, 4), 2 * 6 * 12 * 11),
        (nn.Dense(11, flatten=False), (6, 3, 4), 2 * 18 * 4 * 11),
        (nn.Conv2D(8, 3, strides=2, padding=1), (2, 4, 9, 9), 2 * 2 * 8 * 25 * 36),
        (nn.Conv2D(8, 3, groups=4), (2, 4, 9, 10), 2 * 2 * 8 * 7 * 8 * 9),
        (nn.Conv1D(5, 4), (3, 6, 20), 2 * 3 * 5 * 17 * 6 * 4),
        (nn.Conv2DTranspose(8, 2, strides=2), (2, 4, 5, 5), 2 * 2 * 4 * 25 * 8 * 4),
    ],
)
def test_flops_of_layers(layer, shape, expected):
    layer.initialize()
    X = random(*shape)
    layer(X)
    assert flops(layer, X) == expected
    X.attach_grad()
    assert flops(gradients, layer, X) == 3 * expected


def test_checkpoints_count_the_forward_pass_twice():
    layer = initialized(nn.Dense(12, in_units=12), nn.Dense(12, in_units=12))
    X = random(4, 12)
    X.attach_grad()

    def step():
        with autograd.record():
            loss = (d2l.checkpoint(layer, X) ** 2).sum()
        loss.backward()
        d2l.wait_for_checkpoints()

    assert flops(step) == 4 * 2 * (2 * 4 * 12 * 12)


@pytest.mark.parametrize("compiled", [False, True])
def test_recording_changes_no_gradients_and_no_statistics(compiled):
    def make():
        mx.random.seed(0)
        net = initialized(nn.Conv2D(4, 3, in_channels=3), Normalized(4), nn.Dense(5))
        net(X)
        return net

    X = random(6, 3, 8, 8)
    plain, recorded = make(), make()
    if compiled:
        recorded.hybridize()
    gradients(plain, X)
    assert flops(gradients, recorded, X) == flops(gradients, make(), X) > 0
    for a, b in zip(
        plain.collect_params().values(), recorded.collect_params().values(), strict=True
    ):
        assert np.allclose(a.data(), b.data(), 1e-5, 1e-6)
        if a.grad_req != "null":
            assert np.allclose(a.grad(), b.grad(), 1e-4, 1e-5)


def test_compiled_layers_are_counted_like_others_and_stay_compiled():
    net, X = initialized(nn.Dense(8), nn.Dense(8)), random(4, 8)
    net(X)
    before = d2l.list_operations(net, X)
    net.hybridize()
    assert d2l.list_operations(net, X) == before
    assert net._active and net[0]._active
    net(X)
    assert net._cached_op is not None


def test_bytes_and_types_of_operations():
    a, b = np.ones((10, 20)), np.ones((10, 20), dtype="float64")
    [op] = d2l.list_operations(lambda: a + 2 * np.ones_like(a))[-1:]
    assert op.nbytes == 3 * 800 and op.dtype == "float32"
    [op] = d2l.list_operations(lambda: np.add(a, a, out=a))
    assert op.nbytes == 800
    [op] = d2l.list_operations(lambda: b * 2)
    assert op.nbytes == 3200 and op.dtype == "float64"
    [op] = d2l.list_operations(lambda: np.split(a, 2))
    assert op.nbytes == 1600


def test_backward_operations_count_what_they_read_and_write():
    X = np.ones((10, 20))
    X.attach_grad()

    def step():
        with autograd.record():
            Y = np.tanh(X)
        Y.backward()

    forward, backward = (op for op in d2l.list_operations(step) if "tanh" in op.name)
    assert backward.name == "backward of " + forward.name
    assert (forward.nbytes, backward.nbytes) == (1600, 2400)


def test_updates_and_legacy_operations_are_seen():
    net = initialized(nn.Dense(4, in_units=3))
    optimizer = gluon.Trainer(net.collect_params(), "adam")

    def step():
        gradients(net, np.ones((2, 3)))
        optimizer.step(1)

    step()
    assert names(step).count("adam_update") == 2
    legacy = mx.nd.ones((4, 5))
    assert flops(lambda: mx.nd.dot(legacy, legacy, transpose_b=True)) == 2 * 4 * 4 * 5
    assert flops(lambda: mx.nd.dot(legacy, legacy, transpose_a=True)) == 2 * 5 * 5 * 4


def test_products_of_16_bits_are_measured_only_on_a_gpu(monkeypatch):
    assert d2l.product_types() == ("float32",)
    monkeypatch.setattr(d2l, "num_gpus", lambda: 1)
    assert d2l.product_types() == ("float32", "float16")


def test_spans_ignore_events_without_a_partner():
    def event(ph, name, ts):
        return {"cat": "operator", "ph": ph, "name": name, "ts": ts, "tid": 1}

    events = [event("E", "a", 1), event("B", "b", 2e6), event("b", "b", 2e6)]
    events += [event("B", "c", 4e6), event("E", "b", 3e6), {"ph": "M", "name": "x"}]
    assert d2l.spans(events, "operator") == [("b", 2, 1)]


def test_memory_is_counted_before_and_after_a_trace(tmp_path):
    X = np.ones(2**18)
    X.attach_grad()

    def square():
        return np.square(X).sum()

    before = d2l.saved_bytes(square)
    d2l.trace_events(square, str(tmp_path / "trace.json"))
    assert d2l.saved_bytes(square) == before


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(
    ("kind", "gates"), [(gluon.rnn.LSTM, 4), (gluon.rnn.GRU, 3), (gluon.rnn.RNN, 1)]
)
def test_the_flops_of_recurrent_layers_are_counted(kind, gates, both_ways):
    b, t, d, h = 3, 5, 4, 8
    net = kind(h, num_layers=2, bidirectional=both_ways)
    net.initialize()
    ways = 2 if both_ways else 1
    weights = ways * gates * h * (d + h + ways * h + h)
    assert flops(net, np.ones((t, b, d))) == 2 * b * t * weights


PHASES = """
import mxnet as mx
from d2l import mxnet as d2l

def step():
    for name in "input", "step":
        phase = mx.profiler.Event(name)
        phase.start()
        mx.np.ones(3).wait_to_read()
        phase.stop()

step()  # before the first profile, MXNet records it, too
for i in range(2):
    print(*(name for name, *_ in d2l.trace_events(step, "trace.json")))
"""


def test_phases_before_a_profile_do_not_count(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PHASES], cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["input step"] * 2, done.stderr
