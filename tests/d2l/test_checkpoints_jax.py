"""Checkpoints of features that only JAX has: random keys and donated memory."""

import time

import jax
import orbax.checkpoint as ocp
from jax import numpy as jnp
from test_checkpoints import fit, net
from training import STEPS, assert_equal, noisy, run

from d2l import jax as d2l


def test_legacy_keys_and_statistics(fw, tmp_path, monkeypatch):
    monkeypatch.setattr(jax.random, "key", jax.random.PRNGKey)
    undisturbed = fit(fw, None)
    fit(fw, tmp_path, cut_at=3, save_every=2)
    assert_equal(fw, fit(fw, tmp_path), undisturbed)
    assert undisturbed.state.dropout_rng.dtype == "uint32"


def test_a_tree_comes_back_although_its_memory_is_used_again(tmp_path, monkeypatch):
    """In place of the next step, a function gets the memory of the saved array."""
    state = {"key": jax.random.key(1), "rbg": jax.random.key(2, impl="rbg"), "n": 3}
    state["array"] = jnp.ones(2**16)
    saved, save = [], ocp.StandardCheckpointer.save

    def spied(self, path, tree):
        saved.append(tree["array"].unsafe_buffer_pointer())
        save(self, path, tree)

    monkeypatch.setattr(ocp.StandardCheckpointer, "save", spied)
    wait = d2l.write_arrays(state, d2l.draft_checkpoint(tmp_path, 3))
    assert saved != [state["array"].unsafe_buffer_pointer()]
    like = {"key": jax.random.key(8), "rbg": jax.random.key(9, impl="rbg"), "n": 4}
    like["array"] = jax.jit(jnp.add, donate_argnums=0)(state["array"], 1)
    wait()
    again = d2l.read_arrays(tmp_path / "step-00000003", like)
    assert jax.random.normal(again["key"]) == jax.random.normal(state["key"])
    assert jnp.array_equal(again["rbg"], state["rbg"]) and again["n"] == 3
    assert jnp.array_equal(again["array"], jnp.ones(2**16))


def test_processes_save_while_the_next_steps_run(fw, tmp_path):
    """Their threads must not meet in a collective operation, as the steps do."""

    def train(folder):
        def publish_late(draft, *keep):
            time.sleep(0.5)  # as if the first process had many digests to compute
            publish(draft, *keep)

        publish, d2l.publish_checkpoint = d2l.publish_checkpoint, publish_late
        devices = jax.devices()
        return run(
            fw, net(fw), lambda: noisy(fw), folder,
            save_every=4, devices=devices,
        ).train_batch_idx  # fmt: skip

    steps = d2l.launch(train, 2, tmp_path)
    assert steps == [2 * STEPS] * 2
    assert d2l.latest_checkpoint(tmp_path) == tmp_path / f"step-{2 * STEPS:08}"
