"""Cards, and stored plans of memory."""

from dataclasses import replace

import pytest

from d2l.tables import Plan

CARDS = ("T4", "A100", "H100", "H200", "B200")


def one_line(error) -> str:
    message = str(error.value)
    assert message and "\n" not in message
    return message


@pytest.mark.parametrize("card", CARDS)
def test_a_card_has_less_memory_than_a_program_may_think(d2l, card):
    data = d2l.card_data(card)
    # A GB of a data sheet is 10^9 or 2^30 bytes, and ECC takes a part.
    assert 0.92 * 2**30 < data["memory"] / data["advertised"] <= 2**30 * 1.001


def test_an_unknown_card_is_one_line_with_the_known_ones(d2l):
    with pytest.raises(ValueError) as error:
        d2l.card_data("H1000")
    assert one_line(error).startswith(
        "no card 'H1000'; the cards are T4, A100, H100, H200, B200, B300, RTX 4090,"
    )


def test_an_unknown_model_is_one_line_with_the_known_ones(d2l):
    with pytest.raises(
        ValueError, match="the models are layer, mlp, gpt2, llama3"
    ) as error:
        d2l.stored_plans("gpt3")
    one_line(error)


def test_a_plan_counts_each_byte_once(d2l):
    plan = Plan("T4", 1, arguments=10, outputs=8, aliased=7, temporaries=5)
    assert plan.total == 16 and plan.fits
    assert replace(plan, code=3).total == 19


def test_a_plan_fits_if_a_tenth_of_the_card_is_left(d2l):
    usable = int(0.9 * d2l.card_data("T4")["memory"])
    plan = Plan("T4", 1, arguments=usable, outputs=0, aliased=0, temporaries=0)
    assert plan.fits and not replace(plan, temporaries=1).fits


MODELS = ("layer", "mlp", "gpt2", "llama3")
CHECKPOINTING = tuple(f"{model}-checkpointing" for model in MODELS[1:])
MORE = {"llama3-checkpointing": {("H100", 64)}}


@pytest.mark.parametrize("model", MODELS + CHECKPOINTING)
def test_stored_plans_are_of_all_cards_for_one_and_eight_gpus(d2l, model):
    plans = d2l.stored_plans(model)
    everywhere = {(card, n) for card in CARDS for n in (1, 8)}
    assert set(plans) == everywhere | MORE.get(model, set())
    assert all((plan.card, plan.num_gpus) == key for key, plan in plans.items())
    assert not any(plan.text for plan in plans.values())


def test_a_stored_program_has_its_lines(d2l):
    first, second, *_ = d2l.stored_plans("chain")["H100", 1].text.split("\n")
    assert first.startswith("%fused_add (") and second.startswith("  %param_")


def test_the_stored_plan_of_a_layer_is_that_of_the_formula(d2l):
    """See eq_transformer_activations; the rest are temporaries of single operations."""
    predicted = 4 * 512 * 256 * (34 + 5 * 8 * 512 / 256)
    plans = d2l.stored_plans("layer")
    planned = {card: plans[card, 1].temporaries for card in CARDS}
    assert planned["A100"] == pytest.approx(predicted, rel=0.05)
    assert all(predicted < p < 1.2 * predicted for p in planned.values())


@pytest.mark.parametrize(
    "model, parameters", [("gpt2", 124_337_664), ("llama3", 8_030_261_248)]
)
def test_stored_state_has_twelve_bytes_per_parameter(d2l, model, parameters):
    plans = [*d2l.stored_plans(model).values()]
    plans += d2l.stored_plans(f"{model}-checkpointing").values()
    for plan in plans:
        num_gpus = plan.num_gpus
        assert plan.arguments == pytest.approx(12 * parameters / num_gpus, rel=1e-3)
        assert plan.outputs == pytest.approx(plan.aliased, rel=1e-3)
