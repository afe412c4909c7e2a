"""Print the memory that a model takes to train or to generate text, before it runs.

python -m d2l memory MODULE:MODEL --batch SHAPE[:TYPE] ...
python -m d2l memory d2l.torch:DeepMLP --batch 2048x128 2048x128
python -m d2l memory 'models:ResNet(10)' --batch 32x3x224x224 32:int64
python -m d2l memory 'Llama 3 8B' --generate 8192 --users 16
python -m d2l memory 'Qwen3 8B' --generate 8192 --weight-bits 4.5 --cache-bits 8
python -m d2l memory my-model --generate 8192 --shape 36,8,128,8.19e9

MODEL is a model of this library: an instance, or a class or function that returns one,
with its arguments if it has any. It is Python code and is run. --batch gives one shape
for each item of a minibatch, the labels last; the type is float32 if it is not given,
or one of float16, bfloat16, float64, int64, int32, uint8 and bool. --accumulate and
--precision are those of the trainer.

--generate needs no framework. It takes a language model whose shape is published, or
any name with --shape LAYERS,KV_HEADS,HEAD_SIZE,PARAMETERS. It gives the bytes of the
weights and of the caches of --users users with so many tokens each, in 16 bits if
--weight-bits and --cache-bits are not given. Caches with sliding windows or latent
attention are smaller. --accumulate and --precision belong to --batch, the others to
--generate.
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
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from d2l import tables
from d2l.settings import LowerBound

LIBRARIES = ("d2l.torch", "d2l.mxnet", "d2l.jax", "d2l.tensorflow")
TYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
PRECISIONS = ("float32", "bfloat16", "float16")
ITEM = re.compile(rf"(\d+(?:x\d+)*)(?::({'|'.join(TYPES)}))?")
CARDS = ("T4", "A100", "H100", "H200", "B200")
TRAINING = {"accumulate", "precision"}
GENERATING = {"users", "shape", "weight_bits", "cache_bits"}


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
    parser.add_argument("--users", type=int, metavar="N")
    parser.add_argument("--shape", metavar="L,H,D,N")
    parser.add_argument("--weight-bits", type=float, metavar="BITS")
    parser.add_argument("--cache-bits", type=float, metavar="BITS")
    parser.add_argument("--accumulate", type=int, metavar="N")
    parser.add_argument("--precision", choices=PRECISIONS)
    options = parser.parse_args(arguments)
    tasks = {"batch": TRAINING, "generate": GENERATING}
    chosen = "batch" if options.generate is None else "generate"
    given = {key: value for key, value in vars(options).items() if value is not None}
    try:
        for name in given.keys() - tasks[chosen] - {"model", *tasks}:
            raise UsageError(f"--{name.replace('_', '-')} does not apply to --{chosen}")
        settings = {name: given[name] for name in tasks[chosen] & given.keys()}
        function = table if chosen == "batch" else generation
        print(function(options.model, given[chosen], **settings))
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
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            size = library.predict_memory(model, batch, **settings)
    except Exception as error:
        given = " ".join(items)
        raise UsageError(
            f"a step of {path} fails on a minibatch {given}: {error}"
        ) from error
    rows = [_row(role, n) for role, n in size._asdict().items()]
    memory = {card: library.card_data(card)["memory"] for card in CARDS}
    fit = ", ".join(card for card in CARDS if size.peak < memory[card]) or "none"
    low = [str(w.message) for w in told if issubclass(w.category, LowerBound)]
    rows[-1] += ", at least" * bool(low)
    notes = [f"{text[0].upper()}{text[1:]}." for text in low]
    notes += ["The framework and the driver take memory, too."]
    cards = f"Cards with more memory than this: {fit}. {' '.join(notes)}"
    return "\n".join([*rows, "", cards])


def generation(
    name: str,
    length: int,
    users: int = 1,
    shape: str = "",
    weight_bits: float = 16,
    cache_bits: float = 16,
) -> str:
    """Return the table of the bytes that a language model takes to generate text."""
    for option, value in ("--generate", length), ("--users", users):
        if not 1 <= value <= 10**9:
            raise UsageError(f"{option}: write 1, 2, ..., not {value}")
    for option, bits in ("--weight-bits", weight_bits), ("--cache-bits", cache_bits):
        if not 1 <= bits <= 32:
            raise UsageError(f"{option}: write 16, 8, 4.5, ..., not {bits:g}")
    found = _language_shape(name, shape)
    weights = found.params * weight_bits / 8
    cache = tables.cache_bytes(found, length, cache_bits / 8)
    sizes = {"weights": weights, "caches": users * cache}
    rows = [_row(*item) for item in (sizes | {"sum": sum(sizes.values())}).items()]
    memory = {card: tables.card_data(card)["memory"] for card in CARDS}
    fit = {card: int((0.9 * memory[card] - weights) // cache) for card in CARDS}
    most = ", ".join(f"{card} {max(0, count)}" for card, count in fit.items())
    cards = ", ".join(card for card in CARDS if fit[card] >= users) or "none"
    note = "A tenth of each card is left for the rest."
    lines = [*rows, "", f"Most users: {most}. {note}", f"Cards for {users}: {cards}."]
    if 0 < found.context < length:
        made_for = f"{name} is made for texts of up to {found.context:,} tokens."
        lines.append(f"{made_for} Longer ones fit, but do not expect good text.")
    return "\n".join(lines)


def _language_shape(name: str, numbers: str) -> tables.LanguageShape:
    """Return the shape of a model: the published one, or that of the option."""
    if not numbers:
        published = {known.lower(): shape for known, shape in tables.SHAPES.items()}
        if name.lower() not in published:
            known = ", ".join(f"'{name}'" for name in tables.SHAPES)
            raise UsageError(
                f"'{name}' has no published shape here; write {known}, or give --shape"
            )
        return published[name.lower()]
    try:
        layers, heads, size, params = (float(number) for number in numbers.split(","))
        if not all(0 < number < 1e15 for number in (layers, heads, size, params)):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--shape: '{numbers}' is no shape; write layers, heads of keys, "
            "values of a head, parameters, such as 32,8,128,8.03e9"
        ) from None
    return tables.LanguageShape(params, params, layers, heads, heads, size)


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
