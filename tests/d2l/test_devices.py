"""Devices, and moving data to them."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import warnings
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

Pair = namedtuple("Pair", "X y")


def test_without_a_gpu_everything_is_the_cpu(d2l, fw, monkeypatch):
    fw.pretend(monkeypatch)
    assert d2l.try_gpu() == d2l.try_gpu(10) == d2l.cpu()
    assert d2l.try_all_gpus() == [d2l.cpu()]


def test_gpus_come_first(d2l, fw, fake_gpu):
    assert d2l.try_gpu() == fake_gpu and d2l.try_gpu(1) == d2l.cpu()
    assert d2l.try_all_gpus() == [fake_gpu]
    assert d2l.try_devices(1) == [fake_gpu]
    assert d2l.try_devices(2) == [fake_gpu, d2l.cpu()]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_try_devices_gives_as_many_as_asked_for(d2l, n):
    assert len(d2l.try_devices(n)) == n


def test_number_of_gpus(d2l):
    assert isinstance(d2l.num_gpus(), int) and d2l.num_gpus() >= 0


@pytest.mark.parametrize("n", [0, np.int64(0), np.int32(0)])
def test_no_gpu_asked_for(d2l, fake_gpu, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert d2l.Trainer(max_epochs=1, num_gpus=n).devices == [d2l.cpu()]


@pytest.mark.parametrize("n", [1, np.int64(1)])
def test_the_gpus_asked_for(d2l, fake_gpu, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert d2l.Trainer(max_epochs=1, num_gpus=n).devices == [fake_gpu]


def test_all_gpus_asked_for_are_devices_of_the_trainer(d2l, fw, monkeypatch):
    fw.pretend(monkeypatch, fw.second, d2l.cpu(), d2l.cpu())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = d2l.Trainer(max_epochs=1, num_gpus=2)
    assert trainer.devices == [fw.second, d2l.cpu()]
    assert trainer.device == fw.second


@pytest.mark.parametrize("there", [0, 1])
def test_more_gpus_than_there_are(d2l, fw, monkeypatch, there):
    fw.pretend(monkeypatch, *[fw.second] * there)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer = d2l.Trainer(max_epochs=1, num_gpus=3)
        fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=1437))
    said = [w for w in caught if "num_gpus=3" in str(w.message)]
    assert len(said) == 1 and said[0].filename == __file__
    assert ["CPU", "1 GPU"][there] in str(said[0].message)
    assert trainer.devices == ([fw.second] if there else [d2l.cpu()])


def places(fw, tree):
    """Return the devices of the tensors in nested dicts and sequences."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [place for item in tree for place in places(fw, item)]
    return [fw.device(tree)]


def test_move_to_keeps_the_form(d2l, fw):
    x, y = fw.tensor([1, 2]), fw.tensor([3])
    batch = (x, [x, {"a": y, "b": (x, y)}], Pair(X=x, y={"c": y}))
    moved = d2l.move_to(batch, fw.second)
    assert places(fw, moved) == [fw.second] * 7
    assert type(moved) is tuple and type(moved[1]) is list
    assert list(moved[1][1]) == ["a", "b"] and type(moved[1][1]["b"]) is tuple
    assert type(moved[2]) is Pair and moved[2]._fields == ("X", "y")
    np.testing.assert_array_equal(fw.numpy(moved[2].y["c"]), [3])


def test_move_to_leaves_the_batch_as_it_was(d2l, fw):
    x = fw.tensor([1, 2])
    batch = [x, {"a": x}]
    before = fw.device(x)
    d2l.move_to(batch, fw.second)
    assert batch[0] is x and batch[1]["a"] is x and fw.device(x) == before


def test_move_to_of_nothing(d2l, fw):
    assert d2l.move_to((), fw.second) == () and d2l.move_to({}, fw.second) == {}


def test_move_to_leaves_what_is_no_tensor(d2l, fw):
    x = fw.tensor([1, 2])
    moved = d2l.move_to((x, None, "text", {"name": "a"}), fw.second)
    assert fw.device(moved[0]) == fw.second
    assert moved[1:] == (None, "text", {"name": "a"})


def test_move_to_keeps_the_order_of_a_dict(d2l, fw):
    x = fw.tensor([1])
    moved = d2l.move_to(OrderedDict(b=x, a=x), fw.second)
    assert list(moved) == ["b", "a"] and isinstance(moved, dict)


def test_an_epoch_moves_the_minibatches_of_training_and_validation(
    d2l, fw, fake_gpu, monkeypatch
):
    """As many bytes as the section on GPUs predicts: 1797 images and labels."""
    moved: list = []
    prepare = d2l.Trainer.prepare_batch

    def spy(trainer, batch):
        moved.extend(fw.numpy(a).nbytes for a in batch)
        return prepare(trainer, batch)

    monkeypatch.setattr(d2l.Trainer, "prepare_batch", spy)
    fw.fit(d2l.Trainer(max_epochs=1, num_gpus=1), d2l.MLP(10, 8, 0.1), d2l.Digits())
    label = 8 if fw.tab == "pytorch" else 4
    assert sum(moved) == 1797 * (64 * 4 + label)
    assert len(moved) == 2 * 29


def test_alias_to_moves(d2l, fw):
    if hasattr(d2l, "to"):
        assert fw.device(d2l.to(fw.tensor([1]), fw.second)) == fw.second


def test_a_minibatch_goes_to_the_device_that_is_given(d2l, fw):
    device = fw.torch.device("meta") if fw.tab == "pytorch" else fw.second
    seen = []

    class Trainer(d2l.Trainer):
        def prepare_batch(self, batch):
            batch = super().prepare_batch(batch)
            seen.extend(places(fw, batch))
            return batch

    model = d2l.MLP(10, 8, 0.1)
    model.plot_train_per_epoch = model.plot_valid_per_epoch = 0  # reads no value
    fw.build(model, fw.tensor(np.ones((2, 64))))
    fw.fit(Trainer(1, devices=[device]), model, d2l.Digits(batch_size=1437))
    assert set(seen) == {device}


def test_devices_that_do_not_exist_are_refused_in_one_line(d2l, fw):
    devices = [d2l.cpu()]
    with pytest.raises((ValueError, RuntimeError, IndexError)) as caught:
        devices.append(d2l.gpu(99))  # raises an exception in JAX
        d2l.Trainer(1, devices=devices)
    text = str(caught.value)
    assert "\n" not in text
    if fw.tab != "jax":
        assert text.startswith("devices must be a list of devices that this process")
        assert text.endswith(f"not {devices!r}")
