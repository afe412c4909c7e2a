"""The one exception that a user of the book's commands may see."""


class BookError(Exception):
    """A mistake of the user's, told in one line: what, where, how to mend it.

    `python -m book` prints it as `error: WHERE: MESSAGE` and exits with 1.
    """

    def __init__(self, message: str, where: object = None):
        super().__init__(f"{where}: {message}" if where else message)
