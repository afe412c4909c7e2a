"""Makes PDFs of the book: `python -m book pdf`, which `make pdf` calls.

A PDF has the same text and outputs as the pages, either with all tabs, each under its
label, or as the edition of one tab. `_build/typst/NAME/` holds it as a Typst document,
from which Typst makes `_build/pdf/NAME.pdf`, tagged for readers who do not see it.
"""

from __future__ import annotations

import copy
import multiprocessing
import re
import shutil
import signal
from importlib.resources import files
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from book.base import build_paths
from book.base.errors import BookError
from book.base.files import replace_folder, write_bytes_whole, write_whole
from book.base.paths import TEMPLATES
from book.pages import html, names
from book.paper.markup import string

if TYPE_CHECKING:
    from book.paper.edition import Views
    from book.text.book import Book

TEMPLATE = ("book.typ", "book.tmTheme")
# What a document and errors of Typst say.
SOURCE_LINE = re.compile(r"^// (\S+):(\d+)$", re.MULTILINE)
ERROR = re.compile(r"^error: ", re.MULTILINE)
LINE = re.compile(r"main\.typ:(\d+)")
MISSING = re.compile(r'the text `"(.+?)"` could not be displayed with font `"(.+?)"`')
PICTURE = re.compile(r"([0-9a-f]{16}\.\w+):\d+")
WIDE = "panicked with: too wide: "


def build(book: Book, tab: str | None = None, views: Views | None = None) -> Path:
    """Make the PDF of `tab`, or of all tabs, unless it is up to date; return its path.

    `views` returns the view of a section in a tab; the default shows the records.
    Raises a `BookError` for what Typst cannot show; an old PDF stays as it was.
    """
    edition = book if tab is None else _edition(book, book.check_tab(tab))
    pdf = book.root / build_paths.PDF / names.pdf(book, tab)
    folder = book.root / build_paths.TYPST / pdf.stem
    stamp, built_from = folder.with_suffix(".stamp"), html.fingerprint(book.root)
    if views is None and pdf.exists() and _is_up_to_date(stamp, built_from):
        return pdf
    stamp.unlink(missing_ok=True)
    _write_document(edition, folder, views)
    write_bytes_whole(pdf, _typeset(book, folder))
    write_whole(stamp, built_from)
    return pdf


def _is_up_to_date(stamp: Path, built_from: str) -> bool:
    """Return True if the PDF was made from files with this fingerprint."""
    return stamp.exists() and stamp.read_text("utf-8") == built_from


def _edition(book: Book, tab: str) -> Book:
    """Return the book with only one tab, whose text and code need no panels."""
    edition = copy.copy(book)
    edition.tabs = [tab]
    return edition


def _write_document(edition: Book, folder: Path, views: Views | None) -> None:
    """Write the document of an edition, and all files that it needs, to `folder`."""
    from book.paper.edition import Edition
    from book.paper.writer import Writer
    from book.records import store

    shown = views or html.views_of_records(edition, store.titles(edition))
    cache = build_paths.cache(edition.root, "sources")
    writer = Writer(Edition(edition, shown, cache))
    text = writer.write()
    with replace_folder(folder) as new:
        (new / "main.typ").write_text(text, "utf-8")
        for name, data in writer.files.items():
            (new / name).write_bytes(data)
        for name in TEMPLATE:
            shutil.copy(TEMPLATES / name, new)


# Typst


def _typeset(book: Book, folder: Path) -> bytes:
    """Return the PDF of a document; raise a `BookError` if Typst cannot make it.

    Typst runs in a process of its own, which gives its memory back, and which ends at
    once if this one is interrupted.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_compile, args=(folder, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        made = ours.recv()
    except EOFError:
        message = "Typst was ended; it may need more memory than the machine has"
        raise BookError(message, "make pdf") from None
    finally:
        process.kill()
        process.join()
    if isinstance(made, str):
        document = (folder / "main.typ").read_text("utf-8")
        raise BookError(explain(book, document, made))
    return bytes(made)


def _compile(folder: Path, results: Connection) -> None:
    """Send the PDF of a document, or the text of an error."""
    import typst

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        pdf = typst.compile(
            folder / "main.typ",
            root=folder,
            font_paths=[Path(str(files("font_roboto"))) / "files"],
            ignore_system_fonts=True,  # the same bytes on each machine
            # Accessible. A character that no font has is an error under this standard.
            pdf_standards="ua-1",
        )
    except typst.TypstError as error:
        results.send(error.diagnostic)
    else:
        results.send(pdf)


# Errors


def explain(book: Book, document: str, diagnostic: str) -> str:
    """Return a line for each error of Typst: a place in the sources, and what is wrong.

    An error names a line of the document, or text or a picture that it has.
    """
    found = []
    for error in ERROR.split(diagnostic)[1:]:
        message, named = error.split("\n")[0].removeprefix("PDF/UA-1 error: "), ""
        if missing := MISSING.search(message):
            named, font = missing[1], missing[2]
            message = f"no '{named}' in the font {font}; use another character"
        elif message.startswith(WIDE):
            named = message.removeprefix(WIDE)
            message = "too wide for the page; break the equation into lines"
        elif picture := PICTURE.search(error):
            named, message = picture[1], f"the picture is damaged: {message}"
        found.append(f"{_place(book, document, error, named)}: {message}")
    return "\n".join(dict.fromkeys(found))


def _place(book: Book, document: str, error: str, named: str) -> str:
    """Return the file and line of the Markdown that causes an error."""
    lines = document.split("\n")
    if line := LINE.search(error):
        above = "\n".join(lines[: int(line[1])])
    else:
        above = document.partition(string(named)[1:-1] or "\n")[0]
    places = SOURCE_LINE.findall(above)
    if not places:
        return "the printed book"
    name, start = places[-1][0], int(places[-1][1])
    section = book.section(name)
    for number, text in enumerate(section.text.split("\n")[start - 1 :], start=start):
        if named and named in text:
            return section.at(number)
    return section.at(start)
