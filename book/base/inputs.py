"""The inputs of pages and PDFs, and whether the pages are fresh.

This module needs nothing of what builds them.
"""

import configparser
from pathlib import Path

from book.base import build_paths
from book.runner.freshness import Product, digest_of_files

SOURCES = (
    *("config.ini", "outputs/**/*.ipynb", "d2l/*", "environments/*.txt"),
    "*/asked.csv",
)
TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
NOTEBOOKS = "**/*.md"  # the default of d2lbook


def digest_of_inputs(root: Path) -> str:
    """Return a hash of all files that the pages and PDFs of a book depend on."""
    config = _settings(root)
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    return digest_of_files(root, *SOURCES, *TOOLS, *notebooks, *resources)


def pages(root: Path) -> Product:
    """Return the index page of a book, which stands for all of its pages."""
    index = _settings(root).get("build", "index", fallback="index").removesuffix(".md")
    page = root / build_paths.HTML / f"{index}.html"
    return Product(page, root / build_paths.HTML_STAMP)


def pages_are_fresh(root: Path) -> bool:
    """Return whether the pages of a book are those of today's inputs."""
    try:
        return pages(root).is_fresh(digest_of_inputs(root))
    except (configparser.Error, ValueError, NotImplementedError):
        return False  # The build reads the settings too and reports the mistake.


def _settings(root: Path) -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    return config
