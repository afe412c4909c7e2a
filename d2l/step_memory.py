"""Predicts the memory of a training step of any model, and the cards that hold it.

`load` makes the model that a command names, and `predict` gives a prediction for its
step. Nothing but `predict_memory` counts; `remedies` predicts the changed steps again.
"""

import contextlib
import functools
import importlib
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from d2l import wrappers
from d2l.arguments import UsageError
from d2l.settings import LowerBound, own_line
from d2l.tables import NAMED_CARDS as CARDS
from d2l.tables import card_holds

PRECISIONS = ("float32", "bfloat16", "float16")
# The cards that JAX can compile for.
PLANNED = ("T4", "H100", "H200", "B200", "B300")
# How much larger a plan of JAX's compiler for GPUs may be than one for a CPU. For ten
# steps (GPTs, MLPs, a CNN and an LSTM, in 32 and 16 bits), JAX 0.10.2's plans for a T4,
# A100, H100 and B200 were 0.5 to 1.12 times the plans of JAX 0.7.2, 0.10.2 and 0.12.0
# for a CPU, and the plans in plans.csv 0.3 to 0.97 times. Only a small MLP had up to
# 16 MiB more, since products of matrices get a workspace: 32 MiB on the newest cards.
PLAN_RATIO, WORKSPACE = 1.15, 32 * 2**20


@dataclass
class Step:
    """A training step: a `d2l.Module`, a minibatch, and settings of the trainer."""

    library: ModuleType
    model: Any
    batch: list
    accumulate: int = 1
    precision: str = "float32"


@dataclass
class Prediction:
    """The bytes of a step by role, and the cards that hold them.

    `low` tells whether the peak is a lower bound. `notes` are sentences.
    """

    size: Any
    cards: list[str]
    low: bool = False
    notes: list[str] = field(default_factory=list)


def holding(nbytes: float) -> list[str]:
    """Return the cards that hold so many bytes."""
    return [card for card in CARDS if card_holds(card, nbytes)]


def reason(error: BaseException) -> str:
    """Return the first paragraph of an error, in one line that is not too long."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    # The first paragraph of Keras says only that there is an error.
    paragraphs = [
        " ".join(part.split())
        for part in text.split("\n\n")
        if part.strip() and not part.startswith("Exception encountered when")
    ]
    found = paragraphs[0] if paragraphs else type(error).__name__
    return found if len(found) <= 400 else found[:397] + "..."


# The model


def load(path: str, loss: str, optimizer: str, stack: contextlib.ExitStack) -> Any:
    """Return the `d2l.Module` of the model that MODULE:MODEL names.

    Without a `loss` or an `optimizer`, a model that has none gets cross entropy or
    Adam. `stack` keeps the context in which the model lives. Raises UsageError.
    """
    name, colon, code = path.partition(":")
    if not (name and colon and code):
        raise UsageError(f"'{path}' is not a model; write MODULE:MODEL")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise UsageError(f"{name} cannot be imported: {reason(error)}") from error
    try:
        model = make(code, module, stack)
    except Exception as error:
        raise UsageError(f"{code} in {name} cannot be made: {reason(error)}") from error
    if not wrappers.library_of(model):
        kind = type(model).__name__
        raise UsageError(
            f"{code} is a {kind}, not a model of PyTorch, Flax, Keras or Gluon"
        )
    if not wrappers.is_module(model):
        return wrapped(model, loss or "cross_entropy", optimizer or "adam")
    for option, value in ("--loss", loss), ("--optimizer", optimizer):
        if value:
            raise UsageError(f"{option}: {code} is a d2l.Module, which has its own")
    return model


def wrapped(model: Any, loss: str, optimizer: str) -> Any:
    """Return a `d2l.Module` around a model; raise UsageError if that is impossible."""
    try:
        return wrappers.wrap(model, loss, optimizer)
    except Exception as error:
        raise UsageError(reason(error)) from error


class Names(dict):
    """The names of a module, with those that the module finds only when asked."""

    def __init__(self, module: ModuleType):
        super().__init__(vars(module))
        self.module = module

    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise KeyError(name) from None


def make(code: str, module: ModuleType, stack: contextlib.ExitStack) -> Any:
    """Return the model of an expression, without data if its framework can do that."""

    def makes(found: Any) -> bool:
        return inspect.isclass(found) or inspect.isroutine(found)

    def evaluate() -> Any:
        found = eval(code, vars(module), Names(module))
        return found() if makes(found) else found

    if code in vars(module) and not makes(vars(module)[code]):
        return vars(module)[code]  # the module has made it
    try:
        return made_without_data(evaluate, stack)
    except Exception:  # the code reads values of the weights, or it has a mistake
        return evaluate()


def made_without_data(evaluate: Callable, stack: contextlib.ExitStack) -> Any:
    """Return what a function makes while the frameworks make shapes without data.

    A model of Keras needs its graph afterwards, so `stack` keeps it.
    """
    torch, tensorflow = sys.modules.get("torch"), sys.modules.get("tensorflow")
    with contextlib.ExitStack() as contexts:
        if tensorflow:
            contexts.enter_context(tensorflow.Graph().as_default())
        with torch.device("meta") if torch else contextlib.nullcontext():
            model = shapes_only(evaluate)
        if wrappers.library_of(model) == "d2l.tensorflow":
            stack.push(contexts.pop_all())
        return model


def shapes_only(evaluate: Callable) -> Any:
    """Return what a function makes; a model of NNX has shapes in place of arrays."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return evaluate()

    def model() -> Any:
        made = evaluate()
        return made if isinstance(made, nnx.Module) else None

    shapes = nnx.eval_shape(model)
    return evaluate() if shapes is None else shapes


