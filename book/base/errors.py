"""The exception for mistakes of the user, the only one that a command may report."""


class BookError(Exception):
    """A mistake of the user, described in one line: what, where, and how to fix it.

    `python -m book` prints it as `error: WHERE: MESSAGE` and exits with status 1.
    """

    def __init__(self, message: str, where: object = None):
        super().__init__(f"{where}: {message}" if where else message)
