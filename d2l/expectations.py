"""Expects times, rates and memory: the bounds, with the costs that they leave out.

An expectation stands beside a bound and never takes its place: it may be off in both
directions. Its constants are few, and come from measurements of another kind than the
ones that it is for, wherever there are any. `CONSTANTS` says on which sources of
`published.csv` each was fitted; `python -m d2l audit --constants` shows how the
expectations fare on these sources and on all others. The terms were chosen with all
rows in view, so rows that are yet to come are the fairer test.

`expectations.js` has the same constants for the interactive figures;
`tests/static/published.test.js` compares both, and the formulas, for all rows.
"""

from dataclasses import replace
from typing import NamedTuple

from d2l import serving, tables
from d2l import training_plans as training
from d2l.serving import Server
from d2l.tables import (  # noqa: F401  CONSTANTS names all of them
    LEFT,
    PEAK_SHARE,
    PEAK_SHARE_8,
    PEAK_SHARE_A100,
    PEAK_SHARE_RTX,
    LanguageShape,
)
from d2l.training_plans import Hardware, TrainingPlan

# Products of 4096 rows and columns, the width of many layers, reach 0.84 to 0.87 of the
# best published one, for which its authors try many shapes.
PRODUCT_SHARE = 0.85
# TFLOP/s of the best published product of values of 16 bits, as in fig_plans; the H200
# is taken to have the H100's.
BEST = {
    **{"A100": 271, "A100 40 GB": 271, "H100": 795, "H200": 795, "B200": 1745},
    "RTX 4090": 165.8,
}
# On other cards, the best product's share of the data sheet is 0.78 to 0.87 in 16 bits,
# and 0.71 to 0.76 in 8. On a GeForce it is 1: sums in 32 bits halve its rate, so that
# neither memory nor power limits it.
BEST_SHARE, BEST_SHARE_8, BEST_SHARE_GEFORCE = 0.8, 0.73, 1.0
# Copying, adding and summing large arrays reach 0.79 to 0.95 of the data sheet.
BANDWIDTH_SHARE = 0.85
# FlashAttention 2 computes 180 TFLOP/s on an A100 and 328 on an H100; here as shares of
# the best product. Its FLOPs are counted without a discount for the causal mask.
ATTENTION_SHARE, ATTENTION_SHARE_HOPPER = 0.66, 0.41
# A kept value is written, read by the next kernel, and read in the backward pass, and
# its gradient is written and read. A layer that is computed twice writes and reads its
# values once more. The loss reads or writes each logit six times in 32 bits.
PASSES, PASSES_AGAIN, LOSS_PASSES = 5, 2, 6
# A small kernel takes 4 µs even if it has hardly any work. A compiled layer of Llama
# consists of about ten; that of llama.cpp has 23 operations.
KERNEL_TIME, LAYER_KERNELS, LLAMA_CPP_KERNELS = 4e-6, 10, 23
# Without a compiler, PyTorch's calls take longer than their kernels: 14.6 µs on the
# host of an RTX 4090, as in sec_gpu_performance. A layer of litgpt has about 40.
CALL, EAGER_CALLS = 14.6e-6, 40
# The seconds of an all-reduce of a token's few values among the GPUs of a machine, each
# of which reads the values of all others.
ALL_REDUCE = 20e-6
# Rings carry 0.75 to 0.82 of NVLink's data sheet. In machines of eight GPUs from Hopper
# on, the switches add up (NVLS), and large all-reduces are as fast as a ring that
# carried all of it.
RING_SHARE, NVLS_SHARE = 0.8, 1.0
NVLS = ("H100", "H200", "B200", "B300")
# Servers reserve memory for a prompt of this many tokens if no other length is known.
PROMPT = 4096


class Constant(NamedTuple):
    """What a constant is, and the sources of published.csv that it was fitted on."""

    meaning: str
    sources: tuple[str, ...] = ()


