"""Writes what the library says of the figures' arithmetic as JSON, for their tests.

    PYTHONPATH=. .venvs/test/bin/python tests/static/library.py > _build/library.json

The figures repeat functions of the library in JavaScript; `make test-static` compares
them.
"""

import dataclasses
import inspect
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

import published_plans

from book.facts.marked_numbers import marked
from book.library import package
from book.text.blocks import Cell
from book.text.book import Book
from book.text.inline import PLAY
from book.text.quantities import UNITS
from d2l import audit, predictions, tables, training_plans
from d2l.common import (
    Block,
    GPULimits,
    Machine,
    RoleProduct,
    gpu_limits,
    occupancy,
    pipeline_times,
    product_times,
    ring_time,
    scaling_efficiency,
    schedule_buckets,
    wave_efficiency,
)
from d2l.language_models import TRANSFORMERS

ROOT = Path(__file__).parents[2]
CARDS = ("T4", "A100", "H100", "H200", "B200")
KERNELS = itertools.product(
    (1, 3, 4, 8, 10, 32),
    (16, 24, 25, 32, 37, 64, 94, 128, 222, 255),
    (0, 1, 4096, 24592, 81 * 1024, 82 * 1024, 163 * 1024, 227 * 1024),
)
GRIDS = ((98, 108), (120, 108), (64, 128), (1, 40))
MACHINES = (
    ("cpu", {"float32": 98.9e9, "bfloat16": 430e9}, 38.1e9, 8e-7, 0.07, 3e8),
    ("cuda:0", {"float32": 66.9e12, "float16": 989e12}, 3.35e12, 4.2e-6),
    ("gpu(0)", {"float32": 1.5e9}, 9.9e9, 1.234e-3, 1.5),
    ("TFRT_CPU_0", {"float32": 999.6e9, "float16": 2.5e9}, 1e9, 0.0),
)


def product_defaults() -> dict[str, float]:
    """Return the defaults of `product_times` by the names of its arguments."""
    _, *arguments = inspect.signature(product_times).parameters.values()
    return {argument.name: argument.default for argument in arguments}


def limits() -> dict[str, Any]:
    """Return the limits of an SM by card, that of NVIDIA's example among them."""
    cards = {card: gpu_limits(card) for card in CARDS}
    return cards | {"V100": GPULimits(70, 80, 64, 32, 96 * 1024, 900e9)}


def occupancies() -> list[dict[str, Any]]:
    """Return the occupancy of many kernels on each card."""
    names = ("warps", "registers", "shared")
    return [
        {"card": card, "kernel": dict(zip(names, kernel, strict=True))}
        | {"share": occupancy(limit, *kernel)}
        for kernel in KERNELS
        for card, limit in limits().items()
    ]


def bounds(count: int = 40) -> list[dict[str, Any]]:
    """Return work on machines, with its bound and the ridge of the machine."""
    choose, found = random.Random(0), []
    for _ in range(count):
        rate, bandwidth = 10 ** choose.uniform(9, 16), 10 ** choose.uniform(9, 13)
        overhead = choose.choice([0, 1e-6, 1e-5])
        flops, nbytes = (10 ** choose.uniform(3, 15) for _ in range(2))
        functions = 10 ** choose.uniform(3, 13)
        per_second = choose.choice([0, 10 ** choose.uniform(3, 13)])
        rates = {"float32": rate}
        machine = Machine("x", rates, bandwidth, overhead, functions=per_second)
        found.append(
            {
                "machine": {"rate": rate, "bandwidth": bandwidth, "overhead": overhead}
                | {"functions": per_second},
                "work": {"flops": flops, "bytes": nbytes, "calls": 3}
                | {"functions": functions},
                "time": machine.bound(flops, nbytes, launches=3, functions=functions),
                "ridge": machine.ridge(),
            }
        )
    return found


def blocks(count: int = 200) -> list[dict[str, Any]]:
    """Return requests, the pieces of a block of 100 after them, and what failed."""
    return [replay(random_requests(seed)) for seed in range(count)]


def replay(requests: list[dict[str, Any]]) -> dict[str, Any]:
    block, failed = Block(100), None
    for request in requests:
        if "free" in request:
            block.free(request["free"])
        elif not block.allocate(request["name"], request["size"]):
            failed = request
            break
    return {"requests": requests, "pieces": block.pieces, "failed": failed}


