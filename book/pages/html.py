"""Build the book's pages: `python -m book html`, which `make` calls.

Each section becomes reStructuredText in `_build/sphinx`, Sphinx makes pages of it in
`_build/pages`, and these become `_build/html` if all went well. What has not changed
is not made again; when nothing has, nothing is done.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import io
import re
import shutil
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from book.base.errors import BookError
from book.base.files import replace_folder, write_whole

# What only a build needs is imported there: to find that there is none to do is quick.
if TYPE_CHECKING:
    from nbformat import NotebookNode

    from book.pages.rst import Page
    from book.sources.book import Book, Section

    Notebooks = Callable[[Section, str], NotebookNode | None]

TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
INPUTS = ("config.ini", "outputs/**/*.ipynb", "d2l/*.py", "environments/*.txt", *TOOLS)
NOTEBOOKS = "**/*.md"  # where the settings name none, as in d2lbook
# Sphinx writes these whatever the pages need; ours need none of them.
UNUSED = (
    *("jquery*", "underscore*", "_sphinx_javascript*", ".buildinfo", "objects.inv"),
    *("basic.css", "file.png", "plus.png", "minus.png", "pygments.css"),
    *("book.css", "book.js", "preview.js", "early.js"),
    *("slides.css", "slides.js", "reveal"),
)
NO_RECORDS = {"cpu": "CPU"}
WARNING = re.compile(
    r"^(?:(?P<file>[^\n]*?)(?::(?P<line>\d+))?: )?"
    r"(?:WARNING|ERROR|CRITICAL|SEVERE): (?P<message>.*)$",
    re.MULTILINE,
)
TABLE = re.compile(r"(?:^[ \t]*\|.*\n)+", re.MULTILINE)
# docutils takes about two milliseconds for each cell of a table.
MOST_CELLS = 2000
QUOTED = re.compile(r"""['"`]([^'"`]+)['"`]""")
BIBLIOGRAPHY = """\
References
==========

.. bibliography::
   :style: apa
"""


def built(root: Path) -> Path | None:
    """The index page of the book in `root` if it is there and nothing has changed."""
    stamp = root / "_build/html.stamp"
    if not stamp.exists():
        return None
    made_of, _, index = stamp.read_text("utf-8").strip().partition("\n")
    page = root / index
    try:
        unchanged = page.is_file() and made_of == fingerprint(root)
    except (configparser.Error, ValueError, NotImplementedError):
        # Settings that cannot be read are told of by who reads the book.
        return None
    return page if unchanged else None


def build(book: Book, notebooks: Notebooks | None = None) -> Path:
    """The index page of the book, built; `notebooks` gives a section in a tab.

    These are the kept records' by default.
    """
    if notebooks is None and (index := built(book.root)):
        return index
    from book.pages import buttons
    from book.records import store
    from book.sources import hosting

    shown = {"book_buttons": buttons.of(book, hosting.of(book))}
    titles = store.titles(book)
    folder = book.root / "_build"
    stamp, made_of = folder / "html.stamp", fingerprint(book.root)
    stamp.unlink(missing_ok=True)
    # What the command said of the last build does not hold for this one.
    (folder / "html.notes").unlink(missing_ok=True)
    write_pages(book, notebooks or recorded(book, titles), folder / "sphinx")
    # Sphinx brings these anew each time, and takes none away that is no more.
    shutil.rmtree(folder / "pages" / "_static", ignore_errors=True)
    run_sphinx(book, folder, titles, settings=shown)
    _publish(folder / "pages", folder / "html")
    index = folder / "html" / f"{book.config.build['index']}.html"
    write_whole(stamp, f"{made_of}\n{index.relative_to(book.root)}\n")
    return index


def recorded(book: Book, titles: dict[str, str]) -> Notebooks:
    """What the kept records of all machines, which readers know by `titles`, show."""
    from book.pages import merge
    from book.records import store

    # Without any fresh record, that of the first tells why.
    machines = dict.fromkeys(["cpu", *titles])

    def shown(section: Section, tab: str) -> NotebookNode | None:
        found = {m: store.shown_notebook(book, section, tab, m) for m in machines}
        there = {m: nb for m, nb in found.items() if nb is not None}
        return merge.merge_machines(there, titles) if there else None

    return shown


def fingerprint(root: Path) -> str:
    """A hash of all files that the pages follow from."""
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    return _hash_of_files(root, [*INPUTS, *notebooks, *resources])


def _hash_of_files(root: Path, patterns: Iterable[str]) -> str:
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    named = (str(p.relative_to(root)).encode() + p.read_bytes() for p in sorted(files))
    return _hash("".join(map(_hash, named)).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# From notebooks to reStructuredText


def write_pages(book: Book, notebooks: Notebooks, folder: Path) -> None:
    """Put into `folder` what Sphinx builds the book from, and nothing else."""
    files = dict(_resources(book))
    cited = False
    for section in book.sections:
        page = _page(book, section, notebooks)
        cited |= ":cite:" in page.text
        files[f"{section.name}.rst"] = page.text.encode()
        parent = Path(section.name).parent
        files |= {str(parent / name): data for name, data in page.images.items()}
    if cited and not any(b".. bibliography::" in text for text in files.values()):
        files["references.rst"] = BIBLIOGRAPHY.encode()
        index = f"{book.config.build['index']}.rst"
        files[index] += b"\n\n.. toctree::\n   :hidden:\n\n   references\n"
    files["conf.py"] = _configuration(book, folder)
    _synchronise(files, folder)


def _page(book: Book, section: Section, notebooks: Notebooks) -> Page:
    from book.pages import merge, rst
    from book.records.store import for_notebooks

    _check_tables(section)
    found = {tab: notebooks(section, tab) for tab in book.tabs}
    there = {tab: nb for tab, nb in found.items() if nb is not None and nb.cells}
    for nb in there.values():
        nb.cells = [cell for cell in nb.cells if not for_notebooks(cell)]
    if not there:
        raise BookError("the page is empty; write something", f"{section.name}.md")
    merged = merge.with_records(merge.merge(there), book.tabs, section.name)
    return rst.convert(merged, Path(section.name).name)


def _check_tables(section: Section) -> None:
    """Raise a `BookError` if a table of a section is too large for a page."""
    for table in TABLE.finditer(section.prose):
        cells = sum(row.strip(" \t|").count("|") + 1 for row in table[0].splitlines())
        if cells > MOST_CELLS:
            line = section.prose.count("\n", 0, table.start()) + 1
            raise BookError(
                f"a table of {cells:,} cells; show at most {MOST_CELLS:,} or draw them",
                section.at(line),
            )


def _resources(book: Book) -> Iterator[tuple[str, bytes]]:
    for pattern in book.config.build["resources"].split():
        for file in sorted(book.root.glob(pattern)):
            yield str(file.relative_to(book.root)), file.read_bytes()


def _configuration(book: Book, folder: Path) -> bytes:
    """The settings that d2lbook makes of config.ini."""
    from d2lbook.sphinx import SphinxEnv

    book.config.rst_dir = str(folder)
    (folder / "_static").mkdir(parents=True, exist_ok=True)
    SphinxEnv(book.config).prepare_env()
    shutil.rmtree(folder / "_static")
    return (folder / "conf.py").read_bytes()


def _synchronise(files: dict[str, bytes], folder: Path) -> None:
    """Make `files` the contents of `folder`; what is the same is not touched."""
    gone = [
        file
        for file in folder.rglob("*")
        if file.is_file() and str(file.relative_to(folder)) not in files
    ]
    for file in gone:
        file.unlink()
    if gone:
        # Sphinx keeps the pages and images of what is no more.
        for made in ("pages", "doctrees"):
            shutil.rmtree(folder.parent / made, ignore_errors=True)
    for name, data in files.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


# From reStructuredText to pages


def run_sphinx(
    book: Book,
    folder: Path,
    titles: dict[str, str],
    builder: str = "html",
    settings: Mapping[str, object] = types.MappingProxyType({}),
) -> None:
    """Make pages in `folder` of what `write_pages` put there, by a Sphinx builder."""
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    # Sphinx 5.3 takes no paths.
    source, pages, doctrees = (
        str(folder / part) for part in ("sphinx", "pages", "doctrees")
    )
    own = {
        "book_tabs": book.tabs,
        "book_machines": [[*pair] for pair in (titles or NO_RECORDS).items()],
        "book_made_with": _hash_of_files(book.root, TOOLS),
    }
    told, stopped = io.StringIO(), ""
    try:
        with patch_docutils(source), docutils_namespace(), _import_path():
            Sphinx(
                *(source, source, pages, doctrees, builder, own | dict(settings)),
                status=None,
                warning=told,
            ).build()
    except SphinxError as error:
        stopped = f"{error.category}: {error}"
    problems = [
        *_problems(told.getvalue(), book, folder / "sphinx"),
        *filter(None, [stopped]),
    ]
    if problems:
        # Sphinx would not repeat its warnings about what it keeps.
        shutil.rmtree(doctrees, ignore_errors=True)
        raise BookError("\n".join(problems))


@contextlib.contextmanager
def _import_path() -> Iterator[None]:
    """Give `sys.path` back as it was: d2lbook's settings add to it."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _problems(told: str, book: Book, folder: Path) -> Iterator[str]:
    """What Sphinx told, each in one line that starts with the place in the Markdown."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", told)
    for found in WARNING.finditer(plain):
        yield f"{_place(found, book, folder)}: {found['message']}"


def _place(found: re.Match[str], book: Book, folder: Path) -> str:
    """The section and, if what is told of can be found there, the line."""
    file = Path(found["file"] or "book")
    if not file.is_relative_to(folder):
        return str(file)
    name = str(file.relative_to(folder).with_suffix(""))
    section = next((s for s in book.sections if s.name == name), None)
    if section is None:
        return name
    quoted = QUOTED.findall(found["message"])
    # Sphinx names a label last, with dashes for its underscores.
    label = found["message"].split(": ")[-1].replace("-", "_")
    for clue in (*quoted, label, *_words_near(file, found["line"])):
        if clue in section.text:
            return section.where(clue)
    return f"{name}.md"


def _words_near(file: Path, line: str | None) -> Iterable[str]:
    lines = file.read_text(encoding="utf-8").splitlines() if line else []
    number = int(line or 0)
    words = " ".join(lines[number - 1 : number + 1]).split()
    return [" ".join(words[:4])] if words else []


def _publish(pages: Path, site: Path) -> None:
    """Replace the last good site by a copy of `pages`."""
    with replace_folder(site) as new:
        unused = shutil.ignore_patterns(*UNUSED)
        shutil.copytree(pages, new, ignore=unused, dirs_exist_ok=True)
