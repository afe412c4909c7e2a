"""What a trainer checks: its settings, a model, its data, and where an error arose."""

import contextlib
import difflib
import inspect
import itertools
import math
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from textwrap import shorten
from typing import Any


class LowerBound(UserWarning):
    """A prediction leaves something out."""


class HyperParameters:
    """A base class whose constructors can keep their arguments as attributes."""

    def save_hyperparameters(self, ignore: Sequence[str] = ()) -> None:
        """Keep the caller's arguments as attributes and in the dict `hparams`.

        Arguments that are named in `ignore` or begin with `_` are left out. Raises
        ValueError if an argument has the name of a method.
        """
        names, *others, values = inspect.getargvalues(sys._getframe(1))
        self.hparams = {
            name: values[name]
            for name in [*names, *filter(None, others)]
            if name not in {"self", *ignore} and not name.startswith("_")
        }
        for name, value in self.hparams.items():
            if callable(getattr(type(self), name, None)):
                raise ValueError(
                    f"rename the argument {name!r}, which would hide the "
                    f"method {name} of {type(self).__name__}"
                )
            setattr(self, name, value)


def is_count(value: Any, least: int = 1) -> bool:
    """Return whether `value` is a whole number that is at least `least`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value >= least


def is_limit(value: Any) -> bool:
    """Return whether `value` is a number that is at least 0."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and value >= 0


def is_switch(value: Any) -> bool:
    """Return whether `value` is True or False."""
    return isinstance(value, bool)


def check_batch_size(value: Any) -> None:
    """Raise ValueError unless `value` is a number of examples."""
    if not is_count(value):
        raise ValueError(f"batch_size must be 1, 2, ..., not {value!r}")


def check_rate(value: Any) -> None:
    """Raise ValueError unless `value` can be a learning rate, or a schedule of it."""
    if value is None or isinstance(value, str) or isinstance(value, Real) and value < 0:
        raise ValueError(f"lr must be a number that is at least 0, not {value!r}")


class Loaders:
    """Data that consist of two loaders."""

    def __init__(self, train: Any, val: Any):
        self.train, self.val = train, val

    def train_dataloader(self) -> Any:
        """Return the minibatches to train on."""
        return self.train

    def val_dataloader(self) -> Any:
        """Return the minibatches to validate on, or None."""
        return self.val


def check_objects(model: Any, data: Any) -> Any:
    """Return `data`; a pair of loaders becomes an object with both of them.

    Raises TypeError unless a trainer can train `model` on `data`.
    """
    if isinstance(data, tuple) and len(data) == 2:
        data = Loaders(*data)
    for value, name, method in (
        (model, "model", "training_step"),
        (data, "data", "train_dataloader"),
    ):
        if isinstance(value, type) or not hasattr(value, method):
            pair = ", or a pair of loaders," if name == "data" else ""
            raise TypeError(
                f"fit(model, data) needs an object with the method {method}{pair} "
                f"as {name}, not {value!r:.60}"
            )
    return data


def count_batches(loader: Any, name: str = "a loader") -> int:
    """Return the number of minibatches of `loader`, which messages call `name`.

    Raises TypeError if it is not a loader, and ValueError if it is empty.
    """
    kind = type(loader).__name__
    try:
        count = len(loader)
    except TypeError:
        advice = "a loader, such as a list of minibatches, is needed"
        if hasattr(loader, "__iter__"):
            advice = "make a list of the minibatches, or set steps_per_epoch"
        raise TypeError(
            f"{name} must know its length, and this {kind} does not; {advice}"
        ) from None
    if isinstance(loader, dict):
        raise TypeError(
            f"{name} must contain minibatches, and this dict contains "
            "names; make a list of the minibatches"
        )
    if count == 0:
        raise ValueError(f"{name} must not be empty, and this {kind} has no minibatch")
    return count


