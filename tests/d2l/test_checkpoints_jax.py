"""Checkpoints of what only JAX has: random keys, and a file that needs no JAX."""

import json

import jax
from jax import numpy as jnp
from test_checkpoints import fit
from training import assert_equal

from d2l import jax as d2l


def test_legacy_keys_and_statistics(fw, tmp_path, monkeypatch):
    monkeypatch.setattr(jax.random, "key", jax.random.PRNGKey)
    undisturbed = fit(fw, None)
    fit(fw, tmp_path, cut_at=3, save_every=2)
    assert_equal(fw, fit(fw, tmp_path), undisturbed)
    assert undisturbed.state.dropout_rng.dtype == "uint32"


def test_random_keys_are_numbers_in_a_checkpoint():
    state = {"key": jax.random.key(1), "rbg": jax.random.key(2, impl="rbg"), "n": 3}
    arrays = d2l.named_arrays(state)
    assert {k: str(a.dtype) for k, a in arrays.items()} == {
        "key": "uint32",
        "rbg": "uint32",
        "n": "int32",
    }
    again = d2l.restored_like(state, arrays)
    assert jax.random.normal(again["key"]) == jax.random.normal(state["key"])
    assert jnp.array_equal(again["rbg"], state["rbg"]) and again["n"] == 3


def test_the_progress_is_readable_without_jax(fw, tmp_path):
    fit(fw, tmp_path, cut_at=3, save_every=2)
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    progress = json.loads((newest / "progress.json").read_text())
    progress = {key: value for key, value in progress["dict"]}
    assert (progress["epoch"], progress["position"]) == (0, 2)
    assert progress["train_batch_idx"] == 2
