"""The stored loops of products are those that today's section and Triton give."""

import csv

import pytest

from benchmarks import turns
from d2l import tables

pytestmark = pytest.mark.slow


def test_the_stored_loops_are_up_to_date():
    with turns.FILE.open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == turns.rows(), "run make plans"


def test_three_stages_change_the_widest_loop_by_one_instruction():
    plan = ("H100", (128, 256, 64), 8, 3)
    (loop,) = turns.compile_loops([plan])
    assert len(loop) == 75 and tables.count_instructions(loop)["products"] == 4
    assert tables.turn_clocks(tables.Turn(*plan, loop))["issue"] == 150