# The minibatch and the prediction


def abstract(library: ModuleType, shape: tuple[int, ...], kind: str) -> Any:
    """Return an array that has a shape and a type, and no data."""
    if library.__name__ == "d2l.torch":
        torch = library.torch
        return torch.empty(shape, dtype=getattr(torch, kind), device="meta")
    if library.__name__ == "d2l.jax":
        return library.jax.ShapeDtypeStruct(shape, kind)
    if library.__name__ == "d2l.tensorflow":
        return library.tf.TensorSpec(shape, kind)
    return library.onp.broadcast_to(library.onp.zeros((), kind), shape)


def can_set_precision(library: ModuleType) -> bool:
    """Return whether the library predicts steps in other types than float32."""
    return "precision" in inspect.signature(library.predict_memory).parameters


def settings(step: Step) -> dict[str, Any]:
    """Return the settings of a step as arguments of `predict_memory`."""
    if step.precision == PRECISIONS[0]:
        return {"accumulate": step.accumulate}
    library = step.library
    if not can_set_precision(library):
        raise UsageError(
            f"--precision: the command predicts {library.__name__} in float32 only; "
            "otherwise cast the model and give --batch the type, as in 32x784:float16"
        )
    names = {"d2l.torch": "torch", "d2l.jax": "jnp", "d2l.tensorflow": "tf"}
    types = getattr(library, names[library.__name__])
    return {"accumulate": step.accumulate, "precision": getattr(types, step.precision)}


def predict(step: Step) -> Prediction:
    """Return the prediction for a step; raise the framework's error if it fails."""
    options = settings(step)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        size = step.library.predict_memory(step.model, step.batch, **options)
    low = [str(w.message) for w in told if issubclass(w.category, LowerBound)]
    notes = [f"{text[0].upper()}{text[1:]}." for text in low]
    if step.library.__name__ != "d2l.jax":
        return Prediction(size, holding(size.peak), bool(low), notes)
    size, cards, planner = planned(step, size, options)
    return Prediction(size, cards, bool(low), [*notes, planner])


def where(error: BaseException) -> str:
    """Return why a step fails, and at which line of the user's code."""
    text, line = reason(error), own_line(error)
    if "fake_tensor" in type(error).__module__:
        text = f"it reads values of a tensor, which exist only in a real step ({text})"
    return text if not line or line in text else f"{text} (at {line})"


# JAX


def plans_for_gpus(library: ModuleType) -> bool:
    """Return whether JAX's compiler for GPUs is installed, and of JAX's version."""
    try:
        return bool(library.gpu_compiler())
    except ImportError:
        return False


