"""Tells texts that derive a number from texts that report one."""

import re

# An equation or a product, or words that say that a number follows from others.
DERIVATION = re.compile(
    r"\$[^$]*(?:=|\\cdot|\\times|/|\+)[^$]*\$|\b(?:assum|expect|predict|suppos)",
    re.IGNORECASE,
)


def derives(text: str) -> bool:
    """Return True if a text derives its numbers or says what it assumes."""
    return DERIVATION.search(text) is not None
