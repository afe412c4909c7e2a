"""Files and folders that are written whole or not at all; locks between processes."""

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from book.base.errors import BookError, describe_os_error


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; if that fails, the old file stays."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`; if that fails, the old file stays.

    Raises `BookError` if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
        try:
            _write_and_rename(handle, temporary, path, data)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _write_and_rename(handle: int, temporary: str, path: Path, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    # mkstemp makes files that only their owner can read.
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


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
