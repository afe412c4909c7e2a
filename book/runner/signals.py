"""Ends a command: with the mistakes of its user, on Ctrl-C, and on `kill`, once."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from .errors import BookError, describe_os_error


def exit_status(work: Callable[[], int | None]) -> int:
    """Carry out a command, report mistakes in lines, and return its exit status.

    It is 0 if the work returns 0 or None, and 130 after an interrupt.
    """
    # `kill` must stop kernels and leave no file half-written, just as Ctrl-C does.
    listen()
    try:
        return 1 if work() else 0
    except BookError as error:
        message = str(error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message = where + describe_os_error(error)
    except KeyboardInterrupt:
        report("interrupted: finished work is kept")
        return 130
    for line in message.splitlines():
        report(f"error: {line}")
    return 1


def report(line: str, end: str = "\n") -> None:
    """Print a line to stderr, over a line of progress on a terminal."""
    clear = "\033[K" if sys.stderr.isatty() else ""
    print(f"{clear}{line}", end=end, file=sys.stderr, flush=True)


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
