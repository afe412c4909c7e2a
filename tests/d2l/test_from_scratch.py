"""Tensors that are plain attributes of a model are found, moved and trained."""

from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture
def model(fw):
    if fw.tab == "jax":
        pytest.skip("a model of JAX holds no arrays")
    return fw.models.Everything()


@pytest.fixture
def moved(d2l, fw, model, monkeypatch):
    """The model, moved to a GPU that is not the CPU."""
    fw.pretend(monkeypatch, fw.elsewhere)
    d2l.Trainer(max_epochs=1, num_gpus=1).prepare_model(model)
    return model


@pytest.mark.parametrize("where", ["model", "moved"])
def test_each_tensor_to_train_is_found_once(fw, request, where):
    model = request.getfixturevalue(where)
    trainer = SimpleNamespace(model=model, optim=model.configure_optimizers())
    found = fw.params(trainer)
    assert sorted(map(id, found)) == sorted(map(id, model.trained()))


def test_all_tensors_move_in_place(fw, model, request):
    before = [fw.numpy(tensor) for tensor in model.trained()]
    kinds = [getattr(tensor, "trainable", None) for tensor in fw.arrays(model)]
    tensors = [*request.getfixturevalue("moved").trained(), model.constant]
    assert {fw.device(tensor) for tensor in tensors} == {fw.elsewhere}
    assert model.tied is model.inner.W and model.listed[0] is model.w
    assert model.listed[1][0] is model.b and model.text == "a text"
    assert kinds == [getattr(tensor, "trainable", None) for tensor in fw.arrays(model)]
    if fw.tab == "pytorch":  # whose tensors elsewhere have no data
        assert model.w.requires_grad and model.w.is_leaf
        assert not model.constant.requires_grad
    else:
        for old, new in zip(before, model.trained(), strict=True):
            np.testing.assert_array_equal(old, fw.numpy(new))


def test_all_tensors_are_trained_on_a_gpu(d2l, fw, fake_gpu, model):
    before = [fw.numpy(tensor) for tensor in model.trained()]
    constant = fw.numpy(model.constant)
    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, num_train=64)
    fw.fit(d2l.Trainer(max_epochs=1, num_gpus=1), model, data)
    assert not any(map(np.array_equal, before, map(fw.numpy, model.trained())))
    assert np.array_equal(constant, fw.numpy(model.constant))
