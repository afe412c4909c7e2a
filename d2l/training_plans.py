"""Predicts the memory and the time of a training step of a dense Transformer.

A plan divides the model among `tensor` * `context` * `pipeline` * `data` GPUs, which
are numbered in the order tensor, context, data, pipeline. Times are in seconds, sizes
in bytes, rates in FLOP/s, and bandwidths in bytes per second and direction.

The interactive figures compute the same in `memory-arithmetic.js` and
`parallel-arithmetic.js`, for mixtures of experts too; `tests/static/published.test.js`
compares both. Activations follow Korthikanti et al. (2022), FLOPs and all-reduces in a
layer Narayanan et al. (2021), and sharded state Rajbhandari et al. (2020).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from d2l import tables
from d2l.language_models import Transformer


class Recipe(NamedTuple):
    """Bytes per parameter; of a value in the layers, and of one of the optimizer."""

    weights: int
    gradients: int
    master: int
    numbers: int
    state: int


RECIPES = {
    "float32": Recipe(4, 4, 0, 4, 4),
    "mixed": Recipe(2, 2, 4, 2, 4),
    "mixed-32": Recipe(2, 4, 4, 2, 4),
    "cast": Recipe(4, 4, 0, 2, 4),
    "bfloat16": Recipe(2, 2, 0, 2, 2),
}


@dataclass(frozen=True)
class TrainingPlan:
    """A step of training: the model, its minibatch, and how GPUs share them.

    `batch` counts the sequences of a step, and `micro` those of a microbatch. `zero` is
    0 if no state is sharded, 1 for the optimizer's state, 2 for the gradients too, and
    3 for the weights too. `interleave` are the parts of each stage of a pipeline.
    `recompute` is 'none', 'attention', 'selective' (keeps what a layer receives, the
    output of its attention, and every second product) or 'full'. `loss` is 'whole' or
    in `loss_chunks` 'chunks', and `attention` 'fused' or 'plain'. `sequence` divides
    what tensor parallelism would otherwise repeat. `copies` counts logits and their
    gradients in 16 bits, too, if layers have 16 bits.
    """

    model: Transformer
    batch: int
    micro: int
    length: int
    gpus: int = 1
    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    interleave: int = 1
    zero: int = 0
    recipe: str = "cast"
    optimizer: str = "adam"
    recompute: str = "none"
    loss: str = "whole"
    attention: str = "fused"
    dropout: bool = False
    sequence: bool = True
    overlap: bool = True
    copies: bool = False
    loss_chunks: int = 8

    @property
    def data(self) -> int:
        """Return the number of GPUs with different sequences."""
        return self.gpus // (self.tensor * self.context * self.pipeline)

    @property
    def shards(self) -> int:
        """Return the number of GPUs with the same parameters, which share the state."""
        return self.data * self.context

    @property
    def microbatches(self) -> float:
        """Return the number of microbatches of each copy."""
        return self.batch / (self.data * self.micro)

    @property
    def chunks(self) -> int:
        """Return the number of parts of each stage."""
        return self.interleave if self.pipeline > 1 else 1

    @property
    def tokens(self) -> float:
        """Return the tokens of a microbatch on a GPU."""
        return self.micro / self.context * self.length

    @property
    def numbers(self) -> int:
        """Return the bytes of a value in the layers."""
        return RECIPES[self.recipe].numbers

    def problem(self) -> str:
        """Return why the plan is not possible; '' if it is."""
        group = self.tensor * self.context * self.pipeline
        if self.gpus % group:
            return f"{self.gpus} GPUs cannot form groups of {group}"
        if self.batch % (self.data * self.micro):
            return (
                f"{self.batch} sequences cannot form microbatches of {self.micro} for"
                f" {self.data} copies"
            )
        parts, layers = self.pipeline * self.chunks, self.model.layers
        # The first and the last part may have a layer less: they embed and predict.
        if layers % parts and (layers + 2) % parts:
            return f"{layers} layers cannot form {parts} equal parts"
        if self.model.heads % self.tensor:
            return (
                f"{self.model.heads} heads cannot be divided among {self.tensor} GPUs"
            )
        return ""


def per_parameter(recipe: str, optimizer: str) -> dict[str, int]:
    """Return the bytes per parameter by role; `optimizer` has the master copy, too."""
    weights, gradients, master, _, state = RECIPES[recipe]
    states = {"sgd": 0, "momentum": state, "adam": 2 * state, "adam8": 2}
    optimizer_bytes = master + states[optimizer]
    return {"weights": weights, "gradients": gradients, "optimizer": optimizer_bytes}


# The memory of a Transformer, part by part


class Part(NamedTuple):
    """A part of a model, with the bytes of a microbatch.

    It `keeps` bytes for the backward pass, or only its `input` if it is computed twice
    (in selective recomputation, with the products that are not). `temporary` exists
    while its gradients are computed, `loss` after the forward pass and `loss_peak` at
    most.
    """

    parameters: float
    keeps: float
    temporary: float
    input: float | None = None
    loss: float = 0
    loss_peak: float = 0


def _scores(plan: TrainingPlan) -> tuple[float, float]:
    """Return the bytes per token of the scores of an attention: kept, and for a moment.

    A fused kernel keeps a sum in 32 bits for each head and query.
    """
    model, numbers = plan.model, plan.numbers
    if plan.attention == "fused":
        return 4 * model.heads, 0
    wide = model.kind == "llama" and numbers < 4
    masked = numbers + 1 if plan.dropout else 0
    scores = model.heads * plan.length
    kept = scores * (numbers + masked + (4 if wide else 0))
    moment = scores * 2 * (4 if wide else numbers)
    return (0, kept + moment) if plan.recompute == "attention" else (kept, moment)


def kept_per_token(plan: TrainingPlan) -> float:
    """Return the bytes that a layer keeps of each token for the backward pass."""
    model, numbers = plan.model, plan.numbers
    scores, _ = _scores(plan)
    if model.kind == "gpt":
        masks = 2 * model.width if plan.dropout else 0
        return 16 * model.width * numbers + masks + 16 + scores
    keys = 2 * model.width * model.kv_heads / model.heads
    return (6 * model.width + keys + 4 * model.hidden) * numbers + 8 + scores


def selected_per_token(plan: TrainingPlan) -> float:
    """Return the bytes that a layer keeps of each token in selective recomputation.

    They are its input, the output of the attention, and every second product: the
    queries, keys and values and the first of the network in GPT; the queries, the
    values, the first product of the network and its last one in Llama.
    """
    model = plan.model
    if model.kind == "gpt":
        values = 9.0 * model.width
    else:
        values = (4 + model.kv_heads / model.heads) * model.width + model.hidden
    return values * plan.numbers + _scores(plan)[0]


def recomputed_params(plan: TrainingPlan) -> float:
    """Return the parameters of the products that selective recomputation repeats."""
    model = plan.model
    if model.kind == "gpt":
        return 5 * model.width**2
    keys = model.kv_heads / model.heads
    return (1 + keys) * model.width**2 + model.width * model.hidden


def _moment_per_token(plan: TrainingPlan) -> float:
    """Return the bytes per token that exist for a moment in a layer's backward pass."""
    model, numbers = plan.model, plan.numbers
    network = (2 * model.hidden + model.width) * numbers
    return max(network, 5 * model.width * numbers + _scores(plan)[1])


