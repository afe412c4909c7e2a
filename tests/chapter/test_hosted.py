"""Standalone notebooks run outside the book, and show what the records show.

They run without a network. The hosted kinds have the same code, so only the Colab kind
runs.
"""

import zipfile
from pathlib import Path

import alone
import nbformat
import pytest
from compare import differences
from nbformat import NotebookNode

from book.base import environments
from book.notebooks import editions
from book.notebooks.editions import NotebookEdition
from book.pages import addresses
from book.records import store
from book.runner.kernel_settings import kernel_settings
from book.text.book import Book
from book.text.section import Section

BOOK = Book(Path(__file__).resolve().parents[2])
EDITION = NotebookEdition(BOOK)


def run_notebook(file: Path, folder: Path, tab: str) -> NotebookNode:
    """Run the notebook `file` in `folder`, and return its code cells.

    The kernel has the settings with which records are made, but not their library.
    """
    python = environments.python(tab, BOOK.root)
    home = folder / "home"
    home.mkdir()
    env = kernel_settings(python, library=home, machine="cpu", scratch=home)
    run = alone.run_notebook(file, folder, python, env)
    assert run.returncode == 0, run.stderr[-3000:]
    ran = nbformat.read(file, as_version=4)
    ran.cells = [cell for cell in ran.cells if cell.cell_type == "code"]
    return ran


def printed(cell: NotebookNode) -> str:
    """Return what a cell printed."""
    return "".join(output.get("text", "") for output in cell.outputs)


# `make test` runs these, which plot and start ranks; `make test-all` runs all.
CHOSEN = ("performance", "solutions-data-parallel")


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a section, which is slow unless it is chosen."""
    return [] if name in CHOSEN else [pytest.mark.slow]


@pytest.mark.parametrize(
    "section, tab",
    [
        pytest.param(section, tab, marks=marks(name), id=f"{name}-{tab}")
        for section in BOOK.sections
        for tab in BOOK.code_tabs(section)
        for name in [Path(section.name).name]
    ],
)
def test_a_hosted_notebook_runs_alone_and_shows_what_the_record_shows(
    section: Section, tab: str, tmp_path: Path
):
    state = store.state(BOOK, section, tab)
    assert state == "fresh", f"the record is {state}: make run"
    file = tmp_path / "hosted.ipynb"
    nbformat.write(EDITION.notebook(section, tab, addresses.COLAB), file)
    ran = run_notebook(file, tmp_path, tab)
    setup, *ran.cells = ran.cells
    assert "Found " in printed(setup) and "d2l is imported from /" in printed(setup)
    assert str(BOOK.root) not in printed(setup)
    kept = nbformat.read(store.path(BOOK, section, tab), as_version=4)
    found = differences(kept, store.cleaned(ran))
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_a_notebook_of_the_archive_finds_its_library(tmp_path: Path):
    folder = editions.write(BOOK)
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as unpacked:
        unpacked.extractall(tmp_path)
    (inside,) = tmp_path.iterdir()
    # Keras imports jax if it is there, and the archive has a folder of this name.
    folder = inside / "tensorflow"
    setup = run_notebook(folder / "use-gpu.ipynb", folder, "tensorflow").cells[0]
    assert f"d2l is imported from {inside / 'library/d2l'}." in printed(setup)
