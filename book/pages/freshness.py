"""Says whether the pages are up to date, without what it takes to build them."""

import configparser
from collections.abc import Iterable
from pathlib import Path

from book.base import build_paths
from book.base.cache import digest

SOURCES = ("config.ini", "outputs/**/*.ipynb", "d2l/*", "environments/*.txt")
TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
NOTEBOOKS = "**/*.md"  # the default of d2lbook


def up_to_date_index(root: Path) -> Path | None:
    """Return the index page of the book in `root`, or None if it has to be built."""
    stamp, notes = root / build_paths.HTML_STAMP, root / build_paths.HTML_NOTES
    if not (stamp.exists() and notes.exists()):
        return None
    built_from, _, index = stamp.read_text("utf-8").strip().partition("\n")
    page = root / index
    try:
        unchanged = page.is_file() and built_from == fingerprint(root)
    except (configparser.Error, ValueError, NotImplementedError):
        # The build reads the settings too and reports the mistake in them.
        return None
    return page if unchanged else None


def fingerprint(root: Path) -> str:
    """Return a hash of all files that the pages depend on."""
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    return hash_of_files(root, [*SOURCES, *TOOLS, *notebooks, *resources])


def hash_of_files(root: Path, patterns: Iterable[str]) -> str:
    """Return a hash of the names and contents of all files that match a pattern."""
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    named = ((str(p.relative_to(root)), p.read_bytes()) for p in sorted(files))
    return digest(part for both in named for part in both)
