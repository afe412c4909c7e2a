"""A cache of values that take long to make, kept in files between builds."""

import contextlib
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from book.base.progress import Progress
from book.runner.errors import BookError
from book.runner.files import write_bytes_whole
from book.runner.freshness import digest

Value = TypeVar("Value")
Item = TypeVar("Item")

POLL_SECONDS = 0.1


class Cache:
    """A cache of values in a folder.

    The name of each file is the hash of all parts that its value depends on. A value
    that cannot be read or written is made again, so the folder may be removed at any
    time.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.is_new = not folder.exists()
        self.used: set[str] = set()

    def value(self, parts: Iterable[str | bytes], make: Callable[[], Value]) -> Value:
        """Return the value that depends on `parts`; call `make` if it is not cached."""
        name = digest(*parts)[:32]
        self.used.add(name)
        file = self.folder / name
        with contextlib.suppress(Exception):  # damaged pickles raise all kinds
            kept: Value = pickle.loads(file.read_bytes())
            return kept
        value = make()
        with contextlib.suppress(BookError):
            write_bytes_whole(file, pickle.dumps(value))
        return value

    def fill(
        self, make: Callable[[Item], object], items: Sequence[Item], title: str
    ) -> None:
        """Call `make`, which caches values, for each item on all processors.

        Nothing is done if there are values from an earlier build. An error is left to
        whoever asks for the value. `title` says what the progress counts.
        """
        if not self.is_new:
            return
        count = os.cpu_count() or 1
        fork = multiprocessing.get_context("fork")
        shares = [items[first::count] for first in range(count)]
        done = fork.Value("i", 0)
        calls = [(make, share, done) for share in shares]
        processes = [fork.Process(target=_call, args=call) for call in calls]
        for process in processes:
            process.start()
        with Progress(title, len(items)) as progress:
            for process in processes:
                process.join(POLL_SECONDS)
                progress.reach(done.value)
                while process.is_alive():
                    process.join(POLL_SECONDS)
                    progress.reach(done.value)

    def forget_others(self) -> None:
        """Remove all values that this object has not returned."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if file.name not in self.used:
                    file.unlink()


def _call(make: Callable[[Item], object], items: Sequence[Item], done: Any) -> None:
    """Call `make` for each item, and add them to the number of those that are done."""
    with contextlib.suppress(BookError, KeyboardInterrupt):
        for item in items:
            make(item)
            with done.get_lock():
                done.value += 1
