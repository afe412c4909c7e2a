"""Devices, and moving data to them."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import warnings
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

Pair = namedtuple("Pair", "X y")


def test_without_a_gpu_everything_is_on_the_cpu(d2l, fw, monkeypatch):
    fw.pretend(monkeypatch)
    assert d2l.try_gpu() == d2l.try_gpu(10) == d2l.cpu()
    assert d2l.try_all_gpus() == [d2l.cpu()]
    assert d2l.try_devices() == [d2l.cpu(), fw.second]
    if fw.tab in ("jax", "tensorflow"):  # with four virtual devices
        *four, fifth = d2l.try_devices(5)
        assert len({*map(str, four)}) == 4 and fifth == d2l.cpu()


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


@pytest.mark.parametrize("n", [0, np.int64(0), np.int32(0), 1, np.int64(1), 2])
def test_the_gpus_asked_for(d2l, fw, monkeypatch, n):
    gpus = fw.second, d2l.cpu(), d2l.cpu()
    fw.pretend(monkeypatch, *gpus)
    with warnings.catch_warnings(action="error"):
        trainer = d2l.Trainer(max_epochs=1, num_gpus=n)
    assert trainer.devices == ([*gpus[:n]] or [d2l.cpu()])
    assert trainer.device == trainer.devices[0]


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


def test_gpus_are_the_devices_that_are_gpus(d2l, fw, fake_gpu):
    trainer = d2l.Trainer(max_epochs=1, devices=[fake_gpu])
    assert trainer.gpus == [fake_gpu]
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=1437))
    assert trainer.gpus == [fake_gpu]


@pytest.mark.parametrize("n", [1, 2])
def test_devices_of_a_cpu_are_no_gpus(d2l, fw, monkeypatch, n):
    fw.pretend(monkeypatch)
    assert d2l.Trainer(max_epochs=1, devices=d2l.try_devices(n)).gpus == []


@pytest.mark.parametrize("num_gpus", [0, 1])
@pytest.mark.parametrize("own", ["", "__init__"])
def test_a_trainer_patched_as_in_the_original_book_trains(
    d2l, fw, monkeypatch, own, num_gpus
):
    fw.pretend(monkeypatch, *[fw.second] * num_gpus)
    copy = getattr(d2l, "to", d2l.move_to)  # TensorFlow has no `to`
    places: list[list] = []

    def __init__(self, max_epochs, num_gpus=0, gradient_clip_val=0):
        self.save_hyperparameters()
        self.gpus = [d2l.gpu(i) for i in range(min(num_gpus, d2l.num_gpus()))]

    def prepare_batch(self, batch):
        places.append(self.gpus)
        if self.gpus:
            batch = [copy(a, self.gpus[0]) for a in batch]
        return batch

    def prepare_model(self, model):
        model.trainer = self
        model.board.xlim = [0, self.max_epochs]
        if self.gpus and fw.tab == "pytorch":
            model.to(self.gpus[0])
        elif self.gpus:
            model.collect_params().reset_ctx(self.gpus[0])
            model.set_scratch_params_device(self.gpus[0])
        self.model = model

    patches = [prepare_batch]
    if own:
        patches.append(__init__)
    if fw.tab in ("pytorch", "mxnet"):
        patches.append(prepare_model)
    for method in patches:
        monkeypatch.setattr(d2l.Trainer, method.__name__, method)
    trainer = d2l.Trainer(1, num_gpus)
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=1437))
    assert [*map(str, places[0])] == [str(fw.second)] * num_gpus
    assert {*map(str, map(fw.device, fw.params(trainer)))} == {
        str(fw.second if num_gpus else d2l.cpu())
    }


def places(fw, tree):
    """Return the devices of the tensors in nested dicts and sequences."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [place for item in tree for place in places(fw, item)]
    return [fw.device(tree)]


def test_move_to_keeps_the_form(d2l, fw):
    x, y = fw.tensor([1, 2]), fw.tensor([3])
    tensors = (x, [x, OrderedDict(b=(x, y), a=y)], Pair(X=x, y={"c": y}))
    moved, others = d2l.move_to((tensors, (None, "text", {"name": "a"})), fw.second)
    assert places(fw, moved) == [fw.second] * 7
    assert type(moved) is tuple and type(moved[1]) is list
    assert list(moved[1][1]) == ["b", "a"] and type(moved[1][1]["b"]) is tuple
    assert type(moved[2]) is Pair and moved[2]._fields == ("X", "y")
    np.testing.assert_array_equal(fw.numpy(moved[2].y["c"]), [3])
    assert others == (None, "text", {"name": "a"})
    assert d2l.move_to((), fw.second) == () and d2l.move_to({}, fw.second) == {}


def test_a_copy_to_where_a_tensor_is_takes_no_memory(d2l, fw):
    x = d2l.move_to(fw.tensor([1.0, 2.0]), fw.second)
    again = d2l.move_to(x, fw.second)
    if fw.tab == "jax":
        assert again.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    elif fw.tab != "tensorflow":  # whose copy is another tensor
        assert again is x


def test_move_to_leaves_the_batch_as_it_was(d2l, fw):
    x = fw.tensor([1, 2])
    batch = [x, {"a": x}]
    before = fw.device(x)
    d2l.move_to(batch, fw.second)
    assert batch[0] is x and batch[1]["a"] is x and fw.device(x) == before


def test_alias_to_moves(d2l, fw):
    if hasattr(d2l, "to"):
        assert fw.device(d2l.to(fw.tensor([1]), fw.second)) == fw.second


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
