"""A model that is divided among devices needs two all-reduces per layer."""

import jax
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def test_two_all_reduces_per_layer(d2l):
    model = d2l.make_language_model(3, 64, heads=8, kv_heads=4, vocabulary=32)
    mesh = Mesh(d2l.try_devices(2), ("model",))

    def spread(*axes):
        return NamedSharding(mesh, P(*axes))

    kinds = [spread("model"), spread(None, "model")] * 6
    weights = [
        jax.device_put(weight, kind)
        for weight, kind in zip(model.weights, [spread(), *kinds], strict=True)
    ]
    caches = d2l.make_cache(model, 1, 8)
    caches = jax.device_put(caches, spread(None, None, None, "model"))
    token = jax.device_put(jnp.array([[3]]), spread())
    found = d2l.count_collectives(
        d2l.decode_step, model[:4], weights, token, caches, 5, d2l.linear
    )
    assert [(kind, count) for kind, count, _ in found] == [("all-reduce", 6)]
