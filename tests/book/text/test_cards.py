"""Each number in the table of cards has a source and is plausible."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Properties with their units, and the limits of what a card can have.
LIMITS = {
    "advertised": ("GB", 8, 300),
    "memory": ("B", 8e9, 300e9),
    "bandwidth": ("GB/s", 200, 10000),
    "pcie": ("GB/s", 15, 130),
    "nvlink": ("GB/s", 100, 1000),
    "fp32": ("TFLOP/s", 5, 150),
    "tensor16": ("TFLOP/s", 50, 3000),
    "fp8": ("TFLOP/s", 200, 6000),
    "capability": ("", 7, 13),
    "cores": ("", 20, 200),
    "lanes": ("", 64, 128),
    "clock": ("GHz", 1, 3),
    "l2": ("B", 2**20, 2**28),
    "shared": ("B", 2**16, 2**18),
    "block_shared": ("B", 2**15, 2**18),
    "threads": ("", 1024, 2048),
}
OPTIONAL = {"nvlink", "fp8"}

with (ROOT / "d2l/cards.csv").open(encoding="utf-8", newline="") as file:
    TABLE = list(csv.DictReader(file))
CARDS: dict[str, dict[str, float]] = {}
for row in TABLE:
    CARDS.setdefault(row["card"], {})[row["property"]] = float(row["value"])


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r['card']}-{r['property']}")
def test_a_number_has_a_unit_and_is_plausible(row: dict[str, str]):
    unit, least, most = LIMITS[row["property"]]
    assert row["unit"] == unit and least <= float(row["value"]) <= most


def test_sources_are_in_the_bibliography():
    works = re.findall(r"^@\w+\{(.+),$", (ROOT / "d2l.bib").read_text(), re.MULTILINE)
    assert {row["source"] for row in TABLE} - {"assumed"} <= set(works)


def test_assumptions_are_few():
    assumed = [(r["card"], r["property"]) for r in TABLE if r["source"] == "assumed"]
    assert assumed == [("T4", "block_shared"), ("B200", "pcie")]


def test_no_number_is_given_twice_or_missing():
    assert len(TABLE) == sum(map(len, CARDS.values()))
    for properties in CARDS.values():
        assert set(LIMITS) - set(properties) <= OPTIONAL


@pytest.mark.parametrize("card", CARDS)
def test_numbers_of_a_card_agree_with_each_other(card: str):
    data = CARDS[card]
    # A lane multiplies and adds in each cycle.
    peak = data["cores"] * data["lanes"] * 2 * data["clock"] / 1000
    assert data["fp32"] == pytest.approx(peak, rel=0.1)
    assert data["tensor16"] > 7 * data["fp32"]
    assert data.get("fp8", 2 * data["tensor16"]) == pytest.approx(
        2 * data["tensor16"], rel=0.01
    )
    assert data["block_shared"] <= data["shared"]
    assert data.get("nvlink", data["pcie"] + 1) > data["pcie"]


def test_newer_cards_have_more_of_everything():
    order = ["T4", "A100", "H100", "H200", "B200"]
    assert list(CARDS) == order
    for name in ("advertised", "bandwidth", "capability", "tensor16", "l2"):
        values = [CARDS[card][name] for card in order]
        assert values == sorted(values), name
