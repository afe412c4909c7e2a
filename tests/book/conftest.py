"""Small made-up books to test on, written to a temporary folder."""

import os
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipykernel
import pytest
from golden.made_up import MadeUp
from nbformat.v4 import new_output

from book.records import fingerprint, store, validation
from book.text.book import Book

ROOT = Path(__file__).parents[2]
CONFIG = """\
[project]
name = made-up
title = A Made-Up Book
author = Nobody
copyright = Nobody
release = 0.1
lang = en

[build]
index = index
notebooks = index.md chapter/*.md
resources = img/*.svg refs.bib
tabs = {tabs}
warning_is_error = True

[pdf]
bibfile = refs.bib

[library]
version_file = d2l/__init__.py
"""
LIBRARY = """
[library-{tab}]
lib_file = d2l/{tab}.py
lib_name = {tab}
"""
PROJECT = """\
[project]
dependencies = ["ipykernel"]
[project.optional-dependencies]
{extras}
"""
INDEX = """\
# A Made-Up Book
:label:`chapter_made_up`

Its sections follow.

```toc
:maxdepth: 2

{toc}
```
"""


def write_book(root: Path, sections: dict[str, str], tabs: tuple[str, ...]) -> Book:
    """A book in `root` whose `sections` map names to Markdown, all in one chapter."""
    files = {
        "config.ini": CONFIG.format(tabs=", ".join(tabs))
        + "".join(LIBRARY.format(tab=tab) for tab in tabs),
        "index.md": INDEX.format(toc="\n".join(f"chapter/{s}" for s in sections)),
        "refs.bib": "",
        "d2l/__init__.py": '__version__ = "0.1"\n',
        "pyproject.toml": PROJECT.format(
            extras="\n".join(f"{tab} = []" for tab in tabs)
        ),
    }
    files |= {f"chapter/{name}.md": text for name, text in sections.items()}
    files |= {f"environments/{tab}.txt": "ipykernel==7.4.0\n" for tab in tabs}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Book(root)


BIB = """\
@article{Williams.2009, author={Williams, Samuel}, title={Roofline},
  journal={CACM}, year={2009}}
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"></svg>'


@pytest.fixture
def make_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Book]:
    """Call it with `name="Markdown"` sections; `tabs=` if not PyTorch and JAX."""

    def make(
        tabs: tuple[str, ...] = ("pytorch", "jax"),
        folder: str = "made-up",
        **sections: str,
    ) -> Book:
        root = tmp_path / folder
        root.mkdir()
        # d2lbook looks for the index page in the folder it is called from.
        (root / "index.md").touch()
        monkeypatch.chdir(root)
        return write_book(root, sections, tabs)

    return make


@pytest.fixture
def make_site_book(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """A made-up book with this project's page: its templates and styles."""

    def make(index: str, **options: Any) -> Book:
        root = make_book(**options).root
        config = (root / "config.ini").read_text("utf-8")
        depth = "sphinx_configs = numfig_secnum_depth = 1"  # as in config.ini
        config = config.replace("[pdf]", f"{depth}\n\n[pdf]")
        files = {"config.ini": config, "index.md": index, "refs.bib": BIB}
        for name, text in (files | {"img/a.svg": SVG}).items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, "utf-8")
        for folder in ("book", "static"):
            (root / folder).symlink_to(ROOT / folder)
        return Book(root)

    return make


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "write the expected texts of the made-up book anew"
    parser.addoption("--update", action="store_true", help=what)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    """The book in `tests/golden/book`, for tests that only read what is made of it."""
    return MadeUp(tmp_path_factory.mktemp("made-up"))


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """An interpreter with a prefix of its own that finds ipykernel where we do."""
    prefix = tmp_path / "other"
    venv.create(prefix, symlinks=True)
    packages = next(prefix.glob("lib/python*/site-packages"))
    ours = Path(ipykernel.__file__).parent.parent
    (packages / "ours.pth").write_text(f"{ours}\n")
    return prefix / "bin" / "python"


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it with the shell code that stands in for `nvidia-smi` on PATH."""

    def install(code: str = "echo 'A GPU, 550.1'") -> None:
        file = tmp_path / "driver" / "nvidia-smi"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{code}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")

    return install


@pytest.fixture
def gpu(nvidia_smi: Callable[..., None]) -> None:
    """A machine with one GPU, as far as `nvidia-smi` tells."""
    nvidia_smi()


# Records

FACTS = dict.fromkeys(validation.FACTS, "") | {"python": "3.11.2", "date": "2026-01-02"}


@pytest.fixture
def asking(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """Call it with a text that has one cell, and with what the cell printed."""

    def make(text: str, printed: str, machines: tuple[str, ...] = ("cpu",)) -> Book:
        book = make_book(one=f"# One\n\n{text}")
        section = book.section("one")
        for tab in book.code_tabs(section):
            nb = store.blank(book, section, tab)
            nb.cells[0].outputs = [new_output("stream", name="stdout", text=printed)]
            made = {"framework": tab}
            made["fingerprint"] = fingerprint.fingerprint(book, section, tab)
            for machine in machines:
                store.write(book, section, tab, nb, FACTS | made | {"machine": machine})
        return book

    return make
