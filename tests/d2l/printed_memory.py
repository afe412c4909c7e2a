"""Reads the output of `python -m d2l memory` for the tests."""

import re


def rows(text: str) -> dict[str, float]:
    """Return the MiB of each role in a table."""
    pairs = re.findall(r"^(\w+) +([\d.,]+) MiB", text, re.MULTILINE)
    return {role: float(number.replace(",", "")) for role, number in pairs}
