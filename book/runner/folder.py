"""The contents of an exported folder: notebooks, the library, and results.

The path of a notebook is TAB/SECTION.ipynb, below notebooks/ and below results/. Its
metadata says which machine it is for and which code it was made from.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .errors import Unfit

NOTEBOOKS = "notebooks"
RESULTS = "results"
LIBRARY = "d2l"


def notebooks(folder: Path, part: str = NOTEBOOKS) -> list[str]:
    """Return the paths of the notebooks in a part of an exported folder."""
    files = (folder / part).rglob("*.ipynb")
    return sorted(file.relative_to(folder / part).as_posix() for file in files)


def new_notebook(
    blank: NotebookNode, origin: dict[str, str], distributions: Sequence[str]
) -> str:
    """Return the text of a notebook to run elsewhere.

    `origin` has the machine, the framework, and the fingerprint of the code, and the
    digest of the library. The framework comes in one of the `distributions`.
    """
    blank.metadata = NotebookNode(book=origin, distributions=list(distributions))
    return nbformat.writes(blank) + "\n"


def read_notebook(folder: Path, file: str) -> NotebookNode:
    """Return a notebook to run; raise `Unfit` if it or the library was changed."""
    path = folder / NOTEBOOKS / file
    try:
        notebook = nbformat.read(path, as_version=4)
        library = notebook.metadata.book.library
    except (ValueError, AttributeError, nbformat.ValidationError):
        raise Unfit(f"{path}: damaged; export it again") from None
    if library != library_digest(folder):
        raise Unfit(f"{LIBRARY}/ is not what was exported; export it again")
    return notebook


def library_digest(folder: Path) -> str:
    """Return a hash of the package d2l in `folder`."""
    digest = hashlib.sha256()
    for file in sorted((folder / LIBRARY).glob("*")):
        if file.suffix in (".py", ".csv") and file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def result(notebook: NotebookNode, facts: dict[str, str]) -> str:
    """Return the text of a result: an executed notebook with the facts of its run."""
    notebook.metadata = NotebookNode(book=notebook.metadata.book | facts)
    # No half of a surrogate pair can stand in a file.
    return nbformat.writes(notebook).encode(errors="replace").decode() + "\n"
