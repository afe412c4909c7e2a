"""Predict the memory that a model takes to train, adapt or generate, before it runs.

python -m d2l memory MODULE:MODEL --batch SHAPE[:TYPE] ...
python -m d2l memory 'my_models:Net(10)' --batch 64x784 64:int64 --optimizer sgd
python -m d2l memory my_models:Regression --batch 64x8 64x1 --loss mse
python -m d2l memory d2l.recorded_steps:ResNet50 --batch 32x3x224x224 32:int64
python -m d2l memory 'Llama 3 8B' --generate 8192 --users 16
python -m d2l memory 'Qwen3 8B' --generate 8192 --weight-bits 4.5 --cache-bits 8
python -m d2l memory my-model --generate 8192 --shape 36,8,128,8.19B
python -m d2l memory 'Llama 3 8B' --adapt 4096 --weight-bits 4.5 --chunks 8
python -m d2l memory 'GPT-2 124M' --train 1024 --sequences 16 --keep-activations

With --batch, the command predicts a training step. MODULE is a Python module, such as
my_models for the file my_models.py in this folder. MODEL is the model in it: an
instance, or a class or function that returns one, with arguments in parentheses if it
needs them. It belongs to PyTorch, Flax (Linen or NNX), Keras or Gluon, or is a
d2l.Module, such as the ResNet50 above, which is in PyTorch. The command runs the code
that makes the model, but no step. Weights take no memory where the framework can do
without their values. MXNet cannot, and runs the model on 4 and on 8 examples.

--batch      the shape of each array of a minibatch, the labels last: 32x3x224x224 and
             32:int64 are 32 images and 32 integers. A type is float32 (if none is
             given), float16, bfloat16, float64, int64, int32, uint8 or bool
--loss       cross_entropy (if none is given), binary_cross_entropy, mse, l1, or own if
             the model takes the labels and returns its loss (not in Keras). If there
             are several outputs, the loss uses the logits, or else the first output
--optimizer  adam (if none is given), adamw, sgd, momentum, rmsprop, adagrad or
             adafactor (in Gluon neither adamw nor adafactor). A d2l.Module has its own
             loss and optimizer
--accumulate into how many parts the step splits the minibatch, to add up the gradients
--precision  float32 (if none is given), bfloat16 or float16; in MXNet only float32

With --generate, the command predicts a server, and needs no framework. MODEL is the
name of a published language model; for any other, add its --shape, the numbers of
layers, of heads of keys and values, of values in a head, and of parameters. The command
adds up the bytes of the weights and of the KV caches of --users users (one, if not
given) with LENGTH tokens each, at 16 bits per value unless --weight-bits and
--cache-bits say otherwise. It assumes that each layer keeps all tokens; sliding
windows, latent and linear attention need less.

With --train or --adapt, the command predicts a step of a published language model on
--sequences sequences (one, if not given) of LENGTH tokens, and needs no framework
either. --train is about all parameters, with Adam in 32 bits and layers in 16; --adapt
is about LoRA of --rank (16, if not given) beside weights of --weight-bits, whose
embedding and head stay in 16. Attention is fused. Only the input of each layer is kept
(checkpointing), unless there is --keep-activations; the loss is computed in --chunks.

Below each prediction, the command prints how much more or less others have measured in
such cases; 'python -m d2l audit' lists the measurements. A tenth of each card is kept
free for the framework, the driver, and gaps between arrays. The exit status is 2 for a
mistake in the arguments.
"""

import argparse
import contextlib
import logging
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from d2l import audit, tables, wrappers
from d2l.arguments import Parser, UsageError, count, run
from d2l.language_models import TRANSFORMERS
from d2l.needs import RANK, memory_need
from d2l.step_memory import (
    PRECISIONS,
    Prediction,
    Step,
    abstract,
    load,
    predict,
    remedies,
    where,
)
from d2l.tables import LEFT
from d2l.tables import NAMED_CARDS as CARDS
from d2l.training_plans import lora_params

TYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")
ITEM = re.compile(rf"([1-9]\d*(?:x[1-9]\d*)*)(?::({'|'.join(TYPES)}))?")
TRAINING = {"accumulate", "precision", "loss", "optimizer"}
GENERATING = {"users", "shape", "weight_bits", "cache_bits"}
LANGUAGE = {"sequences", "chunks", "keep_activations"}
TASKS = {
    "batch": TRAINING,
    "generate": GENERATING,
    "train": LANGUAGE,
    "adapt": LANGUAGE | {"rank", "weight_bits"},
}
COMMAND = "python -m d2l memory"
TRAINED = {"adapt": "adapters", "train": "training"}
FREE = (
    f"{LEFT:.0%} of each card is kept free for the framework, the driver, and gaps "
    "between arrays."
)


