"""`make tools` installs all tools or none, and again when the list changes."""

import json
import shutil
from pathlib import Path

import pytest
import tools

from book.runner.errors import BookError


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in npm's place that notes each call; the folder of lists beside it."""
    for name in tools.LISTS:
        shutil.copy(tools.HERE / name, tmp_path)
    program = tmp_path / "npm"
    program.write_text("#!/bin/sh\necho $* >> ../calls\nmkdir -p node_modules\n")
    program.chmod(0o755)
    monkeypatch.setattr(tools, "HERE", tmp_path)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    return program


def calls(npm: Path) -> list[str]:
    return npm.with_name("calls").read_text().splitlines()


def test_packages_are_installed_once_for_each_lock_file(npm: Path):
    folder = npm.with_name("node")
    for _ in range(2):
        tools.install(folder)
    assert calls(npm) == ["ci"] and (folder / tools.STAMP).exists()
    npm.with_name("package-lock.json").write_text("{}")
    tools.install(folder)
    assert calls(npm) == ["ci", "ci"]


def test_a_failed_installation_is_told_in_a_line_and_tried_again(npm: Path):
    folder = npm.with_name("node")
    program = npm.read_text()
    npm.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    with pytest.raises(BookError, match="cannot be installed: no network$"):
        tools.install(folder)
    npm.write_text(program)
    tools.install(folder)
    assert calls(npm) == ["ci"]


def test_a_machine_without_chromium_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", "")
    assert tools.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: not installed: chromium-headless-shell ")


def test_the_lock_file_names_versions_and_hashes_but_no_host():
    lock = json.loads((tools.HERE / "package-lock.json").read_text("utf-8"))
    packages = {name: p for name, p in lock["packages"].items() if name}
    assert all({"version", "integrity"} <= set(p) for p in packages.values())
    assert not any("resolved" in p for p in packages.values())
    wanted = json.loads((tools.HERE / "package.json").read_text("utf-8"))
    listed = wanted["devDependencies"] | wanted["optionalDependencies"]
    for name, version in listed.items():
        assert packages[f"node_modules/{name}"]["version"] == version