class Steps:
    """The minibatches of a loader, in epochs of `steps_per_epoch`.

    A loader that knows its length starts again in each epoch, and a stream goes on.
    """

    def __init__(self, trainer: Any, loader: Any):
        self.trainer, self.loader = trainer, loader
        self.taken, self.ready = 0, None
        self.stream: Any = None
        try:
            count = len(loader)
        except TypeError:
            self.stream = iter(loader)
        else:
            if count < len(self):
                raise ValueError(
                    f"steps_per_epoch must be at most {count}, the number of "
                    f"minibatches of this {type(loader).__name__}, not {len(self)}"
                )

    def __len__(self) -> int:
        return self.trainer.steps_per_epoch

    def __iter__(self) -> Iterator:
        if self.stream is None:
            return itertools.islice(self.loader, len(self))
        return self.continue_stream()

    def continue_stream(self) -> Iterator:
        """Yield the minibatches of an epoch; the first may be read twice."""
        first = self.trainer.epoch * len(self)  # a resumed run skips earlier ones
        while self.taken < first + len(self):
            if self.ready is None:
                self.ready = next(self.stream, None)
            if self.ready is None:
                raise ValueError(
                    f"the training data end after {self.taken} minibatches, and "
                    f"steps_per_epoch={len(self)} needs {first + len(self)}"
                )
            if self.taken >= first:
                yield self.ready
            self.ready, self.taken = None, self.taken + 1

    def __getattr__(self, name: str) -> Any:
        if name == "loader":  # while this object is copied
            raise AttributeError(name)
        return getattr(self.loader, name)


def training_batches(trainer: Any, data: Any) -> Any:
    """Return the loader of the training data, with as many steps as are wanted."""
    loader = data.train_dataloader()
    steps = trainer.steps_per_epoch is not None and hasattr(loader, "__iter__")
    return Steps(trainer, loader) if steps else loader


def epochs_left(trainer: Any) -> Iterator[int]:
    """Yield the number of each epoch, from `trainer.epoch` on, until one is the last.

    Calls the callbacks before the first epoch and after each, and lets the trainer's
    `checkpoints` save. A callback ends the training by `trainer.should_stop = True`.
    """
    checkpoints = getattr(trainer, "checkpoints", None)
    trainer.should_stop = bool(checkpoints and checkpoints.stopped)
    for callback in trainer.callbacks:
        callback.before_fit(trainer)
    for epoch in range(trainer.epoch, trainer.max_epochs):
        if trainer.should_stop and not (checkpoints and checkpoints.position):
            return  # unless a resumed run is within an epoch
        yield epoch
        for callback in trainer.callbacks:
            callback.after_epoch(trainer)
        if checkpoints:
            checkpoints.end_epoch()


def check_batch(batch: Any) -> None:
    """Raise TypeError unless a minibatch is a tuple or a list of inputs and labels."""
    if not isinstance(batch, (tuple, list)):
        raise TypeError(
            "this training_step needs minibatches that are tuples (inputs, labels), "
            f"not a {type(batch).__name__}; write a training_step for yours"
        )


def check_loss(loss: Any) -> None:
    """Raise TypeError unless a loss is a tensor, and ValueError unless it is a scalar.

    A size that is not known yet passes.
    """
    if not hasattr(loss, "shape"):
        raise TypeError(f"training_step must return the loss, not {loss!r:.40}")
    try:
        size = math.prod(loss.shape)
    except (TypeError, ValueError):  # TensorFlow does not know it
        return
    if size != 1:
        raise ValueError(
            f"the loss must be a scalar, not of shape {tuple(loss.shape)}; "
            "take its mean"
        )


def loss_and_gradients(result: Any) -> tuple:
    """Return the result of a training step in JAX; raise TypeError if it is no pair."""
    if not isinstance(result, (list, tuple)) or len(result) != 2:
        raise TypeError(
            "training_step must return the loss and its gradients, as "
            f"jax.value_and_grad does, not {result!r:.40}"
        )
    return tuple(result)


def check_optimizer(optimizer: Any, methods: Sequence[str]) -> Any:
    """Return `optimizer`; raise TypeError unless it is an object with `methods`."""
    missing = [name for name in methods if not hasattr(optimizer, name)]
    if missing or isinstance(optimizer, type):
        raise TypeError(
            "configure_optimizers must return an optimizer, an object with the method "
            f"{(missing or methods)[0]}, not {shorten(repr(optimizer), 60)}"
        )
    return optimizer


