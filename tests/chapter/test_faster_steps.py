"""The section on using GPUs draws each verdict from the two times beside it."""

import re
from pathlib import Path

import nbformat
import pytest

from book.records import store
from book.text.book import Book

BOOK = Book(Path(__file__).resolve().parents[2])
SECTION = BOOK.section("use-gpu")
LINE = re.compile(
    r"(\d+) hidden units: CPU ([\d.]+) ms, GPU ([\d.]+) ms, "
    r"([\d.]+) times as fast: (.+)"
)
ROUNDING = 0.005  # of a time in ms; that of a ratio is 0.05


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_each_verdict_follows_from_both_times_of_its_line(tab: str):
    state = store.state(BOOK, SECTION, tab)
    assert state == "fresh", f"the record is {state}: make run"
    record = nbformat.read(store.path(BOOK, SECTION, tab), as_version=4)
    outputs = [out for cell in record.cells for out in cell.get("outputs", [])]
    lines = LINE.findall("\n".join(out.get("text", "") for out in outputs))
    assert [int(width) for width, *_ in lines] == [64, 1024, 16384]
    for _, cpu, gpu, ratio, verdict in lines:
        least = (float(cpu) - ROUNDING) / (float(gpu) + ROUNDING)
        most = (float(cpu) + ROUNDING) / (float(gpu) - ROUNDING)
        assert least - 0.05 <= float(ratio) <= most + 0.05
        possible = {
            "the GPU wins": most > 2,
            "the CPU wins": least < 0.5,
            "too close to call": least <= 2 and most >= 0.5,
        }
        assert possible[verdict]
    assert verdict == "the GPU wins"  # of the widest network, as the question says
