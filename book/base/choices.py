"""The words for what stands in place of a wrong name."""

import difflib
from collections.abc import Iterable

MOST_CHOICES = 12  # in a message of one line


def choices(name: str, known: Iterable[str], listing: str) -> str:
    """Return which names may stand in place of `name`, as the end of a message.

    If they are many, these are the three nearest ones, and `listing` says where to find
    the others.
    """
    names = list(known)
    if len(names) <= MOST_CHOICES:
        return f"choose from {', '.join(names)}"
    *others, last = difflib.get_close_matches(name, names, 3, cutoff=0)
    return f"the nearest are {', '.join(others)} and {last}; {listing}"
