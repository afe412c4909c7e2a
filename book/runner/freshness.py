"""Freshness: a product is fresh while the digest of its inputs is the same.

The digest is kept in a stamp beside the product, as its name in a cache, or in the
product itself. Records alone have another rule: the fingerprint of a record counts only
what its notebook uses (`book/records/fingerprint.py`).
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .files import write_whole


def digest(*parts: str | bytes) -> str:
    """Return a hash that differs for different lists of texts.

    That of one text is its SHA-256, as `sha256sum` prints it.
    """
    result = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        if len(parts) > 1:
            result.update(f"{len(data)}:".encode())
        result.update(data)
    return result.hexdigest()


def digest_of_files(root: Path, *patterns: str) -> str:
    """Return a hash of the names and contents of all files that match a pattern."""
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    named = ((str(p.relative_to(root)), p.read_bytes()) for p in sorted(files))
    return digest(*(part for both in named for part in both))


@dataclass(frozen=True)
class Product:
    """A file or folder that is made from inputs.

    Its stamp is a file with their digest, and with notes of the command that made it.
    """

    path: Path
    stamp: Path

    def is_fresh(self, inputs: str) -> bool:
        """Return whether the product exists and was made from inputs of this digest."""
        if not (self.path.exists() and self.stamp.exists()):
            return False
        return self.stamp.read_text("utf-8").split("\n")[0] == inputs

    @contextlib.contextmanager
    def made_from(self, inputs: str) -> Iterator[list[str]]:
        """Stamp the product when the block has made it; yield the list of its notes.

        If the block raises, the product has no stamp, so it is not fresh.
        """
        self.stamp.unlink(missing_ok=True)
        notes: list[str] = []
        yield notes
        write_whole(self.stamp, "\n".join([inputs, *notes]))

    @property
    def notes(self) -> list[str]:
        """The notes of the command that made the product."""
        return self.stamp.read_text("utf-8").split("\n")[1:]
