"""Reads the arguments of a command and reports mistakes in them in one line."""

import argparse
import ipaddress
import re
from pathlib import Path
from typing import NoReturn

from book.runner.errors import BookError

EDITION = re.compile(r"v[0-9]+(\.[0-9]+)*")
VERSION = re.compile(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}")
YES_OR_NO = {
    **dict.fromkeys(("1", "y", "yes", "true", "on"), True),
    **dict.fromkeys(("0", "n", "no", "false", "off"), False),
}


class Parser(argparse.ArgumentParser):
    """Reports a mistake as a `BookError` that names the Makefile's setting."""

    def error(self, message: str) -> NoReturn:
        """Raise a `BookError` with the message of the parser."""
        option = re.match(r"argument (?:--)?(\w+): ", message)
        if option:
            raise BookError(message[option.end() :], option[1].upper())
        raise BookError(message)


def names(value: str) -> list[str]:
    """Return the names in a list such as `a,b` or `a b`."""
    found = value.replace(",", " ").split()
    if not found:
        raise argparse.ArgumentTypeError(f"'{value}' contains no name")
    return found


def edition(value: str) -> str:
    """Return the name of an edition."""
    if not EDITION.fullmatch(value):
        raise argparse.ArgumentTypeError(f"'{value}' is not an edition such as v1.0")
    return value


def version(value: str) -> str:
    """Return a version of the book."""
    if not VERSION.fullmatch(value):
        raise argparse.ArgumentTypeError(f"'{value}' is not a version such as 1.0.0")
    return value


def count(value: str) -> int:
    """Return a positive integer."""
    if not re.fullmatch("[0-9]{1,9}", value) or int(value) < 1:
        raise argparse.ArgumentTypeError(f"'{value}' is not a positive integer")
    return int(value)


def port(value: str) -> int:
    """Return the number of a port."""
    if not re.fullmatch("[0-9]{1,5}", value) or not 1 <= int(value) <= 65535:
        raise argparse.ArgumentTypeError(
            f"'{value}' is not a valid port; use a number from 1 to 65535"
        )
    return int(value)


def ip_address(value: str) -> str:
    """Return an address of IPv4."""
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError as error:
        reason = f"'{value}' is not an address such as 0.0.0.0"
        raise argparse.ArgumentTypeError(reason) from error


def path(value: str) -> Path:
    """Return the path of a file or folder."""
    if not value.strip():
        raise argparse.ArgumentTypeError(f"'{value}' is not a path")
    return Path(value)


def yes_or_no(value: str) -> bool:
    """Return whether `value` says yes, such as `1` or `yes`."""
    if value.lower() not in YES_OR_NO:
        raise argparse.ArgumentTypeError(f"'{value}' is neither 1 nor 0")
    return YES_OR_NO[value.lower()]