def parts_of(plan: TrainingPlan) -> tuple[Part, Part, Part]:
    """Return the embedding, a layer, and the head with its loss."""
    model, tokens, numbers = plan.model, plan.tokens, plan.numbers
    array = tokens * model.width * numbers
    chunks = plan.loss == "chunks"
    whole = 16 if plan.copies and numbers < 4 else 12  # bytes of a logit, at most
    kept, most = (0, whole / plan.loss_chunks) if chunks else (4, whole)
    logits = tokens * model.vocabulary
    masks = tokens * model.width if plan.dropout else 0
    few = tokens * selected_per_token(plan) if plan.recompute == "selective" else array
    layer = tokens * kept_per_token(plan), tokens * _moment_per_token(plan), few
    norm = 2 * array + 8 * tokens
    return (
        Part(model.embedding_params, masks, array),
        Part(model.layer_params, *layer),
        Part(model.head_params, norm, array, None, kept * logits, most * logits),
    )


ROLES = ("weights", "optimizer", "gradients", "activations", "loss", "temporaries")


def memory_over_step(plan: TrainingPlan) -> Iterator[dict[str, float]]:
    """Yield the bytes by role at each point of a step on one GPU.

    It is a later step, whose optimizer has its state, of one microbatch.
    """
    embedding, layer, head = parts_of(plan)
    parts = [embedding, *[layer] * plan.model.layers, head]
    size = per_parameter(plan.recipe, plan.optimizer)
    count = sum(part.parameters for part in parts)
    now = dict.fromkeys(ROLES, 0.0)
    now["weights"], now["optimizer"] = (
        count * size["weights"],
        count * size["optimizer"],
    )
    now["activations"] = 16 * plan.batch * plan.length  # tokens and targets
    yield now

    twice = plan.recompute in ("selective", "full")
    casts = 2 * plan.numbers if plan.recipe == "cast" else 0  # of two parts at a time
    kept = [p.keeps if p.input is None or not twice else p.input for p in parts]
    for part, keeps in zip(parts, kept, strict=True):
        now["activations"] += keeps
        now["loss"] = part.loss
        now["temporaries"] = part.temporary / 2 + casts * part.parameters
        yield now
    for part, keeps in zip(parts[::-1], kept[::-1], strict=True):
        now["activations"] += part.keeps - keeps
        now["loss"] = part.loss_peak
        now["temporaries"] = part.temporary + casts * part.parameters
        yield now
        now["activations"] -= part.keeps
        now["loss"] = now["temporaries"] = 0
        now["gradients"] += part.parameters * size["gradients"]
    yield now


