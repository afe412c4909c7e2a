"""Print the memory that a model takes to train or to generate text, before it runs.

python -m d2l memory MODULE:MODEL --batch SHAPE[:TYPE] ...
python -m d2l memory d2l.torch:DeepMLP --batch 2048x128 2048x128
python -m d2l memory 'models:ResNet(10)' --batch 32x3x224x224 32:int64
python -m d2l memory 'Llama 3 8B' --generate 8192 --users 16

MODEL is a model of this library: an instance, or a class or function that returns one,
with its arguments if it has any. It is Python code and is run. --batch gives one shape
for each item of a minibatch, the labels last; the type is float32 if it is not given,
or one of float16, bfloat16, float64, int64, int32, uint8 and bool. --accumulate and
--precision are those of the trainer.

--generate needs no framework. It takes a language model whose shape is published, and
gives the bytes in 16 bits of its weights and of the caches of --users users with so
many tokens each.
The exit status is 2 for a mistake in the arguments.
"""

import argparse
import contextlib
import importlib
import inspect
import logging
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from d2l import tables

LIBRARIES = ("d2l.torch", "d2l.mxnet", "d2l.jax", "d2l.tensorflow")
TYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
PRECISIONS = ("float32", "bfloat16", "float16")
ITEM = re.compile(rf"(\d+(?:x\d+)*)(?::({'|'.join(TYPES)}))?")
CARDS = ("T4", "A100", "H100", "H200", "B200")


class UsageError(Exception):
    """A mistake in the arguments, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Print the table and return 0, or print an error and return 2."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--batch", nargs="+", metavar="SHAPE[:TYPE]")
    task.add_argument("--generate", type=int, metavar="LENGTH")
    parser.add_argument("--users", type=int, default=1, metavar="N")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N")
    parser.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0])
    options = parser.parse_args(arguments)
    try:
        if options.generate is not None:
            print(generation(options.model, options.generate, options.users))
        else:
            settings = options.accumulate, options.precision
            print(table(options.model, options.batch, *settings))
    except UsageError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def table(
    path: str, items: Sequence[str], accumulate: int = 1, precision: str = "float32"
) -> str:
    """Return the table of the bytes of a step by role."""
    if accumulate < 1:
        raise UsageError(f"--accumulate: write 1, 2, ..., not {accumulate}")
    shapes = [_shape(item) for item in items]
    logging.disable()  # PyTorch logs a traceback where one line is enough
    model = _model(path)
    library = _library(model)
    settings = {"accumulate": accumulate} | _precision(library, precision)
    try:
        batch = [_abstract(library, *shape) for shape in shapes]
        size = library.predict_memory(model, batch, **settings)
    except Exception as error:
        given = " ".join(items)
        raise UsageError(
            f"a step of {path} fails on a minibatch {given}: {error}"
        ) from error
    rows = [_row(role, n) for role, n in size._asdict().items()]
    memory = {card: library.card_data(card)["memory"] for card in CARDS}
    fit = ", ".join(card for card in CARDS if size.peak < memory[card]) or "none"
    note = "The framework and the driver take memory, too."
    return "\n".join([*rows, "", f"Cards with more memory than this: {fit}. {note}"])


def generation(name: str, length: int, users: int = 1) -> str:
    """Return the table of the bytes that a language model takes to generate text."""
    if name not in tables.SHAPES:
        known = " or ".join(f"'{name}'" for name in tables.SHAPES)
        raise UsageError(f"'{name}' has no published shape here; write {known}")
    for option, value in ("--generate", length), ("--users", users):
        if value < 1:
            raise UsageError(f"{option}: write 1, 2, ..., not {value}")
    shape = tables.SHAPES[name]
    weights, cache = 2 * shape.params, tables.cache_bytes(shape, length)
    sizes = {"weights": weights, "caches": users * cache}
    rows = [_row(*item) for item in (sizes | {"sum": sum(sizes.values())}).items()]
    memory = {card: tables.card_data(card)["memory"] for card in CARDS}
    fit = {card: int((0.9 * memory[card] - weights) // cache) for card in CARDS}
    most = ", ".join(f"{card} {max(0, count)}" for card, count in fit.items())
    note = "A tenth of each card is left for the rest."
    return "\n".join([*rows, "", f"Most users: {most}. {note}"])


def _row(role: str, nbytes: float) -> str:
    """Return a row of the table."""
    return f"{role:<12}{nbytes / 2**20:>14,.2f} MiB"


def _shape(item: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and the type of an item such as 32x3x224x224 or 32:int64."""
    found = ITEM.fullmatch(item)
    if found is None:
        raise UsageError(f"--batch: '{item}' is no shape; write 32x128 or 32:int64")
    return tuple(int(n) for n in found[1].split("x")), found[2] or "float32"


def _model(path: str) -> Any:
    """Return the model that MODULE:MODEL names."""
    name, colon, code = path.partition(":")
    if not (name and colon and code):
        raise UsageError(f"'{path}' is no model; write MODULE:MODEL")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise UsageError(f"{name} cannot be imported: {error}") from error
    try:
        with _no_weights():
            found = eval(code, vars(module))
            makes = inspect.isclass(found) or inspect.isroutine(found)
            return found() if makes else found
    except Exception as error:
        raise UsageError(f"{code} in {name} is no model: {error}") from error


def _no_weights() -> contextlib.AbstractContextManager:
    """Return a context in which PyTorch makes weights without data, if it is loaded."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None else torch.device("meta")


def _library(model: Any) -> ModuleType:
    """Return the module of this library whose `Module` the model is."""
    for kind in type(model).__mro__:
        if kind.__module__ in LIBRARIES and kind.__name__ == "Module":
            return sys.modules[kind.__module__]
    name = type(model).__name__
    raise UsageError(f"{name} is no d2l.Module, so it has no loss and no optimizer")


def _precision(library: ModuleType, name: str) -> dict[str, Any]:
    """Return the argument of `predict_memory` for a precision, if it is not float32."""
    if name == PRECISIONS[0]:
        return {}
    if "precision" not in inspect.signature(library.predict_memory).parameters:
        raise UsageError(
            f"--precision: {library.__name__} predicts a step in float32 only; "
            "cast the model, and give the types of --batch"
        )
    frameworks = {"d2l.torch": "torch", "d2l.jax": "jnp", "d2l.tensorflow": "tf"}
    return {"precision": getattr(vars(library)[frameworks[library.__name__]], name)}


def _abstract(library: ModuleType, shape: tuple[int, ...], kind: str) -> Any:
    """Return an array that has a shape and a type, and no data if possible."""
    if library.__name__ == "d2l.torch":
        torch = library.torch
        return torch.empty(shape, dtype=getattr(torch, kind), device="meta")
    if library.__name__ == "d2l.jax":
        return library.jax.ShapeDtypeStruct(shape, kind)
    if library.__name__ == "d2l.tensorflow":
        return library.tf.TensorSpec(shape, kind)
    return library.np.zeros(shape, dtype=kind)
