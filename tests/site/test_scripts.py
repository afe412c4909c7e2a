"""Biome finds no fault in the scripts and stylesheets, and does find one elsewhere."""

import shutil
import subprocess
from pathlib import Path

import pytest
import tools

ROOT = Path(__file__).parents[2]
SETTINGS = ".biome.jsonc"
FAULTS = {
    "static/faulty.js": "const shown = 1;\nhide(shwon);\n",
    "static/faulty.css": "a { colr: red; }\n",
}


@pytest.fixture(scope="module")
def biome() -> Path:
    """Return the program, which npm installs on Linux."""
    found = [*tools.NODE_MODULES.glob("@biomejs/cli-*/biome")]
    return found[0] if found else pytest.skip("npm has no Biome for this machine")


def lint(biome: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(biome), "lint", "--error-on-warnings", "--reporter=github"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_scripts_and_stylesheets_have_no_faults(biome: Path):
    done = lint(biome, ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(biome: Path, tmp_path: Path, name: str):
    shutil.copy(ROOT / SETTINGS, tmp_path)
    (tmp_path / "static").mkdir()
    (tmp_path / name).write_text(FAULTS[name])
    done = lint(biome, tmp_path)
    assert done.returncode == 1 and f"file={tmp_path / name}," in done.stdout