def count_examples(items: Sequence) -> int:
    """Return the number of examples of a minibatch that consists of the arrays `items`.

    Raises TypeError or ValueError if an item is not an array or the lengths differ,
    because such a minibatch cannot be divided.
    """
    only = "a minibatch can be divided among devices, or into parts, only if"
    for item in items:
        if not len(getattr(item, "shape", ())):
            raise TypeError(
                f"{only} it consists of arrays; this one contains {item!r:.40}"
            )
    lengths = {item.shape[0]: None for item in items}
    if len(lengths) != 1:
        raise ValueError(
            f"{only} its arrays have the same length; the lengths of this one are "
            + ", ".join(map(str, lengths))
        )
    return items[0].shape[0]


def own_line(error: BaseException) -> str:
    """Return the last line of the user's own code in a traceback, or '' if none."""
    paths = sysconfig.get_paths()
    folders = (
        *sys.modules["d2l"].__path__,
        paths["stdlib"],
        paths["purelib"],
        paths["platlib"],
    )
    libraries = tuple(os.path.join(folder, "") for folder in folders)
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.line and not frame.filename.startswith(libraries)
    ]
    return f"line {own[-1].lineno} in {own[-1].name}, `{own[-1].line}`" if own else ""


@contextlib.contextmanager
def locate_errors() -> Iterator[None]:
    """Add to each error a note with the line of the user's own code that failed."""
    try:
        yield
    except Exception as error:
        if line := own_line(error):
            error.add_note(f"The error arose at {line}")
        raise


class Setting:
    """A keyword argument of a trainer, which is also an attribute.

    `values` says in words which values the function `allows` accepts. If a setting is
    `fixed`, this text says how to change it, other than by an assignment.
    """

    def __init__(
        self,
        name: str,
        default: Any,
        meaning: str,
        values: str,
        allows: Callable,
        fixed: str = "",
    ):
        self.name, self.default, self.values = name, default, values
        self.allows, self.fixed = allows, fixed
        self.__doc__ = f"{meaning}: {values}. The default is {default!r}."

    def __get__(self, trainer: Any, owner: type) -> Any:
        return self if trainer is None else vars(trainer).get(self.name, self.default)

    def __set__(self, trainer: Any, value: Any) -> None:
        if not self.allows(value):
            raise ValueError(f"{self.name} must be {self.values}, not {value!r}")
        if self.fixed and self.name in vars(trainer):
            raise AttributeError(f"{self.name} cannot be changed; {self.fixed}")
        vars(trainer)[self.name] = value


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the settings of a class of trainers by their names."""
    members = {
        name: value for c in kind.__mro__[::-1] for name, value in vars(c).items()
    }
    return {k: v for k, v in sorted(members.items()) if isinstance(v, Setting)}


class SettingsSignature:
    """The signature of a class whose constructor takes its settings as `**settings`."""

    def __get__(self, trainer: Any, owner: Any) -> inspect.Signature:
        _, *own = inspect.signature(owner.__init__).parameters.values()
        named = [p for p in own if p.kind is not p.VAR_KEYWORD]
        if named != own:
            names = [p.name for p in named]
            named += [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=s.default
                )
                for name, s in settings_of(owner).items()
                if name not in names
            ]
        return inspect.Signature(named)


class HasSettings(HyperParameters):
    """A base class of trainers, which refuses misspelt settings."""

    __signature__ = SettingsSignature()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self) and not hasattr(type(self), name):
            known = settings_of(type(self))
            if close := difflib.get_close_matches(name, known, 1, 0.8):
                raise AttributeError(
                    f"{name!r} is not a setting of the trainer; did you mean "
                    f"{close[0]!r}?"
                )
        super().__setattr__(name, value)


def apply_settings(trainer: Any, settings: dict[str, Any]) -> None:
    """Set the settings of a trainer; raise TypeError for a name that is not one."""
    known = settings_of(type(trainer))
    for name, value in settings.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            advice = f"did you mean {close[0]!r}?" if close else f"use {[*known]}"
            raise TypeError(f"{name!r} is not a setting of the trainer; {advice}")
        setattr(trainer, name, value)
