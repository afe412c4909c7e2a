"""Builds the HTML pages of the book: `python -m book html`, which `make` calls.

Each section is written as reStructuredText to `_build/sphinx`. Sphinx makes pages from
it in `_build/pages`, which are copied to `_build/html` if the build succeeds. Only
sections that have changed are made again.
"""

from __future__ import annotations

import configparser
import contextlib
import functools
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

from book.base import build_paths
from book.base.cache import Cache
from book.base.errors import BookError
from book.base.files import replace_folder, write_whole

# Functions that build import what they need, so that an up-to-date book is found fast.
if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

    from book.merge import TabView
    from book.pages.rst import Page
    from book.sources.book import Book
    from book.sources.inline import Medium
    from book.sources.section import Section

    Views = Callable[[Section, str], TabView | None]

TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
INPUTS = ("config.ini", "outputs/**/*.ipynb", "d2l/*", "environments/*.txt", *TOOLS)
NOTEBOOKS = "**/*.md"  # the default of d2lbook
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


def up_to_date_index(root: Path) -> Path | None:
    """Return the index page of the book in `root`, or None if it has to be built."""
    stamp = root / build_paths.HTML_STAMP
    if not stamp.exists():
        return None
    built_from, _, index = stamp.read_text("utf-8").strip().partition("\n")
    page = root / index
    try:
        unchanged = page.is_file() and built_from == fingerprint(root)
    except (configparser.Error, ValueError, NotImplementedError):
        # The build reads the settings too and reports the mistake in them.
        return None
    return page if unchanged else None


def build(book: Book, views: Views | None = None) -> Path:
    """Build the book if it is not up to date, and return its index page.

    `views` returns the view of a section in a tab; the default shows the records.
    Raises a `BookError` that lists the warnings of Sphinx, if there are any.
    """
    if views is None and (index := up_to_date_index(book.root)):
        return index
    from book.pages import buttons, hosting
    from book.records import store

    published = hosting.load(book)
    settings = {
        "book_buttons": buttons.for_book(book, published),
        "html_baseurl": published.site,
    }
    titles = store.titles(book)
    folder = book.root / build_paths.BUILD
    stamp, built_from = book.root / build_paths.HTML_STAMP, fingerprint(book.root)
    stamp.unlink(missing_ok=True)
    # The notes describe the last build and not this one.
    (book.root / build_paths.HTML_NOTES).unlink(missing_ok=True)
    views = views or views_of_records(book, titles)
    pages = write_pages(book, views, folder / "sphinx")
    # Sphinx copies these files each time but removes none that are gone.
    shutil.rmtree(folder / "pages" / "_static", ignore_errors=True)
    run_sphinx(book, folder, titles, pages, settings=settings)
    with replace_folder(book.root / build_paths.HTML) as new:
        copy_pages(folder / "pages", new)
    index = book.root / build_paths.HTML / f"{book.config.build['index']}.html"
    write_whole(stamp, f"{built_from}\n{index.relative_to(book.root)}\n")
    return index


def views_of_records(book: Book, titles: dict[str, str]) -> Views:
    """Return a function that returns the view of a section in a tab with its records.

    `titles` holds the name of each machine that readers see.
    """
    from book import merge
    from book.records import store

    # If no record is fresh, the view gives the reason for the first machine.
    machines = dict.fromkeys(["cpu", *titles])

    def view(section: Section, tab: str) -> TabView | None:
        records = {m: store.shown(book, section, tab, m) for m in machines}
        shown = {m: record for m, record in records.items() if record is not None}
        return merge.merge_machines(shown, titles) if shown else None

    return view


def fingerprint(root: Path) -> str:
    """Return a hash of all files that the pages depend on."""
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    return _hash_of_files(root, [*INPUTS, *notebooks, *resources])


