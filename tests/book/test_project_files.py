"""Files for contributors are well formed, and what they name exists."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ("README.md", "CONTRIBUTING.md")
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*-*.yml"))
DEVCONTAINER = ".devcontainer/devcontainer.json"
PLACEHOLDER = re.compile("TAB|NAME|MACHINE|SECTION|OWNER")
# The first folders of paths that the commands make.
MADE = (
    *("_build", ".venvs", "outputs", "results"),
    *("slides", "pdf", "notebooks", "colab", "sagemaker"),
)


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def targets() -> set[str]:
    """Return the targets that `make help` lists."""
    listed = re.findall(r"^([a-z0-9-]+):.*  ## ", read("Makefile"), re.MULTILINE)
    return {
        *listed,
        *(f"test-d2l-{tab.name}" for tab in (ROOT / "outputs/cpu").iterdir()),
    }


def commands(text: str) -> set[str]:
    """Return the targets of the commands `make TARGET` in a text."""
    code = re.findall(r"^```\n(.*?)^```|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(map("".join, code)).splitlines()
    called = [line for line in lines if re.match(r"make\b", line)]
    return {
        word for line in called for word in re.findall(r"make ([a-z][a-z0-9-]*)", line)
    }


# Guides


@pytest.mark.parametrize("name", GUIDES)
def test_every_make_target_of_a_guide_exists(name: str):
    found = commands(read(name))
    assert found and found <= targets()


@pytest.mark.parametrize("name", GUIDES)
def test_every_path_in_a_guide_exists(name: str):
    named = re.findall(r"`([^`\s]+)`", read(name))
    paths = [path for path in named if re.fullmatch(r"[\w.-]+(/[\w.-]*)+", path)]
    kept = [p for p in paths if p.split("/")[0] not in MADE]
    kept = [p for p in kept if not PLACEHOLDER.search(p)]
    assert kept and [path for path in kept if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", GUIDES)
def test_every_relative_link_of_a_guide_exists(name: str):
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", read(name), flags=re.M | re.S)
    links = re.findall(r"\]\(([^()\s]+)", prose)
    files = [li.partition("#")[0] for li in links if not re.match(r"[a-z]+:|#", li)]
    assert links and [file for file in files if not (ROOT / file).exists()] == []


# Hooks, containers, issues


def test_hooks_run_programs_of_the_book():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert repository["repo"] == "local"
    pins = read("environments/book.txt")
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program, argument, *_ = shlex.split(hook["entry"])
        if program == "make":
            assert argument in targets()
        else:
            name = program.removeprefix(".venvs/book/bin/")
            assert re.search(rf"^{name}==", pins, re.MULTILINE)


def test_every_source_of_the_check_calls_its_hook():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    (pattern,) = [hook["files"] for hook in repository["hooks"] if "files" in hook]
    sources = (
        "chapter_gpus/use-gpu.md",
        "index.md",
        "d2l.bib",
        "config.ini",
        "d2l/jax.py",
        "outputs/cpu/jax/chapter_gpus/use-gpu.ipynb",
    )
    for name in sources:
        assert (ROOT / name).exists() and re.search(pattern, name), name
    assert not re.search(pattern, "README.md")


def without_comments(text: str) -> str:
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)


def test_devcontainer_installs_what_the_readme_names_and_calls_make():
    settings = json.loads(without_comments(read(DEVCONTAINER)))
    assert settings["postCreateCommand"] == "make"
    installed = set(settings["onCreateCommand"].split())
    (needed,) = re.findall(r"Debian 12: `apt-get install ([^`]+)`", read("README.md"))
    assert set(needed.split()) <= installed
    workflow = yaml.safe_load(read(".github/workflows/test.yml"))
    assert settings["image"] == workflow["jobs"]["test"]["container"]


def test_there_are_two_kinds_of_issues():
    assert [form.stem for form in FORMS] == ["does-not-run", "error-in-the-text"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form_of_an_issue_has_the_keys_that_github_asks_for(path: Path):
    form: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    kinds = {"input", "textarea", "dropdown"}
    for field in form["body"]:
        assert field["type"] in kinds and field["attributes"]["label"]
        assert (field["type"] == "dropdown") == ("options" in field["attributes"])
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    assert commands(path.read_text("utf-8")) <= targets()


# Attributes of files


def attribute(name: str, path: str) -> str:
    command = ["git", "check-attr", name, path]
    said = subprocess.check_output(command, cwd=ROOT, text=True)
    return said.strip().rpartition(": ")[2]


@pytest.mark.parametrize(
    "path, generated",
    [
        ("d2l/torch.py", "set"),
        ("d2l/__init__.py", "set"),
        ("d2l/memory_command.py", "unset"),
        ("d2l/__main__.py", "unset"),
        ("d2l/cards.csv", "unset"),
        ("d2l/cited.csv", "unset"),
        ("d2l/plans.csv", "set"),
        ("d2l/kernels.csv", "set"),
        ("d2l/collectives.csv", "set"),
        ("outputs/cpu/jax/chapter_gpus/use-gpu.ipynb", "set"),
        ("environments/jax.txt", "set"),
        ("book/__main__.py", "unspecified"),
        ("chapter_gpus/use-gpu.md", "unspecified"),
    ],
)
def test_generated_files_are_marked(path: str, generated: str):
    assert (ROOT / path).exists()
    assert attribute("linguist-generated", path) == generated


def test_libraries_of_others_are_marked():
    assert attribute("linguist-vendored", "static/vendor/minisearch.js") == "set"
    assert attribute("linguist-vendored", "static/book.js") == "unspecified"
