"""Standalone notebooks run outside the book, without a network.

The hosted kinds have the same code, so only the Colab kind runs. `test_sections.py`
compares outputs; here, a notebook must only run to its end.
"""

import functools
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from book.base import environments
from book.notebooks import editions
from book.notebooks.editions import Edition
from book.pages import names
from book.text.book import Book

BOOK = Book(Path(__file__).resolve().parents[2])
EDITION = Edition(BOOK)
RUN_NOTEBOOK = Path(__file__).with_name("run_notebook.py")
# A new network has no interface but the loopback, which is down; ranks need it.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket() as any_socket:
    set_flags, up = 0x8914, 1
    fcntl.ioctl(any_socket, set_flags, struct.pack("16sh", b"lo", up))
os.execv(sys.argv[1], sys.argv[1:])
"""
NEW_NETWORK = ["unshare", "--map-root-user", "--net", sys.executable, "-c", LOOPBACK]
# Where a container allows no new network, downloads go to a port that nobody serves.
NOBODY = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
NO_DOWNLOADS = ["env", *(f"{k}={v}" for k, v in NOBODY.items()), "no_proxy=127.0.0.1"]


@functools.cache
def without_network() -> list[str]:
    """Return the words before a command that run it without a network."""
    try:
        trial = subprocess.run([*NEW_NETWORK, sys.executable, "-c", ""])
    except OSError:
        return NO_DOWNLOADS
    return NO_DOWNLOADS if trial.returncode else NEW_NETWORK


def run_notebook(file: Path, folder: Path, tab: str) -> str:
    """Return what the first code cell of the notebook `file` prints in `folder`."""
    python = environments.python(tab, BOOK.root)
    home = folder / "home"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP"))}
    run = subprocess.run(
        [*without_network(), str(python), str(RUN_NOTEBOOK), str(file), str(folder)],
        cwd=folder,
        env=env | {"HOME": str(home), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


# `make test` runs these, which plot and start ranks; `make test-all` runs all.
CHOSEN = ("performance", "solutions-data-parallel")


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a section, which is slow unless it is chosen."""
    return [] if name in CHOSEN else [pytest.mark.slow]


@pytest.mark.parametrize(
    "name, tab",
    [
        pytest.param(name, tab, marks=marks(name))
        for section in BOOK.sections
        for tab in BOOK.code_tabs(section)
        for name in [Path(section.name).name]
    ],
)
def test_a_hosted_notebook_runs_alone(name: str, tab: str, tmp_path: Path):
    notebook = EDITION.notebook(BOOK.section(name), tab, names.COLAB)
    file = tmp_path / f"{name}.ipynb"
    file.write_text(nbformat.writes(notebook), encoding="utf-8")
    printed = run_notebook(file, tmp_path, tab)
    assert "Found " in printed and "d2l is imported from /" in printed
    assert str(BOOK.root) not in printed


@pytest.mark.slow
def test_a_notebook_of_the_archive_finds_its_library(tmp_path: Path):
    folder = editions.write(BOOK)
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as unpacked:
        unpacked.extractall(tmp_path)
    (inside,) = tmp_path.iterdir()
    # Keras imports jax if it is there, and the archive has a folder of this name.
    folder = inside / "tensorflow"
    printed = run_notebook(folder / "use-gpu.ipynb", folder, "tensorflow")
    assert f"d2l is imported from {inside / 'library/d2l'}." in printed
