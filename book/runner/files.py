"""Writes files whole or not at all."""

import os
import tempfile
from pathlib import Path

from .errors import unwritable


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; if that fails, the old file stays."""
    write_bytes_whole(path, text.encode("utf-8"))


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`; if that fails, the old file stays.

    Raises a `BookError` if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise unwritable(path, error) from error


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner can read.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
