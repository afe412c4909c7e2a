"""Predict the memory that a model takes to train, adapt or generate, before it runs.

python -m d2l memory MODULE:MODEL --batch SHAPE[:TYPE] ...
python -m d2l memory 'my_models:Net(10)' --batch 64x784 64:int64 --optimizer sgd
python -m d2l memory my_models:Regression --batch 64x8 64x1 --loss mse
python -m d2l memory d2l.recorded_steps:ResNet50 --batch 32x3x224x224 32:int64
python -m d2l memory path/to/config.json
python -m d2l memory openai/gpt-oss-120b --generate 131072 --users 16 --gpus 2
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
name of a published language model, as people or publishers write it, or the path of the
file config.json with which a model is published, or of its folder. From it follow the
layers: with full attention, windows, latent or linear attention, experts, and the types
of the weights. The command names what it does not know of a configuration. For any
other model, add its --shape, the numbers of layers, of heads of keys and values, of
values in a head, and of parameters; each layer then keeps all tokens, all weights have
--weight-bits, and times are not known. The command adds up the bytes of the weights and
of the KV caches of --users users (one, if not given) with LENGTH tokens each (8192, or
the most that the model is made for, if no task is given), on --gpus GPUs (one, if not
given) that share each layer. A value has the type with which the model is published, or
else 16 bits, unless --weight-bits (for the layers), --end-bits (for the embedding and
the head, which else stay in 16) and --cache-bits say otherwise. The first token comes
after a prompt of LENGTH tokens. The times are a bound, from bytes, operations in 16
bits and data sheets, and what is expected from published measurements.

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
from pathlib import Path
from typing import Any

from d2l import audit, configurations, generation, tables, wrappers
from d2l.arguments import Parser, UsageError, count, run
from d2l.language_models import LANGUAGE_SHAPES, TRANSFORMERS
from d2l.model_layers import Model
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
GENERATING = {"users", "shape", "weight_bits", "end_bits", "cache_bits", "gpus"}
LANGUAGE = {"sequences", "chunks", "keep_activations"}
TASKS = {
    "batch": TRAINING,
    "generate": GENERATING,
    "train": LANGUAGE,
    "adapt": LANGUAGE | {"rank", "weight_bits"},
}
LENGTH = 8192  # of the tokens of each user, if no task is given
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
    task = made.add_mutually_exclusive_group()
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
    made.add_argument("--end-bits", type=bits, metavar="BITS")
    made.add_argument("--cache-bits", type=bits, metavar="BITS")
    made.add_argument("--gpus", type=count, metavar="N")
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
    if not given.keys() & TASKS.keys():
        given["generate"] = usual_length(options.model, options.shape or "")
    (chosen,) = given.keys() & TASKS.keys()
    for name in sorted(given.keys() - TASKS[chosen] - {"model", *TASKS}):
        raise UsageError(f"--{name.replace('_', '-')} does not apply to --{chosen}")
    settings = {name: given[name] for name in TASKS[chosen] & given.keys()}
    if chosen in ("train", "adapt"):
        return language_step(options.model, chosen, given[chosen], **settings)
    function = training if chosen == "batch" else serving
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
    published = {configurations.plain(known): known for known in TRANSFORMERS}
    plain = configurations.plain(name)
    if plain not in published:
        near = get_close_matches(plain, published, 2, 0.7) or published
        known = " or ".join(f"'{published[each]}'" for each in near)
        raise UsageError(f"the sizes of '{name}' are not known here; write {known}")
    model = TRANSFORMERS[published[plain]]
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


def usual_length(name: str, shape: str) -> int:
    """Return the tokens of a user if no task is given; raise UsageError."""
    is_known = Path(name).exists() or name.endswith(".json") or shape
    if not is_known and _published(name) is None:
        tasks = " ".join(f"--{task}" for task in TASKS)
        raise UsageError(f"one of the arguments {tasks} is required")
    context = _served(name, shape).context
    return min(LENGTH, context) if context else LENGTH


def serving(
    name: str,
    length: int,
    users: int = 1,
    shape: str = "",
    weight_bits: float | None = None,
    end_bits: float | None = None,
    cache_bits: float = 16,
    gpus: int = 1,
) -> str:
    """Return the table of the bytes and times of a language model that is served."""
    model = _served(name, shape)
    types = generation.types_of(model, weight_bits, end_bits)
    one, service = (
        generation.Service(model, length, n, gpus, types, cache_bits)
        for n in (1, users)
    )
    sizes = {
        "weights": service.weights,
        "caches": users * service.cache,
        "sum": service.total,
    }
    cards = [card for card in CARDS if service.fits(card)]
    most = ", ".join(f"{card} {one.most_users(card)}" for card in CARDS)
    each = f" with {gpus} GPUs" if gpus > 1 else ""
    lines = [
        *(_row(*item) for item in sizes.items()),
        "",
        *_description(model, length, service),
        _beside("Published memory was {} such a sum", "generation"),
        f"Most users{each}: {most}. {FREE}",
        _beside("Published servers had room for {} as many tokens", "cache"),
        *_more_gpus(service),
        *_times(service, [] if shape else cards),
        f"Cards for {users} user{'s' * (users != 1)}{each}: "
        f"{', '.join(cards) or 'none'}.",
    ]
    if 0 < model.context < length:
        made_for = f"{name} is made for texts of up to {model.context:,} tokens."
        lines.append(f"{made_for} Longer ones fit, but do not expect good text.")
    if shape:
        lines.append(
            "These sizes are right only if each layer keeps all tokens: sliding "
            "windows, latent and linear attention keep fewer."
        )
    return "\n".join(lines)


def _description(model: Model, length: int, service: generation.Service) -> list[str]:
    """Return sentences on what was counted, and in which types."""
    if not model.is_configured:
        return []
    types = service.types
    lines = [
        f"{generation.describe(model)}",
        f"Bits: {generation.describe_types(types)}. Each user has {length:,} tokens.",
    ]
    if service.gpus > 1 and model.copies(service.gpus):
        lines.append(
            "The caches cannot be divided among so many GPUs: some parts are on "
            "several, unless the server divides the users."
        )
    return lines + [f"{note[0].upper()}{note[1:]}." for note in model.notes]


def _times(service: generation.Service, cards: list[str]) -> list[str]:
    """Return a table of the times on some cards, between empty lines."""
    if not cards:
        return []
    note = []
    if min(service.types[:3]) <= 8:
        note = ["Products in 8 or 4 bits, if a card has them, may beat these bounds."]
    return ["", *generation.time_rows(service, cards), *note, ""]


def _more_gpus(service: generation.Service) -> list[str]:
    """Return a line on the GPUs that hold a service where one does not."""
    if service.gpus > 1:
        return []
    numbers = {card: generation.fewest(service, card) for card in CARDS}
    more = [f"{card} {n}" for card, n in numbers.items() if n and n > 1]
    return [f"GPUs for this many users: {', '.join(more)}."] if more else []


def _served(name: str, numbers: str) -> Model:
    """Return a model: that of the option, of a file, or a published one."""
    try:
        if numbers:
            return generation.of_shape(name, _given_shape(numbers))
        found = _published(name)
        if found is not None:
            return found
        if name.endswith(".json") or Path(name).exists():
            return configurations.read_configuration(name)
    except configurations.ConfigurationError as error:
        raise UsageError(str(error)) from error
    near = configurations.nearest(name, [*LANGUAGE_SHAPES])
    known = " or ".join(near) or ", ".join(f"'{each}'" for each in tables.SHAPES)
    raise UsageError(
        f"'{name}' has no published shape here; write {known}, "
        "or the path of its config.json, or give --shape"
    )


def _published(name: str) -> Model | None:
    """Return a published model, or None if the name is not known."""
    plain = configurations.plain(name)
    shapes = {configurations.plain(each): each for each in tables.SHAPES}
    if plain in shapes:
        return generation.of_shape(name, tables.SHAPES[shapes[plain]])
    if configurations.known_name(name) is not None:
        return configurations.built_in(name)
    others = {configurations.plain(each): each for each in LANGUAGE_SHAPES}
    if plain in others:
        return generation.of_shape(name, LANGUAGE_SHAPES[others[plain]])
    return None


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
