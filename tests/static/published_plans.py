"""Predictions of the library for the rows of published.csv, for the figures' tests."""

import dataclasses
import itertools
import random
from collections.abc import Iterator
from typing import Any

from d2l import audit, bounds, expectations, predictions, serving, tables
from d2l import training_plans as training
from d2l.language_models import LANGUAGE_SHAPES, TRANSFORMERS
from d2l.needs import Need, memory_need
from d2l.published import Row, published_rows

ALL_CARDS = sorted({row["card"] for row in tables.read_rows("cards.csv")})
USUAL = training.Hardware(800e12, 450e9, 50e9)
KINDS = ("training", "memory", "fine-tuning")


def published() -> dict[str, Any]:
    """Return the arguments and results of the library's formulas, by formula."""
    rows = published_rows()
    plans = [
        plan for row in rows if row.kind in KINDS for plan in predictions.plans_of(row)
    ]
    return {
        "constants": {
            name: getattr(expectations, name) for name in expectations.CONSTANTS
        },
        "attention": {card: expectations.attention_share(card) for card in ALL_CARDS},
        "usual": {
            card: [expectations.product_rate(card, 1e14, bits) for bits in (16, 8)]
            for card in ALL_CARDS
        },
        "margin": expectations.with_margin(1),
        "safe": safe(),
        "hardware": {
            card: predictions.hardware_of(card)._asdict()
            for card in predictions.BEST
            if "nvlink" in tables.card_data(card) or card in predictions.WITHIN
        },
        "plans": [planned(plan) for plan in [*plans, *random_plans()]],
        "servers": [served(row) for row in rows if row.kind == "serving"],
        "decodes": [decoded(row) for row in rows if row.kind == "decode"],
        "rings": [rung(row) for row in rows if row.kind == "all-reduce"],
        "products": list(products(rows)),
        "needs": list(needs()),
        "generating": list(generating()),
        "adapting": list(adapting()),
        "decisions": list(decisions()),
        "runs": list(runs()),
    }


def safe() -> str:
    """Return how many published peaks of memory are below the expected ones."""
    found = [each for each in audit.outcomes("memory") if not each.why]
    below = sum(each.expected_ratio >= 1 for each in found)
    return f"{below} of {len(found)}"


def holding(need: Need) -> list[str]:
    """Return the cards that hold a need."""
    return [card for card in tables.NAMED_CARDS if need.fits(card)]


def needs() -> Iterator[dict[str, Any]]:
    """Yield steps of training on one GPU, and the cards on which they fit."""
    settings = itertools.product((1, 16), (True, False), (1, 8))
    for (name, model), (sequences, checkpoint, chunks) in itertools.product(
        TRANSFORMERS.items(), settings
    ):
        plan = training.TrainingPlan(
            model,
            *(sequences, sequences, 1024),
            recompute="full" if checkpoint else "none",
            loss="whole" if chunks == 1 else "chunks",
        )
        need = memory_need(
            name, "train", 1024, sequences, checkpoint=checkpoint, chunks=chunks
        )
        yield planned(plan) | {"name": name, "cards": holding(need)}


def adapting() -> Iterator[dict[str, Any]]:
    """Yield tasks of fine-tuning, their bytes and the cards that hold them."""
    for name, rank, length, checkpoint, chunks, bits in itertools.product(
        TRANSFORMERS, (1, 16, 256), (1024, 4096), (True, False), (1, 8), (0, 4.5, 16)
    ):
        model = TRANSFORMERS[name]
        adapters = training.lora_params(model, rank)
        given: dict[str, Any] = {"checkpoint": checkpoint, "chunks": chunks}
        if bits:
            given |= {"bits": bits, "adapters": adapters}
        need = memory_need(name, "adapt" if bits else "train", length, **given)
        sizes = dataclasses.asdict(model)
        sizes["keyHeads"] = sizes.pop("kv_heads")
        task = {"name": name, "rank": rank, "length": length, "bits": bits} | given
        found = {"roles": need._asdict(), "cards": holding(need)}
        yield task | {"sizes": sizes, "adapters": adapters} | found


def generating() -> Iterator[dict[str, Any]]:
    """Yield models that generate text, and the cards that hold some users."""
    for name, shape in LANGUAGE_SHAPES.items():
        for bits, users in itertools.product((16, 4.5), (1, 16)):
            need = memory_need(name, "generate", 4096, users, bits=bits)
            model = figures_shape(shape)
            yield {"model": model, "bits": bits, "users": users, "cards": holding(need)}


def decisions() -> Iterator[dict[str, Any]]:
    """Yield tasks of choosing a card, their bytes, and what each card has room for."""
    kinds = ("generate", 16), ("generate", 4.5), ("adapt", 16), ("adapt", 4.5)
    for name, (kind, bits), length, checkpoint, chunks in itertools.product(
        TRANSFORMERS, (*kinds, ("train", 16)), (1024, 8192), (True, False), (1, 8)
    ):
        given: dict[str, Any] = {"checkpoint": checkpoint, "chunks": chunks}
        need = memory_need(name, kind, length, bits=bits, **given)
        tight = [
            card
            for card in holding(need)
            if tables.card_memory(card) - need.total < tables.card_memory(card) / 3
        ]
        task = {"name": name, "kind": kind, "bits": bits, "length": length} | given
        yield task | {
            "roles": need._asdict(),
            "cards": holding(need),
            "tight": tight,
            "users": {
                card: need.users(card) if need.caches else 0
                for card in tables.NAMED_CARDS
            },
        }


