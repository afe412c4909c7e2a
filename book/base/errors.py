"""The exception for mistakes of the user, which exported folders need, too."""

from book.runner.errors import BookError as BookError
from book.runner.errors import describe_os_error as describe_os_error
