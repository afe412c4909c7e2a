"""Folders that are written whole or not at all; locks between processes."""

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from book.runner.errors import BookError, unwritable


@contextlib.contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Yield a new, empty folder, which replaces `folder` when the block ends.

    If the block raises, `folder` stays as it was. An `OSError` becomes a `BookError`.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f".{folder.name}."
        ) as scratch:
            new = Path(scratch, "new")
            new.mkdir()
            yield new
            _swap(folder, new, Path(scratch, "old"))
    except OSError as error:
        raise unwritable(folder, error) from error


def _swap(folder: Path, new: Path, old: Path) -> None:
    """Move `folder` to `old` and `new` to `folder`, or leave `folder` where it is."""
    try:
        if folder.exists():
            os.rename(folder, old)
        os.rename(new, folder)
    except BaseException:  # an interrupt too must not lose the old folder
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        raise


@contextlib.contextmanager
def locked(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock file `path`, waiting for another process that holds it.

    While it waits, `waiting` stands on stderr. A process that ends releases the lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")
    except OSError as error:
        raise BookError(f"cannot be created ({error.strerror})", path) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting: {waiting}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that it holds, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
