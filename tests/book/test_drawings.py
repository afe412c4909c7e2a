"""Each picture is what its script draws."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pictures_are_what_their_scripts_draw(tmp_path: Path):
    for folder in ("img/src", "benchmarks/results"):
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
