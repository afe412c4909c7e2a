"""Several processes, and a trainer on several devices: what is JAX's alone."""

import copy
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import models_jax as models
import numpy as np
import optax
import psutil
import pytest
from jax import numpy as jnp

from d2l import jax as d2l

ROOT = Path(__file__).parents[2]
KEY = jax.random.key(0)


# Processes


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Check that no process, file or listening port is left behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    yield tmp_path
    assert {child.pid for child in me.children(recursive=True)} <= before
    assert list(tmp_path.iterdir()) == []
    assert [c for c in me.net_connections() if c.status == "LISTEN"] == []


def test_results_come_by_rank(clean):
    scale = 10.0

    def total(x):
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
        rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        values = np.arange(jax.device_count(), dtype="float32") * scale + x
        X = jax.make_array_from_callback(values.shape, rows, values.__getitem__)
        count = jax.process_count(), jax.local_device_count(), jax.device_count()
        return jax.process_index(), count, jnp.sum(X), str(d2l.cpu().process_index)

    results = d2l.launch(total, 2, 1, local_devices=2)
    assert [(rank, count) for rank, count, *_ in results] == [
        (0, (2, 2, 4)),
        (1, (2, 2, 4)),
    ]
    assert [float(total) for _, _, total, _ in results] == [64, 64]
    assert [process for *_, process in results] == ["0", "1"]


def fail(rank: int) -> int:
    if jax.process_index() == rank:
        raise KeyError("a name")
    time.sleep(600)
    return rank


def test_an_error_of_a_rank_names_the_rank_and_holds_its_traceback(clean):
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        d2l.launch(fail, 2, 1)
    assert str(caught.value) == "rank 1 of 2 raised KeyError: 'a name'"
    assert "in fail\n" in caught.value.__notes__[0]
    assert time.monotonic() - start < 50


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_reported_at_once(clean, rank):
    def die():
        if jax.process_index() == rank:
            os.kill(os.getpid(), signal.SIGKILL)
        jax.experimental.multihost_utils.sync_global_devices("the end")

    with pytest.raises(RuntimeError, match=f"^rank {rank} of 2 was killed by SIGKILL$"):
        d2l.launch(die, 2)


def test_a_rank_that_exits(clean):
    def leave():
        print("the last words", flush=True)
        os._exit(3)

    with pytest.raises(RuntimeError, match="rank 0 of 1 ended with exit status 3") as e:
        d2l.launch(leave, 1)
    assert "the last words" in e.value.__notes__[0]


def test_silence_ends_in_a_clear_error(clean):
    def wait_in_vain():
        if jax.process_index() == 0:
            time.sleep(600)

    with pytest.raises(TimeoutError) as caught:
        d2l.launch(wait_in_vain, 2, timeout=8)
    assert str(caught.value).startswith("no result from rank 0 of 2 within 8 seconds;")
    (note,) = caught.value.__notes__
    assert "in wait_in_vain" in note and "site-packages" not in note


def test_a_result_that_cannot_be_pickled(clean):
    with pytest.raises(
        RuntimeError, match="rank 0 of 1 raised TypeError: cannot pickle"
    ):
        d2l.launch(threading.Lock, 1)


def test_an_interrupt_ends_all_ranks(clean):
    # A shell that starts a job in the background lets it ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        while len(list(clean.glob("*/*.ready"))) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        d2l.launch(time.sleep, 2, 600)


SCRIPT = """
from d2l import jax as d2l
def work(x):
    import time, jax
    open(f"{x}/{jax.process_index()}", "w").close()
    time.sleep(SECONDS)
    return x * 2
print(d2l.launch(work, 2, FOLDER))
"""


def start_script(folder: Path, seconds: float) -> subprocess.Popen:
    code = SCRIPT.replace("SECONDS", f"{seconds}").replace("FOLDER", repr(str(folder)))
    (folder / "script.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, folder / "script.py"], env=environment, stdout=-1, text=True
    )


def test_a_script_needs_no_guard(tmp_path):
    answer, _ = start_script(tmp_path, 0).communicate(timeout=200)
    assert answer == f"{[2 * str(tmp_path)] * 2}\n"


def test_no_rank_outlives_its_launcher(tmp_path):
    script = start_script(tmp_path, 600)
    while not {"0", "1"} <= {path.name for path in tmp_path.iterdir()}:
        time.sleep(0.1)
        assert script.poll() is None
    ranks = psutil.Process(script.pid).children(recursive=True)
    assert len(ranks) == 2
    script.kill()
    script.communicate()
    _, alive = psutil.wait_procs(ranks, timeout=60)
    assert alive == []


# A trainer on several devices


class Parts(d2l.DataModule):
    """Digits in minibatches of given sizes."""

    def __init__(self, *sizes: int):
        super().__init__()
        digits = d2l.Digits()
        ends = np.cumsum([0, *sizes])
        self.parts = [
            (digits.X[i:j], digits.y[i:j]) for i, j in zip(ends, ends[1:], strict=False)
        ]

    def get_dataloader(self, train: bool) -> list:
        return self.parts


