"""Notebooks run alone: away from the book, without a network, by the tab's framework.

Each kind runs in one tab; that all sections run in all tabs is tested beside this.
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
from book.sources.book import Book
from book.sources.names import COLAB, SAGEMAKER

pytestmark = pytest.mark.slow
BOOK = Book(Path(__file__).resolve().parents[2])
ALONE = Path(__file__).with_name("alone.py")
CUT_OFF = ["unshare", "--map-root-user", "--net"]


def cut_off() -> list[str]:
    """What before a command takes the network from it, where that is allowed."""
    if shutil.which(CUT_OFF[0]) is None:
        return []
    allowed = subprocess.run([*CUT_OFF, "true"], capture_output=True).returncode == 0
    return CUT_OFF if allowed else []


def run_alone(file: Path, folder: Path, tab: str) -> str:
    """What the notebook `file` prints first, when it runs in `folder`."""
    python = environments.python(tab, BOOK.root)
    home = folder / "home"
    home.mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP"))}
    run = subprocess.run(
        [*cut_off(), str(python), str(ALONE), str(file), str(folder)],
        cwd=folder,
        env=kept | {"HOME": str(home), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


@pytest.mark.parametrize("kind, tab", [(COLAB, "pytorch"), (SAGEMAKER, "mxnet")])
def test_a_hosted_notebook_carries_all_it_needs(kind: str, tab: str, tmp_path: Path):
    notebook = Edition(BOOK).notebook(BOOK.section("use-gpu"), tab, kind)
    file = tmp_path / "use-gpu.ipynb"
    file.write_text(nbformat.writes(notebook), encoding="utf-8")
    printed = run_alone(file, tmp_path, tab)
    assert "Found " in printed and "d2l is imported from /" in printed
    assert str(BOOK.root) not in printed


def test_a_notebook_of_the_zip_finds_the_library_beside_it(tmp_path: Path):
    folder = editions.write(BOOK)
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as unpacked:
        unpacked.extractall(tmp_path)
    (inside,) = tmp_path.iterdir()
    printed = run_alone(inside / "jax/use-gpu.ipynb", inside / "jax", "jax")
    assert f"d2l is imported from {inside / 'd2l'}." in printed
