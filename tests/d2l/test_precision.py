"""Training in 16 bits: types, scaled losses, and results near those of 32 bits.

MXNet multiplies such numbers only on GPUs: see `test_mxnet.py`.
"""

# The library is a module that mypy does not know.
# mypy: disable-error-code="name-defined"

from functools import partial

import numpy as np
import pytest
from training import parts, run


def fit(fw, precision, model=None, sizes=(64,) * 4, **settings):
    made = model or (lambda: fw.model(32, "relu", 10, lr=0.02))
    data = partial(parts, fw, *sizes)
    return run(fw, made, data, precision=fw.dtype(precision), **settings)


def values(fw, trainer):
    return np.concatenate([fw.numpy(p).reshape(-1) for p in fw.params(trainer)])


@pytest.mark.parametrize("accumulate", [1, 3])
def test_training_in_16_bits(fw, accumulate):
    exact = fit(fw, "float32", epochs=4)
    for precision in fw.short_types:
        short = fit(fw, precision, epochs=4, accumulate=accumulate)
        afterwards = fw.outputs(short, fw.tensor(np.ones((2, 64))))
        for array in [afterwards, *fw.params(short)]:
            assert "float32" in str(array.dtype)
        losses = [t.model.board.data["val_loss"][-1].y for t in (exact, short)]
        assert losses[0] != losses[1] == pytest.approx(losses[0], rel=fw.rounding_error)
        assert losses[1] < 0.9 * short.model.board.data["val_loss"][0].y


def test_the_network_computes_in_the_precision_of_the_trainer(d2l, fw):
    """Whatever it was in an earlier fit."""
    seen: list = []
    began: list = []

    class Watched(d2l.MLP):
        def training_step(self, *args):
            if not began:  # in JAX, parameters are made in 32 bits
                seen.clear()
            began.append(1)
            return super().training_step(*args)

        def forward(self, X):
            Y = super().forward(X)
            seen.append(Y.dtype)
            return Y

    trainer = d2l.Trainer(1)
    for precision in (*fw.short_types, "float32"):
        seen.clear()
        began.clear()
        trainer.precision = fw.dtype(precision)
        fw.fit(trainer, Watched(10, 16, 0.1), parts(fw, 64, 64))
        assert seen and all(dtype == fw.dtype(precision) for dtype in seen)


def small(fw, scale):
    """Return a model with a small loss, and steps as if it were not."""

    class Small(fw.models.Layers):
        def loss(self, *args):
            value = super().loss(*args)
            return (scale * value[0], value[1]) if fw.tab == "jax" else scale * value

    model = Small((16, 10), "sgd", 0.1 / scale)
    model.board.display = False
    fw.build(model, fw.tensor(np.ones((2, 64))))
    return model


@pytest.mark.parametrize("before", [0, 1])
def test_small_gradients_survive_in_float16(fw, tmp_path, before):
    """Without scaling of the loss they would be zero; so too after a checkpoint."""
    if before and fw.tab != "pytorch":
        return  # a checkpoint has the optimizer of its precision
    for precision in set(fw.short_types) & {"float16"}:
        folder = tmp_path if before else None
        start, short, exact = (
            values(fw, fit(fw, kind, lambda: small(fw, 1e-7), (32,), **settings))
            for kind, settings in [
                ("float32", {"epochs": before, "folder": folder}),
                (precision, {"epochs": before + 1, "folder": folder}),
                ("float32", {"epochs": before + 1}),
            ]
        )
        change = exact - start
        assert np.abs(short - exact).max() < 0.02 * np.abs(change).max()


def test_a_gradient_that_overflows_skips_the_step(d2l, fw):
    def data(*factors):
        class Data(d2l.DataModule):
            def train_dataloader(self):
                [(X, y)] = parts(fw, 20).train_dataloader()
                return [(X * factor, y) for factor in factors]

            def val_dataloader(self):
                return None

        return Data

    def trained(*factors):
        model = partial(fw.model, 16, 10, optimizer="sgd")
        return run(fw, model, data(*factors), precision=fw.dtype("float16"), epochs=1)

    if "float16" in fw.short_types:
        skipped, plain = trained(float("inf"), 1.0), trained(1.0)
        constant = fw.tab == "jax"
        assert constant or fw.loss_scale(skipped) < fw.loss_scale(plain)
        np.testing.assert_allclose(values(fw, skipped), values(fw, plain), atol=1e-3)


def test_clipping_in_16_bits_limits_the_gradient_itself(fw):
    model = partial(fw.model, 32, "relu", 10, optimizer="sgd", lr=0.5)
    exact, free = (fit(fw, "float32", model, clip=clip) for clip in (0.1, 0))
    for precision in fw.short_types:
        short = fit(fw, precision, model, clip=0.1)
        error = np.abs(values(fw, short) - values(fw, exact)).max()
        assert error < 0.1 * np.abs(values(fw, free) - values(fw, exact)).max()