def step_memory(plan: TrainingPlan) -> dict[str, float]:
    """Return the bytes by role at the peak of a step on one GPU."""
    points = [dict(point) for point in memory_over_step(plan)]
    return max(points, key=lambda point: sum(point.values()))


# The memory of one of many GPUs


def stage_params(plan: TrainingPlan) -> tuple[float, float]:
    """Return the parameters on a GPU of the first and of the last stage."""
    model = plan.model
    own = model.layers / plan.pipeline * model.layer_params
    if plan.pipeline == 1:
        count = (own + model.embedding_params + model.head_params) / plan.tensor
        return count, count
    copy = model.vocabulary * model.width if model.tied else 0  # of the embedding
    first = (own + model.embedding_params) / plan.tensor
    return first, (own + model.head_params + copy) / plan.tensor


def _state(plan: TrainingPlan, count: float) -> dict[str, float]:
    size = per_parameter(plan.recipe, "adam")
    sharded = {"optimizer": 1, "gradients": 2, "weights": 3}
    return {
        role: count * size[role] / (plan.shards if plan.zero >= sharded[role] else 1)
        for role in size
    }


def layer_bytes(plan: TrainingPlan) -> float:
    """Return the bytes that a GPU keeps of a layer for one microbatch."""
    model = plan.model
    _, layer, _ = parts_of(plan)
    gpt = model.kind == "gpt"
    masks, means = (2 if gpt and plan.dropout else 0), (16 if gpt else 8)
    twice = plan.tokens * (model.width * (4 * plan.numbers + masks) + means)
    divided = plan.tensor if plan.sequence else 1
    return (layer.keeps - twice) / plan.tensor + twice / divided


def input_bytes(plan: TrainingPlan) -> float:
    """Return the bytes that a GPU keeps of a layer that is computed twice.

    Without sequence parallelism, each GPU has the whole input, and in Llama the whole
    last product, too.
    """
    _, layer, _ = parts_of(plan)
    array = plan.tokens * plan.model.width * plan.numbers
    selective = plan.recompute == "selective"
    repeated = array * (2 if selective and plan.model.kind == "llama" else 1)
    divided = plan.tensor if plan.sequence else 1
    return ((layer.input or 0) - repeated) / plan.tensor + repeated / divided


def _in_flight(plan: TrainingPlan) -> float:
    """Return how many microbatches the first stage holds at once in 1F1B."""
    more = 1.0
    if plan.chunks > 1:
        more += (plan.pipeline - 1) / (plan.pipeline * plan.chunks)
    return min(plan.microbatches, plan.pipeline * more)


