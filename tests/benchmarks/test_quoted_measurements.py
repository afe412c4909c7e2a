"""Sentences about cards and prices hold for the published rows that they are about."""

import re
from pathlib import Path
from statistics import median

import pytest

from d2l import audit, tables
from d2l.published import published_rows

CHAPTER = Path(__file__).parents[2] / "chapter_gpus"
CARDS, TUNING = (
    " ".join((CHAPTER / name).read_text("utf-8").split())
    for name in ("does-it-fit.md", "fine-tuning.md")
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
    """Return the text on cards from some words up to the end of the sentence."""
    return CARDS[CARDS.index(start) :].partition(". ")[0]


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
    assert "In 8 bits, the share is about a quarter of a peak" in CARDS
    found = [
        share
        for card in ("H100", "H200")
        for share in shares("PyTorch.TorchTitan.Benchmarks", card, 8)
    ]
    assert len(found) == 10
    assert sum(0.2 <= share < 0.33 for share in found) >= 5


def test_prices_by_the_run_order_the_cards_otherwise_than_prices_by_the_hour():
    assert "the two put the cards in different orders" in CARDS
    cards = ("T4", "RTX 4090", "A100", "H100", "H200", "B200")
    rates = {c: tables.peak_share(c) * tables.card_data(c)["tensor16"] for c in cards}
    by_hour = sorted(cards, key=lambda card: tables.rental_costs(card, 1))
    by_run = sorted(cards, key=lambda card: tables.rental_costs(card, 1 / rates[card]))
    assert by_hour != by_run and by_hour.index("T4") < by_run.index("T4")


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


def test_the_run_without_checkpointing_has_shorter_sequences():
    quoted = r"2 sequences of (\d+)"
    assert set(re.findall(quoted, TUNING)) >= {"2048", "512"}
    for row, length, recompute in (
        ("tune-qlora-4090-mem", 2048, "full"),
        ("litgpt-llama-3-8b-qlora", 512, "none"),
    ):
        assert (ROWS[row].micro, ROWS[row].length) == (2, length)
        assert ROWS[row].recompute == recompute
