"""Answers "does it fit?": the bytes of a task on one GPU, and the cards that hold them.

    from d2l.needs import memory_need
    need = memory_need("Llama 3 8B", "adapt", length=4096, bits=4.5)
    print(need.total, need.fits("T4"))

A section, an interactive figure and `python -m d2l memory` all give this answer. What
is counted are arrays; `d2l.tables.card_holds` has the rule. `python
-m d2l audit` compares both with published runs.
"""

from typing import NamedTuple

from d2l import expectations, tables
from d2l import training_plans as training
from d2l.language_models import LANGUAGE_SHAPES, TRANSFORMERS, Transformer
from d2l.tables import LanguageShape
from d2l.training_plans import TrainingPlan

RANK = 16  # of the adapters, if no number of them is given


class Need(NamedTuple):
    """The bytes of arrays on one GPU, by role.

    `training` has the gradients, the optimizer's state and, with LoRA, the adapters.
    """

    weights: float
    training: float = 0.0
    activations: float = 0.0
    logits: float = 0.0
    caches: float = 0.0

    @property
    def total(self) -> float:
        """Return the sum of all roles."""
        return sum(self)

    def fits(self, card: str) -> bool:
        """Return whether a card holds the arrays; errors of `card_memory`."""
        return tables.card_holds(card, self.total)

    def users(self, card: str) -> int:
        """Return how many users with such caches a card holds beside the weights.

        The caches are those of one user. Raises ValueError if the card is unknown.
        """
        room = tables.usable_memory(card) - self.weights
        return max(0, int(room // self.caches))


def memory_need(
    model: str | Transformer | LanguageShape,
    task: str,
    length: int,
    sequences: int = 1,
    *,
    bits: float = 16,
    adapters: float | None = None,
    checkpoint: bool = True,
    chunks: int = 1,
    cache_bits: float = 16,
) -> Need:
    """Return what a task takes on one GPU for sequences of `length` tokens.

    The task is to 'generate' text for as many users as there are `sequences`; to
    'adapt' the model by LoRA, with as many parameters as `adapters` or with rank 16; or
    to 'train' all parameters with Adam in 32 bits, in layers of 16. Weights that do not
    train have `bits`, but the embedding and the head stay in 16. Attention is fused.
    With `checkpoint`, only the input of each layer is kept; the loss is computed in
    `chunks`. Raises ValueError if the task or the model is unknown.
    """
    if task == "generate":
        shape = _shape(model)
        cache = tables.cache_bytes(shape, length, cache_bits / 8)
        weights = tables.weight_bytes(shape, bits)
        return Need(weights, caches=sequences * cache)
    if task not in ("adapt", "train"):
        raise ValueError(f"a task is 'generate', 'adapt' or 'train', not '{task}'")
    plan = TrainingPlan(
        _transformer(model),
        *(sequences, sequences, length),
        recipe="bfloat16" if task == "adapt" else "cast",
        recompute="full" if checkpoint else "none",
        loss="whole" if chunks == 1 else "chunks",
        loss_chunks=chunks,
    )
    return _adapting(plan, bits, adapters) if task == "adapt" else _training(plan)


def _adapting(plan: TrainingPlan, bits: float, adapters: float | None) -> Need:
    """Return the bytes of LoRA."""
    if adapters is None:
        adapters = training.lora_params(plan.model, RANK)
    size = training.fine_tuning_bytes(plan, bits, adapters)
    size["activations"] += expectations.copied_inputs(plan, bits)
    return Need(**size)


def _training(plan: TrainingPlan) -> Need:
    """Return the bytes at the peak of a step."""
    size = training.step_memory(expectations.with_copies(plan))
    return Need(
        size["weights"],
        size["gradients"] + size["optimizer"],
        size["activations"] + size["temporaries"],
        size["loss"],
    )


def _transformer(model: str | Transformer | LanguageShape) -> Transformer:
    """Return the sizes of a model."""
    if isinstance(model, Transformer):
        return model
    if model not in TRANSFORMERS:
        names = ", ".join(TRANSFORMERS)
        raise ValueError(f"the sizes of '{model}' are unknown; those known are {names}")
    return TRANSFORMERS[model]


def _shape(model: str | Transformer | LanguageShape) -> LanguageShape:
    """Return what generating text depends on."""
    if isinstance(model, LanguageShape):
        return model
    if isinstance(model, str) and model in LANGUAGE_SHAPES:
        return LANGUAGE_SHAPES[model]
    return _transformer(model).shape
