"""Checkpoints of what only MXNet has: its files, plain arrays, its generator."""

# Models choose their own attributes.
# mypy: disable-error-code="attr-defined,misc"

import json

import pytest
from mxnet import gluon, np, npx
from mxnet.gluon import nn
from test_checkpoints import fit, net
from test_one_line import fails
from training import assert_equal

from d2l import mxnet as d2l
from d2l import storage

npx.set_np()


def digits():
    return d2l.Digits(batch_size=400)


def test_the_parameters_are_a_file_of_gluon(fw, tmp_path):
    trainer, model = fit(fw, tmp_path), net(fw)()
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest is not None
    model.load_parameters(str(newest / "model.params"))
    X = d2l.Digits().X
    assert (model(X) == trainer.model(X)).all()


class Auxiliary(d2l.MLP):
    """A model with a lazy layer that only the training uses."""

    def __init__(self):
        super().__init__(10, 8, 0.1)
        self.aux = nn.Dense(10)
        self.aux.initialize()

    def training_step(self, batch):
        return super().training_step(batch) + 0.1 * (self.aux(batch[0]) ** 2).mean()


def test_a_layer_that_only_the_training_uses(fw, tmp_path):
    undisturbed = fit(fw, tmp_path / "whole", Auxiliary, save_every=3)
    fit(fw, tmp_path / "cut", Auxiliary, cut_at=7, save_every=3)
    assert_equal(fw, fit(fw, tmp_path / "cut", Auxiliary, save_every=3), undisturbed)


class Keeping(d2l.MLP):
    """A model that keeps its last outputs, and the largest input so far."""

    def __init__(self):
        super().__init__(10, 8, 0.1)
        self.last, self.largest = None, np.zeros(1)

    def forward(self, X):
        self.last = [super().forward(X)]
        self.largest = np.maximum(self.largest, X.max())
        return self.last[0]


def test_arrays_that_a_forward_pass_keeps_are_no_part_of_the_model(fw, tmp_path):
    alone = fit(fw, None, Keeping, digits).model
    fit(fw, tmp_path, Keeping, digits, cut_at=5, save_every=2)
    resumed = fit(fw, tmp_path, Keeping, digits).model
    for parameter, other in zip(alone.parameters(), resumed.parameters(), strict=True):
        assert (parameter.data() == other.data()).all()
    assert alone.largest == resumed.largest > 0


class OwnForward(nn.HybridBlock):
    """A layer that cannot be compiled, since it defines `forward`."""

    def __init__(self):
        super().__init__()
        self.norm, self.dense = nn.BatchNorm(in_channels=64), nn.Dense(10)

    def forward(self, X):
        return self.dense(self.norm(X))


class NotCompiled(d2l.Classifier):
    def __init__(self):
        super().__init__()
        self.lr, self.net = 0.1, OwnForward()
        self.net.initialize()
        self.board.display = False


@pytest.mark.filterwarnings("ignore")
def test_a_layer_that_cannot_be_compiled_trains_with_checkpoints(fw, tmp_path):
    trainer = fit(fw, tmp_path, NotCompiled, digits, epochs=1)
    assert trainer.train_batch_idx == 4 and d2l.latest_checkpoint(tmp_path)


class Drawing(d2l.MLP):
    """A model whose training step draws random numbers, as that of a VAE."""

    def training_step(self, batch):
        X, y = batch
        noise = np.random.normal(size=X.shape, ctx=X.ctx)
        loss = self.loss(self(X + 0.1 * noise), y)
        self.plot("loss", loss, train=True)
        return loss


@pytest.mark.parametrize("n", [1, 2])
def test_a_model_that_draws_numbers_resumes(fw, tmp_path, n):
    settings = {"devices": d2l.try_devices(n), "model": lambda: Drawing(10, 8, 0.1)}
    undisturbed = fit(fw, tmp_path / "whole", epochs=3, **settings)
    fit(fw, tmp_path / "cut", epochs=1, **settings)
    assert_equal(fw, fit(fw, tmp_path / "cut", epochs=3, **settings), undisturbed)


def saved_before(folder):
    """Let a checkpoint look like those of an earlier version of the library."""
    path = d2l.latest_checkpoint(folder)
    assert path is not None
    progress = json.loads((path / "progress.json").read_text())
    pairs = [pair for pair in progress["dict"] if pair[0] != "trained"]
    (path / "progress.json").write_text(json.dumps({"dict": pairs}))
    storage.write_digests(path)


def test_a_checkpoint_without_names_of_trained_parameters_is_refused(fw, tmp_path):
    fit(fw, tmp_path, data=digits, epochs=1)
    saved_before(tmp_path)
    with fails("was saved before December 2026, .* choose another folder", ValueError):
        fit(fw, tmp_path, data=digits, epochs=2)


class Part(d2l.MLP):
    """A model of which the optimizer trains the parameters that a pattern chooses."""

    pattern = ".*"

    def __init__(self):
        super().__init__(10, 8, 0.1)

    def configure_optimizers(self):
        trained = self.collect_params(self.pattern)
        return gluon.Trainer(trained, "sgd", {"momentum": 0.9})


class OnlyBiases(Part):
    pattern = ".*bias"


def test_an_optimizer_that_trains_other_parameters_is_refused(fw, tmp_path):
    fit(fw, tmp_path, Part, digits, epochs=1)
    message = "only one of the two trains net.0.weight; resume with the same"
    with fails(message, ValueError):
        fit(fw, tmp_path, OnlyBiases, digits, epochs=2)


class Counting(d2l.MLP):
    """A model with lazy layers that counts its steps in several ways."""

    def __init__(self):
        super().__init__(10, 8, 0.1)
        self.calls, self.array, self.pair = 0, np.zeros(1), (np.zeros(1), "a")
        options = {"shape": (1,), "init": "zeros", "grad_req": "null"}
        self.count = self.params.get("count", **options)
        self.initialize()

    def training_step(self, batch):
        self.calls += 1
        self.array, self.pair = self.array + 1, (self.pair[0] + 1, "a")
        self.count.data()[:] += 1
        return super().training_step(batch)


def counts(model):
    arrays = model.array, model.pair[0], model.count.data()
    return [model.calls, *map(float, arrays)]


@pytest.mark.parametrize("n", [1, 2])
def test_the_pass_that_makes_lazy_parameters_counts_nothing(fw, tmp_path, n):
    devices = d2l.try_devices(n)
    trainer = fit(fw, tmp_path, Counting, digits, epochs=1, devices=devices)
    assert counts(trainer.model) == [trainer.train_batch_idx] * 4


def test_predictions_leave_what_a_model_keeps(fw):
    model, batch = Counting(), (np.ones((32, 64)), np.zeros(32))
    d2l.predict_memory(model, batch)
    assert counts(model) == [0] * 4


def test_counting_the_flops_of_a_step_leaves_what_a_model_keeps(fw):
    data, kept = digits(), Keeping()
    trainer = d2l.Trainer(1)
    trainer.start(kept, data)
    d2l.step_flops(trainer, next(iter(data.train_dataloader())))
    assert kept.largest == 0 and kept.last is None
