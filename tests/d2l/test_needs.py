"""One rule says whether a task fits on a card: it holds for sections and commands.

It holds for the servers of `d2l/serving.py`, too.
"""

import itertools
import re
from pathlib import Path

import pytest

from d2l import __main__ as command
from d2l import (
    expectations,
    needs,
    predictions,
    published,
    serving,
    step_memory,
    tables,
    training_plans,
)
from d2l.language_models import LANGUAGE_SHAPES, TRANSFORMERS
from d2l.needs import memory_need

pytestmark = pytest.mark.shared

CHAPTER = Path(__file__).parents[2] / "chapter_gpus"


def holding(need):
    return [card for card in tables.NAMED_CARDS if need.fits(card)]


def told(capsys, *arguments):
    """Return the cards that `python -m d2l memory` names."""
    assert command.main(["memory", *arguments]) == 0
    (cards,) = re.findall(r"^Cards for .*?: (.*?)\.", capsys.readouterr().out, re.M)
    return [] if cards == "none" else cards.split(", ")


# The rule


def test_a_tenth_of_a_card_stays_free():
    memory = tables.card_memory("H100")
    assert tables.card_holds("H100", 0.9 * memory)
    assert not tables.card_holds("H100", 0.9 * memory + 1)


def test_a_card_has_what_programs_see_of_it():
    assert tables.card_memory("T4") == 15835660288  # of 16 GB
    assert tables.card_memory("L4") == 24e9  # the data sheet's, since no other is known


def test_an_unknown_card_is_named():
    with pytest.raises(ValueError, match="no card 'H1000'"):
        tables.card_holds("H1000", 1)


# What is counted


def test_lora_beside_all_matrices_of_llama_has_the_published_parameters():
    assert training_plans.lora_params(TRANSFORMERS["Llama 3 8B"], 16) == 41_943_040
    assert training_plans.lora_params(TRANSFORMERS["Llama 3 70B"], 16) == 207_093_760


def test_an_adapter_of_gpt_has_four_matrices_of_attention_and_two_of_the_network():
    width, layers = 768, 12
    count = layers * (4 * 2 * width + 2 * 5 * width)
    assert training_plans.lora_params(TRANSFORMERS["GPT-2 124M"], 1) == count


def test_a_loss_in_chunks_lets_llama_adapt_on_24_gb():
    whole, chunks = (memory_need("Llama 3 8B", "adapt", 4096, chunks=n) for n in (1, 8))
    assert whole == memory_need("Llama 3 8B", "adapt", 4096)
    assert whole.total == pytest.approx(22.0e9, abs=5e7)
    assert chunks.total == pytest.approx(18.3e9, abs=5e7)
    assert not whole.fits("RTX 4090") and chunks.fits("RTX 4090")
    assert whole.logits == 8 * chunks.logits == 8 * 4096 * 128256


def test_four_bits_let_llama_adapt_on_a_t4():
    assert memory_need("Llama 3 8B", "adapt", 4096, bits=4.5).fits("T4")
    assert not memory_need("Llama 3 8B", "adapt", 4096).fits("T4")


def test_training_counts_sixteen_bytes_of_each_parameter():
    need = memory_need("Llama 3 8B", "train", 4096)
    assert need.total >= 15.9 * 8.03e9
    assert not need.fits("H100") and need.fits("H200")


@pytest.mark.parametrize("task", ["adapt", "train"])
def test_keeping_activations_or_logits_never_takes_less(task):
    for name, length in itertools.product(TRANSFORMERS, (512, 4096)):
        least = memory_need(name, task, length, chunks=8).total
        assert memory_need(name, task, length).total >= least
        assert memory_need(name, task, length, checkpoint=False).total >= least


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="'generate', 'adapt' or 'train', not 'run'"):
        memory_need("Llama 3 8B", "run", 4096)
    with pytest.raises(ValueError, match="sizes of 'GPT-5' are unknown"):
        memory_need("GPT-5", "train", 4096)


# One answer


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_command_names_the_cards_of_the_rule(name, capsys):
    for task, checkpoint in itertools.product(("train", "adapt"), (True, False)):
        need = memory_need(name, task, 1024, 16, checkpoint=checkpoint, chunks=8)
        given = f"--{task} 1024 --sequences 16 --chunks 8".split()
        given += [] if checkpoint else ["--keep-activations"]
        assert told(capsys, name, *given) == holding(need)


