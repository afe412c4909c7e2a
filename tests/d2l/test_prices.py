"""Offers to rent a GPU are complete, and cost hours times price."""

import datetime
import math
from itertools import groupby

import pytest

from d2l import tables

pytestmark = pytest.mark.shared

ROWS = tables.read_rows("prices.csv")
CARDS = ["T4", "L4", "L40S", "RTX 4090", "A100", "H100", "H200", "B200"]


def test_each_card_has_two_offers():
    offers = {card: [*rows] for card, rows in groupby(ROWS, lambda row: row["card"])}
    assert [*offers] == CARDS
    assert {card for card, rows in offers.items() if len(rows) < 2} == set()
    for card in CARDS:
        assert tables.card_data(card)["advertised"] > 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['card']}-{row['value']}")
def test_a_row_has_a_date_and_dollars_per_hour(row):
    date = datetime.date.fromisoformat(row["date"])
    assert datetime.date(2026, 1, 1) < date <= datetime.date.today()
    assert row["unit"] == "$/h" and 0.1 < float(row["value"]) < 20


def test_offers_are_in_the_order_of_their_prices():
    offers = tables.rental_offers("H100")
    prices = [offer.price for offer in offers]
    assert prices == sorted(prices) and prices[0] < prices[-1]
    assert {offer.card for offer in offers} == {"H100"}
    assert len(offers) == sum(row["card"] == "H100" for row in ROWS)


def test_costs_are_hours_times_the_cheapest_and_the_dearest_price():
    offers = tables.rental_offers("A100")
    least, most = tables.rental_costs("A100", 10)
    assert math.isclose(least, 10 * offers[0].price)
    assert math.isclose(most, 10 * offers[-1].price)


def test_costs_by_a_price_of_your_own():
    assert tables.rental_costs("A100", 10, 1.5) == (15, 15)
    assert tables.rental_costs("my card", 10, 0) == (0, 0)


@pytest.mark.parametrize("arguments", [("A100", -1), ("A100", 1, -0.1)])
def test_negative_hours_or_prices_are_refused_in_one_line(arguments):
    with pytest.raises(ValueError, match="^hours and price cannot be negative: .*$"):
        tables.rental_costs(*arguments)


def test_a_card_without_a_price_is_one_line_with_the_known_ones():
    with pytest.raises(ValueError, match="^no price of 'V100'; there are prices of T4"):
        tables.rental_offers("V100")