def runs(tokens: float = 1e9) -> Iterator[dict[str, Any]]:
    """Yield models with their sizes, and a run's hours and dollars by card."""
    offered = [row["card"] for row in tables.read_rows("prices.csv")]
    for name, model in TRANSFORMERS.items():
        sizes = dataclasses.asdict(model)
        sizes["keyHeads"] = sizes.pop("kv_heads")
        cards = {}
        for card in dict.fromkeys(offered):
            rate = tables.peak_share(card) * 1e12 * tables.card_data(card)["tensor16"]
            hours = 6 * model.active * tokens / rate / 3600
            cards[card] = {"hours": hours, "costs": tables.rental_costs(card, hours)}
        yield {"name": name, "sizes": sizes, "tokens": tokens, "cards": cards}


def random_plans(count: int = 200) -> Iterator[training.TrainingPlan]:
    """Yield plans with the choices that no published row makes."""
    choose = random.Random(0)
    while count:
        plan = training.TrainingPlan(
            choose.choice(list(TRANSFORMERS.values())),
            batch=choose.choice([64, 256, 1024]),
            micro=choose.choice([1, 2, 8]),
            length=choose.choice([512, 4096]),
            gpus=choose.choice([1, 8, 64, 256]),
            tensor=choose.choice([1, 2, 8]),
            context=choose.choice([1, 2]),
            pipeline=choose.choice([1, 2, 4]),
            interleave=choose.choice([1, 2]),
            zero=choose.randrange(4),
            recipe=choose.choice(list(training.RECIPES)),
            optimizer=choose.choice(["adam", "adam8", "sgd"]),
            recompute=choose.choice(["none", "attention", "selective", "full"]),
            loss=choose.choice(["whole", "chunks"]),
            attention=choose.choice(["fused", "plain"]),
            dropout=choose.choice([False, True]),
            sequence=choose.choice([False, True]),
            overlap=choose.choice([False, True]),
            copies=choose.choice([False, True]),
        )
        if not plan.problem():
            count -= 1
            yield plan


def planned(plan: training.TrainingPlan) -> dict[str, Any]:
    """Return a plan with the figures' names, and what the library says of it."""
    sizes = dataclasses.asdict(plan.model)
    sizes["keyHeads"] = sizes.pop("kv_heads")
    given = dataclasses.asdict(plan) | sizes | {"expert": 1, "hybrid": False}
    del given["model"]
    alone = dataclasses.replace(plan, gpus=1, tensor=1, context=1, pipeline=1)
    alone = dataclasses.replace(alone, batch=plan.micro)
    return {
        "plan": given,
        "params": plan.model.params,
        "hardware": USUAL._asdict() | {"bandwidth": 3e12, "attention": 0.5},
        "times": training.step_times(plan, USUAL)._asdict(),
        "expected": expectations.step_time(plan, USUAL, 3e12, 0.5),
        "rate": training.training_rate(plan, USUAL),
        "memory": training.gpu_memory(plan),
        "alone": training.step_memory(alone),
        "kept": training.kept_per_token(plan),
    }


def figures_shape(shape: tables.LanguageShape) -> dict[str, Any]:
    """Return a shape with the figures' names."""
    named = shape._asdict()
    return named | {"kvHeads": named["kv_heads"], "headSize": named["head_size"]}


def served(row: Row) -> dict[str, Any]:
    """Return a server with the figures' names, its users and its throughput."""
    server = predictions.server_of(row)
    users = serving.capacity(server)
    card = {name: getattr(server, name) for name in ("memory", "bandwidth", "rate")}
    model, usual = TRANSFORMERS[row.model], 0.6 * server.rate
    moment = row.length * expectations.prompt_bytes(model.width, model.hidden)
    room = expectations.server_users(server, moment)
    sizes = {"width": model.width, "hidden": model.hidden}
    return {
        "server": {"model": figures_shape(server.shape) | sizes}
        | {"card": card | {"usual": usual}}
        | {"bits": server.bits, "cacheBits": server.cache_bits}
        | {"input": server.input, "output": server.output},
        "users": users,
        "throughput": serving.throughput(server, max(1, users)),
        "apart": serving.throughput_without_chunks(server, max(1, users)),
        "room": room,
        "expected": expectations.server_throughput(server, max(1, room), usual),
    }


def decoded(row: Row) -> dict[str, Any]:
    """Return a model and a cache, and the bytes that a token of one user reads."""
    shape = predictions.LANGUAGE_SHAPES[row.model]
    return {
        "model": figures_shape(shape),
        "before": row.length,
        "bits": row.bits,
        "nbytes": serving.decode_time(shape, row.length, row.bits, 1),
    }


def rung(row: Row) -> dict[str, Any]:
    """Return an all-reduce, its time and its bus bandwidth."""
    latency, bandwidth = predictions.NVLINK_LATENCY, 450e9
    seconds = bounds.ring_time(row.nbytes, row.gpus, latency, bandwidth)
    return {
        "ring": {"n": row.gpus, "bytes": row.nbytes}
        | {"latency": latency, "bandwidth": bandwidth},
        "time": seconds,
        "bus": bounds.bus_bandwidth(row.nbytes, seconds, row.gpus),
    }


def products(rows: tuple[Row, ...]) -> Iterator[dict[str, Any]]:
    """Yield products of values of 16 bits with their times on a machine."""
    for row in rows:
        if row.kind == "product" and row.model and row.bits == 16:
            b, n, k = (int(size) for size in row.model.split(" x "))
            seconds = bounds.product_time((b, k, n), 2, USUAL.rate, 2e12)
            yield {"product": {"b": b, "k": k, "n": n}, "time": seconds}
