"""Sentences about cards and prices hold for the published rows that they are about."""

import re
from pathlib import Path
from statistics import median

import pytest

from d2l import audit, tables
from d2l.expectations import copied_inputs
from d2l.language_models import TRANSFORMERS
from d2l.needs import memory_need
from d2l.predictions import plans_of
from d2l.published import published_rows

CHAPTER = Path(__file__).parents[2] / "chapter_gpus"
CARDS, SPEED, TUNING = (
    " ".join((CHAPTER / name).read_text("utf-8").split())
    for name in ("does-it-fit.md", "performance.md", "fine-tuning.md")
)
ROWS = {row.id: row for row in published_rows()}


def shares(source: str, card: str, bits: float = 16) -> list[float]:
    """Return the shares of the peak that the runs of a source reach on a card."""
    return [
        outcome.row.value / outcome.predicted * tables.peak_share(card, bits)
        for outcome in audit.outcomes("peak-share")
        if outcome.row.card == card
        and (outcome.row.source, outcome.row.bits) == (source, bits)
    ]


def flops_per_byte(card: str) -> float:
    return (
        1e3 * tables.card_data(card)["tensor16"] / tables.card_data(card)["bandwidth"]
    )


def sentence(start: str) -> str:
    """Return the text on speed from some words up to the end of the sentence."""
    return SPEED[SPEED.index(start) :].partition(". ")[0]


def test_the_share_falls_with_the_flops_per_byte_in_one_program():
    told = dict(
        re.findall(r"(\d+) % on an ([\w ]+?)(?: \(| and|$)", sentence("LLM.Q "))
    )
    told = {card: int(share) for share, card in told.items()}
    assert len(told) == 3
    found = {card: median(shares("ISTDASLab.2026", card)) for card in told}
    assert {card: round(100 * share) for card, share in found.items()} == told
    assert sorted(told, key=flops_per_byte) == sorted(
        told, key=lambda card: told[card], reverse=True
    )


def test_flops_per_byte_are_those_of_the_cards():
    text = sentence("LLM Foundry ") + ". " + sentence("LLM.Q ")
    told = dict(re.findall(r"on an ([\w ]+?),? (?:\(|which has )(\d+)", text))
    assert len(told) == 5
    assert {card: round(flops_per_byte(card)) for card in told} == {
        card: int(number) for card, number in told.items()
    }


def test_another_program_reaches_another_share_of_the_same_card():
    text = sentence("LLM Foundry ")
    assert "about half of the peak on an A100" in text
    assert median(shares("MosaicML.2025", "A100")) == pytest.approx(0.5, abs=0.05)
    (told,) = re.findall(r"(\d+) % on an H100", text)
    assert round(100 * median(shares("MosaicML.2025", "H100"))) == int(told)


def test_in_8_bits_the_share_is_a_quarter_of_a_peak_twice_as_high():
    assert "In 8 bits, the share is about a quarter of a peak" in SPEED
    found = [
        share
        for card in ("H100", "H200")
        for share in shares("PyTorch.TorchTitan.Benchmarks", card, 8)
    ]
    assert len(found) == 10
    assert sum(0.2 <= share < 0.33 for share in found) >= 5


def test_each_card_has_the_share_that_the_text_names():
    text = re.findall(r"`peak_share` returns .*? of their own", CARDS)[0]
    told = [int(share) for share in re.findall(r"(\d+) %", text)]
    cards = ("RTX 4090", "A100", "H100")
    assert told == [round(100 * tables.peak_share(card)) for card in cards]
    (high,) = re.findall(r"reach (\d+) % of the peak on an RTX 4090", CARDS)
    ((low, between),) = re.findall(r"only (\d+) to (\d+) % on an H100", CARDS)
    assert f"from {high} % on an RTX 4090" in sentence("LLM.Q ")
    assert f"at {low} % on an H100" in sentence("LLM Foundry ")
    assert f"LLM.Q reaches {between} % where LLM Foundry has {low}" in SPEED
    found = median(shares("ISTDASLab.2026", "H100"))
    assert round(100 * found) == int(between)


def peaks(kind: str) -> list[float]:
    """Return the published peaks of memory over the sums of their arrays."""
    return [1 / found.ratio for found in audit.outcomes(kind) if not found.why]


def test_a_third_of_a_card_is_room_for_nearly_all_peaks():
    tuning, training = peaks("fine-tuning"), peaks("memory")
    told = re.findall(r"(\d+) of (?:these|the) (\d+) (?:were|published)", CARDS)
    assert told == [
        (str(sum(ratio <= 1.5 for ratio in found)), str(len(found)))
        for found in (tuning, training)
    ]


def test_peaks_in_4_bits_exceed_a_tenth_and_those_in_16_bits_hardly():
    runs = [found for found in audit.outcomes("fine-tuning") if not found.why]
    above = [found.row for found in runs if found.row.measured > found.predicted / 0.9]
    few, many = ([r for r in above if (r.bits < 16) == is_4] for is_4 in (False, True))
    assert "seven of the ten peaks" in CARDS and len(few) == 3
    assert max(TRANSFORMERS[row.model].params for row in few) < 3.5e9
    assert "ten times out of eleven" in CARDS and len(many) == 10
    assert {row.recompute for row in many} == {"none"}


def test_one_run_on_a_card_without_its_memory_is_turned_away():
    (turned,) = (
        found.row
        for found in audit.outcomes("fine-tuning")
        if not found.why and found.predicted / 0.9 > tables.card_memory(found.row.card)
    )
    assert f"at {turned.value:.1f} GB on an A100 of 40 GB" in CARDS
    assert turned.card == "A100 40 GB" and "memory" not in tables.card_data(turned.card)


