"""A minibatch computed in parts trains as the whole minibatch does."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

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


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
def test_parts_train_alike_where_a_model_cannot_be_compiled(d2l, fw):
    class Choosing(d2l.MLP):
        def forward(self, X):
            return super().forward(X if float(d2l.reduce_sum(X)) > 0 else 2 * X)

    whole, added = (
        fit(fw, n, 9, 1, model=lambda _: Choosing(10, 8, 0.1)) for n in (1, 3)
    )
    assert_equal(fw, added, whole, 2e-5)
    assert getattr(getattr(added, "train", None), "compiled", None) is None


def test_one_part_has_all_items_whole(d2l, fw):
    """An item may be a table that all examples share, such as weights of classes."""
    seen = []

    class Model(d2l.MLP):
        def training_step(self, *args):
            i = 1 if fw.tab == "jax" else 0
            X, y = args[i]
            seen.append(len(y["table"]))
            return super().training_step(*args[:i], (X, y["labels"]), *args[i + 1 :])

    X, labels = next(iter(d2l.Digits(8).val_dataloader()))
    batch = X, {"labels": labels, "table": fw.tensor(np.ones(10))}
    fw.fit(d2l.Trainer(1), Model(10, 8, 0.1), ([batch], None))
    assert seen and set(seen) == {10}
