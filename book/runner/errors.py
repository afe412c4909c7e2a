"""The exception for mistakes of the user, the only one that a command may report."""

import shutil


class BookError(Exception):
    """A mistake of the user, described in one line: what, where, and how to fix it.

    `python -m book` prints it as `error: WHERE: MESSAGE` and exits with status 1.
    """

    def __init__(self, message: str, where: object = None):
        super().__init__(f"{where}: {message}" if where else message)


def describe_os_error(error: OSError) -> str:
    """Return the reason that the system gives, such as `No space left on device`."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        # copytree collects all failures; often they have one cause.
        return str(error.args[0][0][-1])
    return error.strerror or " ".join(str(error).split()) or type(error).__name__


def unwritable(path: object, error: OSError) -> BookError:
    """Return what to report if a file or a folder could not be written."""
    reason = describe_os_error(error)
    return BookError(f"cannot be written ({reason}); what was there is kept", path)
