"""Ends a command on Ctrl-C, and on `kill`, once."""

import signal
from typing import NoReturn


def listen() -> None:
    """Raise `KeyboardInterrupt` on SIGTERM too, and only for the first signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: object) -> NoReturn:
    """Raise `KeyboardInterrupt` for a signal, and ignore the signals after it.

    More may follow, because make sends SIGTERM to a command that already received it.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
