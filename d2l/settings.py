"""What a trainer checks: its settings, a model, its data, and where an error arose."""

import contextlib
import difflib
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any


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


def check_limits(max_epochs: int, gradient_clip_val: float) -> None:
    """Raise ValueError unless a trainer can use both numbers."""
    if not isinstance(max_epochs, Integral) or max_epochs < 0:
        raise ValueError(f"max_epochs must be 0, 1, 2, ..., not {max_epochs!r}")
    if not isinstance(gradient_clip_val, Real) or not gradient_clip_val >= 0:
        raise ValueError(
            "gradient_clip_val must be 0 (no limit) or a positive "
            f"number, not {gradient_clip_val!r}"
        )


def check_objects(model: Any, data: Any) -> None:
    """Raise TypeError unless a trainer can train `model` on `data`."""
    for value, name, method in (
        (model, "model", "training_step"),
        (data, "data", "train_dataloader"),
    ):
        if isinstance(value, type) or not hasattr(value, method):
            raise TypeError(
                f"fit(model, data) needs an object with the method {method} "
                f"as {name}, not {value!r:.60}"
            )


def count_batches(loader: Any) -> int:
    """Return the number of minibatches of `loader`.

    Raises TypeError if it is not a loader, and ValueError if it is empty.
    """
    kind = type(loader).__name__
    try:
        count = len(loader)
    except TypeError:
        raise TypeError(
            f"a loader must know its length, and this {kind} does not; "
            "make a list of the minibatches"
        ) from None
    if isinstance(loader, dict):
        raise TypeError(
            "a loader must contain minibatches, and this dict contains "
            "names; make a list of the minibatches"
        )
    if count == 0:
        raise ValueError(f"this {kind} contains no minibatches")
    return count


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
    libraries = (
        *sys.modules["d2l"].__path__,
        paths["stdlib"],
        paths["purelib"],
        paths["platlib"],
    )
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

    `values` says in words which values the function `allows` accepts.
    """

    def __init__(
        self, name: str, default: Any, meaning: str, values: str, allows: Callable
    ):
        self.name, self.default, self.values, self.allows = (
            name,
            default,
            values,
            allows,
        )
        self.__doc__ = f"{meaning}: {values}. The default is {default!r}."

    def __get__(self, trainer: Any, owner: type) -> Any:
        return self if trainer is None else vars(trainer).get(self.name, self.default)

    def __set__(self, trainer: Any, value: Any) -> None:
        if not self.allows(value):
            raise ValueError(f"{self.name} must be {self.values}, not {value!r}")
        vars(trainer)[self.name] = value


def apply_settings(trainer: Any, settings: dict[str, Any]) -> None:
    """Set the settings of a trainer; raise TypeError for a name that is not one."""
    known = [
        name
        for name, kind in inspect.getmembers(type(trainer))
        if isinstance(kind, Setting)
    ]
    for name, value in settings.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            advice = f"did you mean {close[0]!r}?" if close else f"use {known}"
            raise TypeError(f"{name!r} is not a setting of the trainer; {advice}")
        setattr(trainer, name, value)
