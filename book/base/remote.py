"""The last commit of a book's folder in git, and from where it was cloned."""

import re
import subprocess
from pathlib import Path

# Of a user's name or token in an address, nothing is kept.
GITHUB = re.compile(
    r"(?:https://(?:[^/@]+@)?github\.com/|ssh://git@github\.com/|git@github\.com:)"
    r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+?)(?:\.git)?/?"
)


def repository(root: Path, branch: str) -> str:
    """Return OWNER/NAME of the remote `origin`, or "" if it is not on GitHub.

    It is "" also if the clone does not know `branch` of the remote, from which a page
    would open notebooks, or if `root` is only a part of a repository.
    """
    if _git(root, "rev-parse", "--show-toplevel") != str(root.resolve()):
        return ""
    if not _git(root, "rev-parse", "--verify", f"refs/remotes/origin/{branch}"):
        return ""
    found = GITHUB.fullmatch(_git(root, "config", "--get", "remote.origin.url"))
    return found[1] if found else ""


def last_commit(root: Path) -> str:
    """Return the date and the name of the last commit, or "" without any."""
    # As many digits in a clone of the whole history as in one of its end.
    return _git(root, "log", "-1", "--abbrev=10", "--format=%cs (commit %h)")


def _git(root: Path, *arguments: str) -> str:
    """Return the output of a git command, or "" if it fails or there is no git."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()
