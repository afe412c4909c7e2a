"""The exception for what a user can mend."""


class Unfit(Exception):
    """A folder, a result, a machine or an interpreter that cannot be used; says why."""
