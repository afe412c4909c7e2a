"""Each picture is what its script draws."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted((ROOT / "img/src").glob("*.py"))
DRAWN = [s.stem for s in SCRIPTS if (ROOT / f"img/{s.stem}.svg").exists()]


def test_there_are_scripts():
    assert len(DRAWN) > 5


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_what_its_script_draws(name: str, tmp_path: Path):
    for folder in ("img/src", "benchmarks/results"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    script = tmp_path / "img/src" / f"{name}.py"
    subprocess.run([sys.executable, script], check=True, timeout=60)
    drawn = (tmp_path / f"img/{name}.svg").read_text("utf-8")
    assert drawn == (ROOT / f"img/{name}.svg").read_text("utf-8")