@pytest.mark.parametrize("name", tables.SHAPES)
def test_the_command_names_the_cards_for_users(name, capsys):
    for users, bits in itertools.product((1, 16), (16, 4.5)):
        need = memory_need(tables.SHAPES[name], "generate", 4096, users, bits=bits)
        given = f"--generate 4096 --users {users} --weight-bits {bits}".split()
        assert told(capsys, name, *given) == holding(need)


@pytest.mark.parametrize("name", LANGUAGE_SHAPES)
def test_a_server_has_room_for_the_users_of_the_rule(name):
    shape = LANGUAGE_SHAPES[name]
    for card, length in itertools.product(tables.NAMED_CARDS, (512, 8192)):
        memory = tables.card_memory(card)
        server = serving.Server(shape, memory, 1e12, 1e14, 16, 16, length, 0)
        one = memory_need(shape, "generate", length)
        assert one.users(card) == serving.capacity(server)
        assert one.fits(card) == (one.users(card) >= 1)


def test_a_predicted_step_and_a_stored_plan_are_judged_by_the_rule():
    for nbytes in 1e9, 2e10, 1.3e11:
        cards = [card for card in tables.NAMED_CARDS if tables.card_holds(card, nbytes)]
        assert step_memory.holding(nbytes) == cards
    for plan in tables.stored_plans("llama3-checkpointing").values():
        assert plan.fits == tables.card_holds(plan.card, plan.total)


def test_no_section_has_a_rule_of_its_own():
    own = re.compile(r"""0\.\d+ \* \(?(d2l\.)?\w+(\(.*?\))?\[['"](memory|advertised)""")
    found = {path.name for path in CHAPTER.glob("*.md") if own.search(path.read_text())}
    assert found == set()


# What others have measured


def adapting():
    """Yield the published runs of LoRA whose settings are known, with their needs."""
    for row in published.published_rows():
        if row.kind == "fine-tuning" and not row.assumed:
            yield (
                row,
                memory_need(
                    row.model,
                    "adapt",
                    row.length,
                    row.micro,
                    bits=row.bits,
                    adapters=row.adapters,
                    checkpoint=row.recompute == "full",
                    chunks=8 if row.loss == "chunks" else 1,
                ),
            )


def test_published_runs_on_cards_with_24_gb_fit():
    runs = [
        run for run in adapting() if tables.card_data(run[0].card)["advertised"] == 24
    ]
    assert len(runs) == 14
    assert [row.id for row, need in runs if not need.fits(row.card)] == []


def test_only_a_run_that_filled_its_card_is_said_not_to_fit():
    wrong = [row for row, need in adapting() if not need.fits(row.card)]
    assert [row.id for row in wrong] == ["litgpt-a100-llama2-13b-none-1"]
    assert wrong[0].measured > 0.95 * tables.card_memory("A100 40 GB")


def test_the_audit_judges_the_same_sums():
    for row, need in adapting():
        expected = predictions.expect("fine-tuning", row)
        assert expectations.with_margin(need.total) == pytest.approx(expected)


def test_the_rank_is_that_of_the_section():
    params = training_plans.lora_params(TRANSFORMERS["Llama 3 8B"], needs.RANK)
    assert memory_need("Llama 3 8B", "adapt", 4096).training == 16 * params


def test_ends_stay_in_16_bits_if_the_layers_have_fewer():
    head = 128256 * 4096
    for bits, ends in (4.5, 16), (8, 16), (16, 16), (32, 32):
        shape = tables.SHAPES["Llama 3 8B"]
        layers = (8.03e9 - 2 * head) * bits / 8
        assert tables.weight_bytes(shape, bits) == layers + 2 * head * ends / 8
        read = (7.50e9 - head) * bits / 8 + head * ends / 8
        assert tables.read_bytes(shape, 16, bits) == pytest.approx(read, rel=1e-12)
    tied = TRANSFORMERS["Qwen2.5 0.5B"]
    ends, small = tied.vocabulary * tied.width, tables.weight_bytes(tied.shape, 4.5)
    assert small == pytest.approx((tied.params - ends) * 4.5 / 8 + 2 * ends, rel=1e-12)
