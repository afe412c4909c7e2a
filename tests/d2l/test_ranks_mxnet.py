"""Ranks of what only MXNet has: a store, servers, and copies on each device."""

import subprocess
import sys
import time

import mxnet as mx
import numpy as onp
import pytest
from frameworks import ROOT
from mxnet import np, npx
from mxnet.gluon import nn
from training import run_on

from d2l import mxnet as d2l

npx.set_np()


# Processes


def total(x):
    store = d2l.worker_store()
    return store.num_workers, d2l.share_object(["of rank", store.rank, x])


def test_objects_of_rank_0_are_shared():
    assert d2l.launch(total, 3, 1) == [(3, ["of rank", 0, 1])] * 3


# A script under a launcher


FAILING = """
from d2l import mxnet as d2l
assert d2l.worker_store().rank == 0
d2l.Trainer(max_epochs=2).fit(d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500))
"""


def test_a_worker_that_fails_ends_at_once():
    settings = d2l.group_environment(d2l.free_ports(1)[0], 2)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FAILING],
            env={**settings, "PYTHONPATH": str(ROOT), "DMLC_ROLE": role},
            stderr=subprocess.DEVNULL,
        )
        for role in ("scheduler", "server", "worker", "worker")
    ]
    try:
        while not any(process.poll() for process in processes[2:]):
            time.sleep(0.05)
        statuses = [process.poll() for process in processes]
        assert statuses.count(None) == 3  # the others wait for the one that failed
    finally:
        for process in processes:
            process.kill()
            process.wait()


# A trainer on several devices


def test_shares_are_as_equal_as_possible(fw):
    shares = []

    class Watching(d2l.Classifier):
        def __init__(self):
            super().__init__()
            self.lr, self.net = 0.1, nn.Dense(10, in_units=64)
            self.net.initialize()

        def training_step(self, batch):
            shares.append((len(batch[0]), batch[0].ctx, mx.current_context()))
            return super().training_step(batch)

    devices = [npx.cpu(i) for i in range(4)]
    run_on(fw, 4, Watching, 10)
    assert [size for size, *_ in shares] == [3, 3, 2, 2] * 2
    assert [place for _, place, _ in shares] == devices * 2
    assert all(place == current for _, place, current in shares)


# Collectives by hand


@pytest.mark.parametrize("n, size", [(1, 3), (2, 1), (3, 7), (4, 2), (4, 1000)])
@pytest.mark.parametrize("name", ["star_all_reduce", "ring_all_reduce"])
def test_all_reduce_by_hand(name, n, size):
    sent: dict = {}

    def send(array, device):
        assert array.ctx != device
        sent[array.ctx] = sent.get(array.ctx, 0) + array.size
        return array.copyto(device)

    devices = [npx.cpu(i) for i in range(n)]
    arrays = [np.random.normal(size=(size,), ctx=device) for device in devices]
    before = [array.asnumpy() for array in arrays]
    sums = getattr(d2l, name)(arrays, send)
    assert [x.ctx for x in sums] == devices
    for array, old, x in zip(arrays, before, sums, strict=True):
        onp.testing.assert_array_equal(array.asnumpy(), old)
        onp.testing.assert_allclose(x.asnumpy(), sum(before), atol=1e-5)
        onp.testing.assert_array_equal(x.asnumpy(), sums[0].asnumpy())
    expected = 2 * (n - 1) * size
    assert sum(sent.values()) == expected


@pytest.mark.parametrize("visible, own", [("", "1"), ("5,3", "3")])
def test_a_worker_sees_a_gpu_of_its_own(fw, monkeypatch, visible, own):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    fw.pretend(monkeypatch, npx.cpu(1), npx.cpu(2))
    assert d2l.rank_environment(1, [1, 2, 3])["CUDA_VISIBLE_DEVICES"] == own
