"""Gives the book a new version: `python -m book release`, which `make release` calls.

The version stands in config.ini, in the library and in CITATION.cff. What CHANGELOG.md
lists as unreleased becomes that of the version.
"""

import re
from datetime import date
from pathlib import Path

from book.publish import changelog
from book.publish.changelog import UNRELEASED, order
from book.publish.git import git
from book.runner.errors import BookError, describe_os_error
from book.runner.files import write_whole

CONFIG = "config.ini"
RELEASE = re.compile(r"^release = ([0-9.]*[0-9])$", re.MULTILINE)


def release(root: Path, version: str, today: date) -> list[str]:
    """Write a new version to all files that name it, or to none.

    Returns the commands that are left. Raises a `BookError` if the version is not
    newer, if there are changes without a commit, or if nothing is listed as unreleased.
    """
    if git(root, "status", "--porcelain"):
        raise BookError("there are changes without a commit; commit them", "git status")
    places = _places(version, today)
    old = {name: _read(root, name) for name in places}
    now = RELEASE.search(old[CONFIG])
    if now and order(version) <= order(now[1]):
        raise BookError(f"{version} is not newer than {now[1]}", "VERSION")
    if all(v.is_empty for v in changelog.read(root) if not v.number):
        hint = "list what is new, changed or corrected"
        raise BookError(f"nothing below '## {UNRELEASED}'; {hint}", changelog.FILE)
    _write(root, {name: _replaced(name, old[name], places[name]) for name in old}, old)
    tag = edition(version)
    return [
        f"git commit --all --message 'Version {version}'",
        f"git tag {tag}",
        f"git push origin HEAD {tag}",
    ]


def edition(version: str) -> str:
    """Return the edition of a version: v1.0 of 1.0.0, and v1.0.1 of 1.0.1."""
    return f"v{version.removesuffix('.0')}"


def _places(version: str, today: date) -> dict[str, dict[str, str]]:
    """Return for each file the pattern of each line to replace, and the new text."""
    return {
        CONFIG: {RELEASE.pattern: f"release = {version}"},
        "d2l/__init__.py": {r'^__version__ = ".*"$': f'__version__ = "{version}"'},
        "CITATION.cff": {
            r"^version: .*$": f"version: {version}",
            r"^date-released: .*$": f'date-released: "{today}"',
        },
        changelog.FILE: {
            f"^## {UNRELEASED}$": f"## {UNRELEASED}\n\n## {version} ({today})"
        },
    }


def _read(root: Path, name: str) -> str:
    """Return the text of a file; raise a `BookError` if it cannot be read."""
    try:
        return (root / name).read_text("utf-8")
    except OSError as error:
        raise BookError(describe_os_error(error), name) from error


def _replaced(name: str, text: str, lines: dict[str, str]) -> str:
    """Return a text with new lines; raise a `BookError` unless each is there once."""
    for pattern, new in lines.items():
        text, count = re.subn(pattern, new, text, flags=re.MULTILINE)
        if count != 1:
            raise BookError(f"needs one line '{pattern}', and has {count}", name)
    return text


def _write(root: Path, new: dict[str, str], old: dict[str, str]) -> None:
    """Write the new texts of files; if that fails, all have the old ones again."""
    try:
        for name, text in new.items():
            write_whole(root / name, text)
    except BaseException:  # an interrupt too must not leave two versions
        for name, text in old.items():
            if _read(root, name) != text:
                write_whole(root / name, text)
        raise
