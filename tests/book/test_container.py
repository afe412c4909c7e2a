"""The image has the GPU builds that README.md names, and the commands of this book."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from book.__main__ import _parser
from book.base import environments, system
from book.live import serve

ROOT = Path(__file__).resolve().parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
BUILDS = dict(re.findall(r"^ +(\w+)\) gpu='(.*)' ;;", CONTAINERFILE, re.MULTILINE))


def test_the_gpu_builds_are_those_of_the_readme_in_the_version_of_the_book():
    rows = re.findall(
        r"^\| (\w+) \|.*\|(.*)\|$", (ROOT / "README.md").read_text(), re.M
    )
    named = {name.lower(): builds for name, builds in rows}
    assert set(BUILDS) == {"pytorch", "jax", "tensorflow"}
    for tab, build in BUILDS.items():
        if build:
            assert f"`{build}`" in named[tab]
            name, version = re.sub(r"\[.*\]", "", build).split("==")
            pins = "\n".join(environments.pins(tab))
            assert re.search(rf"^{name}(-cpu)?=={version}\b", pins, re.MULTILINE)


def test_pytorchs_own_list_gives_its_gpu_build():
    (pin,) = [pin for pin in environments.pins("pytorch") if pin.startswith("torch==")]
    assert BUILDS["pytorch"] == "" and "+cpu" not in pin


def test_the_workflow_publishes_an_image_of_each_tab():
    workflow = (ROOT / ".github/workflows/container.yml").read_text("utf-8")
    (tabs,) = re.findall(r"tab: \[(.*)\]", workflow)
    assert tabs.split(", ") == list(BUILDS)
    assert "permissions:\n  contents: read\n" in workflow


def test_the_image_has_the_system_of_the_workflows():
    workflow = (ROOT / ".github/workflows/test.yml").read_text("utf-8")
    (release,) = re.findall(r"container: (debian:\d+)", workflow)
    assert f"/library/{release}-slim AS system" in CONTAINERFILE
    groups = re.findall(r"book.base.system install ([\w ]+)", CONTAINERFILE)
    assert groups and all(system.packages(*group.split()) for group in groups)


def test_the_image_starts_pages_that_the_mapped_port_reaches():
    (entry,) = re.findall(r"^ENTRYPOINT (.*)", CONTAINERFILE, re.MULTILINE)
    *_, script, name = json.loads(entry)
    command = script.partition("-m book ")[2].replace('"$TAB"', "jax")
    words = [*command.replace('"$@"', "").split(), "--port", "9000"]
    options = _parser().parse_args(words)
    assert (options.tab, options.port, options.listen) == (["jax"], 9000, "0.0.0.0")
    assert script.startswith("exec ") and name == "live"  # signals reach Python
    (port,) = re.findall(r"^EXPOSE (\d+)", CONTAINERFILE, re.MULTILINE)
    assert _parser().parse_args(["live"]).port == int(port)


def test_elsewhere_pages_are_served_to_this_machine_only():
    assert _parser().parse_args(["live"]).listen == serve.HOST == "127.0.0.1"


def test_what_is_copied_first_builds_environments(tmp_path: Path):
    """So a change elsewhere in the book downloads nothing again."""
    copied = set(re.findall(r"^COPY (\S+/) \1$", CONTAINERFILE, re.MULTILINE))
    assert copied == {"environments/", "book/base/", "book/runner/"}
    for folder in copied:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    code = "from book.base import environments, system; environments.pins('book')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", [".git", ".venvs", "_build"])
def test_what_is_made_here_stays_out_of_the_image(name: str):
    assert name in (ROOT / ".dockerignore").read_text().splitlines()
