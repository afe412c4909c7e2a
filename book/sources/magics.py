"""Hides the lines of a cell that are not Python, such as `%matplotlib inline`."""

import ast
import re

# This name replaces a magic; a comment could leave the body of a block empty.
MAGIC = "IPYTHON_MAGIC"
MAGIC_LINE = re.compile(r"^([ \t]*)((?:[\w, ]+= *)?[%!].*)$")


def hide_magics(source: str) -> str:
    """Return a cell in which each `%magic` or `!command` line is a name and a comment.

    Raises a `SyntaxError` if the result is not Python.
    """
    while True:
        try:
            ast.parse(source)
            return source
        except SyntaxError as error:
            # A line is a magic only if it breaks the syntax: a line that begins with
            # `% 2` may continue an expression.
            lines = source.split("\n")
            row = min(error.lineno or 1, len(lines)) - 1
            if not MAGIC_LINE.match(lines[row]):
                raise
            lines[row] = MAGIC_LINE.sub(rf"\1{MAGIC}  #\2", lines[row])
            source = "\n".join(lines)
