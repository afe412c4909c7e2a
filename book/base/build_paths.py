"""The folders and files of `_build/`, relative to the book's folder.

`make clean` removes them, except the notebooks of `make lab` and the editions.
"""

import contextlib
import functools
from pathlib import Path

from book.base.cache import Cache
from book.base.files import remove
from book.base.paths import ROOT
from book.runner.freshness import digest_of_files

BUILD = Path("_build")

# Products
HTML = BUILD / "html"
HTML_STAMP = BUILD / "html.stamp"
TYPST = BUILD / "typst"  # the document of each PDF
PDF = BUILD / "pdf"
SLIDES = BUILD / "slides"
NOTEBOOKS = BUILD / "notebooks"
NOTEBOOKS_STAMP = BUILD / "notebooks.stamp"
LAB = BUILD / "lab"  # of JupyterLab: notebooks that readers may change, settings
EXPORT = BUILD / "export"  # a folder for each machine
PUBLISH = BUILD / "publish"
EDITIONS = BUILD / "editions"  # an archive for each edition
PUBLISHING = BUILD / "publishing"  # where the parts of the published book are made
PUBLISH_INDEX = BUILD / "publish.index"  # git's index of the published notebooks

# Locks, which one process holds while it writes
LOCKS = BUILD / "locks"
PAGES_LOCK = LOCKS / "pages.lock"  # of pages and PDFs
SLIDES_LOCK = LOCKS / "slides.lock"
PUBLISH_LOCK = LOCKS / "publish.lock"
NOTEBOOKS_LOCK = LOCKS / "notebooks.lock"
EXPORT_LOCK = LOCKS / "export.lock"


def records_lock(machine: str) -> Path:
    """Return the lock of the records of a machine."""
    return LOCKS / f"outputs-{machine}.lock"


@functools.cache
def code_hash() -> str:
    """Return a hash of the program: all of `book/`, and the pins of what it uses."""
    return digest_of_files(ROOT, "book/**/*.py", "environments/book.txt")


def cache(root: Path, name: str) -> Cache:
    """Return a cache of values that take long to make, in the book's folder `root`.

    `sources` holds parsed texts and facts about records, and `pages` holds articles.
    """
    folder = root / BUILD / "caches" / name
    current = folder / code_hash()[:16]
    if not current.exists():
        with contextlib.suppress(OSError):
            remove(folder)  # what older code has made
    return Cache(current)
