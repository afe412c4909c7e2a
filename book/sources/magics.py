"""Magics such as `%matplotlib inline` and `!ls` in a cell, which are not Python."""

import ast
import re

# A magic is hidden behind this name: as a comment it could leave a body empty.
MAGIC = "IPYTHON_MAGIC"
MAGIC_LINE = re.compile(r"^([ \t]*)((?:[\w, ]+= *)?[%!].*)$")


def hide_magics(source: str) -> str:
    """Return a cell with a bare name for each line such as `%magic` or `!command`.

    Raises a `SyntaxError` if what remains is not Python.
    """
    while True:
        try:
            ast.parse(source)
            return source
        except SyntaxError as error:
            # Only a line that breaks the syntax is a magic: `% 2` may go on a sum.
            lines = source.split("\n")
            row = min(error.lineno or 1, len(lines)) - 1
            if not MAGIC_LINE.match(lines[row]):
                raise
            lines[row] = MAGIC_LINE.sub(rf"\1{MAGIC}  #\2", lines[row])
            source = "\n".join(lines)