def random_requests(seed: int) -> list[dict[str, Any]]:
    """Return requests of which some fail at some point in a memory of 100."""
    choose = random.Random(seed)
    names: list[str] = []
    requests: list[dict[str, Any]] = []
    for i in range(40):
        if names and choose.random() < 0.45:
            requests.append({"free": names.pop(choose.randrange(len(names)))})
        else:
            names.append(f"p{i}")
            requests.append({"name": names[-1], "size": choose.randint(1, 40)})
    return requests


def bucket_steps() -> list[dict[str, Any]]:
    """Return steps with equal layers: when each bucket is sent, and the efficiency."""
    sizes = itertools.product(
        (1, 2, 4, 8, 32), (2, 4, 64), (2.2e9, 12.5e9, 450e9), (1e-6, 1e-5), (0.03, 0.12)
    )
    return [bucket_step(*size) for size in sizes]


def bucket_step(
    per: int, n: int, bandwidth: float, latency: float, step: float
) -> dict[str, Any]:
    """Return a step with 32 layers, `per` of which share a bucket of gradients."""
    nbytes, layer, count = 44.8e6, 2 * step / 3 / 32, 32 // per
    ready = [step / 3 + per * layer * (i + 1) for i in range(count)]
    rounds = 2 * (n - 1)
    spans = schedule_buckets(
        ready, [nbytes / count] * count, rounds * latency, bandwidth * n / rounds
    )
    whole = ring_time(nbytes, n, latency, bandwidth)
    hidden = 1 - (spans[-1][1] - step) / whole
    link = {"n": n, "latency": latency, "bandwidth": bandwidth}
    return {
        "task": link | {"step": step, "bytes": nbytes, "layers": 32, "perBucket": per},
        "spans": spans,
        "sum": whole,
        "efficiency": scaling_efficiency(step, nbytes, n, latency, bandwidth, hidden),
    }


def pipelines() -> list[dict[str, Any]]:
    """Return the work of each stage in pipelines, as (name, start, duration)."""
    sizes = itertools.product(("GPipe", "1F1B"), (1, 2, 4, 8), (1, 3, 8, 24), (1, 2.5))
    return [
        {"arguments": list(size), "times": pipeline_times(*size[:3], 1, size[3])}
        for size in sizes
    ]


class Tiles:
    """A matrix with a shape and nothing in it, since only clocks count."""

    shape, size = (128, 8 * 64), 128 * 64

    def copy(self) -> "Tiles":
        return self

    def _same(self, _: Any) -> "Tiles":
        return self

    __getitem__ = __rmul__ = __matmul__ = __add__ = __radd__ = _same


def role_products() -> list[dict[str, Any]]:
    """Return the ends of the copies and of the products of eight turns."""
    settings = itertools.product(
        *((1, 2, 3, 4, 6), (0, 900, 1800), (300, 400, 600), (256, 512, 1024))
    )
    found = []
    for stages, latency, copy, product in settings:
        times = {"latency": latency, "copy": copy, "product": product}
        works = RoleProduct(Tiles(), Tiles(), stages, **times).run().sm.works
        copies = [work.end for work in works if work.unit == "the TMA"][1::2]
        products = [work.end for work in works if work.unit == "the tensor cores"]
        found.append(
            {"setting": times | {"stages": stages}, "ready": copies}
            | {"end": products[:-1]}  # without the one that arrives at `done`
        )
    return found


def shard_steps() -> list[dict[str, Any]]:
    """Return steps of data parallelism and of each stage of ZeRO, in one microbatch."""
    settings = itertools.product(
        ("Llama 3 8B", "Llama 3 405B", "GPT-2 124M"),
        (0, 1, 2, 3),
        ("float32", "cast", "mixed"),
        (1, 2, 8, 64, 1024),
        ((50e9, 8), (50e9, 4), (2e9, 8), (2e9, 4)),
    )
    return [shard_step(*setting) for setting in settings]


def shard_step(
    name: str, zero: int, recipe: str, n: int, network: tuple[float, int]
) -> dict[str, Any]:
    """Return a step of `n` GPUs with a sequence each: its bytes and its times."""
    model = TRANSFORMERS[name]
    plan = training_plans.TrainingPlan(
        *(model, n, 1, 4096, n), zero=zero, recipe=recipe, recompute="none"
    )
    hardware = training_plans.Hardware(400e12, 450e9, *network)
    state: dict[str, float] = dict(training_plans.per_parameter(recipe, "adam"))
    if n > 1:
        roles = training_plans.gpu_memory(plan)
        state = {role: roles[role] / model.params for role in state}
    times = training_plans.step_times(plan, hardware)
    return {
        "zero": zero,
        "model": {"parameters": model.params, "layers": 32, "recipe": recipe},
        "work": {"gpus": n, "flops": training_plans.step_flops(plan)},
        "hardware": hardware._asdict(),
        "state": state,
        "sent": training_plans.traffic(plan)["data"],
        "link": training_plans.links(plan, hardware)["data"],
        "times": [times.compute, times.data, times.step],
    }


