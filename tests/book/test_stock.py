"""d2lbook's own commands work on a copy of the book, and import what they write.

`html` and `pdf` find the kept outputs where `make eval` lays them, and `html` has the
letters of `book/refs/letters.py`.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pypandoc
import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from book.base import environments
from book.notebooks import evaluated
from book.refs.numbers import Numbers
from book.text.book import Book

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


MODULES = {
    "pytorch": "torch", "mxnet": "mxnet", "jax": "jax", "tensorflow": "tensorflow"
}  # fmt: skip


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


def test_tabcheck(copy):
    assert "Unknown tab" not in d2lbook(copy, "build", "tabcheck")


NAMES = """
import importlib, inspect, json, sys
d2l = importlib.import_module("d2l." + sys.argv[1])
found = {name: value for name, value in vars(d2l).items() if name[0] != "_"}
modules = d2l.__name__, "d2l.common"
own = {k for k, v in found.items() if getattr(v, "__module__", "") in modules}
found = {name: found[name] for name in own.union(d2l.__all__)}
classes = {k: v for k, v in found.items() if inspect.isclass(v)}
for owner, Class in classes.items():
    methods = {f"{owner}.{k}": v for k, v in vars(Class).items()}
    found |= {k: v for k, v in methods.items() if inspect.isfunction(v)}
functions = {k: v for k, v in found.items() if inspect.isfunction(v)}
arguments = {k: list(inspect.signature(v).parameters) for k, v in functions.items()}
print(json.dumps(dict.fromkeys(found) | arguments))
"""


def public_names(folder, tab, module):
    """Return the public names of a library, with the arguments of the functions."""
    run = subprocess.run(
        [environments.python(tab), "-c", NAMES, module],
        **{"cwd": folder, "capture_output": True, "text": True},
        env=os.environ | {"PYTHONPATH": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def definitions(file):
    """Return the names that a module defines, also methods."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner = node.body if isinstance(node, ast.ClassDef) else ()
            methods = (n.name for n in inner if isinstance(n, ast.FunctionDef))
            found |= {node.name, *(f"{node.name}.{name}" for name in methods)}
        elif isinstance(node, ast.Assign):  # d2lbook writes aliases as lambdas
            found |= {ast.unparse(name).removeprefix("d2l.") for name in node.targets}
    return found


def test_d2lbook_finds_the_same_definitions(copy):
    d2lbook(copy, "build", "lib")
    common = definitions(ROOT / "d2l/common.py")
    for module in MODULES.values():
        theirs = definitions(copy / f"d2l/{module}.py")
        missing = (common | definitions(ROOT / f"d2l/{module}.py")) - theirs
        assert not {name for name in missing if name[0] != "_"}
    # Imports that only definitions of d2l/common.py use are there, too.
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821"]
    subprocess.run([*ruff, *copy.glob("d2l/*.py")], check=True)


@pytest.mark.slow
def test_the_library_of_d2lbook_is_that_of_this_book(copy):
    d2lbook(copy, "build", "lib")
    for tab, module in MODULES.items():
        text = (copy / f"d2l/{module}.py").read_text()
        assert text != (ROOT / f"d2l/{module}.py").read_text()
        assert "d2lbook build lib" in text
        ours = public_names(ROOT, tab, module)
        assert public_names(copy, tab, module) == ours


def wrong_numbers(folder, numbers):
    """Yield titles, contents, captions and references with numbers unlike ours."""
    ids = {label.replace("_", "-"): place for label, place in numbers.places.items()}
    index = soup(folder / "index.html")
    listed = {a["href"]: a.text for a in index.select(".toctree-l1 > a")}
    for name, number in numbers.pages.items():
        page, chapter = soup(folder / f"{name}.html"), number.partition(".")[0]
        for shown in filter(None, (page.h1.text, listed.get(f"{name}.html"))):
            if number and not shown.startswith(f"{number}. "):
                yield name, shown
        for caption in page.select(".caption-number"):
            if chapter and not caption.text.split()[1].startswith(f"{chapter}."):
                yield name, caption.text
        for link in page.select("a:has(> .std-numref)"):
            place = ids[link["href"].partition("#")[2]]
            if link.text != place.shown_number("numref"):
                yield name, link.text


def soup(path):
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


@pytest.mark.slow
def test_html_and_pdf_show_the_kept_outputs(copy):
    evaluated.write(Book(copy))
    d2lbook(copy, "build", "html")
    numbers = Numbers(Book(copy))
    assert list(wrong_numbers(copy / "_build/d2lbook/html", numbers)) == []
    page = (copy / "_build/d2lbook/html/chapter_gpus/use-gpu.html").read_text("utf-8")
    assert "found at least two devices, cuda:0 and cuda:1" in page
    only_in_decks = "A training loop moves the network once"
    assert only_in_decks in (copy / "chapter_gpus/use-gpu.md").read_text("utf-8")
    assert only_in_decks not in page
    d2lbook(copy, "build", "html", "--tab", "all")
    page = (copy / "_build/d2lbook/html/chapter_gpus/use-gpu.html").read_text("utf-8")
    for name in ("PyTorch", "MXNet", "JAX", "TensorFlow"):
        assert name in page
    assert "found at least two devices, cuda:0 and cuda:1" in page
    d2lbook(copy, "build", "pdf")
    pdf = PdfReader(copy / "_build/pdf/gpus.pdf")
    text = "".join(page.extract_text() for page in pdf.pages[:60])
    assert len(pdf.pages) > 100 and "cuda:1" in text