_AZURE, _BEKMAN, _FOUNDRY = ("Microsoft.2024",), ("Bekman.2026",), ("MosaicML.2025",)
CONSTANTS = {
    "PRODUCT_SHARE": Constant("share of the best product that others reach", _AZURE),
    "BEST_SHARE": Constant("share of the peak of the best product", _BEKMAN),
    "BEST_SHARE_8": Constant("the same in 8 bits", _BEKMAN),
    "BEST_SHARE_GEFORCE": Constant("the same on a GeForce, in 16 bits"),
    "BANDWIDTH_SHARE": Constant("share of the data sheet's bandwidth", _AZURE),
    "ATTENTION_SHARE": Constant("rate of attention over that of the best product"),
    "ATTENTION_SHARE_HOPPER": Constant("the same on an H100 or H200"),
    "PASSES": Constant("reads and writes of each value that training keeps"),
    "PASSES_AGAIN": Constant("further ones if a layer is computed twice"),
    "LOSS_PASSES": Constant("reads and writes of each logit"),
    "KERNEL_TIME": Constant("seconds of a small kernel", ("Turboderp.2024",)),
    "LAYER_KERNELS": Constant("kernels of a compiled layer that generates a token"),
    "LLAMA_CPP_KERNELS": Constant("the same in llama.cpp"),
    "CALL": Constant("seconds of a call of PyTorch"),
    "EAGER_CALLS": Constant("calls of a layer in litgpt, which is not compiled"),
    "ALL_REDUCE": Constant("seconds of an all-reduce of a token", ("PyTorch.GPTFast",)),
    "RING_SHARE": Constant("share of NVLink's data sheet in a ring", _BEKMAN),
    "NVLS_SHARE": Constant("the same if switches add up", _BEKMAN),
    "LEFT": Constant("share of a card's memory that is left free"),
    "PEAK_SHARE": Constant("share of the peak in training", _FOUNDRY),
    "PEAK_SHARE_A100": Constant("the same on an A100", _FOUNDRY),
    "PEAK_SHARE_RTX": Constant("the same on RTX cards", ("ISTDASLab.2026",)),
    "PEAK_SHARE_8": Constant(
        "the same in 8 bits", ("PyTorch.TorchTitan.Benchmarks",)
    ),
    "PROMPT": Constant("tokens of a prompt whose length is not known"),
}  # fmt: skip


# Rates of a card


def best_share_of(card: str, bits: float = 16) -> str:
    """Return the name of the constant that is the best product's share of the peak."""
    if bits == 8:
        return "BEST_SHARE_8"
    return "BEST_SHARE_GEFORCE" if is_geforce(card) else "BEST_SHARE"


def is_geforce(card: str) -> bool:
    """Return whether a card is a GeForce, such as the RTX 4090 or the RTX 3080 Ti."""
    kind, _, number = card.partition(" ")
    return kind == "RTX" and number[:4].isdigit() and "Ada" not in number


def product_rate(card: str, peak: float, bits: float = 16) -> float:
    """Return the FLOP/s of usual products on a card with a `peak` in FLOP/s."""
    if bits == 16 and card in BEST:
        return PRODUCT_SHARE * 1e12 * BEST[card]
    return PRODUCT_SHARE * globals()[best_share_of(card, bits)] * peak


def attention_share(card: str) -> float:
    """Return the rate of attention over that of the best product."""
    return ATTENTION_SHARE_HOPPER if card in ("H100", "H200") else ATTENTION_SHARE


def link_share(card: str, gpus: int) -> float:
    """Return the share of NVLink's data sheet that a large all-reduce has."""
    return NVLS_SHARE if gpus == 8 and card in NVLS else RING_SHARE


# Training


def moved_bytes(plan: TrainingPlan) -> float:
    """Return the bytes that a GPU of a plan moves in a step, except for products.

    Kernels between products read and write the values that a layer keeps, and those of
    the loss. The update reads the gradients, and reads and writes weights and state.
    """
    model = plan.model
    tokens = plan.batch * plan.length / plan.gpus
    passes = PASSES + (PASSES_AGAIN if plan.recompute in ("selective", "full") else 0)
    kept = passes * model.layers * training.kept_per_token(plan)
    size = training.per_parameter(plan.recipe, plan.optimizer)
    update = 2 * (size["weights"] + size["optimizer"]) + size["gradients"]
    sharers = plan.tensor * plan.pipeline * (plan.shards if plan.zero else 1)
    logits = LOSS_PASSES * 4 * model.vocabulary
    return tokens * (kept + logits) + update * model.params / sharers


def step_time(
    plan: TrainingPlan, hardware: Hardware, bandwidth: float, attention: float
) -> float:
    """Return the seconds that a step of a plan is expected to take.

    `hardware` has the rate of the best product, `bandwidth` is that of the GPU's memory
    in B/s, and `attention` the share of the best product that attention reaches. Raises
    ValueError if the plan is not possible.
    """
    usual = hardware._replace(
        rate=PRODUCT_SHARE * hardware.rate, within=RING_SHARE * hardware.within
    )
    step = training.step_times(plan, usual).step
    flops = training.attention_flops(plan) / plan.gpus
    slower = flops / (attention * hardware.rate) - flops / usual.rate
    more = slower + moved_bytes(plan) / (BANDWIDTH_SHARE * bandwidth)
    bubble = (plan.pipeline - 1) / (plan.microbatches * plan.chunks)
    return step + more * (1 + bubble)


# Generating text


