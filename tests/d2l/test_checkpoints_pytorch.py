"""Checkpoints of what only PyTorch has: loaders with workers, plain tensors, ranks."""

# Models choose their own attributes.
# mypy: disable-error-code="attr-defined,misc"

import contextlib
import gc
import os
import random
import signal
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from test_checkpoints import fit, net
from torch import distributed as dist
from torch import nn
from torch.distributed.checkpoint import FileSystemWriter
from training import STEPS, assert_equal, noisy, run

from d2l import storage
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
    """Digits with noise from each of the three generators, or without noise."""

    def __init__(self, indices: range, noise: bool):
        self.digits, self.indices, self.noise = d2l.Digits(), indices, noise

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, i: int) -> tuple:
        noise = random.random() + np.random.rand() + torch.rand(()) if self.noise else 0
        return self.digits.X[i] + noise, self.digits.y[i]


class AugmentedDigits(d2l.DataModule):
    """Augmented digits from loaders with some options, which it remembers."""

    loaders: ClassVar[list] = []

    def __init__(self, noise: bool = True, own_sampler: bool = False, **options: Any):
        self.noise, self.own_sampler, self.options = noise, own_sampler, options

    def get_dataloader(self, train: bool) -> Any:
        indices = range(330) if train else range(400, 500)
        dataset = Augmented(indices, self.noise)
        options = self.options | {"shuffle": train}
        if self.own_sampler:
            generator = torch.Generator().manual_seed(7)
            sampler = torch.utils.data.RandomSampler(dataset, generator=generator)
            options = {"sampler": sampler}
        self.loaders.append(torch.utils.data.DataLoader(dataset, 32, **options))
        return self.loaders[-1]

    @classmethod
    def end_workers(cls) -> None:
        """End the workers of all loaders at once."""
        for loader in cls.loaders:
            loader._iterator = None
        cls.loaders.clear()
        gc.collect()  # closes their pipes


