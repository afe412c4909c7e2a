"""The inputs of pages, notebooks and PDFs, and whether the pages are fresh.

This module needs nothing of what builds them.
"""

import configparser
from pathlib import Path

from book.base import build_paths, remote
from book.runner.freshness import Product, digest_of_files

SOURCES = (
    *("config.ini", "outputs/**/*.ipynb", "d2l/*", "environments/*.txt"),
    "*/asked.csv",
)
TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
NOTEBOOKS = "**/*.md"  # the default of d2lbook


def digest_of_inputs(root: Path, edition: str = "") -> str:
    """Return a hash of all files that the pages and PDFs of a book depend on.

    `edition` is the one that is made, which config.ini need not name.
    """
    config = _settings(root)
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    digest = digest_of_files(root, *SOURCES, *TOOLS, *notebooks, *resources)
    return f"{digest} {edition}".rstrip()


def digest_of_pages(root: Path) -> str:
    """Return that hash with what else the buttons of pages depend on."""
    digest = digest_of_inputs(root, _publishing(root, "edition"))
    has_notebooks = notebooks(root).is_fresh(digest)
    more = [remote_repository(root), "notebooks" if has_notebooks else ""]
    return " ".join([digest, *filter(None, more)])


def remote_repository(root: Path) -> str:
    """Return the repository on GitHub that holds the branch of notebooks, or ""."""
    branch = _publishing(root, "branch") or "notebooks"
    return remote.repository(root, of_edition(branch, _publishing(root, "edition")))


def of_edition(branch: str, edition: str) -> str:
    """Return the branch of an edition's notebooks, or `branch` without an edition."""
    return f"{branch}-{edition}" if edition else branch


def notebooks(root: Path) -> Product:
    """Return the folder of all notebooks of a book."""
    return Product(root / build_paths.NOTEBOOKS, root / build_paths.NOTEBOOKS_STAMP)


def pages(root: Path) -> Product:
    """Return the index page of a book, which stands for all of its pages."""
    index = _settings(root).get("build", "index", fallback="index").removesuffix(".md")
    page = root / build_paths.HTML / f"{index}.html"
    return Product(page, root / build_paths.HTML_STAMP)


def pages_are_fresh(root: Path) -> bool:
    """Return whether the pages of a book are those of today's inputs."""
    try:
        return pages(root).is_fresh(digest_of_pages(root))
    except (configparser.Error, ValueError, NotImplementedError):
        return False  # The build reads the settings too and reports the mistake.


def _publishing(root: Path, name: str) -> str:
    """Return a setting under `[publish]`; empty if config.ini lacks it."""
    return _settings(root).get("publish", name, fallback="").strip()


def _settings(root: Path) -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    return config