class Shuffled(Parts):
    """Minibatches in an order that NumPy's global generator decides."""

    def get_dataloader(self, train: bool) -> list:
        return [self.parts[i] for i in np.random.permutation(len(self.parts))]


class Adam(d2l.MLP):
    def configure_optimizers(self):
        return optax.adam(0.01)


def result(trainer: Any) -> tuple[list, list]:
    """Return all numbers of the trained state, and all points of the board."""
    state = trainer.state
    leaves = jax.tree.leaves((state.params, state.opt_state, state.batch_stats))
    board = trainer.model.board.data
    points = [point for label in sorted(board) for point in board[label]]
    return [np.asarray(leaf) for leaf in leaves], points


def train(model: Any, data: Any, devices: list, **settings: Any) -> Any:
    """Return a trainer that has trained a copy of a model on some devices."""
    trainer = settings.pop("kind", d2l.Trainer)(
        max_epochs=2, gradient_clip_val=settings.pop("clip", 0)
    )
    trainer.devices = devices
    for name, value in settings.items():
        setattr(trainer, name, value)
    np.random.seed(0)
    trainer.fit(copy.deepcopy(model), data, key=KEY)
    return trainer


def assert_same(some: Any, others: Any, tolerance: float = 1e-6) -> None:
    for one, other in zip(result(some), result(others), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


SETTINGS = [
    (2, [7, 7, 3], {}),
    (4, [8, 1, 2], {}),
    (3, [5, 4], {"clip": 0.05}),
    (2, [9, 6, 2], {"accumulate": 2}),
    (4, [8, 4], {"accumulate": 3, "clip": 0.1}),
]


@pytest.mark.parametrize("n, sizes, settings", SETTINGS)
def test_devices_change_nothing(n, sizes, settings):
    model, data, devices = Adam(10, 8, 0.1), Parts(*sizes), jax.devices("cpu")[:n]
    one, several = (
        train(model, data, some, **settings) for some in (devices[:1], devices)
    )
    assert_same(one, several)
    for leaf in jax.tree.leaves(several.state.params):
        assert leaf.sharding.is_fully_replicated and leaf.devices() == {*devices}


MODELS = {
    "scratch": lambda: models.SoftmaxScratch(64, 10, lr=0.5),
    "dropout": lambda: models.DropoutMLP(10, 16, 0.3, 0.5),
    "blocks": models.Blocks,
    "own optimizer": lambda: models.OwnOptimizer(64, 0.01),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_d2l(name):
    model, data = MODELS[name](), Parts(7, 3)
    one, three = (train(model, data, jax.devices("cpu")[:n]) for n in (1, 3))
    assert_same(one, three)


class Images(Parts):
    def __init__(self, *sizes: int):
        super().__init__(*sizes)
        self.parts = [(X.reshape(-1, 8, 8, 1), y) for X, y in self.parts]


def test_batch_normalization_uses_the_whole_minibatch():
    model, data = models.BatchNormNet(0.2), Images(9, 4)
    one, four = (train(model, data, jax.devices("cpu")[:n]) for n in (1, 4))
    assert jax.tree.leaves(four.state.batch_stats)
    assert_same(one, four, 1e-5)


def test_a_step_that_cannot_be_compiled():
    class Asking(d2l.MLP):
        def training_step(self, params, batch, state):
            int(self.trainer.state.step)
            return super().training_step(params, batch, state)

    model, data = Asking(10, 8, 0.1), Parts(6, 5)
    with pytest.warns(UserWarning, match="uncompiled"):
        one, two = (train(model, data, jax.devices("cpu")[:n]) for n in (1, 2))
    assert_same(one, two)


def test_each_device_gets_its_share():
    shapes = []

    class Watching(d2l.Trainer):
        def prepare_batch(self, batch):
            batch = super().prepare_batch(batch)
            shapes.append([s.data.shape for s in batch[0].addressable_shards])
            return batch

    train(Adam(10, 8, 0.1), Parts(8), jax.devices("cpu"), kind=Watching)
    assert shapes == [[(2, 64)] * 4] * 4


def test_gpus_of_the_trainer(fw, monkeypatch):
    devices = jax.devices("cpu")[1:3]
    fw.pretend(monkeypatch, *devices)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer: Any = d2l.Trainer(max_epochs=1, num_gpus=2)
    assert trainer.devices == devices
    assert trainer.device == devices[0]
    trainer.fit(d2l.MLP(10, 8, 0.1), Parts(5, 4), key=KEY)
    assert {d for p in fw.params(trainer) for d in p.devices()} == {*devices}


def test_devices_that_are_twice_the_same():
    devices = [jax.devices("cpu")[i] for i in (0, 1, 0)]
    with pytest.raises(ValueError, match="must be different devices.*num_cpu_devices"):
        train(Adam(10, 8, 0.1), Parts(5), devices)


def test_steps_are_compiled_once_a_shape(caplog):
    with jax.log_compiles():
        train(Adam(10, 8, 0.1), Parts(8, 8, 5), jax.devices("cpu")[:2])
    compiled = [r for r in caplog.messages if "Finished XLA" in r and "(traced)" in r]
    assert len(compiled) == 4  # training and validation


def test_the_utilization_counts_all_devices():
    machine = d2l.Machine("made up", {"float32": 1e9}, 1e9)
    flops = []
    for n in 1, 4:
        trainer = train(
            Adam(10, 8, 0.1),
            Parts(8),
            jax.devices("cpu")[:n],
            callbacks=[d2l.MFU(machine)],
        )
        flops.append(trainer.callbacks[0].step_flops)
        assert len(trainer.model.board.data["mfu"]) == 2
    assert flops[0] == 4 * flops[1] == 3 * 2 * 8 * (64 * 8 + 8 * 10)


def train_in_group(sizes: tuple, clip: float) -> tuple:
    np.random.seed(jax.process_index())  # rank 0's seed decides
    np.random.standard_normal()
    model, trainer = Adam(10, 8, 0.1), d2l.Trainer(2, gradient_clip_val=clip)
    trainer.fit(model, Shuffled(*sizes))
    return result(trainer), [np.random.standard_normal(), np.random.rand()]


def test_several_processes_equal_one():
    alone, _ = train_in_group((7, 3, 4), 0.1)
    (first, numbers), (second, same) = d2l.launch(
        partial(train_in_group, (7, 3, 4)), 2, 0.1
    )
    assert numbers == same
    for parts in zip(alone, first, second, strict=True):
        for a, b, c in zip(*parts, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(b, c)


# Collectives


def run_over(n: int, function: Any, arrays: Any) -> Any:
    """Return the function over `n` devices, each of which has a row, compiled."""
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:n]), ("data",))
    rows = jax.sharding.PartitionSpec("data")
    return jax.jit(
        jax.shard_map(
            lambda x: function(x[0])[None], mesh=mesh, in_specs=rows, out_specs=rows
        )
    )