def augmented_with_own_generator() -> AugmentedDigits:
    return AugmentedDigits(generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize(
    "save_every, cut_at, ranks",
    [
        (4, 5, 1),
        (11, 12, 1),
        (4, 14, 1),
        pytest.param(4, 14, 2, marks=pytest.mark.slow),
    ],
)
def test_workers_that_stay_change_no_order_of_a_resumed_run(
    fw, tmp_path, save_every, cut_at, ranks
):
    options: dict = {"num_workers": 2, "persistent_workers": True}
    data = partial(AugmentedDigits, noise=False, **options)
    kind = {"model": Net, "data": data, "save_every": save_every}
    kind["devices"] = [d2l.cpu()] * ranks
    undisturbed = fit(fw, None, **kind)
    fit(fw, tmp_path, cut_at=cut_at, **kind)
    with contextlib.ExitStack() as stack:
        if ranks == 1:  # a rank of many warns in its own process
            warned = pytest.warns(UserWarning, match="the resumed run will differ")
            stack.enter_context(warned)
        resumed = fit(fw, tmp_path, **kind)
    AugmentedDigits.end_workers()
    assert_equal(fw, resumed, undisturbed)


@pytest.mark.parametrize("model", [Standardized, Unusual])
@pytest.mark.parametrize(
    "data",
    [
        AugmentedDigits,
        partial(AugmentedDigits, num_workers=2),
        augmented_with_own_generator,
        partial(AugmentedDigits, own_sampler=True),
    ],
)
def test_other_models_and_loaders_resume(fw, tmp_path, model, data):
    undisturbed = fit(fw, None, model, data)
    fit(fw, tmp_path, model, data, cut_at=7, save_every=3)
    fit(fw, tmp_path, model, data, cut_at=17, save_every=4)
    resumed = fit(fw, tmp_path, model, data)
    assert_equal(fw, resumed, undisturbed)
    counts = [vars(trainer.model).get("count") for trainer in (resumed, undisturbed)]
    assert counts[0] == counts[1] and not resumed.model.training


class Decay(d2l.Callback):
    """Multiplies the learning rate by 0.9 after each step."""

    def after_step(self, trainer: d2l.Trainer) -> None:
        trainer.optim.param_groups[0]["lr"] *= 0.9


def test_a_learning_rate_that_changes_resumes(fw, tmp_path):
    undisturbed = fit(fw, None, Net, callbacks=[Decay()])
    fit(fw, tmp_path, Net, cut_at=7, save_every=3, callbacks=[Decay()])
    resumed = fit(fw, tmp_path, Net, save_every=3, callbacks=[Decay()])
    assert_equal(fw, resumed, undisturbed)
    rates = [t.optim.param_groups[0]["lr"] for t in (resumed, undisturbed)]
    assert rates[0] == rates[1] == pytest.approx(0.01 * 0.9 ** (2 * STEPS))


def test_a_model_whose_shapes_are_known_is_compared_with_the_checkpoint(fw, tmp_path):
    def known() -> Net:
        model = Net(width=5)
        model(torch.zeros(2, 64))
        return model

    fit(fw, tmp_path, Net)
    with pytest.raises(ValueError, match=r"\(4,\) in the checkpoint and \(5,\)"):
        fit(fw, tmp_path, known)


def test_a_checkpoint_of_an_earlier_version_resumes(fw, tmp_path, monkeypatch):
    """It has no states of the loaders' generators."""
    random_state = d2l.Checkpoints.random_state

    def fewer(run):
        state = random_state(run)
        return {name: state[name] for name in ("python", "numpy", "torch")}

    with monkeypatch.context() as patch:
        patch.setattr(d2l.Checkpoints, "random_state", fewer)
        fit(fw, tmp_path, Net, augmented_with_own_generator, cut_at=12)
    resumed = fit(fw, tmp_path, Net, augmented_with_own_generator)
    assert resumed.train_batch_idx == 22


def test_ranks_wait_until_rank_0_has_made_the_draft(fw, tmp_path, monkeypatch):
    make = Path.mkdir

    def make_slowly(path: Path, *args: Any, **options: Any) -> None:
        if path.suffix == ".draft" and torch.distributed.get_rank() == 0:
            time.sleep(0.5)
        make(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", make_slowly)  # in the forked ranks, too
    fit(fw, tmp_path, devices=[d2l.cpu()] * 2, epochs=1)
    assert d2l.latest_checkpoint(tmp_path)


def test_all_runs_of_a_process_save_in_one_group(fw, tmp_path):
    def groups(folder):
        for name in "one", "two":
            run(fw, net(fw), lambda: noisy(fw), folder / name, epochs=1)
        return len(dist.distributed_c10d._world.pg_map)

    assert d2l.launch(groups, 2, tmp_path) == [2, 2]  # that of the gradients, and this


def test_a_checkpoint_without_the_file_of_a_rank_is_not_published(fw, tmp_path):
    fit(fw, tmp_path, Net, epochs=1)
    newest, draft = d2l.latest_checkpoint(tmp_path), tmp_path / "step-00000099.draft"
    assert newest
    newest.rename(draft)
    (draft / "__0_0.distcp").unlink()
    with pytest.raises(FileNotFoundError, match="__0_0.distcp of another rank is miss"):
        d2l.publish_checkpoint(draft)
    assert d2l.latest_checkpoint(tmp_path) is None


@pytest.mark.slow
def test_a_rank_that_stops_while_it_saves_is_late(fw, tmp_path, monkeypatch):
    """The other ranks wait neither in their step nor for the save longer than told."""
    write = FileSystemWriter.write_data

    def stop(*args: Any) -> Any:
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        return write(*args)

    monkeypatch.setattr(
        FileSystemWriter, "write_data", stop
    )  # in the forked ranks, too
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="rank 1 of 2 did not take part"):
        fit(fw, tmp_path, devices=[d2l.cpu()] * 2, epochs=3, timeout=4, save_every=4)
    assert time.monotonic() - begin < 40


def test_no_rank_reads_what_it_has_written(fw, tmp_path, monkeypatch):
    """Its digest is computed while it writes."""
    digest = storage.digest

    def small(file: Path) -> str:
        assert file.suffix != ".distcp"
        return digest(file)

    monkeypatch.setattr(storage, "digest", small)
    fit(fw, tmp_path, devices=[d2l.cpu()] * 2, epochs=1)
    monkeypatch.undo()
    newest = d2l.latest_checkpoint(tmp_path)
    assert newest and d2l.damage_of(newest, "PyTorch", ".metadata") == ""
