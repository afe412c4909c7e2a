"""A cache of texts that take long to make, kept in files between builds."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from book.base.errors import BookError
from book.base.files import write_whole


def digest(parts: Iterable[str]) -> str:
    """Return a hash that differs for different lists of texts."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        result.update(f"{len(data)}:".encode() + data)
    return result.hexdigest()


class Cache:
    """A cache of texts in a folder.

    The name of each file is the hash of all parts that its text depends on. A text that
    cannot be read or written is made again, so the folder may be removed at any time.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.used: set[str] = set()

    def text(self, parts: Iterable[str], make: Callable[[], str]) -> str:
        """Return the text that depends on `parts`; call `make` if it is not cached."""
        name = digest(parts)[:32]
        self.used.add(name)
        file = self.folder / name
        with contextlib.suppress(OSError, ValueError):
            return file.read_text("utf-8")
        text = make()
        with contextlib.suppress(BookError):
            write_whole(file, text)
        return text

    def forget_others(self) -> None:
        """Remove all texts that this object has not returned."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if file.name not in self.used:
                    file.unlink()
