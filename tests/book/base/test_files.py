"""Files and folders are written whole, or what was there stays."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from book.base.files import replace_folder
from book.runner.errors import BookError, describe_os_error

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one old file, alone in its parent."""
    folder = tmp_path / "there" / "site"
    folder.mkdir(parents=True)
    (folder / "old.txt").write_text("old")
    return folder


def contents(folder: Path) -> list[str]:
    """The files below the parent of `folder`, hidden ones included."""
    parent = folder.parent
    return sorted(str(p.relative_to(parent)) for p in parent.rglob("*") if p.is_file())


def test_replace_folder_replaces_all_of_it(folder: Path):
    with replace_folder(folder) as new:
        assert list(new.iterdir()) == []
        (new / "new.txt").write_text("new")
        assert (folder / "old.txt").exists()
    assert contents(folder) == ["site/new.txt"]
    assert folder.stat().st_mode & 0o777 == (folder.parent.stat().st_mode & 0o777)


def test_replace_folder_creates_a_missing_one(tmp_path: Path):
    folder = tmp_path / "a" / "b"
    with replace_folder(folder) as new:
        (new / "new.txt").touch()
    assert contents(folder) == ["b/new.txt"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_replace_folder_keeps_the_old_one_when_its_block_raises(
    folder: Path, error: BaseException
):
    with pytest.raises(type(error)), replace_folder(folder) as new:
        (new / "new.txt").touch()
        raise error
    assert contents(folder) == ["site/old.txt"]


def test_replace_folder_names_the_folder_and_the_reason(folder: Path):
    with pytest.raises(BookError) as caught, replace_folder(folder):
        raise FULL
    reason = "cannot be written (No space left on device); what was there is kept"
    assert str(caught.value) == f"{folder}: {reason}"
    assert contents(folder) == ["site/old.txt"]


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()])
def test_replace_folder_puts_the_old_one_back_when_the_new_one_cannot_be_moved(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    rename = os.rename

    def fail_for_the_new_folder(source: Path, target: Path) -> None:
        if target == folder and source.name == "new":
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_for_the_new_folder)
    with pytest.raises((BookError, KeyboardInterrupt)), replace_folder(folder):
        pass
    assert contents(folder) == ["site/old.txt"]


def test_an_os_error_is_described_in_one_line(tmp_path: Path):
    assert describe_os_error(FULL) == "No space left on device"
    assert describe_os_error(OSError("of an\nunknown kind")) == "of an unknown kind"
    assert describe_os_error(OSError()) == "OSError"
    (tmp_path / "source").mkdir()
    for name in ("a", "b"):
        (tmp_path / "source" / name).symlink_to("nosuch")
    with pytest.raises(shutil.Error) as caught:
        shutil.copytree(tmp_path / "source", tmp_path / "target")
    described = describe_os_error(caught.value)
    assert "No such file or directory" in described and "\n" not in described
