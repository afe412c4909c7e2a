"""Makes the zip archive of all notebooks with their library and requirements."""

import io
import re
import tomllib
import zipfile
from collections.abc import Container
from pathlib import Path

from book.base import environments
from book.base.files import replace_folder
from book.library import package
from book.notebooks import hosts
from book.pages import addresses
from book.refs.numbers import Numbers
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date in a zip archive
READER_PACKAGES = ("jupyterlab",)
# Not beside the notebooks: Keras imports jax, and would find their folder.
LIBRARY = "library/d2l"
README = """\
# {title}

Notebooks in {tabs}; each framework has a folder.

1. Make an environment with Python 3.11 (`python3.11 -m venv env`) and activate it.
2. Install one framework: `pip install -r requirements-{example}.txt`. These builds
   need no GPU; for builds that use one, see the notebook *Using GPUs*. They exist for
   Linux and Windows, and for macOS 14 or newer with Apple silicon, but MXNet only for
   Linux.
3. Run `jupyter lab` in this folder, open a notebook, and choose *Run All Cells*.

`d2l` is the library that the notebooks import. It is not the package `d2l` of *Dive
into Deep Learning*, although it has the same name; a cell of each notebook
makes sure that the right one is imported.

{contents}
{hosts}
{copyright}
"""
# The versions are those of environments/hosts/.
HOSTS = """
## What Runs Where

The table lists the notebooks of the folders `colab` (also for Kaggle) and `sagemaker`
that have run on a CPU with the versions of each host. SageMaker's are those of Studio;
Studio Lab publishes none.

{table}
"""
README_ITEM = "* {number} {title}: `{file}`"

Files = dict[str, bytes]


def supporting_files(book: Book, numbers: Numbers) -> Files:
    """Return the library, the requirements and the README of the archive."""
    files = {"README.md": _readme(book, numbers)}
    for tab in book.tabs:
        files[f"requirements-{tab}.txt"] = _requirements(book, tab)
    for name, text in package.files(book, book.tabs).items():
        files[f"{LIBRARY}/{name}"] = text
    return {name: text.encode() for name, text in files.items()}


def _readme(book: Book, numbers: Numbers) -> str:
    """Return the README with a list of the notebooks."""
    written = [section for section in book.sections if book.code_tabs(section)]
    table = hosts.table(book.root)
    return README.format(
        hosts=HOSTS.format(table=table) if table else "",
        title=book.config.project["title"],
        copyright=f"© {book.config.project['copyright']}",
        tabs=", ".join(map(tab_name, book.tabs)),
        example=book.tabs[0],
        contents=contents(book, numbers, written, README_ITEM),
    )


def contents(
    book: Book, numbers: Numbers, written: Container[Section], item: str
) -> str:
    """Return the list of the notebooks of the sections `written`, below their parts.

    `item` is the format of a line, with a `number`, a `title` and a `file`.
    """
    lines = []
    for part, sections in book.parts:
        items = [
            item.format(
                number=numbers.pages[page.name],
                title=page.title.title if page.title else page.name,
                file=f"{addresses.short(book, page)}.ipynb",
            )
            for page in sections
            if page in written
        ]
        if items:
            lines += [f"## {part}\n", *items, ""] if part else [*items, ""]
    return "\n".join(lines).rstrip()


def _requirements(book: Book, tab: str) -> str:
    """Return what the notebooks need in `tab`, in the versions of its environment."""
    file = book.root / "pyproject.toml"
    settings = tomllib.loads(file.read_text("utf-8"))
    project, groups = settings["project"], settings.get("dependency-groups", {})
    listed = [*project["dependencies"], *project["optional-dependencies"][tab]]
    names = {re.split(r"[<>=~! \[;]", requirement)[0] for requirement in listed}
    pins = [p for p in environments.pins(tab, book.root) if p.split("==")[0] in names]
    own = groups.get(f"run-{tab}", [])
    return "".join(f"{line}\n" for line in [*pins, *own, *READER_PACKAGES])


def zip_files(files: Files, folder: str) -> bytes:
    """Return an archive of `files` in one folder; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def replace_files(folder: Path, files: Files) -> None:
    """Replace a folder with one that holds `files` and nothing else."""
    with replace_folder(folder) as draft:
        for name, data in files.items():
            file = draft / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
