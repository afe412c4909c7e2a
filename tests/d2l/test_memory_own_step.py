"""The memory of models that define their training step themselves."""

import warnings
from typing import Any


def repeated(d2l: Any, fw: Any, times: int) -> Any:
    """Return a model whose training step has several forward passes."""

    class Repeated(d2l.DeepMLP):
        def training_step(self, *args: Any) -> Any:
            if fw.tab == "jax":
                params, batch, state = args

                def loss(params):
                    whole = [self.loss(params, (batch[0],), batch[1], state)] * 1
                    for i in range(1, times):
                        X = batch[0] * (1 + i)
                        whole.append(self.loss(params, (X,), batch[1], state))
                    return sum(whole)

                return fw.jax.value_and_grad(loss)(params)
            (batch,) = args
            losses = [
                self.loss(self(batch["X"] * (1 + i)), batch["y"]) for i in range(times)
            ]
            return sum(losses)

    return Repeated(depth=2, width=32) if times else d2l.DeepMLP(depth=2, width=32)


def test_the_training_step_of_the_model_is_counted(d2l, fw):
    X = fw.tensor([[0.5] * 32] * 256)
    batch = (X, X) if fw.tab == "jax" else {"X": X, "y": X}
    with warnings.catch_warnings(action="ignore"):
        one, four = (d2l.predict_memory(repeated(d2l, fw, n), batch) for n in (1, 4))
    assert four.weights == one.weights and four.batch == one.batch
    assert four.peak - one.peak > 2 * 256 * 32 * 4
    if fw.tab != "jax":
        assert four.activations > 3 * one.activations


def test_what_is_left_out_is_said(d2l, fw):
    X = fw.tensor([[0.5] * 32] * 256)
    batch = (X, X) if fw.tab == "jax" else {"X": X, "y": X}
    with warnings.catch_warnings(record=True, action="always") as caught:
        d2l.predict_memory(repeated(d2l, fw, 2), batch)
    said = [
        "training_step of its own; its activations" in f"{w.message}" for w in caught
    ]
    assert any(said) == (fw.tab == "jax")  # the only one that cannot list them
