"""The contents of an exported folder: notebooks, the library, and results.

The path of a notebook is TAB/SECTION.ipynb, below notebooks/ and below results/. Its
metadata says which machine it is for, which code and which library it was made from,
and in which distributions its framework comes.
"""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .errors import BookError
from .freshness import digest_of_files

NOTEBOOKS = "notebooks"
RESULTS = "results"
LIBRARY = "d2l"


def notebooks(folder: Path, part: str = NOTEBOOKS) -> list[str]:
    """Return the paths of the notebooks in a part of an exported folder."""
    files = (folder / part).rglob("*.ipynb")
    return sorted(file.relative_to(folder / part).as_posix() for file in files)


def read_notebook(folder: Path, file: str) -> NotebookNode:
    """Return a notebook to run; raise `BookError` if it or the library was changed."""
    path = folder / NOTEBOOKS / file
    try:
        notebook = nbformat.read(path, as_version=4)
        library = notebook.metadata.book.library
    except (ValueError, AttributeError, nbformat.ValidationError):
        raise BookError(f"{path}: damaged; export it again") from None
    if library != library_digest(folder):
        raise BookError(f"{LIBRARY}/ is not what was exported; export it again")
    return notebook


def library_digest(folder: Path) -> str:
    """Return a hash of the package d2l in `folder`."""
    return digest_of_files(folder, f"{LIBRARY}/*.py", f"{LIBRARY}/*.csv")