def bits(value: str) -> float:
    """Return a number of bits per value."""
    with contextlib.suppress(ValueError):
        if 1 <= float(value) <= 32:
            return float(value)
    raise argparse.ArgumentTypeError(f"'{value}' is not 16, 8, 4.5, ... (1 to 32)")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = Parser(
        prog=COMMAND,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("model", metavar="MODEL")
    task = made.add_mutually_exclusive_group(required=True)
    task.add_argument("--batch", nargs="+", metavar="SHAPE[:TYPE]")
    for name in "--generate", "--train", "--adapt":
        task.add_argument(name, type=count, metavar="LENGTH")
    made.add_argument("--loss", metavar="NAME")
    made.add_argument("--optimizer", metavar="NAME")
    made.add_argument("--accumulate", type=count, metavar="N")
    made.add_argument("--precision", choices=PRECISIONS)
    made.add_argument("--users", type=count, metavar="N")
    made.add_argument("--shape", metavar="LAYERS,KV_HEADS,HEAD_SIZE,PARAMETERS")
    made.add_argument("--weight-bits", type=bits, metavar="BITS")
    made.add_argument("--cache-bits", type=bits, metavar="BITS")
    made.add_argument("--sequences", type=count, metavar="N")
    made.add_argument("--rank", type=count, metavar="R")
    made.add_argument("--chunks", type=count, metavar="N")
    made.add_argument("--keep-activations", action="store_true", default=None)
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the table and return 0, or print an error and return 2."""
    return run(answer, arguments)


def answer(arguments: Sequence[str]) -> str:
    """Return the table that the arguments ask for; raise UsageError."""
    options = parser().parse_args(arguments)
    given = {key: value for key, value in vars(options).items() if value is not None}
    (chosen,) = given.keys() & TASKS.keys()
    for name in sorted(given.keys() - TASKS[chosen] - {"model", *TASKS}):
        raise UsageError(f"--{name.replace('_', '-')} does not apply to --{chosen}")
    settings = {name: given[name] for name in TASKS[chosen] & given.keys()}
    if chosen in ("train", "adapt"):
        return language_step(options.model, chosen, given[chosen], **settings)
    function = training if chosen == "batch" else generation
    return function(options.model, given[chosen], **settings)


def training(
    path: str,
    items: Sequence[str],
    accumulate: int = 1,
    precision: str = "float32",
    loss: str = "",
    optimizer: str = "",
) -> str:
    """Return the table of the bytes of a step by role, the cards, and the remedies."""
    shapes = [_shape(item) for item in items]
    with contextlib.ExitStack() as stack:
        # PyTorch logs a traceback where one line is enough.
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable()
        model = load(path, loss, optimizer, stack)
        library = sys.modules[wrappers.library_of(model)]
        try:
            batch = [abstract(library, *shape) for shape in shapes]
            step = Step(library, model, batch, accumulate, precision)
            found = predict(step)
        except UsageError:
            raise
        except Exception as error:
            given = " ".join(items)
            raise UsageError(
                f"a step of {path} fails on a minibatch {given}: {where(error)}"
            ) from error
        changes = [_change(found, *remedy) for remedy in remedies(step)]
    rows = [_row(role, n) for role, n in found.size._asdict().items()]
    rows[-1] += ", at least" * found.low
    fit = ", ".join(found.cards) or "none"
    lines = [
        _beside("Published peaks in PyTorch were {} such predictions", "step-memory"),
        f"Cards for this step: {fit}. {FREE}",
        *found.notes,
    ]
    return "\n".join([*rows, "", *lines, "", *changes]).rstrip()


def _beside(sentence: str, kind: str) -> str:
    """Return a sentence with the times of predictions that were measured elsewhere."""
    found = audit.summary(kind)
    low, high, number = found.spread
    most, median, least = (1 / ratio for ratio in (low, found.median, high))
    spread = f"{least:.2f} to {most:.2f} {number} measurements"
    return f"{sentence.format(f'{median:.2f} times')} ({spread})."


def _change(before: Prediction, remedy: str, after: Prediction | str) -> str:
    """Return the line of a remedy: the bytes that it saves, or why they are unknown."""
    if isinstance(after, str):
        return f"{remedy} cannot be predicted: {after}."
    saved = (before.size.peak - after.size.peak) / 2**20
    word = "less" if saved >= 0 else "more"
    line = f"{remedy} takes {abs(saved):,.2f} MiB {word}"
    more = [card for card in after.cards if card not in before.cards]
    return f"{line}, and also fits on {', '.join(more)}." if more else f"{line}."


def language_step(
    name: str,
    task: str,
    length: int,
    sequences: int = 1,
    rank: int = RANK,
    weight_bits: float = 16,
    chunks: int = 1,
    keep_activations: bool = False,
) -> str:
    """Return the table of the bytes that a step of a published language model takes."""
    published = {_plain(known): known for known in TRANSFORMERS}
    if _plain(name) not in published:
        near = get_close_matches(_plain(name), published, 2, 0.7) or published
        known = " or ".join(f"'{published[each]}'" for each in near)
        raise UsageError(f"the sizes of '{name}' are not known here; write {known}")
    model = TRANSFORMERS[published[_plain(name)]]
    options: dict[str, Any] = {"checkpoint": not keep_activations, "chunks": chunks}
    if task == "adapt":
        options |= {"bits": weight_bits, "adapters": lora_params(model, rank)}
    need = memory_need(model, task, length, sequences, **options)
    names = "weights", TRAINED[task], "activations", "logits"
    rows = [_row(*item) for item in zip(names, need)]
    kind = "fine-tuning" if task == "adapt" else "memory"
    cards = ", ".join(card for card in CARDS if need.fits(card)) or "none"
    lines = [
        *(*rows, _row("sum", need.total), ""),
        _beside("Published peaks were {} such a sum", kind),
        f"Cards for this step: {cards}. {FREE}",
    ]
    return "\n".join(lines)


def generation(
    name: str,
    length: int,
    users: int = 1,
    shape: str = "",
    weight_bits: float = 16,
    cache_bits: float = 16,
) -> str:
    """Return the table of the bytes that a language model takes to generate text."""
    found = _language_shape(name, shape)
    given: dict[str, Any] = {"bits": weight_bits, "cache_bits": cache_bits}
    need, one = (memory_need(found, "generate", length, n, **given) for n in (users, 1))
    sizes = {"weights": need.weights, "caches": need.caches, "sum": need.total}
    rows = [_row(*item) for item in sizes.items()]
    most = ", ".join(f"{card} {one.users(card)}" for card in CARDS)
    cards = ", ".join(card for card in CARDS if need.fits(card)) or "none"
    lines = [
        *rows,
        "",
        _beside("Published memory was {} such a sum", "generation"),
        f"Most users: {most}. {FREE}",
        _beside("Published servers had room for {} as many tokens", "cache"),
        f"Cards for {users} user{'s' * (users != 1)}: {cards}.",
    ]
    if 0 < found.context < length:
        made_for = f"{name} is made for texts of up to {found.context:,} tokens."
        lines.append(f"{made_for} Longer ones fit, but do not expect good text.")
    if shape:
        lines.append(
            "These sizes are right only if each layer keeps all tokens: sliding "
            "windows, latent and linear attention keep fewer."
        )
    return "\n".join(lines)


def _language_shape(name: str, numbers: str) -> tables.LanguageShape:
    """Return the shape of a model: the published one, or that of the option."""
    if numbers:
        return _given_shape(numbers)
    published = {_plain(known): shape for known, shape in tables.SHAPES.items()}
    if _plain(name) in published:
        return published[_plain(name)]
    names = {_plain(known): known for known in tables.SHAPES}
    near = [names[each] for each in get_close_matches(_plain(name), names, 2, 0.7)]
    known = " or ".join(f"'{each}'" for each in near)
    known = known or ", ".join(f"'{each}'" for each in tables.SHAPES)
    raise UsageError(
        f"'{name}' has no published shape here; write {known}, or give --shape"
    )


def _plain(name: str) -> str:
    """Return the name of a model in small letters, without its publisher."""
    return re.sub("[-_ ]+", " ", name.rpartition("/")[2].lower())


def _given_shape(numbers: str) -> tables.LanguageShape:
    """Return the shape that an option gives as numbers."""
    number = r"[1-9]\d{0,5}"
    found = re.fullmatch(
        rf"({number}),({number}),({number}),([\d.e+]+)([MBT]?)", numbers
    )
    with contextlib.suppress(ValueError):
        if found:
            layers, heads, size = (int(found[i]) for i in (1, 2, 3))
            params = float(found[4]) * {"M": 1e6, "B": 1e9, "T": 1e12}.get(found[5], 1)
            if layers * heads * size < params < 1e15:
                return tables.LanguageShape(params, params, layers, heads, heads, size)
    raise UsageError(
        f"--shape: '{numbers}' is not a shape; write LAYERS,KV_HEADS,HEAD_SIZE,"
        "PARAMETERS, such as 32,8,128,8.03e9 or 32,8,128,8.03B"
    )


def _row(role: str, nbytes: float) -> str:
    """Return a row of the table."""
    return f"{role:<12}{nbytes / 2**20:>14,.2f} MiB"


def _shape(item: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and the type of an item such as 32x3x224x224 or 32:int64."""
    found = ITEM.fullmatch(item)
    if found is None:
        raise UsageError(f"--batch: '{item}' is not a shape; write 32x128 or 32:int64")
    return tuple(int(n) for n in found[1].split("x")), found[2] or "float32"
