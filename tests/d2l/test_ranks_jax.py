"""Ranks of what only JAX has: shardings, several devices a process, programs' text."""

import os
from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from training import assert_equal, parts, run_on

from d2l import jax as d2l

KEY = jax.random.key(0)


# Processes


def test_a_rank_may_have_several_devices():
    def total(x):
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
        rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        values = np.arange(jax.device_count(), dtype="float32") * 10 + x
        X = jax.make_array_from_callback(values.shape, rows, values.__getitem__)
        count = jax.process_count(), jax.local_device_count(), jax.device_count()
        return count, float(jnp.sum(X)), d2l.cpu().process_index

    results = d2l.launch(total, 2, 1, local_devices=2)
    assert results == [((2, 2, 4), 64, 0), ((2, 2, 4), 64, 1)]


# A trainer on several devices


def test_a_step_that_cannot_be_compiled(fw):
    class Asking(d2l.MLP):
        def training_step(self, params, batch, state):
            int(self.trainer.state.step)
            return super().training_step(params, batch, state)

    with pytest.warns(UserWarning, match="uncompiled"):
        one, two = (run_on(fw, n, lambda: Asking(10, 8, 0.1), 6, 5) for n in (1, 2))
    assert_equal(fw, one, two, 1e-6)


def test_each_device_gets_its_share(fw):
    shapes = []

    class Watching(d2l.Trainer):
        def prepare_batch(self, batch):
            batch = super().prepare_batch(batch)
            shapes.append([s.data.shape for s in batch[0].addressable_shards])
            return batch

    trainer = Watching(max_epochs=2, devices=jax.devices("cpu"))
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), parts(fw, 8))
    assert shapes == [[(2, 64)] * 4] * 4
    for leaf in jax.tree.leaves(trainer.state.params):
        assert leaf.sharding.is_fully_replicated and len(leaf.devices()) == 4


def test_steps_are_compiled_once_a_shape(fw, caplog):
    jax.clear_caches()  # an earlier test may have left the programs there
    with jax.log_compiles():
        run_on(fw, 2, lambda: d2l.MLP(10, 8, 0.1), 8, 8, 5)
    steps = "Compiling jit(train_step)", "Compiling jit(val_step)"
    compiled = [r for r in caplog.messages if r.startswith(steps)]
    assert len(compiled) == 4  # training and validation


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


def test_a_rank_has_a_gpu_of_its_own(fw, monkeypatch):
    fw.pretend(monkeypatch, *jax.devices("cpu")[1:3])
    environment = d2l.rank_environment(1, 2)
    assert environment["JAX_LOCAL_DEVICE_IDS"] == "1"
    assert environment.get("JAX_PLATFORMS") == os.environ.get("JAX_PLATFORMS")
    assert d2l.rank_environment(1, 3)["JAX_PLATFORMS"] == "cpu"
