"""The same book by three tools, each in a folder of its own below `_build/bench`.

What a browser needs to know of a tool's pages is here too: how tabs are marked.
"""

import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import nbformat
import pypandoc

from benchmarks import myst
from book.base import environments
from book.base.errors import BookError
from book.notebooks.evaluated import notebooks
from book.text.book import Book

HERE = Path(__file__).resolve().parent
PINS = HERE / "jupyter-book.txt"
SOURCES = ("config.ini", "index.md", "d2l.bib", "chapter_gpus", "img", "static", "d2l")
OURS = (*SOURCES, "book", "outputs", "environments")
OWN_SPHINX = re.compile(r"^sphinx_configs = .*\n(?:[ \t]+.*\n)*", re.MULTILINE)
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)
D2LBOOK = "from d2lbook.main import main; main()"


class Tabs(NamedTuple):
    """CSS selectors: sets of tabs; in a set, what one presses, and the panels."""

    sets: str
    buttons: str
    panels: str
    chosen: str  # the button, or another element, that takes keys for the set
    query: str  # what chooses a framework in an address


@dataclass(frozen=True)
class Peer:
    """One tool's book: how it is made, and what its pages look like to a browser."""

    name: str
    root: Path
    site: Path
    tabs: Tabs
    prepare: Callable[[], None]  # puts `root` as it is before a first build
    command: list[str | Path]
    environment: Mapping[str, str]
    no_page: str = ""  # a folder of `_build` that has to do with no page

    def forget_pages(self) -> None:
        for made in (self.root / "_build").iterdir():
            if made.is_dir() and made.name != self.no_page:
                shutil.rmtree(made)
            elif made.is_file():
                made.unlink()

    def build(self) -> tuple[float, float]:
        """Build the site; returns the seconds it took, and those of the processor."""
        start, before = time.monotonic(), _processor_seconds()
        done = subprocess.run(
            self.command,
            cwd=self.root,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            last = " ".join(done.stdout.split("\n")[-6:])
            raise BookError(f"{self.name} cannot be built: {last}", self.root)
        return time.monotonic() - start, _processor_seconds() - before


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _copy(book: Book, names: tuple[str, ...], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in names:
        source = book.root / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy2(source, folder / name)


# This book


def this_book(book: Book, folder: Path) -> Peer:
    root = folder / "this-book"
    _copy(book, OURS, root)
    return Peer(
        name="this book",
        root=root,
        site=root / "_build/html",
        tabs=Tabs(
            sets='.tab-set[data-axis="tab"]',
            buttons=":scope > .tab-list > button",
            panels=":scope > .tab-panel",
            chosen=':scope > .tab-list > [aria-selected="true"]',
            query="tab",
        ),
        prepare=lambda: shutil.rmtree(root / "_build", ignore_errors=True),
        command=[sys.executable, "-m", "book", "html"],
        environment={},
        no_page="library",
    )


# Stock d2lbook


def stock_d2lbook(book: Book, folder: Path) -> Peer:
    """The book as d2lbook builds it, with its own theme, script and MathJax."""
    root = folder / "d2lbook"
    _copy(book, SOURCES, root)
    config = root / "config.ini"
    config.write_text(OWN_SPHINX.sub("", config.read_text("utf-8")), "utf-8")
    executed = {
        f"eval{'' if tab == book.tabs[0] else f'_{tab}'}/{section.name}.ipynb": nb
        for section in book.sections
        for tab, nb in notebooks(book, section).items()
    }
    texts = {name: nbformat.writes(nb) for name, nb in executed.items()}
    pandoc = Path(pypandoc.get_pandoc_path()).parent
    tools = (str(Path(sys.executable).parent), str(pandoc), os.environ["PATH"])
    return Peer(
        name="d2lbook 1.0.3",
        root=root,
        site=root / "_build/html",
        tabs=Tabs(
            sets=".mdl-tabs",
            buttons=":scope > .mdl-tabs__tab-bar > .mdl-tabs__tab",
            panels=":scope > .mdl-tabs__panel",
            chosen=":scope > .mdl-tabs__tab-bar > .is-active",
            query="tab",
        ),
        prepare=lambda: _place_outputs(root / "_build", texts),
        command=[sys.executable, "-c", D2LBOOK, "build", "html", "--tab", "all"],
        environment={"PATH": os.pathsep.join(tools)},
    )


def _place_outputs(folder: Path, texts: Mapping[str, str]) -> None:
    """Write executed notebooks where `d2lbook build eval` would."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


# Jupyter Book 1


def jupyter_book(book: Book, folder: Path) -> Peer:
    root = folder / "jupyter-book"
    tools = environment(folder / "environment") / "bin"
    shutil.rmtree(root, ignore_errors=True)
    myst.write_book(book, root)
    return Peer(
        name="Jupyter Book 1",
        root=root,
        site=root / "_build/html",
        tabs=Tabs(
            sets=".sd-tab-set",
            buttons=":scope > label",
            panels=":scope > .sd-tab-content",
            chosen=":scope > input:checked",
            query="framework",
        ),
        prepare=lambda: shutil.rmtree(root / "_build", ignore_errors=True),
        command=[tools / "jupyter-book", "build", "."],
        environment={"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
    )


def environment(folder: Path) -> Path:
    """The environment that `PINS` lists, made if these have changed."""
    stamp = folder / "built-from.sha256"
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"building {folder.name} from {PINS.name}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        uv("venv", "--python", environments.PYTHON_VERSION, folder)
        python = folder / "bin/python"
        uv("pip", "install", "--compile-bytecode", "--python", python, "-r", PINS)
        stamp.write_text(digest)
    return folder


def uv(*arguments: str | Path) -> None:
    command = [*environments.uv_command(), "--quiet", *map(str, arguments)]
    settings = environments.uv_settings(os.environ)
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"cannot be installed: {done.stderr.strip()[-300:]}", PINS)


def versions() -> dict[str, str]:
    """The versions of the tools that the book is compared with."""
    pins = dict(PIN.findall(PINS.read_text("utf-8")))
    names = ("jupyter-book", "sphinx-book-theme", "sphinx-design")
    return {name: pins[name] for name in names}
