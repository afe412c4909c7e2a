"""The measurements of others in published.csv have a source, and plausible values."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from d2l import audit, audit_command, language_models, predictions, published
from d2l.published import Row, published_rows

ROOT = Path(__file__).parents[3]
ROWS = published_rows()
AUDITED = re.compile(r"\{\.audited\s+id=([a-z-]+)\}")
PLACE = re.compile(r"(issues|pull)/\d+, \d{4}-\d\d-\d\d|\S+ @ [0-9a-f]{7,9}, .+")
# The least and the greatest plausible value of each kind, in the unit of `measured`.
LIMITS = {
    "training": (10, 1e6),
    "memory": (1e9, 300e9),
    "fine-tuning": (1e9, 300e9),
    "generation": (1e9, 300e9),
    "step": (1, 1e5),
    "step-memory": (1e9, 100e9),
    "decode": (1, 3000),
    "prefill": (10, 1e5),
    "serving": (100, 1e5),
    "cache": (1e3, 1e7),
    "all-reduce": (0.1e9, 2000e9),
    "product": (10e12, 6000e12),
    "bandwidth": (100e9, 10e12),
}
MOST_OF_A_SOURCE = 60


def test_the_columns_are_those_of_a_row():
    with (ROOT / "d2l/published.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == published.COLUMNS
    assert all(None not in row and None not in row.values() for row in rows)


def test_there_are_enough_measurements_of_enough_kinds():
    assert len(ROWS) >= 350
    assert len({row.source for row in ROWS}) >= 12
    assert len({row.kind for row in ROWS}) >= 6
    assert len({row.card for row in ROWS}) >= 15
    counts = Counter(row.source for row in ROWS)
    assert max(counts.values()) <= MOST_OF_A_SOURCE
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("kind", published.UNITS)
def test_values_are_plausible(kind):
    least, most = LIMITS[kind]
    rows = [row for row in ROWS if row.kind == kind]
    assert rows
    for row in rows:
        assert row.unit in published.UNITS[kind], row.id
        assert least <= row.measured <= most, row.id


def wrong(row: Row) -> list[str]:
    """Return the columns whose cells have no meaning."""
    return [
        name
        for name, right in {
            "id": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.id),
            "kind": row.kind in published.UNITS,
            "gpus": 1 <= row.gpus <= 4608,
            "bits": row.bits == 0 or 2 <= row.bits <= 32,
            "micro": 0 <= row.micro <= (row.batch or row.micro),
            "length": 0 <= row.length <= 2**20,
            "split": not row.split or published.SPLIT.fullmatch(row.split),
            "assumed": {*row.assumed.split()} <= {*published.COLUMNS},
            "place": PLACE.fullmatch(row.place),
            "model": is_model(row),
            **{
                name: getattr(row, name) in ("", *choices)
                for name, choices in audit_command.CHOICES.items()
            },
        }.items()
        if not right
    ]


def is_model(row: Row) -> bool:
    if row.kind == "product":
        return bool(re.fullmatch(r"|\d+ x \d+ x \d+", row.model))
    if row.kind in ("all-reduce", "bandwidth"):
        return row.model == ""
    if row.kind in ("step", "step-memory"):
        return row.model in predictions.RECORDED
    return row.model in language_models.LANGUAGE_SHAPES


def test_cells_have_a_meaning():
    found = {row.id: names for row in ROWS if (names := wrong(row))}
    assert found == {}


def test_a_meaningless_cell_is_found():
    cells = {name: str(value) for name, value in vars(ROWS[0]).items()}
    for name, cell in {
        "id": "Foundry 1",
        "kind": "speed",
        "gpus": "0",
        "bits": "64",
        "micro": "9999",
        "split": "zero 4",
        "assumed": "speed",
        "place": "README.md",
        "model": "MPT 71B",
        "recompute": "some",
        "recipe": "fp4",
    }.items():
        assert wrong(published.row_from(cells | {name: cell})) == [name]


def test_steps_have_stored_predictions():
    needing = [name for name, kind in predictions.KINDS.items() if kind.needs]
    for name in needing:
        rows = [row.id for row in ROWS if row.kind == predictions.KINDS[name].kind]
        assert [each.row.id for each in audit.stored(name)] == rows


def test_each_kind_has_its_record_in_a_section():
    texts = (path.read_text("utf-8") for path in ROOT.glob("chapter_gpus/*.md"))
    found = {name for text in texts for name in AUDITED.findall(text)}
    assert found == predictions.KINDS.keys()


def test_sources_are_in_the_bibliography():
    text = (ROOT / "d2l.bib").read_text("utf-8")
    keys = {*re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE)}
    assert {row.source for row in ROWS} <= keys
