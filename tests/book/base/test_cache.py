"""The cache keeps values between builds."""

import pickle
from pathlib import Path

import pytest

from book.base import build_paths
from book.base.cache import Cache


def test_a_value_is_made_once_for_the_same_parts(tmp_path: Path):
    calls = []

    def make() -> str:
        calls.append(1)
        return f"text {len(calls)}"

    assert Cache(tmp_path / "a").value(["x", "y"], make) == "text 1"
    assert Cache(tmp_path / "a").value(["x", "y"], make) == "text 1"
    assert Cache(tmp_path / "a").value(["xy"], make) == "text 2"


def test_unused_values_are_removed(tmp_path: Path):
    kept = Cache(tmp_path)
    kept.value(["old"], lambda: "old")
    later = Cache(tmp_path)
    later.value(["new"], lambda: "new")
    later.forget_others()
    assert [pickle.loads(file.read_bytes()) for file in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("damage", [b"\xff", b"", b"cno.such\nmodule\n.", None])
def test_a_damaged_or_unwritable_file_is_made_again(tmp_path: Path, damage):
    kept = Cache(tmp_path / "k")
    kept.value(["x"], lambda: "one")
    (file,) = (tmp_path / "k").iterdir()
    file.unlink()
    if damage is not None:
        file.write_bytes(damage)
    else:
        file.mkdir()
    assert kept.value(["x"], lambda: "two") == "two"


def test_values_of_other_code_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    build_paths.cache(tmp_path, "a").value(["x"], lambda: 1)
    build_paths.cache(tmp_path, "b").value(["x"], lambda: 1)
    monkeypatch.setattr(build_paths, "code_hash", lambda: "other")
    assert build_paths.cache(tmp_path, "a").value(["x"], lambda: 2) == 2
    files = [path.parent for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(folder.parent.name for folder in files) == ["a", "b"]
    assert [folder.name for folder in files].count("other") == 1
