"""Keeps each edition of the book as an archive, and puts them beside the newest pages.

`_build/editions/v1.0.zip` holds the published folder of an edition as `v1.0/`. The page
`editions.html` lists them, with what has been corrected since.
"""

import stat
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from book.base import build_paths, remote
from book.base.arguments import EDITION
from book.notebooks import archive
from book.pages import buttons, hosting
from book.publish import changelog
from book.publish.changelog import Version, order
from book.render.templates import render_template
from book.runner.errors import BookError
from book.runner.files import write_bytes_whole
from book.text.book import Book

# What reading an archive raises if it is damaged, encrypted or compressed otherwise.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, NotImplementedError, UnicodeDecodeError),
)


def keep(root: Path, folder: Path, edition: str) -> Path:
    """Write the archive of an edition, and return it; equal files give equal bytes."""
    names = buttons.files_in(folder)
    files = {name: (folder / name).read_bytes() for name in names}
    path = root / build_paths.EDITIONS / f"{edition}.zip"
    write_bytes_whole(path, archive.zip_files(files, edition))
    return path


def unpack(book: Book, folder: Path) -> list[str]:
    """Unpack all archives into a folder; return the names of the editions.

    The newest is the first. Raises a `BookError` for a bad archive.
    """
    files = {f.stem: f for f in (book.root / build_paths.EDITIONS).glob("*.zip")}
    for name, file in files.items():
        where = file.relative_to(book.root)
        if not EDITION.fullmatch(name):
            hint = "rename it to one such as v1.0.zip, or move it elsewhere"
            raise BookError(f"not the name of an edition; {hint}", where)
        try:
            with zipfile.ZipFile(file) as packed:
                wrong = _what_is_wrong(
                    packed, f"{name}/{book.config.build['index']}.html"
                )
                if not wrong:
                    packed.extractall(folder)
        except UNREADABLE:
            wrong = "it is damaged"
        if wrong:
            raise BookError(f"{wrong}; fetch this edition again, or delete it", where)
    return sorted(files, key=order, reverse=True)


def _what_is_wrong(packed: zipfile.ZipFile, index: str) -> str:
    """Return why an archive is not to be unpacked, or "".

    An archive of an edition has files in the folder of its front page, and no others.
    """
    top = index.split("/")[0]
    for entry in packed.infolist():
        first, *others = entry.filename.removesuffix("/").split("/")
        is_inside = first == top and not {"", ".", ".."} & {*others}
        if not is_inside or "\\" in entry.filename:
            return f"it holds '{entry.filename}', which is not in the folder {top}"
        if stat.S_ISLNK(entry.external_attr >> 16):
            return f"it holds a link, '{entry.filename}'"
    return "" if index in packed.namelist() else f"it has no file {index}"


# The list of editions


def page(book: Book, editions: Sequence[str], policy: str) -> str:
    """Return the page that lists the newest pages and the editions."""
    project, front = book.config.project, book.sections[0].title
    versions = changelog.read(book.root)
    return render_template(
        "editions.html",
        project=project,
        policy=policy,
        index=book.config.build["index"],
        title=front.title if front else project["title"],
        site=hosting.load(book).site,
        made=remote.last_commit(book.root),
        editions=[_described(edition, versions) for edition in editions],
    )


def _described(edition: str, versions: Sequence[Version]) -> dict[str, Any]:
    """Return what the page says of an edition: its date, and what is later."""
    own = [v.date for v in versions if v.number and order(v.number) == order(edition)]
    later = _listed(v for v in versions if not v.is_in(edition))
    return {"name": edition, "date": own[0] if own else "", "later": later}


def _listed(versions: Iterable[Version]) -> dict[str, list[str]]:
    """Return the HTML of what versions list, under each kind in small letters."""
    html = MarkdownIt("commonmark", {"html": False}).renderInline
    found: dict[str, list[str]] = {kind.lower(): [] for kind in changelog.KINDS}
    for version in versions:
        for kind, texts in version.entries.items():
            found[kind.lower()] += map(html, texts)
    return found
