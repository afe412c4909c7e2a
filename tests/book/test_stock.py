"""Plain d2lbook accepts the sources: its own commands, on a copy of the book.

`html --tab all` runs with the kept outputs in place, as the copy's `_build/eval`.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pypandoc
import pytest

from benchmarks.stock_notebooks import notebooks
from book.sources.book import Book

ROOT = Path(__file__).parents[2]
SOURCES = ("config.ini", "index.md", "d2l.bib", "chapter_gpus", "img", "static")
OURS = ("book", "d2l", "outputs", "environments")
COMPILED = shutil.ignore_patterns("__pycache__")  # another process may be writing them


@pytest.fixture
def copy(tmp_path):
    """A copy of the book without anything built."""
    folder = tmp_path / "book"
    folder.mkdir()
    for name in (*SOURCES, *OURS):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=COMPILED)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def d2lbook(folder, *arguments):
    """Run d2lbook's own command line in `folder`; return what it printed."""
    pandoc = Path(pypandoc.get_pandoc_path()).parent
    path = os.pathsep.join([str(Path(sys.executable).parent), str(pandoc)])
    # Its command `d2lbook` is this call.
    main = "from d2lbook.main import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", main, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout + run.stderr


def place_outputs(book):
    """Write the kept outputs where `d2lbook build eval` would."""
    for section in book.sections:
        made = notebooks(book, section)
        for tab in book.tabs:
            suffix = "" if tab == book.tabs[0] else f"_{tab}"
            path = book.root / f"_build/eval{suffix}/{section.name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(nbformat.writes(made[tab]) if tab in made else "")


def test_tabcheck(copy):
    assert "Unknown tab" not in d2lbook(copy, "build", "tabcheck")


def definitions(module):
    """Return the public names that a module defines, and those of the methods."""
    found = set()
    for node in ast.parse(module.read_text()).body:
        match node:
            case ast.Assign(targets=[ast.Name(name)]) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                methods = (n for n in node.body if isinstance(n, ast.FunctionDef))
                found |= {name, *(f"{name}.{method.name}" for method in methods)}
    return {name for name in found if not name.startswith("_")}


def test_lib(copy):
    names = ("torch", "mxnet", "jax", "tensorflow")
    modules = [copy / f"d2l/{name}.py" for name in names]
    ours = [definitions(module) for module in modules]
    d2lbook(copy, "build", "lib")
    for module, names in zip(modules, ours, strict=True):
        assert definitions(module) ^ names == set()


@pytest.mark.slow
def test_html_of_all_tabs(copy):
    book = Book(copy)
    place_outputs(book)
    printed = d2lbook(copy, "build", "html", "--tab", "all")
    assert "0 notebooks are outdated" in printed
    page = (copy / "_build/html/chapter_gpus/use-gpu.html").read_text("utf-8")
    assert "found at least two devices, cuda:0 and cuda:1" in page
    for name in ("PyTorch", "MXNet", "JAX", "TensorFlow"):
        assert name in page
