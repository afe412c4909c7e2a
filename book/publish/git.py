"""Runs git in the folder of a book."""

import os
import subprocess
from pathlib import Path

from book.runner.errors import BookError


def git(root: Path, *arguments: str, **settings: str) -> str:
    """Return the output of a git command run with these environment variables.

    Raises a `BookError` with git's reason if the command fails.
    """
    result = subprocess.run(
        ["git", *arguments],
        cwd=root,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        lines = result.stderr.strip().split("\n")
        reasons = (line for line in lines if line.startswith(("fatal:", "error:")))
        raise BookError(f"git {arguments[0]}: {next(reasons, lines[-1])}")
    return result.stdout.strip()