def planned(step: Step, size: Any, options: dict) -> tuple[Any, list[str], str]:
    """Return the bytes by role, the cards that hold them, and whose plan this is.

    The plan is that of JAX's compiler for GPUs, or else of its compiler for the default
    device, which on a machine without a GPU is a CPU.
    """
    library, jax = step.library, step.library.jax
    name = f"JAX {jax.__version__}'s compiler"
    if plans_for_gpus(library):
        card, total = plan_for_cards(step, options)
        note = f"The peak is what {name} for GPUs plans for a {card}."
        return size._replace(peak=total), holding(total), note
    size = size._replace(peak=max(size.peak, sum(size[:-1])))
    if jax.default_backend() != "cpu":
        note = f"The peak is what {name} plans for this {jax.devices()[0].device_kind}."
        return size, holding(size.peak), note
    more = f"{PLAN_RATIO - 1:.0%} and {WORKSPACE // 2**20} MiB"
    note = (
        f"The peak is what {name} plans for this CPU. A plan for a GPU may be larger, "
        f"so a card must hold {more} more. For a GPU's plan, run on Linux: "
        f"{library.gpu_compiler_command()}"
    )
    return size, holding(PLAN_RATIO * size.peak + WORKSPACE), note


def plan_for_cards(step: Step, options: dict) -> tuple[str, int]:
    """Return the smallest card whose own plan it holds, and the bytes of that plan.

    If no card holds its plan, they are those of the largest one.
    """
    library = step.library
    trainer = library.shape_trainer(step.model)
    for name, value in options.items():
        setattr(trainer, name, value)
    state = library.state_shapes(trainer, step.batch)
    for card in PLANNED:
        plan = library.plan_memory(
            trainer.train_step, state, step.batch, card=card, donate=(0,)
        )
        if plan.fits:
            break
    return card, plan.total


# What reduces the peak


def remedies(step: Step) -> Iterator[tuple[str, Prediction | str]]:
    """Yield what may reduce the peak, and its prediction or why there is none."""
    examples = int(step.batch[0].shape[0])
    parts = min(4 * step.accumulate, examples)
    if parts > step.accumulate:
        yield f"--accumulate {parts}", attempt(replace(step, accumulate=parts))
    if step.precision == PRECISIONS[0] and can_set_precision(step.library):
        yield "--precision bfloat16", shorter(step)
    if step.library.__name__ == "d2l.torch":
        with checkpointing(step.library.torch, step.model) as blocks:
            if blocks:
                yield f"checkpointing of its {blocks}", attempt(step)


def shorter(step: Step) -> Prediction | str:
    """Return the prediction for a step in bfloat16, or why there is none."""
    if step.library.__name__ == "d2l.jax":
        on_cpu = step.library.jax.default_backend() == "cpu"
        if on_cpu and not plans_for_gpus(step.library):
            return "JAX's compiler for a CPU computes products in 32 bits"
    return attempt(replace(step, precision="bfloat16"))


def attempt(step: Step) -> Prediction | str:
    """Return the prediction for a step, or why there is none."""
    try:
        return predict(step)
    except Exception as error:
        return where(error)


@contextlib.contextmanager
def checkpointing(torch: ModuleType, model: Any) -> Iterator[str]:
    """Let the repeated blocks of a model compute their activations twice.

    Yields their number and class, or "" if there are none.
    """
    blocks = repeated_blocks(torch.nn, model)
    kinds = [type(block) for block in blocks]
    for block in blocks:
        block.__class__ = checkpointed(torch, type(block))
    try:
        yield f"{len(blocks)} {kinds[0].__name__}s" if blocks else ""
    finally:
        for block, kind in zip(blocks, kinds):
            block.__class__ = kind


def repeated_blocks(nn: ModuleType, model: Any) -> list:
    """Return the blocks of the class that has most of a model's parameters.

    Blocks are items of lists of layers. Single layers, whose activations are their
    outputs, are none.
    """
    lists = (nn.ModuleList, nn.Sequential)
    groups: dict[type, dict[int, Any]] = {}
    for container in model.modules():
        for block in container if isinstance(container, lists) else ():
            if not isinstance(block, lists) and any(True for _ in block.children()):
                groups.setdefault(type(block), {})[id(block)] = block
    repeated = [[*group.values()] for group in groups.values() if len(group) > 1]
    return max(
        repeated, key=lambda group: sum(map(count_parameters, group)), default=[]
    )


def count_parameters(module: Any) -> int:
    """Return the number of parameters of a module."""
    return sum(p.numel() for p in module.parameters())


def checkpointed(torch: ModuleType, kind: Any) -> type:
    """Return a class of blocks like `kind` that keep only their inputs."""
    from torch.utils.checkpoint import checkpoint

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return checkpoint(
            functools.partial(kind.forward, self),
            *args,
            use_reentrant=False,
            preserve_rng_state=False,
            **kwargs,
        )

    return type(kind.__name__, (kind,), {"forward": forward})