def _stage_memory(plan: TrainingPlan, last: bool) -> dict[str, float]:
    """Return the bytes by role of a GPU of the first or of the last stage."""
    _, layer, head = parts_of(plan)
    held = 1 if last else _in_flight(plan)
    each = whole = layer_bytes(plan)
    again = 0.0  # what a layer computes for the second time
    if plan.recompute in ("selective", "full"):
        each = input_bytes(plan)
        again = whole - (each if plan.recompute == "selective" else 0)
    gathers = (plan.zero >= 3 and plan.shards > 1) or plan.recipe == "cast"
    copies = 2 * layer.parameters * plan.numbers / plan.tensor if gathers else 0
    moment = layer.temporary / plan.tensor + again
    loss = head.loss_peak / plan.tensor if last or plan.pipeline == 1 else 0
    return {
        **_state(plan, stage_params(plan)[last]),
        "activations": held * plan.model.layers / plan.pipeline * each,
        "temporaries": copies + max(moment, loss),
    }


def gpu_memory(plan: TrainingPlan) -> dict[str, float]:
    """Return the bytes by role of the GPU of a plan that needs the most.

    With one GPU and one microbatch, gradients take the place of the activations; with
    several microbatches, those of the first wait beside the activations of the others.
    """
    if plan.gpus == plan.microbatches == 1:
        alone = step_memory(plan)
        alone["temporaries"] += alone.pop("loss")
        return alone
    first, last = (_stage_memory(plan, last) for last in (False, True))
    return last if sum(last.values()) > sum(first.values()) else first


# The time of a step


class Hardware(NamedTuple):
    """The rate of products, and a GPU's links in its machine and to other machines."""

    rate: float
    within: float
    between: float
    machine: int = 8


class StepTimes(NamedTuple):
    """The seconds of a step by their cause; communication only if it is exposed."""

    compute: float
    tensor: float
    context: float
    bubble: float
    pipeline: float
    data: float

    @property
    def step(self) -> float:
        """Return the time of the step."""
        return sum(self)


def step_flops(plan: TrainingPlan) -> float:
    """Return the FLOPs of a step on all GPUs, those of recomputation among them."""
    model = plan.model
    attention = 4 * plan.length * model.width
    layer = 2 * model.layer_params + attention
    repeated = {
        **{"full": layer, "attention": attention},
        "selective": 2 * recomputed_params(plan),
    }
    again = repeated.get(plan.recompute, 0)
    head = 3 * 2 * model.vocabulary * model.width
    return plan.batch * plan.length * (model.layers * (3 * layer + again) + head)


def attention_flops(plan: TrainingPlan) -> float:
    """Return the FLOPs of attention in a step on all GPUs."""
    passes = 4 if plan.recompute in ("attention", "full") else 3
    pairs = 4 * plan.length * plan.model.width * plan.model.layers
    return passes * plan.batch * plan.length * pairs


def _output_bytes(plan: TrainingPlan) -> float:
    return plan.tokens * plan.model.width * plan.numbers


def _message_bytes(plan: TrainingPlan) -> float:
    return _output_bytes(plan) / (plan.tensor if plan.sequence else 1)


def traffic(plan: TrainingPlan) -> dict[str, float]:
    """Return the bytes that a GPU sends in a step, by kind.

    An all-reduce is a reduce-scatter and an all-gather. Sharded gradients are summed
    for each microbatch; sharded weights are gathered twice for each.
    """
    model, m = plan.model, plan.microbatches
    part = (plan.shards - 1) / plan.shards * max(stage_params(plan))
    g = part * per_parameter(plan.recipe, "adam")["gradients"]
    w = part * plan.numbers
    runs = model.layers / plan.pipeline * m
    twice = plan.recompute == "full"
    sums = runs * (6 if twice else 4) * 2 * (plan.tensor - 1) / plan.tensor
    keys = 2 * _output_bytes(plan) * model.kv_heads / model.heads / plan.tensor
    messages = 2 * m * plan.chunks * _message_bytes(plan)
    return {
        "data": (2 * g, g + w, m * g + w, m * (2 * w + g))[plan.zero],
        "tensor": sums * _output_bytes(plan),
        "context": runs * (4 if twice else 3) * (plan.context - 1) * keys,
        "pipeline": messages if plan.pipeline > 1 else 0,
    }


