"""Predicts published measurements by the formulas that the sections and figures use.

A prediction is in the unit of `Row.measured`. A kind is a bound if no measurement can
exceed the prediction, and an estimate otherwise. Nothing is fitted but the share of
the peak, and the time of an all-reduce of a token. Beside a prediction, most kinds have
an expectation, which counts what the prediction leaves out; `d2l.expectations` says
which of its numbers are fitted.
"""

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

from d2l import expectations as expected
from d2l import tables
from d2l.bounds import bus_bandwidth, product_time, ring_time
from d2l.expectations import ALL_REDUCE, BEST
from d2l.language_models import LANGUAGE_SHAPES, TRANSFORMERS, Transformer
from d2l.published import Row
from d2l.serving import (
    Server,
    cache_room,
    capacity,
    decode_time,
    prefill_time,
    throughput,
)
from d2l.tables import LanguageShape
from d2l.training_plans import (
    RECIPES,
    Hardware,
    TrainingPlan,
    fine_tuning_memory,
    gpu_memory,
    step_memory,
    training_rate,
)

# GB/s to other machines for each GPU, as in fig_plans.
NETWORK = {"A100": 25, "A100 40 GB": 25, "RTX 4090": 3}
USUAL_NETWORK = 50
# What all-reduces of PyTorch reach between RTX 4090s, which have no NVLink.
WITHIN = {"RTX 4090": 11.15}
# The seconds of a message in fig_collectives: by NVLink, PCIe and the network.
NVLINK_LATENCY, PCIE_LATENCY, NETWORK_LATENCY = 3.4e-6, 5.7e-6, 9.6e-6
MACHINE = 8  # GPUs of a machine
RECORDED = ("BERT-large", "GPT-2 124M", "ResNet-50")  # models of d2l.recorded_steps


class Unpredictable(ValueError):
    """The book lacks a formula or a number that a prediction needs."""


@functools.cache
def _data(card: str) -> dict[str, float]:
    """Return the properties of a card in cards.csv; raise Unpredictable without any."""
    try:
        return tables.card_data(card)
    except ValueError:
        raise Unpredictable(f"cards.csv has no {card}") from None


def _card(row: Row, *properties: str) -> list[float]:
    """Return properties of the row's card in bytes, B/s or FLOP/s."""
    scales = {"memory": 1.0, "bandwidth": 1e9, "pcie": 1e9, "nvlink": 1e9}
    data = _data(row.card)
    if "advertised" in data:
        data = {"memory": 1e9 * data["advertised"], **data}
    try:
        return [data[name] * scales.get(name, 1e12) for name in properties]
    except KeyError as error:
        raise Unpredictable(f"cards.csv has no {error} of the {row.card}") from None


def _rate(row: Row) -> str:
    """Return the name of the property that has the rate of the row's products."""
    names = {16.0: "tensor16", 8.0: "fp8", 4.0: "fp4"}
    if row.bits not in names:
        raise Unpredictable(f"no card has a rate of products in {row.bits:g} bits")
    return names[row.bits]


def _transformer(row: Row) -> Transformer:
    if row.model not in TRANSFORMERS:
        raise Unpredictable(f"the sizes of {row.model} are not in the library")
    return TRANSFORMERS[row.model]


def _shape(row: Row) -> LanguageShape:
    if row.model not in LANGUAGE_SHAPES:
        raise Unpredictable(f"the shape of {row.model} is not in the library")
    return LANGUAGE_SHAPES[row.model]


# Training