@pytest.mark.parametrize("n, shape", [(1, (3,)), (2, (1,)), (3, (7, 5)), (4, (2,))])
@pytest.mark.parametrize("name", ["star_all_reduce", "ring_all_reduce"])
def test_all_reduce_by_hand(name, n, shape):
    arrays = jax.random.normal(KEY, (n, *shape))
    function = run_over(n, getattr(d2l, name), arrays)
    sums = function(arrays)
    np.testing.assert_allclose(sums[0], arrays.sum(0), atol=1e-5)
    assert (sums == sums[0]).all() and sums.shape == arrays.shape
    sent, received = d2l.count_messages(function, arrays)
    assert sent.sum() == received.sum() and len(sent) == n
    if name == "ring_all_reduce":
        piece = -(-arrays[0].size // n) * 4
        assert [*sent] == [*received] == [2 * (n - 1) * piece] * n


def test_collectives_of_a_program():
    def send(x):
        parts = jax.lax.psum_scatter(x, "data", tiled=True)
        return jax.lax.all_gather(parts, "data", tiled=True) + jax.lax.psum(x, "data")

    found = d2l.count_collectives(
        run_over(4, send, 0), jax.ShapeDtypeStruct((4, 8), "bfloat16")
    )
    counted = {c.kind: (c.count, c.nbytes) for c in found}
    width = counted["all-gather"][1] // 8  # the CPU may compute in 32 bits
    assert width in (2, 4) and counted == dict.fromkeys(
        ("reduce-scatter", "all-gather", "all-reduce"), (1, 8 * width)
    )


TEXT = """
  %a = (f32[1024,512]{0,1}, f32[1024,4096]{0,1}) all-gather-start(%x), dimensions={1}
  %b = f32[1024,4096]{0,1} all-gather-done(%a)
  %c = ((bf16[8,16]{1,0}, pred[]), (bf16[1,16]{1,0}, pred[])) reduce-scatter-start(%x)
  %d = f32[2,3]{1,0} reduce-scatter(%x), replica_groups=[2,4]<=[8], dimensions={0}
  %e = f32[6]{0} reduce-scatter(%x), replica_groups={{0,1},{2,3}}, dimensions={0}
  %f = f32[6]{0} reduce-scatter(%x), replica_groups=mesh['a'=3,'b'=2] {'a'}, to_apply=%g
  ROOT %h = (s8[4]{0}, f64[]) all-reduce(%x, %y), to_apply=%add
"""


def test_the_text_of_a_program_for_gpus():
    found = {c.kind: (c.count, c.nbytes) for c in d2l.read_collectives(TEXT)}
    assert found == {
        "all-gather": (1, 1024 * 4096 * 4),
        "reduce-scatter": (4, 8 * 16 * 2 + 1 + 24 * 4 + 24 * 2 + 24 * 3),
        "all-reduce": (1, 4 + 8),
    }
    assert d2l.array_bytes("f32[], (u16[2,3]{1,0}, pred[7])") == [4, 12, 7]


def test_a_group_of_devices_of_one_kind(fw, monkeypatch):
    devices = jax.devices("cpu")
    assert d2l.device_group(3) == devices[:3]
    fw.pretend(monkeypatch, devices[2])
    assert d2l.device_group(1) == [devices[2]] and d2l.device_group(2) == devices[:2]
    with pytest.raises(ValueError, match="only 4 CPU devices; to get 5"):
        d2l.device_group(5)