def test_prices_by_the_run_order_the_cards_otherwise_than_prices_by_the_hour():
    assert "the two put the cards in different orders" in CARDS
    cards = ("T4", "RTX 4090", "A100", "H100", "H200", "B200")
    rates = {c: tables.peak_share(c) * tables.card_data(c)["tensor16"] for c in cards}
    by_hour = sorted(cards, key=lambda card: tables.rental_costs(card, 1))
    by_run = sorted(cards, key=lambda card: tables.rental_costs(card, 1 / rates[card]))
    assert by_hour != by_run and by_hour.index("T4") < by_run.index("T4")


def test_the_most_expensive_hour_makes_the_cheapest_run_of_the_larger_plan():
    name, tokens = "Llama 3 70B", 1e8
    need = memory_need(name, "adapt", 2048, bits=4.5, chunks=8)
    cards = [card for card in tables.NAMED_CARDS if card != "B300" and need.fits(card)]
    assert cards == ["H100", "A100", "H200", "B200"]
    hour = {card: tables.rental_costs(card, 1)[0] for card in cards}
    cheapest, *_, dearest = sorted(hour, key=hour.__getitem__)
    assert (cheapest, dearest) == ("A100", "B200")
    rate = {
        card: tables.peak_share(card) * tables.card_data(card)["tensor16"]
        for card in cards
    }
    flops = 6 * TRANSFORMERS[name].active * tokens
    run = {card: hour[card] * flops / rate[card] / 3600e12 for card in cards}
    assert min(run, key=run.__getitem__) == "B200"
    for words in (
        f"from {hour['A100']} dollars",
        f"${hour['B200']} / {hour['A100']} = {hour['B200'] / hour['A100']:.1f}$",
        f"reaches {rate['B200']:.0f} TFLOP/s",
        f"of 312, only {rate['A100']:.0f}",
        f"{rate['B200'] / rate['A100']:.1f} times as fast",
        f"{run['B200']:.0f} dollars at the lowest offers, against {run['A100']:.0f}",
        f"An H100 takes {run['H100']:.0f}, too close to call",
    ):
        assert words in CARDS


def test_users_of_a_card_in_the_decision_are_those_of_the_rule():
    need = memory_need("Llama 3 8B", "generate", 4096, bits=4.5)
    few, many = need.users("T4"), need.users("RTX 4090")
    assert f"a T4 has room for {few}, and an RTX 4090," in CARDS
    assert f"whose cheapest hour costs less, for {many}." in CARDS
    assert tables.rental_costs("RTX 4090", 1)[0] < tables.rental_costs("T4", 1)[0]


@pytest.mark.parametrize(
    "quoted, row, unit",
    [
        (r"it says [\d.]+ and ([\d.]+) GiB", "tune-qlora-4090-mem", "GiB"),
        (r"LitGPT needs ([\d.]+) GB", "litgpt-llama-3-8b-qlora", "GB"),
    ],
)
def test_memory_of_fine_tuning_is_that_of_the_published_run(quoted, row, unit):
    (told,) = re.findall(quoted, TUNING)
    assert ROWS[row].unit == unit
    assert float(told) == round(ROWS[row].value, 1)


def test_the_table_of_adapted_models_has_the_sums_and_the_peaks():
    cells = re.findall(r"bits \| (yes|no) \| ([\d.]+) \| ([\d.]+) \|", TUNING)
    names = "tune-lora-4090-mem", "tune-qlora-4090-mem", "litgpt-llama-3-8b-qlora"
    found = {each.row.id: each for each in audit.outcomes("fine-tuning")}
    for (checkpointing, *told), name in zip(cells, names, strict=True):
        run = found[name]
        assert (run.row.recompute == "full") == (checkpointing == "yes")
        peaks = [run.predicted / 1e9, run.row.measured / 1e9]
        assert [float(n) for n in told] == pytest.approx(peaks, abs=0.051)


def test_the_run_without_checkpointing_has_shorter_sequences():
    quoted = r"2 sequences of (\d+)"
    assert set(re.findall(quoted, TUNING)) >= {"2048", "512"}
    for row, length, recompute in (
        ("tune-qlora-4090-mem", 2048, "full"),
        ("litgpt-llama-3-8b-qlora", 512, "none"),
    ):
        assert (ROWS[row].micro, ROWS[row].length) == (2, length)
        assert ROWS[row].recompute == recompute


def test_copies_of_inputs_explain_half_of_the_peaks_in_4_bits():
    """They are in what `memory_need` counts, and not in the sums of the audit."""
    found = [o for o in audit.outcomes("fine-tuning") if not o.why and o.row.bits < 16]
    sums = {
        o.row.id: (o.predicted + copied_inputs(plans_of(o.row)[0], o.row.bits)) / 0.9
        for o in found
    }
    above = [o for o in found if o.row.measured > sums[o.row.id]]
    numbers = {6: "six", 11: "eleven"}
    told = f"then {numbers[len(above)]} of the {numbers[len(found)]} exceed"
    assert told in CARDS
    assert f"{0.9 * sums['litgpt-llama-3-8b-qlora'] / 1e9:.1f} GB" in TUNING
    died = [
        o.row.model
        for o in found
        if sums[o.row.id] <= tables.card_memory("T4") < o.row.measured
    ]
    assert len(died) == 1 and "`memory_need` still lets one of them on" in CARDS
