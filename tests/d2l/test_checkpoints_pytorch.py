"""Checkpoints in PyTorch: resumed runs equal undisturbed ones bit for bit."""

# Sections set attributes of classes.
# mypy: disable-error-code="attr-defined,misc,method-assign"

import multiprocessing
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint  # before the first fork, since it takes long
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l


class Net(d2l.Classifier):
    """Convolutions with lazy shapes, batch normalization and dropout."""

    def __init__(self, width: int = 4):
        super().__init__()
        self.net = nn.Sequential(
            nn.LazyConv2d(width, 3),
            nn.LazyBatchNorm2d(),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.LazyLinear(10),
        )
        vars(self.board)["display"] = False

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.net(X.reshape(-1, 1, 8, 8))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 0.01, amsgrad=True)


class HandWrittenAdam:
    """An optimizer from scratch, whose state appears in the first step."""

    def __init__(self, params: Any):
        self.params, self.t = list(params), 0
        self.moments = dict[int, Any]()

    def zero_grad(self) -> None:
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        self.t += 1
        for i, param in enumerate(self.params):
            m, v = self.moments.get(i, (torch.zeros_like(param),) * 2)
            m, v = 0.9 * m + 0.1 * param.grad, 0.99 * v + 0.01 * param.grad**2
            self.moments[i] = m, v
            scale = (1 - 0.99**self.t) ** 0.5 / (1 - 0.9**self.t)
            param -= 0.01 * scale * m / (v.sqrt() + 1e-8)

    def state_dict(self) -> dict:
        return {"t": self.t, "moments": self.moments}

    def load_state_dict(self, state: dict) -> None:
        self.t, self.moments = state["t"], state["moments"]


class HandWrittenMomentum:
    """An optimizer whose state has the parameters as keys."""

    def __init__(self, params: Any):
        self.params, self.velocity = list(params), dict[torch.Tensor, torch.Tensor]()

    def zero_grad(self) -> None:
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        for param in self.params:
            velocity = self.velocity.get(param, torch.zeros_like(param))
            self.velocity[param] = 0.9 * velocity + param.grad
            param -= 0.1 * self.velocity[param]

    def state_dict(self) -> dict:
        return {"velocity": [self.velocity.get(param) for param in self.params]}

    def load_state_dict(self, state: dict) -> None:
        self.velocity = dict(zip(self.params, state["velocity"], strict=True))


class Listed(d2l.LinearRegressionScratch):
    """Parameters in plain attributes, which a method of the model lists."""

    def __init__(self) -> None:
        super().__init__(2, lr=0.1)
        vars(self.board)["display"] = False

    def parameters(self, recurse: bool = True) -> Any:
        return [self.w, self.b]

    def configure_optimizers(self) -> Any:
        return HandWrittenMomentum(self.parameters())


class Scratch(d2l.LinearRegressionScratch):
    """Parameters in plain attributes, and an optimizer written from scratch."""

    def __init__(self) -> None:
        super().__init__(2, lr=0.1)
        vars(self.board)["display"] = False

    def configure_optimizers(self) -> Any:
        return HandWrittenAdam([self.w, self.b])


