"""A stand-in for uv on PATH, and a folder with one list of pins."""

import os
from pathlib import Path

import pytest
from fake_uv import FAKE_UV, Uv


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uv:
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "uv").write_text(FAKE_UV.format(log=folder / "log"))
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Uv(folder / "log")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pins = tmp_path / "environments" / "jax.txt"
    pins.parent.mkdir()
    pins.write_text("jax==0.10.2\n")
    return tmp_path
