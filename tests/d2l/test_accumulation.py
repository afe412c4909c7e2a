"""A minibatch computed in parts trains as the whole minibatch does."""

from functools import partial

import numpy as np
import pytest
from training import assert_equal, parts, run

MODELS = {
    "layers": lambda fw: fw.model(16, "relu", 10, optimizer="sgd"),
    "norm": lambda fw: fw.model("norm", 10),
    "scratch": lambda fw: next(c for c in fw.cases() if c.name == "mlp").model(),
}


def fit(fw, accumulate, *sizes, model=MODELS["layers"], **settings):
    data = partial(parts, fw, *sizes)
    return run(fw, lambda: model(fw), data, accumulate=accumulate, **settings)


@pytest.mark.parametrize("accumulate, clip", [(2, 0), (3, 0.05), (4, 0.5), (50, 0)])
@pytest.mark.parametrize("model", ["layers", "scratch"])
def test_parts_train_as_the_whole_minibatch(fw, model, accumulate, clip):
    """Neither 30 nor 7 examples can be divided equally."""
    settings = {"model": MODELS[model], "clip": clip}
    whole, added = (fit(fw, n, 30, 7, **settings) for n in (1, accumulate))
    assert_equal(fw, added, whole, 2e-5)
    for step in getattr(added, "train", None), getattr(added, "validate", None):
        assert getattr(step, "compiled", True)  # in JAX and TensorFlow


def test_parts_update_statistics_in_turn(fw):
    added = fit(fw, 3, 6, model=MODELS["norm"])
    one_by_one = fit(fw, 1, 2, 2, 2, model=MODELS["norm"])
    pairs = zip(fw.statistics(added), fw.statistics(one_by_one), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(fw.numpy(a), fw.numpy(b), rtol=1e-5, atol=1e-6)
