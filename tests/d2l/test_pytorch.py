"""What is PyTorch's alone: names of devices, placement on `meta`, parameters."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

import contextlib
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from d2l import torch as d2l

META = torch.device("meta")  # tensors there have a shape and no data


def test_devices_are_names():
    assert d2l.cpu() == torch.device("cpu")
    assert d2l.gpu() == torch.device("cuda:0") and d2l.gpu(7) == torch.device("cuda:7")
    assert d2l.num_gpus() == torch.accelerator.device_count()


@pytest.mark.parametrize("kind", ["cuda", "mps", "xpu"])  # cuda is also AMD's ROCm
def test_a_gpu_is_whatever_accelerator_there_is(monkeypatch, kind):
    accelerator = torch.device(kind)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: accelerator)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 1)
    assert d2l.num_gpus() == 1
    assert d2l.try_all_gpus() == [d2l.try_gpu()] == [torch.device(kind, 0)]
    assert d2l.try_devices() == [torch.device(kind, 0), d2l.cpu()]
    assert d2l.device_exists(torch.device(kind))
    assert not d2l.device_exists(torch.device(kind, 1))
    assert d2l.Trainer(max_epochs=1, num_gpus=1).device == torch.device(kind, 0)


def test_without_an_accelerator_gpus_are_named_cuda(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: None)
    assert d2l.gpu(3) == torch.device("cuda:3")


def test_numpy_refuses_a_tensor_on_a_gpu():
    """It raises an error and does not wait, as the text says."""
    with FakeTensorMode():
        x = torch.ones(2, device="cuda:0")
        with pytest.raises((RuntimeError, TypeError)):
            x.numpy()


def test_tf32_is_off_by_default():
    assert torch.get_float32_matmul_precision() == "highest"


def test_buffers_move(fw, monkeypatch):
    fw.pretend(monkeypatch, META)
    model = d2l.LinearRegressionScratch(2, lr=0.1)
    model.register_buffer("mean", torch.ones(2))
    d2l.Trainer(max_epochs=1, num_gpus=1).prepare_model(model)
    assert model.mean.device == META


def test_a_list_of_parameters_still_holds_the_parameters(fake_gpu):
    model = d2l.LinearRegression(lr=0.1)
    model.both = list(model.parameters())
    d2l.Trainer(max_epochs=1, num_gpus=1).prepare_model(model)
    assert all(p is q for p, q in zip(model.both, model.parameters(), strict=True))


def test_the_board_keeps_no_graph(fw):
    model: Any = d2l.MLP(10, 8, 0.1)
    model.plot_train_per_epoch = 0.5  # nothing is drawn before the end
    d2l.Trainer(max_epochs=1).fit(model, d2l.Digits())
    kept = [y for points in model.board.waiting.values() for _, y in points]
    assert len(kept) == 23
    assert not any(y.requires_grad or y.grad_fn for y in kept)


# Mistakes that only PyTorch lets through


def failing(model, message, kind=ValueError, **settings):
    """Check that a training fails with one line that contains `message`."""
    with pytest.raises(kind, match=message) as raised:
        d2l.Trainer(1, **settings).fit(model, d2l.Digits(500))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_vector_is_not_plotted(train, accumulate):
    class Plotting(d2l.MLP):
        def training_step(self, batch):
            if train:
                self.plot("both", torch.ones(2), train)
            return super().training_step(batch)

        def validation_step(self, batch):
            self.plot("both", torch.ones(2), train)

    words = r"^the plotted both must be a scalar, not of shape \(2,\); take its mean"
    failing(Plotting(10, 8, 0.1), words, accumulate=accumulate)


def test_a_complex_loss_is_refused():
    class Complex(d2l.MLP):
        def loss(self, y_hat, y, averaged=True):
            return super().loss(y_hat, y) * (1 + 1j)

    class Quiet(Complex):
        def training_step(self, batch):
            return self.loss(self(batch[0]), batch[1])

    failing(Quiet(10, 8, 0.1), "the loss must be a real number", TypeError)


@pytest.mark.parametrize("several", [False, True])
def test_an_optimizer_of_another_model_is_refused(several):
    class Elsewhere(d2l.MLP):
        def configure_optimizers(self):
            own = super().configure_optimizers()
            other = torch.optim.Adam(nn.Linear(2, 2).parameters())
            return [own, other] if several else other

    failing(Elsewhere(10, 8, 0.1), "^the Adam of configure_optimizers trains nothing")


def test_an_optimizer_of_a_tensor_in_a_list_is_allowed():
    class Listing(d2l.MLP):
        def configure_optimizers(self):
            return torch.optim.SGD(self.scales, 0.1)

        def forward(self, X):
            return super().forward(X * self.scales[0])

    model = Listing(10, 8, 0.1)
    model.scales = [torch.ones(64, requires_grad=True)]
    d2l.Trainer(1).fit(model, d2l.Digits(500))
    assert not torch.equal(model.scales[0], torch.ones(64))


def test_an_optimizer_that_needs_a_closure_is_named():
    class Repeating(d2l.MLP):
        def configure_optimizers(self):
            return torch.optim.LBFGS(self.parameters())

    model = Repeating(10, 8, 0.1)
    model(torch.ones(1, 64))
    failing(model, "^LBFGS needs a closure .*; use another optimizer$", TypeError)


@pytest.mark.parametrize("kind", [d2l.MLP, d2l.LinearRegression])
def test_a_validation_minibatch_is_checked_as_one_of_training(kind):
    class Training(kind):  # type: ignore[misc, valid-type]
        def training_step(self, batch):
            return super().training_step((batch["X"], batch["y"]))

    labels = torch.ones(4, dtype=torch.int64)
    batch = {
        "X": torch.ones(4, 64),
        "y": labels if kind is d2l.MLP else labels[:, None],
    }
    model = Training(10, 8, 0.1) if kind is d2l.MLP else Training(0.1)
    message = r"needs minibatches that are tuples \(inputs, labels\), not a dict"
    with pytest.raises(TypeError, match=message):
        d2l.Trainer(1).fit(model, ([batch], [batch]))


@pytest.mark.parametrize("n", [1, 2])
def test_a_module_that_is_not_one_of_this_library_is_refused(n):
    class Foreign(nn.Module):
        def training_step(self, batch):
            """Return no loss."""

        def configure_optimizers(self):
            """Return no optimizer."""

    message = "^Foreign lacks board, plot, validation_step, .*derive it from d2l.Module"
    failing(Foreign(), message, TypeError, devices=d2l.try_devices(n))


def test_apply_init_builds_lazy_layers_and_applies():
    model = d2l.MLP(10, 8, 0.1)

    def ones(module):
        if isinstance(module, nn.Linear):
            nn.init.ones_(module.weight)

    model.apply_init([torch.ones(2, 64)], ones)
    assert model.net[0].weight.shape == (8, 64)
    assert (model.net[2].weight == 1).all()


def test_init_cnn_initializes_by_xaviers_rule():
    layers = [nn.Conv2d(3, 5, 2), nn.Flatten(), nn.Linear(20, 50), nn.BatchNorm1d(50)]
    biases = [layers[0].bias.clone(), layers[2].bias.clone()]
    model = d2l.Module()
    model.net = nn.Sequential(*layers)
    model.apply_init([torch.ones(2, 3, 3, 3)], d2l.init_cnn)
    for layer, fans in ((layers[0], (3 + 5) * 2 * 2), (layers[2], 20 + 50)):
        bound = (6 / fans) ** 0.5
        assert 0.8 * bound < layer.weight.abs().max() <= bound
        assert torch.equal(layer.bias, biases.pop(0))
    assert (layers[3].weight == 1).all()
    lazy = nn.LazyLinear(3)
    d2l.init_cnn(lazy)
    assert isinstance(lazy, nn.LazyLinear)


def test_a_loader_slices_a_whole_minibatch():
    class Never(d2l.SlicedDataset):
        def __getitem__(self, i):
            raise AssertionError("one example at a time")

    loader = d2l.Digits().train_dataloader()
    loader.dataset.__class__ = Never
    assert len([*loader]) == 23


def test_loaders_pin_their_minibatches_where_there_is_a_gpu(monkeypatch):
    data: Any = d2l.SyntheticRegressionData(torch.tensor([2, -3.4]), 4.2)
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        for loader in (data.train_dataloader(), data.val_dataloader()):
            assert loader.pin_memory is there


def test_a_copy_to_the_gpu_does_not_block():
    class Batch:
        def to(self, *args, **kwargs):
            return args, kwargs

    assert d2l.move_to([Batch()], META) == [((META,), {"non_blocking": True})]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_no_step_waits_for_the_gpu(name):
    data: d2l.DataModule
    model: Any
    if name == "linear":
        model = d2l.LinearRegression(lr=0.1)
        data = d2l.SyntheticRegressionData(torch.tensor([2, -3.4]), 4.2)
    else:
        model, data = d2l.MLP(10, 8, 0.1), d2l.Digits()
    model.plot_train_per_epoch = model.plot_valid_per_epoch = 0.1
    trainer = d2l.Trainer(max_epochs=3, num_gpus=1)
    model(next(iter(data.train_dataloader()))[0])
    trainer.start(model, data)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for trainer.epoch in range(3):  # noqa: B020
            trainer.fit_epoch()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert model.board.data == {}


# Copies in a second stream


class FakeStream:
    """A stream whose tasks take known times, and which knows when it is free."""

    def __init__(self, device: torch.device | None = None):
        self.device, self.free = device, 0.0

    def wait_stream(self, other: "FakeStream") -> None:
        self.free = max(self.free, other.free)

    def run(self, seconds: float) -> tuple[float, float]:
        """Return when a task that was queued now begins and ends."""
        start, self.free = self.free, self.free + seconds
        return start, self.free


def copy_and_step(monkeypatch, device: torch.device, c: float, d: float) -> tuple:
    """Return the times of four copies, of the steps on them, and the minibatches."""
    steps, copying, copied = FakeStream(device), [], []
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "current_stream", {device: steps}.__getitem__)

    @contextlib.contextmanager
    def inside(stream):
        copying.append(stream)
        yield
        copying.pop()

    def move(batch, place):
        assert place == copying[-1].device == device
        copied.append(copying[-1].run(c))
        return batch

    monkeypatch.setattr(torch.cuda, "stream", inside)
    monkeypatch.setattr(d2l, "move_to", move)
    batches = [(i, {"label": i}) for i in range(4)]
    seen, computed = [], []
    for batch in d2l.copied_ahead(batches, device):
        seen.append(batch)
        computed.append(steps.run(d))
    assert seen == batches
    return copied, computed


@pytest.mark.parametrize("c, d", [(1, 3), (3, 1), (2, 2)])
def test_copies_in_a_second_stream_overlap_with_the_steps(monkeypatch, c, d):
    copied, computed = copy_and_step(monkeypatch, torch.device("cuda:1"), c, d)
    assert computed[-1][1] == 4 * max(c, d) + min(c, d)
    for (_, ready), (start, _) in zip(copied, computed, strict=True):
        assert start >= ready  # a step computes with what has been copied


@pytest.mark.parametrize("c, d", [(1, 3), (3, 1), (2, 2)])
def test_a_copy_overwrites_nothing_that_a_step_reads(monkeypatch, c, d):
    copied, computed = copy_and_step(monkeypatch, torch.device("cuda:1"), c, d)
    for (_, end), (start, _) in zip(computed[:-2], copied[2:], strict=True):
        assert start >= end  # so copy i + 2 may use the memory of minibatch i


def test_copied_ahead_yields_nothing_without_minibatches(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "current_stream", FakeStream)
    assert list(d2l.copied_ahead([], torch.device("cuda"))) == []


def test_pytorch_itself_compiles_eight_shapes_and_then_none():
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return graph.forward

    for options, sizes, count in (
        ({"dynamic": False}, range(2, 22), 8),
        ({}, range(2, 22), 2),
        ({}, (4, 3, 2, 1), 3),
    ):
        programs.clear()
        torch.compiler.reset()
        double = torch.compile(lambda x: 2 * x, backend=backend, **options)
        for size in sizes:
            double(torch.ones(size))
        assert len(programs) == count
    torch.compiler.reset()
