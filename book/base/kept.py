"""Texts that take long to make, kept under a hash of all that they follow from."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from book.base.errors import BookError
from book.base.files import write_whole


def digest(parts: Iterable[str]) -> str:
    """Return a hash of some texts, which no others share."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()


class Kept:
    """A folder of texts, each in a file that its hash names.

    What cannot be read or written is made again, so the folder may go at any time.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.asked: set[str] = set()

    def text(self, parts: Iterable[str], make: Callable[[], str]) -> str:
        """Return the text that follows from `parts`, which `make` makes if it must."""
        name = digest(parts)[:32]
        self.asked.add(name)
        file = self.folder / name
        with contextlib.suppress(OSError, ValueError):
            return file.read_text("utf-8")
        text = make()
        with contextlib.suppress(BookError):
            write_whole(file, text)
        return text

    def forget_others(self) -> None:
        """Remove the texts that nobody has asked for."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if file.name not in self.asked:
                    file.unlink()