def links(plan: TrainingPlan, hardware: Hardware) -> dict[str, float]:
    """Return the bandwidth for each kind of traffic."""

    def ring(size: int, apart: int) -> float:
        if size * apart <= hardware.machine:
            return hardware.within
        # Rings use the network of all GPUs of the group that a machine has.
        inside = max(1, min(size, hardware.machine // apart))
        return min(hardware.within, inside * hardware.between)

    alone = plan.gpus <= hardware.machine
    return {
        "data": ring(plan.shards, plan.tensor),
        "tensor": ring(plan.tensor, 1),
        "context": ring(plan.context, plan.tensor),
        "pipeline": hardware.within if alone else hardware.between,
    }


def _window(plan: TrainingPlan, work: float) -> float:
    """Return the time behind which the traffic of data parallelism can hide."""
    again = 1 if plan.recompute == "full" else 0
    backward = work * (2 + again) / (3 + again)
    one, m = backward / plan.microbatches, plan.microbatches
    return (one, work / m, one + (work - backward) / m, work)[plan.zero]


def step_times(plan: TrainingPlan, hardware: Hardware) -> StepTimes:
    """Return the times of a step, a lower bound.

    Raises ValueError if the plan is not possible.
    """
    if plan.problem():
        raise ValueError(plan.problem())
    link = links(plan, hardware)
    travel = {kind: size / link[kind] for kind, size in traffic(plan).items()}
    compute = step_flops(plan) / plan.gpus / hardware.rate
    # Keys and values travel while a GPU computes the attention to those that it has.
    attention = attention_flops(plan) / plan.gpus / hardware.rate
    context = max(0.0, travel["context"] - attention)
    work = compute + travel["tensor"] + context
    bubble = work * (plan.pipeline - 1) / (plan.microbatches * plan.chunks)
    passing = 2 * (plan.pipeline - 1) * _message_bytes(plan) / link["pipeline"]
    exposed = max(0.0, travel["data"] - _window(plan, work))
    data = exposed if plan.overlap else travel["data"]
    return StepTimes(compute, travel["tensor"], context, bubble, passing, data)


def training_rate(plan: TrainingPlan, hardware: Hardware) -> float:
    """Return the tokens per second and GPU, an upper bound; errors of `step_times`."""
    step = step_times(plan, hardware).step
    return plan.batch * plan.length / plan.gpus / step


# Fine-tuning with adapters


def quantized_bytes(model: Transformer, bits: float) -> float:
    """Return the bytes of weights as `tables.weight_bytes` does."""
    return tables.weight_bytes(model.shape, bits)


def lora_params(model: Transformer, rank: int) -> int:
    """Return the parameters of LoRA beside all matrices of all layers."""
    width, keys = model.width, model.width * model.kv_heads // model.heads
    sides = 2 * (width + width) + 2 * (width + keys)  # queries, output; keys, values
    networks = 3 if model.kind == "llama" else 2
    return rank * model.layers * (sides + networks * (width + model.hidden))


def fine_tuning_bytes(
    plan: TrainingPlan, bits: float, adapters: float
) -> dict[str, float]:
    """Return the bytes that training `adapters` parameters takes on one GPU, by role.

    The weights have `bits`, and an adapter's parameter takes 16 bytes with its gradient
    and its state. A logit takes 8 bytes.
    """
    model, tokens = plan.model, plan.tokens
    full = plan.recompute == "full"
    kept = 2 * model.width if full else kept_per_token(plan)
    chunks = plan.loss_chunks if plan.loss == "chunks" else 1
    return {
        "weights": quantized_bytes(model, bits),
        "training": 16 * adapters,
        "activations": tokens * model.layers * kept,
        "logits": tokens * 8 * model.vocabulary / chunks,
    }


def fine_tuning_memory(plan: TrainingPlan, bits: float, adapters: float) -> float:
    """Return the sum of `fine_tuning_bytes`."""
    return sum(fine_tuning_bytes(plan, bits, adapters).values())