def _hash_of_files(root: Path, patterns: Iterable[str]) -> str:
    """Return a hash of the names and contents of all files that match a pattern."""
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    named = (str(p.relative_to(root)).encode() + p.read_bytes() for p in sorted(files))
    return _hash("".join(map(_hash, named)).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# From notebooks to reStructuredText


def write_pages(
    book: Book, views: Views, folder: Path, medium: Medium = "web"
) -> dict[str, Page]:
    """Write the source files of Sphinx to `folder` and remove all others there.

    Returns the pages under the names of their sections.
    """
    files = dict(_resources(book))
    pages: dict[str, Page] = {}
    cache = build_paths.cache(book.root, f"rst-{folder.parent.name}")

    def page_of(section: Section) -> Page:
        return _page(book, section, views, medium, cache)

    cache.fill(page_of, book.sections)
    for section in book.sections:
        page = pages[section.name] = page_of(section)
        files[f"{section.name}.rst"] = page.text.encode()
        parent = Path(section.name).parent
        files |= {str(parent / name): data for name, data in page.images.items()}
    cited = any(":cite:" in page.text for page in pages.values())
    if cited and not any(b".. bibliography::" in text for text in files.values()):
        files["references.rst"] = BIBLIOGRAPHY.encode()
        index = f"{book.config.build['index']}.rst"
        files[index] += b"\n\n.. toctree::\n   :hidden:\n\n   references\n"
    cache.forget_others()
    files["conf.py"] = _configuration(book, folder)
    _synchronize(files, folder)
    return pages


def _page(
    book: Book,
    section: Section,
    views: Views,
    medium: Medium = "web",
    cache: Cache | None = None,
) -> Page:
    """Return the page of a section; raise a `BookError` if it shows nothing."""
    from book import merge
    from book.facts.marked_numbers import published_measurements
    from book.pages import rst

    all_views = [views(section, tab) for tab in book.tabs]
    tab_views = [view for view in all_views if view is not None]
    if not tab_views:
        raise BookError("the page is empty; write something", f"{section.name}.md")
    items = merge.merge(section, tab_views, published_measurements(book))
    complete = rst.with_records(items, section, tab_views, book.tabs)
    return rst.convert(complete, Path(section.name).name, medium, cache)


def _resources(book: Book) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the contents of each file that pages refer to."""
    from book.refs.bibliography import Bibliography

    bibliographies = book.config.pdf["bibfile"].replace(",", " ").split()
    for pattern in book.config.build["resources"].split():
        for file in sorted(book.root.glob(pattern)):
            name, data = str(file.relative_to(book.root)), file.read_bytes()
            if name in bibliographies:
                data = Bibliography(book).with_letters(data.decode("utf-8")).encode()
            yield name, data


def _configuration(book: Book, folder: Path) -> bytes:
    """Return the settings of Sphinx that d2lbook derives from config.ini."""
    from d2lbook.sphinx import SphinxEnv

    book.config.rst_dir = str(folder)
    (folder / "_static").mkdir(parents=True, exist_ok=True)
    SphinxEnv(book.config).prepare_env()
    shutil.rmtree(folder / "_static")
    return (folder / "conf.py").read_bytes()


def _synchronize(files: dict[str, bytes], folder: Path) -> None:
    """Make `files` the contents of `folder` without touching unchanged files."""
    obsolete = [
        file
        for file in folder.rglob("*")
        if file.is_file() and str(file.relative_to(folder)) not in files
    ]
    for file in obsolete:
        file.unlink()
    if obsolete:
        # Sphinx would keep the pages and images of files that are gone.
        for name in ("pages", "doctrees"):
            shutil.rmtree(folder.parent / name, ignore_errors=True)
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
    """Run Sphinx in `folder` on the files of `write_pages`, which are in `written`.

    Raises a `BookError` that lists each warning with its line of the Markdown.
    """
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    # Sphinx 5.3 takes the names of folders as text.
    source, pages, doctrees = (
        str(folder / name) for name in ("sphinx", "pages", "doctrees")
    )
    warnings, errors = io.StringIO(), []
    try:
        with patch_docutils(source), docutils_namespace(), restored_import_path():
            app = Sphinx(
                *(source, source, pages, doctrees, builder),
                _settings(book, titles) | dict(settings),
                status=None,
                warning=warnings,
                parallel=os.cpu_count() or 1,
            )
            compare = functools.partial(_compare_texts, book, written)
            app.connect("doctree-read", compare)
            app.build()
    except SphinxError as error:
        errors.append(f"{error.category}: {error}")
    problems = [
        *_problems(warnings.getvalue(), book, folder / "sphinx", written),
        *errors,
    ]
    if problems:
        # Sphinx would not repeat its warnings about pages that it has cached.
        shutil.rmtree(doctrees, ignore_errors=True)
        raise BookError("\n".join(problems))


def _settings(book: Book, titles: dict[str, str]) -> dict[str, object]:
    """Return the settings of Sphinx for each format."""
    from book.library import package

    return {
        "book_tabs": book.tabs,
        "book_parts": [[title, [s.name for s in part]] for title, part in book.parts],
        "book_machines": [[*pair] for pair in (titles or NO_RECORDS).items()],
        "book_cards": package.cards(book),
        "book_code_hash": _hash_of_files(book.root, TOOLS),
    }


def _compare_texts(
    book: Book,
    pages: Mapping[str, Page],
    app: Sphinx,
    doctree: nodes.document,
) -> None:
    """Warn of the first block of a page whose text is not that of the Markdown."""
    from sphinx.util import logging

    from book.pages import wording
    from book.pages.sphinx.reading import texts

    name = app.env.docname
    section = next((s for s in book.sections if s.name == name), None)
    if section is None or name not in pages:
        return
    seen = wording.compact("".join(texts(doctree)))
    for line, block in pages[name].written:
        wanted = wording.written(block, pages[name].medium)
        if not seen.startswith(wanted):
            source = block if isinstance(block, str) else block.source
            problem = wording.explain(source, wanted, seen[: len(wanted)])
            logging.getLogger(__name__).warning(problem, location=section.at(line))
            return
        seen = seen[len(wanted) :]
    if seen:
        problem = f"the page also shows '{seen[:40]}'"
        logging.getLogger(__name__).warning(problem, location=section.at(1))


@contextlib.contextmanager
def restored_import_path() -> Iterator[None]:
    """Restore `sys.path` at the end, since d2lbook's settings of Sphinx add to it."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before


def _problems(
    warnings: str, book: Book, folder: Path, pages: Mapping[str, Page]
) -> Iterator[str]:
    """Yield each warning of Sphinx in a line that starts with its place.

    If some are about texts that are misread, the others follow from that.
    """
    found = list(WARNING.finditer(re.sub(r"\x1b\[[\d;]*m", "", warnings)))
    misread = [warning for warning in found if _is_misread(warning)]
    for warning in misread or found:
        yield f"{_place(warning, book, folder, pages)}: {warning['message']}"


def _is_misread(warning: re.Match[str]) -> bool:
    return (warning["file"] or "").endswith(".md")


def _place(
    warning: re.Match[str], book: Book, folder: Path, pages: Mapping[str, Page]
) -> str:
    """Return the file and line of the Markdown that a warning is about."""
    file = Path(warning["file"] or "book")
    if _is_misread(warning):
        return f"{file}:{warning['line']}"
    if not file.is_relative_to(folder):
        return str(file)
    name = str(file.relative_to(folder).with_suffix(""))
    section = next((s for s in book.sections if s.name == name), None)
    if section is None or name not in pages:
        return name
    first, after = 1, len(section.text)
    if warning["line"]:
        first, after = pages[name].origin(int(warning["line"]))
    lines = section.text.split("\n")[first - 1 : after - 1]
    # A text that the warning quotes is on the line that it is about.
    for quoted in QUOTED.findall(warning["message"]):
        for number, line in enumerate(lines, start=first):
            if quoted in line:
                return section.at(number)
    return section.at(first)


def copy_pages(pages: Path, site: Path) -> None:
    """Copy the pages that Sphinx has made, without its notes on them."""
    notes = pages / ".buildinfo"

    def ignore(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder, name) == notes}

    shutil.copytree(pages, site, ignore=ignore, dirs_exist_ok=True)
