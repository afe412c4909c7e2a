"""Reads the arguments of this package's commands; a mistake is one line."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NoReturn


class UsageError(Exception):
    """A mistake in the arguments, in one line."""


class Parser(argparse.ArgumentParser):
    """Reports a mistake in the arguments as a `UsageError`."""

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError` with the message of the parser."""
        found = re.match("argument (--[a-z-]+): ", message)
        if found:
            raise UsageError(f"{found[1]}: {message[found.end() :]}")
        raise UsageError(f"{message}; '{self.prog} -h' explains them")


def number(value: str, least: float, most: float) -> float:
    """Return a number between two others; argparse reports any other value."""
    try:
        found = float(value)
    except ValueError:
        found = -1
    if least <= found <= most:
        return found
    shown = value if len(value) < 40 else f"{value[:37]}..."
    limits = f"{least:g} to {most:g}"
    raise argparse.ArgumentTypeError(f"write a number from {limits}, not {shown}")


def count(value: str) -> int:
    """Return a positive integer; argparse reports any other value."""
    if re.fullmatch("[0-9]{1,15}", value) and int(value) > 0:
        return int(value)
    shown = value if len(value) < 40 else f"{value[:37]}..."
    raise argparse.ArgumentTypeError(f"'{shown}' is not a positive integer")


def similar(name: str, names: Sequence[str]) -> str:
    """Return the names that are like `name`, or all of them, as a text."""
    near = get_close_matches(name, names, 3)
    return " or ".join(near) if near else ", ".join(names)


def run(answer: Callable[[Sequence[str]], str], arguments: Sequence[str]) -> int:
    """Print the answer to the arguments and return 0, or an error and return 2."""
    try:
        print(answer(arguments), flush=True)
    except UsageError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
