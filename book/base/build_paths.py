"""The folders and files of `_build/`, where everything that is built goes.

Each function takes the book's folder. `make clean` removes all that they name.
"""

from pathlib import Path

from book.base.cache import Cache

NAME = "_build"


def folder(root: Path) -> Path:
    """Return the folder that holds all build products."""
    return root / NAME


# Caches: texts that take long to make, under a hash of what they depend on


def cache(root: Path, name: str) -> Cache:
    """Return the cache `name`, one folder of `_build/caches`."""
    return Cache(folder(root) / "caches" / name)


def cache_beside(pages: Path, name: str) -> Cache:
    """Return a cache of what is made from the pages that Sphinx writes to `pages`."""
    return Cache(pages.parent / "caches" / name)


# Locks: files that one process holds while it writes


def pages_lock(root: Path) -> Path:
    """Return the lock of what Sphinx writes: pages and LaTeX."""
    return _lock(root, "pages")


def slides_lock(root: Path) -> Path:
    """Return the lock of the decks."""
    return _lock(root, "slides")


def publish_lock(root: Path) -> Path:
    """Return the lock of the published book."""
    return _lock(root, "publish")


def notebooks_lock(root: Path) -> Path:
    """Return the lock of the notebooks for readers."""
    return _lock(root, "notebooks")


def export_lock(root: Path) -> Path:
    """Return the lock of exported folders."""
    return _lock(root, "export")


def records_lock(root: Path, machine: str) -> Path:
    """Return the lock of the records of a machine."""
    return _lock(root, f"outputs-{machine}")


def _lock(root: Path, name: str) -> Path:
    return folder(root) / "locks" / f"{name}.lock"


# Products. Sphinx works in `sphinx/`, `pages/` and `doctrees/` of a folder: for the
# site in that of all build products, for PDFs and the published book in their own.


def library(root: Path) -> Path:
    """Return the folder that keeps the text of each library."""
    return folder(root) / "library"


def html(root: Path) -> Path:
    """Return the folder of the finished pages."""
    return folder(root) / "html"


def html_stamp(root: Path) -> Path:
    """Return the file that says from what the pages were built."""
    return folder(root) / "html.stamp"


def html_notes(root: Path) -> Path:
    """Return the file with the notes that the last build printed."""
    return folder(root) / "html.notes"


def latex(root: Path, name: str) -> Path:
    """Return the folder in which Sphinx and XeLaTeX make the PDF `name`."""
    return folder(root) / "latex" / name


def pdf(root: Path) -> Path:
    """Return the folder of the finished PDFs."""
    return folder(root) / "pdf"


def slides(root: Path) -> Path:
    """Return the folder of the finished decks."""
    return folder(root) / "slides"


def notebooks(root: Path) -> Path:
    """Return the folder of the finished notebooks."""
    return folder(root) / "notebooks"


def export(root: Path, machine: str) -> Path:
    """Return the folder that `make export` writes for a machine."""
    return folder(root) / "export" / machine


def publish(root: Path) -> Path:
    """Return the folder of the published book."""
    return folder(root) / "publish"


def publishing(root: Path) -> Path:
    """Return the folder in which the parts of the published book are made."""
    return folder(root) / "publishing"


def publish_index(root: Path) -> Path:
    """Return git's index of the published notebooks."""
    return folder(root) / "publish.index"
