"""Makes PDFs of the book: `python -m book pdf`, which `make pdf` calls.

A PDF has the text and the outputs of the pages in one tab. `_build/typst/NAME/` holds
it as a Typst document, from which Typst makes `_build/pdf/NAME.pdf`, tagged for readers
who do not see it.
"""

from __future__ import annotations

import copy
import multiprocessing
import re
from importlib.resources import files
from pathlib import Path

from book.base import build_paths
from book.base.files import replace_folder
from book.base.inputs import digest_of_inputs
from book.pages import addresses
from book.paper.typst import string
from book.runner.errors import BookError
from book.runner.files import write_bytes_whole
from book.runner.freshness import Product
from book.runner.signals import report
from book.text.book import Book

# What Typst wrote, beside its document: a PDF or errors.
MADE, ERRORS = "book.pdf", "errors.txt"
START = re.compile("^error: (?:PDF/UA-1 error: )?", re.MULTILINE)
SOURCE_LINE = re.compile(r"^// (\S+):(\d+)$", re.MULTILINE)
LINE = re.compile(r"main\.typ:(\d+)")
# Errors of Typst, each with something that the document has, and what authors can do.
KNOWN_ERRORS = {
    r'the text `"(.+?)"` could not be displayed with font `"(.+?)"`': (
        "no '{0}' in the font {1}; use another character"
    ),
    "too wide: (.+)": "too wide for the page; break the equation into lines",
    r"([0-9a-f]{16}\.\w+):\d+": "the picture is damaged: {1}",
}


def build(book: Book, tab: str) -> Path:
    """Make the PDF of `tab` unless it is up to date; return its path.

    Raises a `BookError` for what Typst cannot show; an old PDF stays as it was.
    """
    edition = copy.copy(book)
    edition.tabs = [book.check_tab(tab)]
    pdf = book.root / build_paths.PDF / addresses.pdf(book, tab)
    folder = book.root / build_paths.TYPST / pdf.stem
    product, inputs = (
        Product(pdf, folder.with_suffix(".stamp")),
        digest_of_inputs(book.root, book.setting("publish", "edition")),
    )
    if not product.is_fresh(inputs):
        with product.made_from(inputs):
            _write_document(edition, folder)
            report(f"typesetting {pdf.name}")
            write_bytes_whole(pdf, _typeset(book, folder))
    return pdf


def _write_document(edition: Book, folder: Path) -> None:
    """Write the document of an edition, and all files that it needs, to `folder`."""
    # A PDF that is up to date is found fast, without what writes one.
    from book import merge
    from book.paper.edition import Edition
    from book.paper.writer import Writer
    from book.records import store

    shown = merge.views_of_records(edition, store.titles(edition))
    cache = build_paths.cache(edition.root, "sources")
    with replace_folder(folder) as new:
        Writer(Edition(edition, shown, cache), new).write()


def _typeset(book: Book, folder: Path) -> bytes:
    """Return the PDF of a document; raise a `BookError` if Typst cannot make it.

    Typst runs in a process of its own, which gives its memory back, and which ends at
    once if this one is interrupted.
    """
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_compile, args=(folder,))
    process.start()
    try:
        process.join()
    finally:
        process.kill()
    if (folder / ERRORS).exists():
        raise BookError(explain(book, folder))
    if not (folder / MADE).exists():
        message = "Typst was ended; it may need more memory than the machine has"
        raise BookError(message, "make pdf")
    return (folder / MADE).read_bytes()


def _compile(folder: Path) -> None:
    """Write the PDF of a document to its folder, or the text of errors."""
    import typst

    try:
        typst.compile(
            folder / "main.typ",
            folder / MADE,
            root=folder,
            font_paths=[Path(str(files("font_roboto"))) / "files"],
            ignore_system_fonts=True,  # the same bytes on each machine
            # Accessible. A character that no font has is an error under this standard.
            pdf_standards="ua-1",
        )
    except typst.TypstError as error:
        (folder / ERRORS).write_text(error.diagnostic, "utf-8")


def explain(book: Book, folder: Path) -> str:
    """Return a line for each error of Typst: a place in the sources, and what is wrong.

    An error names a line of the document, or a text or a picture that is in it.
    """
    document = (folder / "main.typ").read_text("utf-8")
    found = []
    for error in START.split((folder / ERRORS).read_text("utf-8"))[1:]:
        message, named = error.split("\n")[0], ""
        for pattern, known in KNOWN_ERRORS.items():
            if match := re.search(pattern, error):
                named, message = match[1], known.format(*match.groups(), message)
        if line := LINE.search(error):
            above = "\n".join(document.split("\n")[: int(line[1])])
        else:
            above = document.partition(_written(folder, document, named))[0]
        found.append(f"{_place(book, above, named)}: {message}")
    return "\n".join(dict.fromkeys(found))


def _written(folder: Path, document: str, named: str) -> str:
    """Return how a document has what an error names: a text, or a picture with it."""
    text = string(named)[1:-1]
    pictures = [
        picture.name
        for picture in folder.rglob("*.svg")
        if named and named in picture.read_text("utf-8")
    ]
    return text if text and text in document else next(iter(pictures), "\n")


def _place(book: Book, document: str, named: str) -> str:
    """Return the line of the sources that the end of a document is from.

    It is the line that has what is `named`, if there is one.
    """
    places = SOURCE_LINE.findall(document)
    if not places:
        return "the printed book"
    section, start = book.section(places[-1][0]), int(places[-1][1])
    lines = enumerate(section.text.split("\n")[start - 1 :], start=start)
    return section.at(next((n for n, text in lines if named and named in text), start))
