"""`python -m d2l memory` with models of Flax, and the verdict of JAX's compilers."""

import re

import jax
import optax
import pytest
from flax import linen as nn

from d2l import jax as d2l
from d2l import memory_command, step_memory, tables

MIB, GIB = 2**20, 2**30


def predicted(capsys, *arguments):
    """Return what the command prints, and the bytes by role."""
    assert memory_command.main(arguments) == 0
    output = capsys.readouterr().out
    found = re.findall(r"^(\w+) +([\d.,]+) MiB", output, re.MULTILINE)
    return output, {role: float(number.replace(",", "")) for role, number in found}


# Models of Flax


@pytest.mark.parametrize(
    "name, batch",
    [
        ("nnx_mlp", ["8x64", "8:int32"]),
        ("nnx_instance", ["8x64", "8:int32"]),
        ("NnxImages", ["64x16x16x3", "64:int32"]),
        ("NnxWords", ["8x12:int32", "8x12:int32", "--precision", "bfloat16"]),
        ("Noisy", ["512x64", "512:int32", "--accumulate", "2"]),
    ],
)
def test_models_that_only_flax_has(name, batch, capsys):
    output, found = predicted(capsys, f"foreign_jax:{name}", "--batch", *batch)
    assert found["activations"] > 0 and found["gradients"] == found["weights"]
    assert found["optimizer"] == pytest.approx(2 * found["gradients"], abs=0.02)
    assert "cannot be predicted: JAX cannot trace" not in output


def test_nnx_takes_what_linen_takes(capsys):
    batch = "--batch", "512x64", "512:int32"
    linen, nnx = (
        predicted(capsys, f"foreign_jax:{name}", *batch)[1]
        for name in ("mlp", "nnx_mlp")
    )
    assert nnx == {role: pytest.approx(n, rel=0.05) for role, n in linen.items()}


# The verdict


class GPT2(d2l.Classifier):
    """The language model of does-it-fit.md."""

    def setup(self):
        self.tokens, self.places = nn.Embed(50257, 768), nn.Embed(1024, 768)
        self.blocks = [d2l.TransformerLayer(768, 12, dropout=0) for _ in range(12)]
        self.norm = nn.LayerNorm()

    def forward(self, X):
        H = self.tokens(X) + self.places.embedding
        for block in self.blocks:
            H = block(H)
        return self.tokens.attend(self.norm(H))

    def configure_optimizers(self):
        return optax.adam(1e-3)


def step(model=None, *shape, kind="float32"):
    X = jax.ShapeDtypeStruct(shape or (512, 64), kind)
    return step_memory.Step(d2l, model or d2l.DeepMLP(4, 64), [X, X])


@pytest.fixture
def no_compiler(monkeypatch):
    def missing():
        raise ModuleNotFoundError("the compiler for GPUs is not installed")

    monkeypatch.setattr(d2l, "gpu_compiler", missing)


def test_the_cards_of_gpt2_do_not_depend_on_the_release(no_compiler):
    """Plans for a CPU are between 14.3 and 21.3 GiB, and one for a T4 is 11.2."""
    gpt2 = step(GPT2(), 8, 1024, kind="int32")
    gpt2.precision = "bfloat16"
    found = step_memory.predict(gpt2)
    assert found.size.peak > 11.2 * GIB
    assert "T4" not in found.cards and "A100" in found.cards


def test_the_planner_is_named(no_compiler, capsys):
    arguments = "foreign_jax:mlp", "--batch", "512x64", "512:int32"
    output, _ = predicted(capsys, *arguments)
    version = jax.__version__
    assert f"is what JAX {version}'s compiler plans for this CPU. " in output
    assert f": pip install jax-cuda12-plugin=={version} nvidia-cuda-nvcc" in output
    assert "--precision bfloat16 cannot be predicted: JAX's compiler for a" in output
    assert "at least" not in output


@pytest.mark.parametrize("planned", ["plan", "sum"])
def test_a_plan_for_a_cpu_has_a_margin(no_compiler, planned):
    peak = 12 * GIB
    kept, plan = (peak, 0) if planned == "sum" else (0, peak)
    size = d2l.StepMemory(0, 0, 0, kept, 0, plan)
    found, cards, _ = step_memory.planned(step(), size, {})
    assert found.peak == peak
    assert tables.usable_memory("T4") > peak and "T4" not in cards  # 15 % are missing
    less = size._replace(peak=11 * GIB, activations=0)
    assert "T4" in step_memory.planned(step(), less, {})[1]


def planning(monkeypatch, totals):
    """Let a compiler for GPUs be there that plans so many bytes for each card."""
    asked = []

    def plan(function, state, batch, card, donate):
        asked.append(card)
        assert donate == (0,) and jax.eval_shape(function, state, batch)
        return tables.Plan(card, 1, totals[card], 0, 0, 0)

    monkeypatch.setattr(d2l, "gpu_compiler", lambda: "jax_plugins.xla_cuda12")
    monkeypatch.setattr(d2l, "plan_memory", plan)
    return asked


def test_the_compiler_for_gpus_decides_where_it_is(monkeypatch):
    asked = planning(monkeypatch, {"T4": 12 * GIB})
    found = step_memory.predict(step())
    assert found.size.peak == 12 * GIB and found.cards == list(step_memory.CARDS)
    assert asked == ["T4"] and found.notes[0].endswith(
        "compiler for GPUs plans for a T4."
    )


def test_a_larger_card_is_planned_if_a_small_one_is_too_small(monkeypatch):
    asked = planning(monkeypatch, {"T4": 15 * GIB, "H100": 26 * GIB})
    found = step_memory.predict(step())
    assert asked == ["T4", "H100"] and found.size.peak == 26 * GIB
    assert found.cards[0] == "RTX 5090" and "T4" not in found.cards
    asked = planning(monkeypatch, dict.fromkeys(step_memory.PLANNED, 999 * GIB))
    assert step_memory.predict(step()).cards == []
    assert asked == list(step_memory.PLANNED)


def test_16_bits_are_a_remedy_for_the_compiler_for_gpus(monkeypatch):
    planning(monkeypatch, {"T4": 12 * GIB})
    names = dict(step_memory.remedies(step()))
    assert isinstance(names["--precision bfloat16"], step_memory.Prediction)
    assert names["--precision bfloat16"].size.peak == 12 * GIB


@pytest.mark.skipif(
    not step_memory.plans_for_gpus(d2l),
    reason="the compiler for GPUs is not installed",
)
def test_a_real_plan_for_a_card():
    found = step_memory.predict(step(d2l.DeepMLP(8, 512), 4096, 512))
    assert found.size.peak == pytest.approx(118 * MIB, rel=0.1)
    assert found.notes[0].endswith("compiler for GPUs plans for a T4.")
