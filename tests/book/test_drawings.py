"""Each picture is what its script draws."""

import shutil
import subprocess
import sys
from pathlib import Path

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
