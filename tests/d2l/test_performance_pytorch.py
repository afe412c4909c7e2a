"""Performance in PyTorch: counts against counts by hand, traces, and the trainer."""

# save_hyperparameters makes attributes; sections set attributes of classes.
# mypy: disable-error-code="attr-defined"

import contextlib
import warnings
from typing import Any

import pytest
import torch
import zoo_pytorch
from test_performance import trained
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import record_function
from torch.utils import checkpoint, flop_counter
from training import assert_equal

from d2l import torch as d2l


def flops(function, *args):
    return sum(op.flops for op in d2l.list_operations(function, *args))


def names(function, *args):
    return [op.name for op in d2l.list_operations(function, *args)]


def gradients(net, X):
    """Compute the gradients of the mean square of a model's outputs."""
    (net(X) ** 2).mean().backward()


# FLOPs


@pytest.mark.parametrize(
    ("layer", "shape", "multiplications"),
    [
        (nn.Linear(4, 11), (6, 3, 4), 18 * 4 * 11),
        (nn.Conv2d(4, 8, 3, 2, 1), (2, 4, 9, 9), 2 * 25 * 9 * 4 * 8),
        (nn.Conv2d(4, 8, (3, 1), bias=False), (2, 4, 9, 10), 2 * 70 * 3 * 4 * 8),
        (nn.Conv1d(6, 5, 4), (3, 6, 20), 3 * 17 * 4 * 6 * 5),
        (nn.Conv3d(4, 6, 2), (2, 4, 5, 5, 5), 2 * 64 * 8 * 4 * 6),
        (nn.ConvTranspose2d(4, 8, 2, 2), (2, 4, 5, 5), 2 * 25 * 4 * 4 * 8),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_flops_of_a_layer_and_its_gradients(device, layer, shape, multiplications):
    layer = layer.to(device)
    X = torch.ones(shape, device=device, requires_grad=True)
    assert flops(layer, X) == 2 * multiplications
    assert flops(gradients, layer, X) == 3 * 2 * multiplications


def test_grouped_convolutions_multiply_within_their_groups():
    X = torch.ones(2, 4, 9, 10)
    assert flops(nn.Conv2d(4, 8, 3, groups=2), X) == 2 * 2 * 56 * 9 * 2 * 8


class Residual(nn.Module):
    """Two convolutions with batch normalization beside a shortcut of 1 x 1."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, 2, 1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1, 2)

    def forward(self, X):
        return torch.relu(self.layers(X) + self.shortcut(X))


def test_an_embedding_moves_only_bytes():
    layer, tokens = nn.Embedding(10, 4), torch.zeros(3, 5, dtype=torch.int64)
    (op,) = d2l.list_operations(layer, tokens)
    assert op.name == "embedding" and op.flops == 0
    assert op.nbytes == 10 * 4 * 4 + 15 * 8 + 15 * 4 * 4  # the table as a whole


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_attention_is_two_products_with_the_scores(device):
    Q = torch.ones(2, 3, 7, 4, device=device)
    K = torch.ones(2, 3, 9, 4, device=device)
    attention = nn.functional.scaled_dot_product_attention
    assert flops(attention, Q, K, K) == 2 * 2 * (2 * 3 * 7 * 9 * 4)


def perceptron():
    return nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 16))


# Bytes


def test_a_result_written_over_an_argument_counts_once():
    X, Y = torch.ones(1000), torch.ones(1000)
    for function in X.add_, lambda Y: torch.add(X, Y, out=X):
        assert [op.nbytes for op in d2l.list_operations(function, Y)] == [8000]


def test_several_results_count_each():
    (op,) = d2l.list_operations(torch.ones(10, 20).max, 1)
    assert op.nbytes == 4 * 200 + 10 * (4 + 8)  # the values and their places


def test_an_update_of_all_parameters_at_once_counts_each():
    net = perceptron()
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)
    size = 4 * sum(p.numel() for p in net.parameters())
    moved = [op.nbytes for op in d2l.list_operations(optimizer.step)]
    assert max(moved) == 2 * size  # parameters and gradients


def test_views_move_no_bytes():
    X = torch.ones(10, 6)

    def views():
        Y = X.reshape(4, 15).t().unsqueeze(0).expand(3, 15, 4)[:, 1:3]
        return X.view(-1)[:7], X.split(5), X.detach(), Y.permute(2, 0, 1), X.chunk(2)

    assert names(views) == []
    assert names(lambda: torch.empty(1000)) == []
    assert names(lambda: X.t().contiguous()) == ["clone"]


def test_the_view_of_a_product_moves_no_bytes():
    X, W = torch.ones(2, 3, 4), torch.ones(4, 5)
    assert names(torch.matmul, X, W) == ["mm"]


def test_a_repeated_number_counts_once():
    X, b = torch.ones(100, 10), torch.ones(10)
    (op,) = d2l.list_operations(torch.add, X, b.expand(100, 10))
    assert op.nbytes == 4 * (1000 + 10 + 1000)


def test_autocast_converts_before_a_product():
    layer, X = nn.Linear(8, 8), torch.ones(8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        *copies, product = d2l.list_operations(layer, X)
    assert [op.name for op in copies] == ["_to_copy"] * 3
    assert sum(op.nbytes for op in copies) == (64 + 64 + 8) * (4 + 2)
    assert (product.flops, product.dtype) == (2 * 8**3, "bfloat16")


# Recording


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (perceptron, (8, 24)),
        (lambda: Residual(4, 6), (2, 4, 8, 8)),
        (lambda: d2l.TransformerLayer(16, 4), (3, 10, 16)),
    ],
)
def test_the_counts_on_meta_are_the_same(make, shape):
    def listed(device):
        return d2l.list_operations(
            gradients, make().to(device), torch.ones(shape, device=device)
        )

    assert flops(gradients, make(), torch.ones(shape)) > 0
    cpu, meta = (
        [(op.name, op.flops, op.nbytes) for op in listed(device) if op.flops]
        for device in ("cpu", "meta")
    )
    assert cpu == meta


def test_recording_changes_no_gradients_and_no_statistics():
    def make():
        torch.manual_seed(0)
        return Residual(4, 6)

    plain, recorded = make(), make()
    X = torch.randn(2, 4, 8, 8)
    gradients(plain, X)
    assert flops(gradients, recorded, X) > 0
    for one, other in zip(plain.parameters(), recorded.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    for one, other in zip(plain.buffers(), recorded.buffers(), strict=True):
        torch.testing.assert_close(one, other)


# Profiles


def test_phases_of_the_optimizer_are_left_out(tmp_path):
    net = perceptron()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def update():
        gradients(net, torch.ones(8, 24))
        with record_function("update"):
            optimizer.step()

    path = tmp_path / "trace.json"
    events = d2l.trace_events(update, str(path))
    assert [name for name, *_ in events] == ["update"]
    assert "Optimizer.step#SGD.step" in path.read_text()


# The trainer


@pytest.fixture
def eager(monkeypatch):
    """Let TorchDynamo capture graphs, without the minutes of a compiler.

    The value is the list of calls of captured graphs.
    """
    calls: list = []

    def backend(graph, _):
        def call(*args):
            calls.append(torch.is_grad_enabled())
            return graph(*args)

        return call

    compile = nn.Module.compile
    monkeypatch.setattr(
        nn.Module, "compile", lambda self: compile(self, backend=backend)
    )
    torch.compiler.reset()
    yield calls
    torch.compiler.reset()


def test_a_compiled_model_trains_and_validates_through_its_graph(fw, eager):
    plain = trained(d2l, fw)
    assert not plain.compiled and eager == []
    compiled = trained(d2l, fw, compiled=True)
    # three minibatches of each epoch train, and one validates
    assert eager == [*[True] * 3, *[False] * 1] * 2
    assert_equal(fw, compiled, plain, 1e-5)


def test_the_mfu_of_a_compiled_model_counts_its_operations(fw, eager):
    machine = d2l.Machine("imagined", {"float32": 1e12}, 1e9)
    trainer = trained(d2l, fw, machine, compiled=True)
    assert trainer.callbacks[0].step_flops == 2 * 479 * (2 * 64 * 32 + 3 * 32 * 10)
    assert len(eager) == 2 * (3 + 1)  # the count did not run the graph
    assert len(trainer.model.board.data["mfu"]) == 2


def test_a_later_fit_may_turn_the_compiler_off(fw, eager):
    trainer = trained(d2l, fw, compiled=True)
    eager.clear()
    trainer.compiled = False
    trainer.fit(trainer.model, d2l.Digits(batch_size=479))
    assert eager == []


class OwnStep(d2l.Module):
    """A model with a training step of its own, and minibatches that are dicts."""

    def __init__(self, net: nn.Module, shape: Any):
        super().__init__()
        self.net, self.head = net, nn.LazyLinear(1)

    def training_step(self, batch: Any) -> torch.Tensor:
        Y = self.net(batch["X"])
        return self.head(Y[0] if isinstance(Y, tuple) else Y).square().mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def flops_of(model: Any, batch: Any) -> int:
    """Return the FLOPs of a step, with which the MFU is computed."""
    trainer = d2l.Trainer(1)
    trainer.model, model.trainer = model, trainer
    return d2l.step_flops(trainer, batch)


class NoNames(contextlib.nullcontext):
    """In place of PyTorch's names of modules, which hinder some backward passes."""

    parents = ("Global",)


def real_flops(model: Any, batch: Any) -> int:
    """Return the FLOPs that PyTorch counts in a step that computes nothing twice."""
    counter = flop_counter.FlopCounterMode(display=False)
    counter.mod_tracker = NoNames()  # type: ignore[assignment]
    with (
        d2l.plain_kernels(),
        sdpa_kernel(SDPBackend.MATH),
        d2l.no_plots(model),
        counter,
    ):
        model.training_step(batch).backward()
    return counter.get_total_flops()


def own_step(net: nn.Module, shape: tuple) -> tuple:
    """Return a model around a network, and its minibatch."""
    model, batch = OwnStep(net, shape), {"X": torch.randn(shape)}
    d2l.make_lazy_parameters(model, batch)
    return model, batch


@pytest.mark.parametrize("fused", [True, False])
def test_the_flops_of_an_encoder_of_pytorch_are_counted(fused):
    """In evaluation mode, PyTorch fuses it into an operation without a formula."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    b, t, d = 8, 20, 128
    scores = 4 * b * t * t * d
    by_hand = 3 * 2 * (2 * b * t * (4 * d * d + 2 * d * 512) + scores) + 6 * b * t * d
    by_hand -= 2 * b * t * 3 * d * d  # the gradient of the data
    model, batch = own_step(nn.TransformerEncoder(layer, 2), (b, t, d))
    with contextlib.nullcontext() if fused else sdpa_kernel(SDPBackend.MATH):
        assert flops_of(model, batch) == by_hand == real_flops(model, batch)


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_the_flops_of_recurrent_layers_are_counted(kind, gates):
    b, t, d, h = 4, 7, 16, 32
    model, batch = own_step(kind(d, h, 2, batch_first=True), (b, t, d))
    forward = 2 * b * t * gates * h * (d + h + h + h) + 2 * b * t * h
    found = flops_of(model, batch)
    assert found == real_flops(model, batch)
    assert 2.5 * forward < found < 3 * forward  # without the data's gradient


ZOO = {entry.name: entry for entry in zoo_pytorch.ZOO}
UNTRACEABLE = "packed", "experts"  # shapes that depend on values


@pytest.mark.parametrize("name", sorted(ZOO.keys() - {*UNTRACEABLE, "spectral norm"}))
def test_the_flops_of_foreign_models_are_those_of_a_real_step(name):
    """In PyTorch's own count, spectral norm is free: it has no formula for vectors."""
    model, batch = ZOO[name].model(), ZOO[name].batches()[0]
    assert flops_of(model, batch) == real_flops(model, batch) > 0


class Blocks(d2l.Module):
    """Blocks with attention that compute their activations twice, or not."""

    def __init__(self, reentrant: bool | None, fused: bool):
        super().__init__()
        self.reentrant, self.fused = reentrant, fused
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def block(self, layer: nn.Module, X: torch.Tensor) -> torch.Tensor:
        H = layer(X)
        if self.fused:
            return nn.functional.scaled_dot_product_attention(H, H, H)
        return (H @ H.mT / 4).softmax(-1) @ H

    def training_step(self, batch: torch.Tensor) -> torch.Tensor:
        X = batch.requires_grad_()
        for layer in self.layers:
            if self.reentrant is None:
                X = self.block(layer, X)
            else:
                again = {"use_reentrant": self.reentrant}
                X = checkpoint.checkpoint(self.block, layer, X, **again)
        return X.square().mean()


def test_work_that_is_done_twice_is_counted_once():
    X = torch.randn(2, 1, 5, 16)
    flops = {
        flops_of(Blocks(reentrant, fused), X)
        for reentrant in (None, True, False)
        for fused in (True, False)
    }
    assert flops == {3 * 3 * 2 * 2 * (5 * 16 * 16 + 2 * 5 * 5 * 16)}
    step = lambda: Blocks(False, True).training_step(X).backward()  # noqa: E731
    assert sum(op.flops for op in d2l.list_operations(step)) > max(flops)


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_what_cannot_be_traced_is_refused_and_trains_without_an_mfu(name):
    model, batches = ZOO[name].model(), ZOO[name].batches()
    for count in flops_of, d2l.predict_memory:
        with pytest.raises(
            ValueError, match=r" reads the value of .* at line \d+"
        ) as e:
            count(model, batches[0])
        assert "\n" not in str(e.value) and "which only a real step has" in str(e.value)
    machine = d2l.Machine("imagined", {"float32": 1e12}, 1e9)
    trainer = d2l.Trainer(2, callbacks=[d2l.MFU(machine)])
    with warnings.catch_warnings(record=True, action="always") as caught:
        trainer.fit(model, (batches, None))
    texts = [str(w.message) for w in caught if "MFU" in str(w.message)]
    (text,) = texts
    assert text.startswith(f"no MFU is drawn: {type(model).__name__} reads")
    assert trainer.train_batch_idx == 2 * len(batches)
    assert "mfu" not in model.board.data


def test_a_mistake_in_a_step_is_not_taken_for_a_missing_value():
    model = OwnStep(nn.Linear(3, 4), (2, 5))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        flops_of(model, {"X": torch.randn(2, 5)})


# Products of vectors, and those without a formula


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda: torch.ones(4, 5) @ torch.ones(5), 2 * 4 * 5),
        (lambda: torch.ones(5) @ torch.ones(5), 2 * 5),
        (lambda: torch.vdot(torch.ones(5), torch.ones(5)), 2 * 5),
        (lambda: torch.ones(4).addmv(torch.ones(4, 5), torch.ones(5)), 2 * 4 * 5),
        (
            lambda: torch._int_mm(
                torch.ones(32, 16).to(torch.int8), torch.ones(16, 8).to(torch.int8)
            ),
            2 * 32 * 16 * 8,
        ),
    ],
)
def test_products_that_pytorch_does_not_count(function, flops):
    assert sum(op.flops for op in d2l.list_operations(function)) == flops


def test_sum_of_flops_that_is_too_low_is_told():
    layer, X, Y = nn.Bilinear(3, 4, 5), torch.ones(2, 3), torch.ones(2, 4)
    with pytest.warns(d2l.LowerBound, match="no formula .*trilinear.* at least the"):
        d2l.list_operations(layer, X, Y)


def test_operations_on_fake_tensors_are_those_on_others():
    def network():
        layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(144, 5))

    def operations():
        model, X = network(), torch.ones(2, 3, 8, 8)
        model(X)
        return d2l.list_operations(model, X)

    with FakeTensorMode():
        fake = operations()
    assert fake == operations()
