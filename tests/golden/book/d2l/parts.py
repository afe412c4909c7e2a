"""A module written by hand, from which a section imports."""


def wait() -> None:
    """Return at once."""
