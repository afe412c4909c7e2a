"""Files that are written whole or not at all, and by one process at a time."""

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from book.base.errors import BookError


def write_whole(path: Path, text: str) -> None:
    """Make `text` the contents of `path`; a write that fails leaves the old ones."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Make `data` the contents of `path`; a write that fails leaves the old ones."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _write_and_rename(handle, temporary, path, data)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_and_rename(handle: int, temporary: str, path: Path, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    # mkstemp makes files that only their owner can read.
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def _unwritable(path: Path, error: OSError) -> BookError:
    return BookError(
        f"cannot be written ({error.strerror}); what was there is kept", path
    )


@contextlib.contextmanager
def locked(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock file `path`; says `waiting` on stderr if another process has it.

    A process that dies gives it back.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")
    except OSError as error:
        raise BookError(f"cannot be made ({error.strerror})", path) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting: {waiting}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
