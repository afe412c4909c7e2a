"""The figure of a server agrees with the section and with published rates."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from test_performance_figures import cards

from d2l.tables import SHAPES, cache_bytes

Run = Callable[[str], Any]


def settings(**changed: Any) -> str:
    state = {"users": 16, "model": "llama3-8b", "card": "h100", "length": 8192}
    return json.dumps(state | {"bits": "16"} | changed)


def step(run_js: Run, **changed: Any) -> dict[str, float]:
    state = settings(**changed)
    users = json.loads(state)["users"]
    return run_js(f"give(inference_arithmetic.step(server.server({state}), {users}))")


@pytest.mark.parametrize("model, name", [("llama3-8b", "8B"), ("llama3-70b", "70B")])
@pytest.mark.parametrize("users, length", [(1, 512), (16, 8192)])
def test_bytes_are_those_of_the_section(
    run_js: Run, model: str, name: str, users: int, length: int
):
    shape = SHAPES[f"Llama 3 {name}"]
    found = step(run_js, model=model, users=users, length=length)
    assert found["weights"] == pytest.approx(2 * shape.params)
    assert found["caches"] == users * cache_bytes(shape, length)
    bandwidth = 1e9 * cards()["H100"]["bandwidth"]
    assert found["reading"] == pytest.approx(
        (found["weights"] + found["caches"]) / bandwidth
    )


def test_the_room_is_filled_to_the_last_user(run_js: Run):
    room = 0.9 * cards()["H100"]["memory"]
    most = run_js(f"give(inference_arithmetic.capacity(server.server({settings()})))")
    found = [step(run_js, users=users) for users in (most, most + 1)]
    total = [each["weights"] + each["caches"] for each in found]
    assert most == 56 and total[0] <= room < total[1]


@pytest.mark.parametrize("bits, published", [(16, 104.9), (8, 155.6), (4, 196.8)])
def test_a_published_rate_is_below_the_bound_and_above_a_quarter(
    run_js: Run, bits: int, published: float
):
    """PyTorch's gpt-fast with Llama 2 7B on an A100 whose power was limited."""
    card = {"memory": 80e9, "bandwidth": 2.039e12, "rate": 312e12}
    model = {"params": 6.74e9, "layers": 32, "kvHeads": 32, "headSize": 128}
    task = json.dumps({"model": model, "card": card, "bits": bits, "length": 200})
    bound = run_js(f"give(inference_arithmetic.step({task}, 1).throughput)")
    assert 0.25 * bound < published < bound


def test_many_users_are_bound_by_arithmetic(run_js: Run):
    found = step(run_js, users=1024, length=512, card="t4", bits="4")
    assert found["arithmetic"] > found["reading"]
    assert found["time"] == found["arithmetic"]
    assert found["throughput"] == pytest.approx(1024 / found["time"])


@pytest.mark.parametrize(
    "changed, words",
    [
        ({}, "16 users, a token takes 9.92 ms, and the GPU generates 1610 tokens"),
        ({"users": 64}, "The caches of 64 users do not fit; 56 users would."),
        (
            {"model": "llama3-70b"},
            "The weights do not fit into the memory of the H100.",
        ),
    ],
)
def test_the_result_in_words(run_js: Run, changed: dict[str, Any], words: str):
    text = run_js(f"give(server.result({settings(**changed)}))")
    assert words in text.replace("\N{NO-BREAK SPACE}", " ")
