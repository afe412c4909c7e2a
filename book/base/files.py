"""Files and folders that are written whole or not at all; locks between processes."""

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from book.base.errors import BookError, describe_os_error
from book.runner import files


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; if that fails, the old file stays."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`; if that fails, the old file stays.

    Raises `BookError` if the file cannot be written.
    """
    try:
        files.write_bytes_whole(path, data)
    except OSError as error:
        raise _unwritable(path, error) from error


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
        raise _unwritable(folder, error) from error


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


def _unwritable(path: Path, error: OSError) -> BookError:
    reason = describe_os_error(error)
    return BookError(f"cannot be written ({reason}); what was there is kept", path)


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
