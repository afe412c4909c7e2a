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
import os
import re
import shutil
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from book.base.errors import BookError
from book.base.files import write_whole
from book.base.kept import Kept

# What only a build needs is imported there: to find that there is none to do is quick.
if TYPE_CHECKING:
    from book.pages.merge import TabView
    from book.pages.rst import Page
    from book.sources.book import Book
    from book.sources.inline import Medium
    from book.sources.section import Section

    Views = Callable[[Section, str], TabView | None]

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
QUOTED = re.compile(r"""['"`]([^'"`]+)['"`]""")
BIBLIOGRAPHY = """\
References
==========

.. bibliography::
   :style: book
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


def build(book: Book, views: Views | None = None) -> Path:
    """Build the book and return its index page.

    `views` gives what a tab shows of a section; by default it shows the kept records.
    """
    if views is None and (index := built(book.root)):
        return index
    from book.pages import buttons
    from book.records import store
    from book.sources import hosting

    shown = {"book_buttons": buttons.of(book, hosting.load(book))}
    titles = store.titles(book)
    folder = book.root / "_build"
    stamp, made_of = folder / "html.stamp", fingerprint(book.root)
    stamp.unlink(missing_ok=True)
    # What the command said of the last build does not hold for this one.
    (folder / "html.notes").unlink(missing_ok=True)
    pages = write_pages(book, views or recorded(book, titles), folder / "sphinx")
    # Sphinx brings these anew each time, and takes none away that is no more.
    shutil.rmtree(folder / "pages" / "_static", ignore_errors=True)
    run_sphinx(book, folder, titles, pages, settings=shown)
    _publish(folder / "pages", folder / "html")
    index = folder / "html" / f"{book.config.build['index']}.html"
    write_whole(stamp, f"{made_of}\n{index.relative_to(book.root)}\n")
    return index


def recorded(book: Book, titles: dict[str, str]) -> Views:
    """Return a function that gives what a tab shows with the kept records.

    `titles` holds what readers call each machine.
    """
    from book.pages import merge
    from book.records import store

    # Without any fresh record, that of the first says why.
    machines = dict.fromkeys(["cpu", *titles])

    def view(section: Section, tab: str) -> TabView | None:
        found = {m: store.shown(book, section, tab, m) for m in machines}
        there = {m: shown for m, shown in found.items() if shown is not None}
        return merge.merge_machines(there, titles) if there else None

    return view


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


def write_pages(
    book: Book, views: Views, folder: Path, medium: Medium = "web"
) -> dict[str, Page]:
    """Put into `folder` what Sphinx builds the book from, and nothing else.

    Returns the pages by the names of their sections.
    """
    files = dict(_resources(book))
    pages: dict[str, Page] = {}
    kept = Kept(book.root / "_build/rst" / folder.parent.name)
    for section in book.sections:
        page = pages[section.name] = _page(book, section, views, medium, kept)
        files[f"{section.name}.rst"] = page.text.encode()
        parent = Path(section.name).parent
        files |= {str(parent / name): data for name, data in page.images.items()}
    cited = any(":cite:" in page.text for page in pages.values())
    if cited and not any(b".. bibliography::" in text for text in files.values()):
        files["references.rst"] = BIBLIOGRAPHY.encode()
        index = f"{book.config.build['index']}.rst"
        files[index] += b"\n\n.. toctree::\n   :hidden:\n\n   references\n"
    kept.forget_others()
    files["conf.py"] = _configuration(book, folder)
    _synchronise(files, folder)
    return pages


def _page(
    book: Book,
    section: Section,
    views: Views,
    medium: Medium = "web",
    kept: Kept | None = None,
) -> Page:
    from book.pages import merge, rst

    found = [views(section, tab) for tab in book.tabs]
    there = [view for view in found if view is not None]
    if not there:
        raise BookError("the page is empty; write something", f"{section.name}.md")
    items = merge.merge(section, there)
    complete = rst.with_records(items, section, there, book.tabs)
    return rst.convert(complete, Path(section.name).name, medium, kept)


def _resources(book: Book) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the contents of each file that pages refer to."""
    from book.sources.bibliography import Bibliography

    bibliographies = book.config.pdf["bibfile"].replace(",", " ").split()
    for pattern in book.config.build["resources"].split():
        for file in sorted(book.root.glob(pattern)):
            name, data = str(file.relative_to(book.root)), file.read_bytes()
            if name in bibliographies:
                data = Bibliography(book).with_letters(data.decode("utf-8")).encode()
            yield name, data


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
    written: Mapping[str, Page],
    builder: str = "html",
    settings: Mapping[str, object] = types.MappingProxyType({}),
) -> None:
    """Make pages in `folder` of what `write_pages` put there, by a Sphinx builder.

    Raises a `BookError` with what Sphinx warns of, each with its line of the Markdown.
    """
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
        *_problems(told.getvalue(), book, folder / "sphinx", written),
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


def _problems(
    told: str, book: Book, folder: Path, pages: Mapping[str, Page]
) -> Iterator[str]:
    """Yield each warning of Sphinx in a line that starts with its place."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", told)
    for found in WARNING.finditer(plain):
        yield f"{_place(found, book, folder, pages)}: {found['message']}"


def _place(
    found: re.Match[str], book: Book, folder: Path, pages: Mapping[str, Page]
) -> str:
    """Return the file and line of the Markdown that a warning is about."""
    file = Path(found["file"] or "book")
    if not file.is_relative_to(folder):
        return str(file)
    name = str(file.relative_to(folder).with_suffix(""))
    section = next((s for s in book.sections if s.name == name), None)
    if section is None or name not in pages:
        return name
    first, after = 1, len(section.text)
    if found["line"]:
        first, after = pages[name].origin(int(found["line"]))
    lines = section.text.split("\n")[first - 1 : after - 1]
    for clue in QUOTED.findall(found["message"]):
        for number, line in enumerate(lines, start=first):
            if clue in line:
                return section.at(number)
    return section.at(first)


def _publish(pages: Path, site: Path) -> None:
    """Put a whole copy of `pages` in the place of the last good site."""
    new = site.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        shutil.copytree(pages, new, ignore=shutil.ignore_patterns(*UNUSED))
    except OSError as error:
        raise BookError(f"cannot be written ({error.strerror})", site) from error
    replace_folder(site, new)


def replace_folder(site: Path, new: Path) -> None:
    """Put the folder `new` in the place of `site`."""
    old = site.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    try:
        if site.exists():
            os.rename(site, old)
        os.rename(new, site)
    except OSError as error:
        raise BookError(f"cannot be written ({error.strerror})", site) from error
    shutil.rmtree(old, ignore_errors=True)