class Standardized(Net):
    """A model that standardizes its inputs by plain tensors, which it replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.statistics, self.steps = {"mean": torch.zeros(64)}, torch.zeros(1)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        if self.training:
            mean = 0.9 * self.statistics["mean"] + 0.1 * X.reshape(-1, 64).mean(0)
            self.statistics["mean"] = mean.to(torch.float32)
            self.steps += 1
        self.expanded = torch.zeros(1).expand(len(X))
        Y = super().forward(X - self.statistics["mean"].reshape(X.shape[1:]))
        self.probabilities = Y.softmax(1)  # has no place in a new model
        return Y


class Unusual(Net):
    """State that is no parameter, and a lazy layer that only the training uses."""

    def __init__(self) -> None:
        super().__init__()
        self.aux, self.count = nn.LazyLinear(10), 0
        self.register_buffer("steps", torch.zeros(1), persistent=False)
        with warnings.catch_warnings(action="ignore"):  # it is deprecated
            self.head = nn.utils.weight_norm(nn.Linear(10, 10))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.head(super().forward(X))

    def training_step(self, batch: Any) -> torch.Tensor:
        self.count += 1
        self.steps += 1
        loss = super().training_step(batch)
        return loss + 0.1 * self.aux(batch[0].reshape(-1, 64)).square().mean()

    def get_extra_state(self) -> dict:
        return {"count": self.count}

    def set_extra_state(self, state: dict) -> None:
        self.count = state["count"]


class Augmented(torch.utils.data.Dataset):
    """Digits with noise from each of the three generators."""

    def __init__(self, digits: d2l.Digits, indices: range):
        self.digits, self.indices = digits, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, i: int) -> tuple:
        noise = random.random() + np.random.rand() + torch.rand(())
        return self.digits.X[i] + noise, self.digits.y[i]


class AugmentedDigits(d2l.DataModule):
    """Augmented digits, loaded by this process or by workers."""

    def __init__(self, workers: int = 0, generator: torch.Generator | None = None):
        self.digits, self.workers, self.generator = d2l.Digits(), workers, generator

    def get_dataloader(self, train: bool) -> Any:
        indices = range(330) if train else range(400, 500)
        return torch.utils.data.DataLoader(
            Augmented(self.digits, indices),
            batch_size=32,
            shuffle=train,
            num_workers=self.workers,
            generator=self.generator,
        )


class DigitsOfWorkers(AugmentedDigits):
    """Digits without augmentation, from workers that stay for all epochs."""

    loaders: ClassVar[list] = []

    def get_dataloader(self, train: bool) -> Any:
        rows = slice(0, 330) if train else slice(400, 500)
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(self.digits.X[rows], self.digits.y[rows]),
            batch_size=32,
            shuffle=train,
            num_workers=2,
            persistent_workers=True,
        )
        self.loaders.append(loader)
        return loader


class Regression(d2l.SyntheticRegressionData):
    def __init__(self) -> None:
        super().__init__(torch.tensor([1.0, -2.0]), 0.5, num_train=300, num_val=64)


class PowerCut(Exception):
    """The power fails."""


def train(
    folder: Path | None,
    make_model: Callable = Net,
    make_data: Callable = AugmentedDigits,
    cut_at: int | None = None,
    **settings: Any,
) -> Any:
    """Return the trained model, trained in 3 epochs or until a cut."""

    class Trainer(d2l.Trainer):
        def train_step(self, batch: Any) -> None:
            if self.train_batch_idx == cut_at:
                raise PowerCut
            super().train_step(batch)

    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    data, model = make_data(), make_model()
    torch.manual_seed(1)
    trainer = Trainer(max_epochs=settings.pop("max_epochs", 3))
    for name, value in settings.items():
        setattr(trainer, name, value)
    try:
        trainer.fit(model, data, checkpoint_dir=folder)
    except PowerCut:
        assert cut_at is not None
    return model


def everything(model: Any) -> list:
    """Return all tensors of a model, and its curves."""
    tensors = d2l.named_tensors(model).items()
    counts = [vars(model).get("count"), model.training]
    return [(name, t.tolist()) for name, t in tensors] + counts + [model.board.data]


def augmented_by_workers() -> AugmentedDigits:
    return AugmentedDigits(workers=2)


def augmented_with_own_generator() -> AugmentedDigits:
    return AugmentedDigits(generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize(("save_every", "cut_at"), [(4, 5), (11, 12), (4, 14)])
def test_workers_that_stay_change_no_order_of_a_resumed_run(
    tmp_path, save_every, cut_at
):
    undisturbed = train(None, make_data=DigitsOfWorkers)
    train(tmp_path, make_data=DigitsOfWorkers, cut_at=cut_at, save_every=save_every)
    with pytest.warns(UserWarning, match="the resumed run will differ"):
        resumed = train(tmp_path, make_data=DigitsOfWorkers, save_every=save_every)
    for loader in DigitsOfWorkers.loaders:
        loader._iterator = None  # ends the workers at once
    assert everything(resumed) == everything(undisturbed)


@pytest.mark.parametrize(  # an epoch has 11 minibatches
    ("save_every", "cut_at"),
    [(None, 1), (None, 11), (None, 32), (1, 1), (1, 14), (4, 5), (4, 13), (11, 12)],
)
def test_a_run_that_was_cut_equals_an_undisturbed_one(tmp_path, save_every, cut_at):
    undisturbed = train(None)
    train(tmp_path, cut_at=cut_at, save_every=save_every)
    assert everything(train(tmp_path, save_every=save_every)) == everything(undisturbed)


@pytest.mark.parametrize(
    "options",
    [
        {"make_model": Scratch, "make_data": Regression},
        {"make_model": Listed, "make_data": Regression},
        {"make_model": Standardized},
        {"make_model": Unusual},
        {"make_data": augmented_by_workers},
        {"make_data": augmented_with_own_generator},
        {"precision": torch.bfloat16, "accumulate": 3},
        {"gradient_clip_val": 0.1},
        {"callbacks": [d2l.MFU(d2l.Machine("made up", {"float32": 1e12}, 1e11))]},
    ],
    ids="scratch listed plain unusual workers generator bfloat16 clipping mfu".split(),
)
def test_other_models_loaders_and_settings_resume(tmp_path, options):
    undisturbed = everything(train(None, **options))
    train(tmp_path, cut_at=7, save_every=3, **options)
    train(tmp_path, cut_at=17, save_every=4, **options)
    resumed = everything(train(tmp_path, **options))
    for part in undisturbed, resumed:
        part[-1].pop("mfu", None)  # a time
    assert resumed == undisturbed


class SlowNet(Net):
    """A model whose training takes at least 2.64 seconds; it says that it has begun."""

    has_begun = multiprocessing.get_context("fork").Event()
    told = False

    def training_step(self, batch: Any) -> torch.Tensor:
        if not self.told:  # once, because a kill in `set` leaves the event locked
            type(self).told = True
            self.has_begun.set()
        time.sleep(0.08)
        return super().training_step(batch)


def train_slowly(folder: Path) -> None:
    """Train in a process that can be killed."""
    torch.set_num_threads(1)
    train(folder, SlowNet, save_every=2)


@pytest.mark.parametrize("seed", range(2))
def test_a_process_killed_at_random_moments_can_be_resumed(tmp_path, seed):
    """Each process gets a random time, and may die in the middle of a save."""
    rng, context = random.Random(seed), multiprocessing.get_context("fork")
    kills = 0
    while kills < 6 or not d2l.latest_checkpoint(tmp_path):
        SlowNet.has_begun.clear()
        process = context.Process(target=train_slowly, args=(tmp_path,))
        process.start()
        assert SlowNet.has_begun.wait(60)
        process.join(rng.uniform(0.1, 0.4 + kills / 20))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        kills += 1
    assert everything(train(tmp_path, save_every=2)) == everything(train(None))


def test_a_finished_run_returns_the_trained_model(tmp_path):
    finished = train(tmp_path, save_every=4)
    assert everything(train(tmp_path, cut_at=33)) == everything(finished)
    longer = train(tmp_path, max_epochs=4)
    assert everything(longer) == everything(train(None, max_epochs=4))


def test_only_the_newest_two_checkpoints_stay(tmp_path):
    train(tmp_path, save_every=5)
    assert sorted(os.listdir(tmp_path)) == ["step-00000030", "step-00000033"]
    assert d2l.latest_checkpoint(tmp_path) == tmp_path / "step-00000033"


def test_drafts_are_ignored_and_deleted(tmp_path):
    assert d2l.latest_checkpoint(tmp_path / "missing") is None
    (tmp_path / "step-00000099.draft").mkdir()
    assert d2l.latest_checkpoint(tmp_path) is None
    train(tmp_path)
    assert not list(tmp_path.glob("*.draft"))


def test_a_replaced_checkpoint_is_never_incomplete(tmp_path, monkeypatch):
    """With save_every=33, the last minibatch is saved twice."""

    def cut(path: Path, **_: Any) -> None:
        if Path(path).exists():
            next(p for p in Path(path).rglob("*") if p.is_file()).unlink()
            raise KeyboardInterrupt

    finished = train(None)
    with monkeypatch.context() as patch:
        patch.setattr(d2l.shutil, "rmtree", cut)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, save_every=33)
    assert everything(train(tmp_path, save_every=33)) == everything(finished)


def wider() -> Net:
    return Net(width=5)


def with_sgd() -> Net:
    model: Any = Net()
    model.configure_optimizers = lambda: torch.optim.SGD(model.parameters(), 0.1)
    return model


def with_another_layer() -> Net:
    model = Net()
    model.net.append(nn.Linear(10, 10))
    return model


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"make_model": wider}, "is a checkpoint of another model"),
        ({"make_model": with_another_layer}, "shape of model.net.6.bias is missing"),
        ({"make_model": with_sgd}, "optimizer AdamW, and this run has SGD"),
        ({"make_data": d2l.Digits}, "num_train_batches 11, and this run has 23"),
        ({"save_every": 0}, "save_every must be None"),
    ],
)
def test_a_checkpoint_of_another_run_is_one_clear_error(tmp_path, options, words):
    train(tmp_path)
    with pytest.raises(ValueError, match=words) as caught:
        train(tmp_path, **options)
    assert "\n" not in str(caught.value)


def test_a_model_whose_shapes_are_known_is_compared_with_the_checkpoint(tmp_path):
    def known() -> Net:
        model = Net(width=5)
        model(torch.zeros(2, 64))
        return model

    train(tmp_path)
    with pytest.raises(ValueError, match=r"\(4,\) in the checkpoint and \(5,\)"):
        train(tmp_path, make_model=known)


def test_without_a_folder_nothing_is_saved(monkeypatch):
    monkeypatch.setattr(d2l.Checkpoints, "save", None)
    monkeypatch.setattr(d2l.Checkpoints, "random_state", None)
    train(None)


def test_values_of_the_board_that_wait_for_their_mean_are_kept(tmp_path):
    class Sum(Net):
        def training_step(self, batch: Any) -> torch.Tensor:
            loss = super().training_step(batch)
            self.plot("double", 2 * loss.item(), train=True)  # a number
            return loss

        def loss(self, Y_hat: Any, Y: Any, averaged: bool = True) -> torch.Tensor:
            return F.cross_entropy(Y_hat, Y) * 3

    train(tmp_path, make_model=Sum, cut_at=9, save_every=4)
    resumed = train(tmp_path, make_model=Sum)
    assert everything(resumed) == everything(train(None, make_model=Sum))


def plain_net() -> d2l.MLP:
    """Return a model that draws no random numbers in a step."""
    model = d2l.MLP(10, 16, 0.1)
    vars(model.board)["display"] = False
    return model


def train_on_ranks(
    folder: Path | None, num_ranks: int, make_model: Callable = Net, dies_at: int = -1
) -> Any:
    """Return a model, trained on ranks; rank 1 is killed at a step."""

    class Trainer(d2l.Trainer):
        def train_step(self, batch: Any) -> None:
            if self.train_batch_idx == dies_at and self.ranks.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            super().train_step(batch)

    torch.manual_seed(0)
    devices = [d2l.cpu()] * num_ranks
    model, trainer = make_model(), Trainer(max_epochs=2, devices=devices, save_every=3)
    trainer.fit(model, d2l.Digits(batch_size=200), checkpoint_dir=folder)
    return model


def test_a_job_whose_rank_was_killed_equals_an_undisturbed_job(tmp_path):
    undisturbed = train_on_ranks(None, 2)
    for step in sorted(random.Random(0).sample(range(16), 3)):
        with pytest.raises(RuntimeError, match="rank 1 of 2 was killed by SIGKILL"):
            train_on_ranks(tmp_path, 2, dies_at=step)
    assert everything(train_on_ranks(tmp_path, 2)) == everything(undisturbed)


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 1), (1, 3)])
def test_a_job_resumes_on_another_number_of_ranks(tmp_path, before, after):
    undisturbed = train_on_ranks(None, 1, plain_net)
    if before > 1:
        with pytest.raises(RuntimeError, match="SIGKILL"):
            train_on_ranks(tmp_path, before, plain_net, dies_at=10)
    else:
        torch.manual_seed(0)
        trainer, model = d2l.Trainer(max_epochs=1), plain_net()
        trainer.fit(model, d2l.Digits(batch_size=200), checkpoint_dir=tmp_path)
    resumed = train_on_ranks(tmp_path, after, plain_net)
    for old, new in zip(undisturbed.parameters(), resumed.parameters(), strict=True):
        assert torch.allclose(old, new, atol=1e-6)
    for label, points in undisturbed.board.data.items():
        found = resumed.board.data[label]
        assert [p.x for p in found] == pytest.approx([p.x for p in points])
        assert [p.y for p in found] == pytest.approx([p.y for p in points], abs=1e-6)


def test_ranks_wait_until_rank_0_has_made_the_draft(tmp_path, monkeypatch):
    make = Path.mkdir

    def make_slowly(path: Path, *args: Any, **options: Any) -> None:
        if path.suffix == ".draft" and torch.distributed.get_rank() == 0:
            time.sleep(0.5)
        make(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", make_slowly)  # in the forked ranks, too
    torch.manual_seed(0)
    trainer, model = d2l.Trainer(max_epochs=1), plain_net()
    trainer.devices = [d2l.cpu()] * 2
    trainer.fit(model, d2l.Digits(batch_size=400), checkpoint_dir=tmp_path)
    assert d2l.latest_checkpoint(tmp_path)


def test_a_finished_job_returns_the_trained_model(tmp_path):
    finished = train_on_ranks(tmp_path, 2)
    assert everything(train_on_ranks(tmp_path, 2)) == everything(finished)
