"""Pictures of records have a description for readers who do not see them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from book.records.outputs import Picture
from book.render.results import PLOT, restyled
from book.text.blocks import Cell

RECORDS = Path(__file__).parents[3] / "outputs"
CELL = Cell(line=1, number=1, source="", code="plot()", rows=(1,))
SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.mark.parametrize(
    ("authors", "recorded", "alt"),
    [
        ("by the\nauthor", "recorded", "by the author"),
        ("", "recorded\n", "recorded"),
        ("", "", PLOT),
    ],
)
@pytest.mark.parametrize("kind", ["image/svg+xml", "image/png"])
def test_an_author_describes_a_picture_better_than_its_record(
    kind: str, authors: str, recorded: str, alt: str
):
    cell = replace(CELL, attributes={"alt": authors} if authors else {})
    shown = restyled(Picture(kind, SVG, recorded), cell)
    assert (shown.kind, shown.data, shown.alt) == (kind, SVG, alt)


def test_every_recorded_plot_has_a_description():
    records = [json.loads(p.read_text("utf-8")) for p in RECORDS.rglob("*.ipynb")]
    outputs = [o for r in records for cell in r["cells"] for o in cell["outputs"]]
    plots = [o for o in outputs if "image/svg+xml" in o.get("data", {})]
    assert len(plots) >= 80
    assert all(plot["metadata"].get("alt") for plot in plots)
