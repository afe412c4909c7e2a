"""Checks of a checkpoint, and as JSON what it contains besides its arrays."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np


class WrongCheckpoint(ValueError):
    """A checkpoint belongs to another run."""


def check_shapes(saved: dict, own: dict, path: Path) -> None:
    """Raise WrongCheckpoint unless a checkpoint and a model have the same arrays.

    `saved` and `own` map names to shapes.
    """
    for name in sorted({*saved, *own}):
        there, here = saved.get(name, "missing"), own.get(name, "missing")
        if there != here:
            raise WrongCheckpoint(
                f"{path} is a checkpoint of another model: the shape of {name} "
                f"is {there} in the checkpoint and {here} in the model; "
                "resume with the same model, or choose another folder"
            )


def run_arguments(trainer: Any) -> dict[str, Any]:
    """Return the plain arguments of a model and of its trainer."""
    model = trainer.model
    arguments = {
        f"model.{name}": value
        for name, value in getattr(model, "hparams", vars(model)).items()
        if name != "training"  # a mode, which the trainer sets in JAX
    }
    for name in "accumulate", "gradient_clip_val":
        arguments[name] = getattr(trainer, name)
    arguments["precision"] = str(trainer.precision)
    return {k: v for k, v in arguments.items() if isinstance(v, (int, float, str))}


def check_run(
    progress: dict[str, Any], trainer: Any, path: Path, optimizer: str | None = None
) -> None:
    """Raise WrongCheckpoint unless a checkpoint fits a run; warn of changes.

    `optimizer` is the kind of an optimizer whose own arguments the checkpoint restores.
    """
    for name, own in (
        ("optimizer", optimizer),
        ("num_train_batches", trainer.num_train_batches),
    ):
        if progress.get(name) != own:
            raise WrongCheckpoint(
                f"{path} was saved with {name} {progress[name]}, and this run "
                f"has {own}; resume with the same, or choose another folder"
            )
    for name, own in run_arguments(trainer).items():
        saved = progress["arguments"].get(name, own)
        if saved != own:
            what = "the new value counts"
            if optimizer and name.startswith("model."):
                what += ", except for what the optimizer has saved"
            warnings.warn(
                f"{path} was saved with {name}={saved}, and this run has {own}; {what}",
                stacklevel=2,
            )


def warn_if_over(run: Any, path: Path) -> None:
    """Warn if a checkpoint comes after the last epoch of a run."""
    last = run.trainer.max_epochs
    if (run.trainer.epoch, run.position) > (last, 0):
        warnings.warn(
            f"{path} comes from a later epoch than max_epochs={last}, "
            "so nothing is left to train",
            stacklevel=2,
        )


def make_folder(folder: str | Path) -> None:
    """Make a folder unless it exists; raise ValueError if this is impossible."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"checkpoint_dir={str(folder)!r} cannot be made: "
            f"{error.strerror}; choose another folder"
        ) from None


def pack(value: Any, arrays: dict[str, Any] | None = None) -> Any:
    """Return a value as data for JSON; arrays of the framework go to `arrays`.

    Raises TypeError unless the value consists of numbers, strings, arrays, lists,
    tuples and dicts.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {
            "dict": [[pack(key), pack(item, arrays)] for key, item in value.items()]
        }
    if isinstance(value, (np.ndarray, np.generic)):
        return {"numpy": [value.dtype.name, value.tolist()]}
    if arrays is None or not hasattr(value, "dtype"):
        raise TypeError(
            f"a checkpoint cannot restore {value!r:.60}; keep numbers, "
            "strings, arrays, lists, tuples and dicts"
        )
    name = f"progress.{len(arrays)}"
    arrays[name] = value
    return {"array": name}


def unpack(value: Any, arrays: dict[str, Any] | None = None) -> Any:
    """Return the value that `pack` has packed."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {unpack(key): unpack(item, arrays) for key, item in content}
    if kind == "numpy":
        return np.array(content[1], content[0])
    if kind == "array":
        return (arrays or {})[content]
    items = [unpack(item, arrays) for item in content]
    return items if kind == "list" else tuple(items)
