"""The peaks of a machine are alike in all records of a tab.

A record that was made beside another program shows other peaks: make it again.
"""

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from book.records import store
from book.text.book import Book

BOOK = Book(Path(__file__).resolve().parents[2])
PEAKS = re.compile(
    r"products in GFLOP/s: float32 (?P<product>[\d.]+)"
    r".*; memory (?P<memory>[\d.]+) GB/s.*spread (?P<spread>\d+) percent"
)
PRODUCT = re.compile(
    r"product, n = +(\d+) +([\d.]+) ms predicted, +([\d.]+) ms measured"
)
NEAR = 0.2  # of the median of a tab
MEASURED = 30  # ms: the peak is that of the first size, doubled from 128, above this
# A still larger product may come closer to the limit of the machine.
LARGER = 1.06


def printed(section: str, tab: str) -> str:
    """Return what the record of a section prints."""
    record = nbformat.read(store.path(BOOK, BOOK.section(section), tab), as_version=4)
    outputs = (output for cell in record.cells for output in cell.outputs)
    return "".join(output.get("text", "") for output in outputs)


def measured(tab: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield each section whose record prints peaks, and these."""
    for section in BOOK.sections:
        name = Path(section.name).name
        if BOOK.cells(section, tab) and (found := PEAKS.search(printed(name, tab))):
            yield name, found


@pytest.mark.parametrize("peak", ["product", "memory"])
@pytest.mark.parametrize("tab", BOOK.tabs)
def test_the_peaks_of_a_tab_agree(tab: str, peak: str):
    peaks = {name: float(found[peak]) for name, found in measured(tab)}
    assert len(peaks) >= 5
    middle = statistics.median(peaks.values())
    far = {name: p for name, p in peaks.items() if abs(p / middle - 1) > NEAR}
    assert not far, (
        f"the median is {middle}; make run SECTION=... FORCE=1 on an idle machine"
    )


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_the_machine_was_quiet(tab: str):
    spreads = {name: int(found["spread"]) for name, found in measured(tab)}
    assert {name for name, spread in spreads.items() if spread > 20} == set()


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_no_product_beats_its_peak(tab: str):
    text = printed("performance", tab)
    peaks = PEAKS.search(text)
    assert peaks
    products = PRODUCT.findall(text)
    assert len(products) == 3
    bounds = {n: bound for n, bound, _ in products}
    spread = 1 + int(peaks["spread"]) / 100
    fast = []
    for n, bound, time in products:
        is_larger = n == "1536" and float(bounds["1024"]) >= MEASURED
        most = max(spread, LARGER) if is_larger else spread
        if float(bound) > float(time) * most:
            fast.append(n)
    assert not fast, f"products with n = {fast} beat the peak"
