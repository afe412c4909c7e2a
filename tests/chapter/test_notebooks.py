"""Standalone notebooks run outside the book, without a network.

Each kind runs in one tab; `test_sections.py` tests that all sections run in all tabs.
"""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest

from book.base import environments
from book.notebooks import editions
from book.notebooks.editions import Edition
from book.pages.names import COLAB, SAGEMAKER
from book.sources.book import Book

pytestmark = pytest.mark.slow
BOOK = Book(Path(__file__).resolve().parents[2])
RUN_NOTEBOOK = Path(__file__).with_name("run_notebook.py")
WITHOUT_NETWORK = ["unshare", "--map-root-user", "--net"]


def network_guard() -> list[str]:
    """Return the words that run a command without a network, if that is allowed."""
    if shutil.which(WITHOUT_NETWORK[0]) is None:
        return []
    trial = subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True)
    return WITHOUT_NETWORK if trial.returncode == 0 else []


def run_notebook(file: Path, folder: Path, tab: str) -> str:
    """Return what the first cells of the notebook `file` print in `folder`."""
    python = environments.python(tab, BOOK.root)
    home = folder / "home"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP"))}
    run = subprocess.run(
        [*network_guard(), str(python), str(RUN_NOTEBOOK), str(file), str(folder)],
        cwd=folder,
        env=env | {"HOME": str(home), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


@pytest.mark.parametrize("kind, tab", [(COLAB, "pytorch"), (SAGEMAKER, "mxnet")])
def test_a_hosted_notebook_contains_its_library(kind: str, tab: str, tmp_path: Path):
    notebook = Edition(BOOK).notebook(BOOK.section("use-gpu"), tab, kind)
    file = tmp_path / "use-gpu.ipynb"
    file.write_text(nbformat.writes(notebook), encoding="utf-8")
    printed = run_notebook(file, tmp_path, tab)
    assert "Found " in printed and "d2l is imported from /" in printed
    assert str(BOOK.root) not in printed


def test_a_notebook_of_the_archive_finds_its_library(tmp_path: Path):
    folder = editions.write(BOOK)
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as unpacked:
        unpacked.extractall(tmp_path)
    (inside,) = tmp_path.iterdir()
    printed = run_notebook(inside / "jax/use-gpu.ipynb", inside / "jax", "jax")
    assert f"d2l is imported from {inside / 'd2l'}." in printed