def printed() -> list[dict[str, Any]]:
    """Return machines and the line that `print(measure_machine())` prints for each."""
    machines = [Machine(*values) for values in MACHINES]
    return [dataclasses.asdict(m) | {"line": str(m)} for m in machines]


def picture_of_recipes() -> list[list[int]]:
    """Return the bytes per parameter that the picture of the recipes shows."""
    sys.path.insert(0, str(ROOT / "img/src"))
    import recipes

    return [list(sizes) for _, sizes in recipes.RECIPES]


def shapes() -> dict[str, Any]:
    """Return the parameters of models, those that steps read, and their caches."""
    return {
        name: {
            "params": shape.params,
            "active": shape.active,
            "layers": shape.layers,
            "width": shape.heads * shape.head_size,
            "read": {n: tables.read_params(shape, n) for n in (1, 16)},
            "caches": {n: tables.cache_bytes(shape, n) for n in (512, 8192)},
        }
        for name, shape in tables.SHAPES.items()
    }


def plays(book: Book) -> list[dict[str, str]]:
    """Return the texts of the book that set a figure, with their places."""
    return [
        {
            "place": section.at(block.line_at(span.start)),
            "text": " ".join(span.text.split()),
            "settings": span.settings,
        }
        for section in book.sections
        for block, span in marked(section.blocks, PLAY)
    ]


def turns() -> list[dict[str, Any]]:
    """Return the stored turns of products, and the clocks of each."""
    return [
        {"card": turn.card, "tile": turn.tile, "warps": turn.warps}
        | {"instructions": len(turn.loop), "clocks": tables.turn_clocks(turn)}
        for turn in tables.stored_turns()
    ]


def saves(book: Book) -> list[dict[str, Any]]:
    """Return times between failures, and the shares of the section's `lost_share`."""
    section = next(s for s in book.sections if s.name.endswith("/checkpoints"))
    cells = (block for block in section.blocks if isinstance(block, Cell))
    code = next(c.code for c in cells if "def lost_share(" in c.code)
    names: dict[str, Any] = {"random": random}
    exec(code[code.index("def ") : code.index("\n\n")], names)
    choose = random.Random(0)
    times = [choose.expovariate(1 / 186) for _ in range(2000)]
    return [
        {"times": times, "interval": interval, "save": save}
        | {"share": names["lost_share"](interval, save, 186)}
        for interval in (2, 19, 60, 240)
        for save in (0.1, 1, 5)
    ]


def summaries() -> dict[str, Any]:
    """Return how well each kind predicts that needs no framework."""
    quick = [name for name, kind in predictions.KINDS.items() if not kind.needs]
    return {name: audit.summary(name)._asdict() for name in quick}


def units() -> list[dict[str, float]]:
    """Return the units of each kind with their values."""
    kinds = dict.fromkeys(kind for kind, _ in UNITS.values())
    return [
        {name: value for name, (of, value) in UNITS.items() if of == kind}
        for kind in kinds
    ]


def main() -> None:
    numbers = {
        "blocks": blocks(),
        "bounds": bounds(),
        "buckets": bucket_steps(),
        "cards": package.cards(Book(ROOT)),
        "prices": package.tables(Book(ROOT))["prices"],
        "named": tables.NAMED_CARDS,
        "cited": {row.id: row.value for row in tables.cited_rows("all")},
        "latencies": [
            predictions.NVLINK_LATENCY,
            predictions.PCIE_LATENCY,
            predictions.NETWORK_LATENCY,
        ],
        "limits": {card: limit._asdict() for card, limit in limits().items()},
        "occupancies": occupancies(),
        "pipelines": pipelines(),
        "plans": tables.read_rows("plans.csv"),
        "plays": plays(Book(ROOT)),
        "printed": printed(),
        "product": product_defaults(),
        "published": published_plans.published(),
        "recipes": picture_of_recipes(),
        "roles": role_products(),
        "saves": saves(Book(ROOT)),
        "shapes": shapes(),
        "shards": shard_steps(),
        "summaries": summaries(),
        "turns": turns(),
        "units": units(),
        "waves": [[*grid, wave_efficiency(*grid)] for grid in GRIDS],
    }
    json.dump(numbers, sys.stdout)


if __name__ == "__main__":
    main()
