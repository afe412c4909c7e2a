"""Shows on stderr how far a command has come that takes longer than a second."""

import sys
import time
from collections.abc import Collection, Iterator
from functools import partial
from typing import Self, TypeVar

from book.runner.signals import report

Item = TypeVar("Item")

DELAY = 1.0  # seconds
MANY = 20  # Shorter work gets no line in a log.


class Progress:
    """A bar on a terminal, or one line elsewhere; it counts `total` pieces of work."""

    def __init__(self, title: str, total: int):
        from tqdm import tqdm  # `make` must start quickly if there is nothing to do

        self.title, self.total, self.done = title, total, 0
        on_terminal = sys.stderr.isatty()
        bar = partial(tqdm, total=total, desc=title, leave=False, delay=DELAY)
        self.bar = bar(disable=not on_terminal)
        self.line_is_due = total >= MANY and not on_terminal
        self.start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def reach(self, done: int) -> None:
        """Show that so many pieces are done."""
        self.bar.update(done - self.done)
        self.done = done
        if self.line_is_due and time.monotonic() - self.start > DELAY:
            self.line_is_due = False
            report(f"{self.title} ({self.total})")


def counted(items: Collection[Item], title: str) -> Iterator[Item]:
    """Yield the items, and show how many of them are done."""
    with Progress(title, len(items)) as progress:
        for done, item in enumerate(items):
            progress.reach(done)
            yield item
