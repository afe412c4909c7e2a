"""Each picture is what its script draws."""

import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]


def test_pictures_are_what_their_scripts_draw(tmp_path: Path):
    for folder in ("img/src", "benchmarks/results", "d2l"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    scripts = [s for s in (tmp_path / "img/src").glob("*.py")]
    named = [s for s in scripts if (ROOT / f"img/{s.stem}.svg").exists()]
    assert len(named) > 5
    for script in named:
        subprocess.run([sys.executable, script], check=True, timeout=60)
    wrong = [
        s.stem
        for s in named
        if (tmp_path / f"img/{s.stem}.svg").read_bytes()
        != (ROOT / f"img/{s.stem}.svg").read_bytes()
    ]
    assert wrong == []


def test_the_picture_of_checkpointing_has_its_optimum_at_eight(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.syspath_prepend(ROOT / "img/src")
    monkeypatch.delitem(sys.modules, "checkpointing", raising=False)
    import checkpointing

    # The weights are 64 (128 x 128 + 128) numbers, and an array has 1024 x 128.
    weights = 64 * (128 * 128 + 128) * 4 / 2**20
    assert checkpointing.peak(1) == pytest.approx(weights + (1 + 64 + 5) * 0.5)
    assert checkpointing.peak(8) == pytest.approx(weights + (1 + 7 + 8 + 5) * 0.5)
    peaks = {k: checkpointing.peak(k) for k in checkpointing.COUNTS}
    assert min(peaks, key=peaks.__getitem__) == 8
    # The section's cell prints these numbers, in PyTorch.
    printed = [39.0, 23.5, 16.6, 14.5, 16.5, 23.5]
    assert [round(size, 1) for size in peaks.values()] == pytest.approx(
        printed, abs=0.1
    )


LEGENDS = ("compiler-plan", "overlap", "recipes", "sharding")


@pytest.mark.parametrize("name", LEGENDS)
def test_neighbors_differ_in_gray(name: str) -> None:
    svg = ElementTree.parse(ROOT / f"img/{name}.svg")
    boxes = [e.attrib for e in svg.iter() if e.get("width") == e.get("height") == "14"]
    grays = [gray(box["fill"], float(box.get("opacity", 1))) for box in boxes]
    assert len(grays) > 1
    assert min(abs(b - a) for a, b in pairwise(grays)) > 30


@pytest.mark.parametrize("name", ["divisions", "remedies"])
def test_boxes_of_similar_grays_have_names(name: str) -> None:
    svg = ElementTree.parse(ROOT / f"img/{name}.svg").getroot()
    filled = [
        (element, below)
        for element, below in pairwise(svg)
        if element.get("rx") == "3" and element.get("fill") != "none"
    ]
    assert len(filled) > 15
    assert all(below.tag.endswith("text") for _, below in filled)


def gray(color: str, opacity: float) -> float:
    """Return the luminance of a color on white, from 0 to 255."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    shade = 0.299 * red + 0.587 * green + 0.114 * blue
    return opacity * shade + (1 - opacity) * 255