def plan_of(row: Row, recompute: str) -> TrainingPlan:
    """Return the plan of a row."""
    groups = row.groups
    recipe = row.recipe or "bfloat16"
    if recipe not in RECIPES:
        raise Unpredictable(f"a plan knows the recipes {', '.join(RECIPES)}")
    shared = groups["tensor"] * groups["context"] * groups["pipeline"]
    return TrainingPlan(
        _transformer(row),
        row.batch or row.micro * max(1, row.gpus // shared),
        row.micro,
        row.length,
        row.gpus,
        groups["tensor"],
        groups["context"],
        groups["pipeline"],
        zero=groups["zero"],
        recipe=recipe,
        optimizer="adam" if row.optimizer in ("", "host") else row.optimizer,
        recompute=recompute,
        loss=row.loss or "whole",
    )


def plans_of(row: Row) -> list[TrainingPlan]:
    """Return one plan, or two whose mean counts if every second layer is recomputed."""
    choices = {"half": ("none", "full"), "": ("none",)}
    each = choices.get(row.recompute, (row.recompute,))
    return [plan_of(row, recompute) for recompute in each]


def hardware_of(card: str) -> Hardware:
    """Return the hardware of fig_plans; raise Unpredictable without a best product."""
    if card not in BEST:
        raise Unpredictable(f"no best published product of the {card}")
    within = WITHIN.get(card) or _data(card).get("nvlink")
    if within is None:
        raise Unpredictable(f"cards.csv has no 'nvlink' of the {card}")
    between = NETWORK.get(card, USUAL_NETWORK)
    return Hardware(1e12 * BEST[card], 1e9 * within, 1e9 * between, MACHINE)


def _training(row: Row) -> float:
    if row.bits != 16:
        raise Unpredictable("no best published product in 8 bits")
    hardware = hardware_of(row.card)
    rates = [training_rate(plan, hardware) for plan in plans_of(row)]
    return len(rates) / sum(1 / rate for rate in rates)


def _training_expected(row: Row) -> float:
    hardware, (bandwidth,) = hardware_of(row.card), _card(row, "bandwidth")
    attention = expected.attention_share(row.card)
    plans = plans_of(row)
    times = [expected.step_time(plan, hardware, bandwidth, attention) for plan in plans]
    tokens = plans[0].batch * row.length / row.gpus
    return tokens * len(times) / sum(times)


def _peak_share(row: Row) -> float:
    (peak,) = _card(row, _rate(row))
    rate = peak * tables.peak_share(row.card, row.bits)
    return rate / _transformer(row).training_flops(row.length)


def memory_of(row: Row, plan: TrainingPlan) -> float:
    """Return the bytes of a GPU, without an optimizer whose state is on the host."""
    size = gpu_memory(plan) if plan.gpus > 1 else step_memory(plan)
    return sum(size.values()) - (size["optimizer"] if row.optimizer == "host" else 0)


def _memory(row: Row) -> float:
    sizes = [memory_of(row, plan) for plan in plans_of(row)]
    return sum(sizes) / len(sizes)


def _memory_expected(row: Row) -> float:
    plans = [expected.with_copies(plan) for plan in plans_of(row)]
    sizes = [memory_of(row, plan) for plan in plans]
    return expected.with_margin(sum(sizes) / len(sizes))


def _fine_tuning(row: Row) -> float:
    return fine_tuning_memory(plans_of(row)[0], row.bits, row.adapters)


def _fine_tuning_expected(row: Row) -> float:
    return expected.fine_tuning_memory(plans_of(row)[0], row.bits, row.adapters)


# Steps that PyTorch records


def _recorded(row: Row) -> ModuleType:
    """Return the module of recorded steps; raise Unpredictable without PyTorch."""
    if row.model not in RECORDED:
        raise Unpredictable(f"the models are {', '.join(RECORDED)}")
    try:
        return importlib.import_module("d2l.recorded_steps")
    except ImportError:
        raise Unpredictable("PyTorch is not installed") from None


def _step(row: Row) -> float:
    full = "tf32" if row.recipe == "tf32" else "fp32"
    _card(row, "tensor16", full, "bandwidth")
    steps = _recorded(row)
    return steps.step_rate(row, steps.machine_of(row.card, row.recipe))


def _step_expected(row: Row) -> float:
    steps = _recorded(row)
    return steps.step_rate(row, steps.usual_machine(row.card, row.recipe))


def _step_memory(row: Row) -> float:
    return _recorded(row).peak_memory(row)


def _step_memory_expected(row: Row) -> float:
    return expected.with_margin(_step_memory(row))


# Generating text


def _generation(row: Row) -> float:
    shape = _shape(row)
    return tables.weight_bytes(shape, row.bits) + tables.cache_bytes(shape, row.length)


def _decode(row: Row) -> float:
    (bandwidth,) = _card(row, "bandwidth")
    shape = _shape(row)
    tensor = row.gpus if row.split != "layers" else 1
    seconds = decode_time(shape, row.length, row.bits, tensor * bandwidth)
    # Each layer adds up results twice.
    return 1 / (seconds + (2 * shape.layers * ALL_REDUCE if tensor > 1 else 0))


def _decode_expected(row: Row) -> float:
    (bandwidth,) = _card(row, "bandwidth")
    tensor = row.gpus if row.split != "layers" else 1
    given = _shape(row), row.length, row.bits, tensor * bandwidth
    sums = 2 * ALL_REDUCE if tensor > 1 else 0
    return 1 / expected.decode_time(*given, expected.layer_time(row.program) + sums)


def _prefill(row: Row) -> float:
    rate, bandwidth = _card(row, "tensor16", "bandwidth")
    return row.length / prefill_time(_shape(row), row.length, row.bits, rate, bandwidth)


def _prefill_expected(row: Row) -> float:
    peak, bandwidth = _card(row, "tensor16", "bandwidth")
    rate = expected.product_rate(row.card, peak)
    given = _shape(row), row.length, row.bits
    return row.length / expected.prefill_time(*given, rate, bandwidth)


def server_of(row: Row) -> Server:
    """Return the server of a row: the sum of its cards, with caches of 8 bits."""
    properties = _card(row, "memory", "bandwidth", _rate(row))
    memory, bandwidth, rate = (row.gpus * each for each in properties)
    bits = row.bits, min(row.bits, 8)
    tokens = row.length, row.output
    return Server(_shape(row), memory, bandwidth, rate, *bits, *tokens)


def _serving(row: Row) -> float:
    server = server_of(row)
    return throughput(server, max(1, capacity(server)))


def _prompt_bytes(row: Row) -> float:
    """Return the bytes that the pass of a row's prompt takes on all of its GPUs.

    The GPUs share the feed-forward network, and each has the other arrays.
    """
    model, tokens = _transformer(row), row.length or expected.PROMPT
    moment = expected.prompt_bytes(model.width, model.hidden / row.gpus)
    return row.gpus * tokens * moment


def _serving_expected(row: Row) -> float:
    server = server_of(row)
    users = max(1, expected.server_users(server, _prompt_bytes(row)))
    rate = expected.product_rate(row.card, server.rate, row.bits)
    group = expected.Group()
    if row.gpus > 1:
        (link,) = _card(row, "nvlink")
        share = expected.link_share(row.card, row.gpus)
        group = expected.Group(row.gpus, share * link)
    return expected.server_throughput(server, users, rate, group)


def _cache(row: Row) -> float:
    (memory,) = _card(row, "memory")
    shape = _shape(row)
    room = cache_room(shape, row.gpus * memory, row.bits)
    return max(0.0, room) / tables.cache_bytes(shape, 1)


def _cache_expected(row: Row) -> float:
    (memory,) = _card(row, "memory")
    shape = _shape(row)
    room = cache_room(shape, row.gpus * memory, row.bits) - _prompt_bytes(row)
    return max(0.0, room) / tables.cache_bytes(shape, 1)


# Single operations


def ring_of(row: Row) -> tuple[float, float]:
    """Return the latency and the bandwidth of the ring of a row."""
    data = _data(row.card)
    if "nvlink" not in data and "pcie" not in data:
        raise Unpredictable(f"cards.csv has no links of the {row.card}")
    link, latency = 1e9 * data.get("nvlink", 0), NVLINK_LATENCY
    if not link:
        link, latency = 1e9 * data["pcie"], PCIE_LATENCY
    if row.gpus > MACHINE:  # all GPUs of a machine send to the next one
        network = MACHINE * 1e9 * NETWORK.get(row.card, USUAL_NETWORK)
        link, latency = min(link, network), NETWORK_LATENCY
    return latency, link


def _all_reduce(row: Row) -> float:
    seconds = ring_time(row.nbytes, row.gpus, *ring_of(row))
    return bus_bandwidth(row.nbytes, seconds, row.gpus)


def _all_reduce_expected(row: Row) -> float:
    latency, link = ring_of(row)
    if link == 1e9 * _data(row.card).get("nvlink", 0):
        adds = row.gpus if "ring" not in row.program else 0
        link *= expected.link_share(row.card, adds)
    seconds = ring_time(row.nbytes, row.gpus, latency, link)
    return bus_bandwidth(row.nbytes, seconds, row.gpus)


def _product(row: Row) -> float:
    rate, bandwidth = _card(row, _rate(row), "bandwidth")
    if not row.model:  # the best of many shapes
        return rate
    rows, columns, inner = (int(n) for n in row.model.split(" x "))
    seconds = product_time((rows, inner, columns), row.bits / 8, rate, bandwidth)
    return 2 * rows * inner * columns / seconds


def _product_expected(row: Row) -> float:
    peak, bandwidth = _card(row, _rate(row), "bandwidth")
    rate = expected.product_rate(row.card, peak, row.bits)
    if not row.model:
        return rate / expected.PRODUCT_SHARE
    rows, columns, inner = (int(n) for n in row.model.split(" x "))
    usual = expected.BANDWIDTH_SHARE * bandwidth
    seconds = product_time((rows, inner, columns), row.bits / 8, rate, usual)
    return 2 * rows * inner * columns / (seconds + expected.KERNEL_TIME)


def _bandwidth(row: Row) -> float:
    return _card(row, "bandwidth")[0]


def _bandwidth_expected(row: Row) -> float:
    return expected.BANDWIDTH_SHARE * _bandwidth(row)


@dataclass(frozen=True)
class Kind:
    """A kind of prediction.

    `kind` are the rows that it is about, `formula` says where the book has it, `uses`
    are the columns that it reads, and `predict` returns the prediction for a row.
    `expect` returns the expectation, and `constants` are those of `d2l.expectations`
    that it depends on. A kind that `needs` a framework takes seconds for a row.
    """

    kind: str
    is_bound: bool
    formula: str
    uses: tuple[str, ...]
    predict: Callable[[Row], float]
    expect: Callable[[Row], float]
    constants: tuple[str, ...]
    needs: str = ""


_PLAN = "model batch micro length recipe recompute loss split"
_PRODUCTS = "PRODUCT_SHARE BEST_SHARE BEST_SHARE_8 BEST_SHARE_GEFORCE"
_CALLS = "BANDWIDTH_SHARE KERNEL_TIME LAYER_KERNELS"
_SHARES = "PEAK_SHARE PEAK_SHARE_A100 PEAK_SHARE_RTX PEAK_SHARE_8"
KINDS = {
    name: Kind(kind, is_bound, formula, tuple(uses.split()), predict, expect,
               tuple(constants.split()))
    for name, kind, is_bound, formula, uses, predict, expect, constants in (
        ("training", "training", True, "step of a plan in Model Parallelism",
         f"{_PLAN} card gpus", _training, _training_expected,
         "PRODUCT_SHARE BANDWIDTH_SHARE RING_SHARE ATTENTION_SHARE "
         "ATTENTION_SHARE_HOPPER PASSES PASSES_AGAIN LOSS_PASSES"),
        ("peak-share", "training", False, "share of the peak in Does It Fit",
         "model length card bits", _peak_share, _peak_share, _SHARES),
        ("memory", "memory", False, "plan in Model Parallelism, or timeline in Memory",
         f"{_PLAN} gpus optimizer", _memory, _memory_expected, "LEFT"),
        ("fine-tuning", "fine-tuning", False, "LoRA in Fine-Tuning",
         "model bits micro length adapters recompute loss", _fine_tuning,
         _fine_tuning_expected, "LEFT"),
        ("generation", "generation", False, "python -m d2l memory --generate",
         "model bits length", _generation, _generation, ""),
        ("decode", "decode", True, "bytes of a token in Inference",
         "model card gpus bits length split", _decode, _decode_expected,
         f"{_CALLS} LLAMA_CPP_KERNELS CALL EAGER_CALLS ALL_REDUCE"),
        ("prefill", "prefill", True, "prompt in Inference",
         "model card bits length", _prefill, _prefill_expected,
         f"{_PRODUCTS} {_CALLS}"),
        ("serving", "serving", True, "server in Inference",
         "model card gpus bits length output split", _serving, _serving_expected,
         f"{_PRODUCTS} {_CALLS} ALL_REDUCE RING_SHARE NVLS_SHARE LEFT"),
        ("cache", "cache", True, "users of a card in Inference",
         "model card gpus bits split", _cache, _cache_expected, "LEFT PROMPT"),
        ("all-reduce", "all-reduce", False, "ring_time in Sharing a Step among GPUs",
         "card gpus nbytes", _all_reduce, _all_reduce_expected,
         "RING_SHARE NVLS_SHARE"),
        ("product", "product", True, "roofline in Performance",
         "model card bits", _product, _product_expected,
         f"{_PRODUCTS} BANDWIDTH_SHARE KERNEL_TIME"),
        ("step", "step", True, "recorded operations in Faster Training",
         "model card batch micro recipe recompute optimizer", _step, _step_expected,
         f"{_PRODUCTS} BANDWIDTH_SHARE"),
        ("step-memory", "step-memory", False, "predict_memory in Memory",
         "model micro recipe recompute", _step_memory, _step_memory_expected, "LEFT"),
        ("bandwidth", "bandwidth", True, "data sheet of the card",
         "card", _bandwidth, _bandwidth_expected, "BANDWIDTH_SHARE"),
    )
}  # fmt: skip
for _name in "step", "step-memory":
    KINDS[_name] = replace(KINDS[_name], needs="PyTorch")


def predict(name: str, row: Row) -> float:
    """Return the prediction of a kind for a row, in the unit of `row.measured`.

    Raises Unpredictable if the book lacks a formula or a number that it needs.
    """
    return _computed(KINDS[name].predict, row)


def expect(name: str, row: Row) -> float:
    """Return the expectation of a kind for a row, in the unit of `row.measured`.

    Raises Unpredictable if the book lacks a formula or a number that it needs.
    """
    return _computed(KINDS[name].expect, row)


def _computed(formula: Callable[[Row], float], row: Row) -> float:
    try:
        return formula(row)
    except Unpredictable:
        raise
    except ValueError as error:  # the plan is not possible
        raise Unpredictable(str(error)) from None


def fitted_on(name: str, row: Row) -> set[str]:
    """Return the sources that a row's expectation was fitted on."""
    used = KINDS[name].constants
    if name == "peak-share":
        used = (tables.peak_share_of(row.card, row.bits),)
    return {source for each in used for source in expected.CONSTANTS[each].sources}
