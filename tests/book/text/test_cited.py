"""Each row of the published measurements is complete and names its source."""

import csv
import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COLUMNS = ["id", "topic", "what", "framework", "value", "unit", "hardware", "source"]
UNITS = {
    *("ms", "GB", "GB/s", "TFLOP/s", "MiB", "MB"),
    *("samples/s", "thousand tokens/s", "percent"),
}
FRAMEWORKS = {"PyTorch", "JAX", "TensorFlow", "MXNet", "any"}

with (ROOT / "d2l/cited.csv").open(encoding="utf-8", newline="") as file:
    TABLE = list(csv.reader(file))
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in TABLE[1:]]


def test_the_columns_are_those_that_the_library_reads():
    assert TABLE[0] == COLUMNS


def test_ids_are_unique():
    ids = [row["id"] for row in ROWS]
    assert len(ids) == len(set(ids)) > 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_is_complete(row: dict[str, str]):
    assert all(cell and cell == cell.strip() for cell in row.values())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"])
    assert row["id"].startswith(row["topic"] + "-")
    assert math.isfinite(float(row["value"])) and float(row["value"]) > 0
    assert row["unit"] in UNITS
    assert row["framework"] in FRAMEWORKS


def test_sources_are_in_the_bibliography():
    works = re.findall(r"^@\w+\{(.+),$", (ROOT / "d2l.bib").read_text(), re.MULTILINE)
    assert {row["source"] for row in ROWS} <= set(works)