def layer_time(program: str = "") -> float:
    """Return the seconds that a layer takes for a token even if it reads nothing.

    It is that of a compiled program if nothing is known of its layers.
    """
    if program.startswith("litgpt"):
        return EAGER_CALLS * CALL
    is_llama_cpp = program.startswith("llama.cpp")
    return KERNEL_TIME * (LLAMA_CPP_KERNELS if is_llama_cpp else LAYER_KERNELS)


def decode_time(
    shape: LanguageShape, before: int, bits: float, bandwidth: float, layer: float
) -> float:
    """Return the seconds that a token of one user is expected to take.

    `bandwidth` is the sum of those of the GPUs that share each layer, and `layer` are
    the seconds of a layer's kernels and all-reduces.
    """
    usual = BANDWIDTH_SHARE * bandwidth
    return serving.decode_time(shape, before, bits, usual) + shape.layers * layer


def prompt_time(shape: LanguageShape, tokens: int, rate: float) -> float:
    """Return the seconds of the arithmetic of a prompt, at a rate of usual products.

    Half of its attention is masked.
    """
    attention = 2 * shape.layers * shape.heads * shape.head_size * tokens**2
    return (2 * shape.active * tokens + attention) / rate


def prefill_time(
    shape: LanguageShape, tokens: int, bits: float, rate: float, bandwidth: float
) -> float:
    """Return the seconds until a prompt is expected to be computed.

    `rate` is that of usual products, and `bandwidth` that of the data sheet.
    """
    reading = shape.active * bits / 8 / (BANDWIDTH_SHARE * bandwidth)
    computing = prompt_time(shape, tokens, rate)
    return max(computing, reading) + shape.layers * layer_time()


def prompt_bytes(width: int, hidden: float) -> float:
    """Return the bytes of a prompt's token for a moment of its pass, in 16 bits.

    They are three arrays of the feed-forward network and three of the width of a layer.
    """
    return 2 * 3 * (width + hidden)


def server_users(server: Server, moment: float) -> int:
    """Return the users that a server is expected to have room for.

    Whole texts are reserved. `moment` are the bytes that the pass of a prompt takes on
    all GPUs.
    """
    memory = server.memory - moment / (1 - LEFT)
    return serving.reserved_capacity(server._replace(memory=memory))


class Group(NamedTuple):
    """GPUs that share each layer of a server, and the bandwidth of their links."""

    gpus: int = 1
    link: float = float("inf")


ALONE = Group()


def sum_time(shape: LanguageShape, tokens: float, group: Group) -> float:
    """Return the seconds of all sums in the layers of a pass over some tokens."""
    if group.gpus == 1:
        return 0.0
    nbytes = 2 * shape.heads * shape.head_size * tokens
    ring = 2 * (group.gpus - 1) / group.gpus * nbytes / group.link
    return 2 * shape.layers * max(ALL_REDUCE, ring)


def server_throughput(
    server: Server, users: int, rate: float, group: Group = ALONE
) -> float:
    """Return the tokens per second that a server is expected to generate.

    `rate` is that of usual products. Reading the weights overlaps with the arithmetic,
    but neither reading the caches nor the prompts do.
    """
    shape, cached = server.shape, server.input + server.output / 2
    bandwidth = BANDWIDTH_SHARE * server.bandwidth
    weights = tables.read_bytes(shape, users, server.bits)
    caches = users * cached * tables.cache_bytes(shape, 1, server.cache_bits / 8)
    product = max(weights / bandwidth, 2 * shape.active * users / rate)
    calls = shape.layers * layer_time()
    step = product + caches / bandwidth + calls + sum_time(shape, users, group)
    prompt = prompt_time(shape, server.input, rate)
    prompt += sum_time(shape, server.input, group)
    return users * server.output / (server.output * step + users * prompt)


# Memory


def with_copies(plan: TrainingPlan) -> TrainingPlan:
    """Return a plan that counts logits in 16 bits beside those in 32 of the loss."""
    return replace(plan, copies=True)


def with_margin(nbytes: float) -> float:
    """Return the bytes that a sum of arrays is expected to take on a card."""
    return nbytes / (1 - LEFT)


def copied_inputs(plan: TrainingPlan, bits: float) -> float:
    """Return the bytes of the inputs that quantized products keep for a backward pass.

    A frozen product in 16 bits keeps none. A layer that is computed twice keeps none.
    """
    model = plan.model
    if bits >= 16 or plan.recompute == "full":
        return 0.0
    return plan.tokens * model.layers * 2 * (3 * model.width + model.hidden)


def fine_tuning_memory(plan: TrainingPlan, bits: float, adapters: float) -> float:
    """Return the bytes that fine-tuning with adapters is expected to take."""
    arrays = training.fine_tuning_memory(plan, bits, adapters)
    return with_margin(arrays + copied_inputs(plan, bits))
