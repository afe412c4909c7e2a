"""Makes PDFs of the book: `python -m book pdf`, which `make pdf` calls.

A PDF has the same text and outputs as the pages, either with all tabs, each under its
label, or as the edition of one tab. Sphinx writes LaTeX to `_build/latex/NAME`, and
XeLaTeX makes `_build/pdf/NAME.pdf` from it.
"""

from __future__ import annotations

import configparser
import copy
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from book.base import build_paths
from book.base.errors import BookError
from book.base.files import write_whole
from book.pages import html, names
from book.paper import tex
from book.sources.tabs import tab_name

if TYPE_CHECKING:
    from book.merge import TabView
    from book.pages.rst import Page
    from book.sources.book import Book
    from book.sources.section import Section

# A comment of `book.pages.sphinx.latex` that names a page and a line of its source.
SOURCE_LINE = re.compile(r"^%% (\S+):(\d+)$", re.MULTILINE)
COMMANDS = re.compile(r"\\[A-Za-z@]+\*?|[{}\\$&~%]")


def build(book: Book, tab: str | None = None, views: html.Views | None = None) -> Path:
    """Make the PDF of `tab`, or of all tabs, unless it is up to date; return its path.

    `views` returns the view of a section in a tab; the default shows the records.
    Raises a `BookError` if a tool is missing or XeLaTeX reports a problem.
    """
    edition = book if tab is None else _edition(book, book.check_tab(tab))
    name = names.pdf(book, tab)
    pdf = book.root / build_paths.PDF / name
    folder = book.root / build_paths.LATEX / pdf.stem
    stamp, built_from = folder / "pdf.stamp", html.fingerprint(book.root)
    if views is None and pdf.exists() and _is_up_to_date(stamp, built_from):
        return pdf
    tex.check_tools()
    stamp.unlink(missing_ok=True)
    source, pages = _write_latex(edition, pdf.stem, folder, views)
    draft = tex.typeset(source)
    _check_log(book, source, pages)
    _replace_pdf(pdf, draft)
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


def _write_latex(
    edition: Book, name: str, folder: Path, views: html.Views | None
) -> tuple[Path, dict[str, Page]]:
    """Write the LaTeX of the book; return its file and the pages it comes from."""
    from book.records import store

    titles = store.titles(edition)
    all_views = views or html.views_of_records(edition, titles)

    def view(section: Section, tab: str) -> TabView | None:
        shown = all_views(section, tab)
        if shown is None and len(edition.tabs) == 1:
            return _empty_view(section, tab)
        return shown

    pages = html.write_pages(edition, view, folder / "sphinx", "print")
    settings = _settings(edition, name)
    html.run_sphinx(edition, folder, titles, pages, "latex", settings)
    return folder / "pages" / f"{name}.tex", pages


def _empty_view(section: Section, tab: str) -> TabView:
    """Return a view with only the title of a section, so that it keeps its number."""
    from book import merge
    from book.sources.blocks import Prose

    title = [section.title] if section.title else []
    line = title[0].line if title else 1
    text = f"This section does not apply to {tab_name(tab)}."
    return merge.TabView(tab, [*title, Prose(line=line, source=text)], {}, [])


def _settings(edition: Book, name: str) -> dict[str, object]:
    """Return the settings of Sphinx for the printed book."""
    config = configparser.RawConfigParser()
    config.read(edition.root / "config.ini", encoding="utf-8")
    keywords = config.get("pdf", "keywords", fallback="")
    front = edition.section(edition.config.build["index"]).title
    return {
        # The printed book has the title of its front page.
        "project": front.title if front else edition.config.project["title"],
        "book_name": name,
        "book_keywords": [k.strip() for k in keywords.split(",") if k.strip()],
        "book_stressed": config.get("pdf", "stressed", fallback="").split(),
        "book_programs": config.get("pdf", "programs", fallback="").split(),
        "book_site": config.get("publish", "site", fallback="").strip(),
        # Only the pages of the site need these, and their paths are wrong here.
        "html_static_path": [],
        "html_favicon": None,
        "templates_path": [],
    }


def _replace_pdf(pdf: Path, draft: Path) -> None:
    """Replace a PDF with a copy of the draft, once that copy is complete."""
    new = pdf.with_suffix(".new")
    try:
        pdf.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(draft, new)
        os.replace(new, pdf)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise BookError(f"cannot be written ({error.strerror})", pdf) from error


# Errors


def _check_log(book: Book, source: Path, pages: dict[str, Page]) -> None:
    """Raise a `BookError` if the log of XeLaTeX reports an error or a bad page."""
    log = source.with_suffix(".log")
    text = log.read_text("utf-8", errors="replace") if log.exists() else ""
    error = tex.find_error(text)
    if error is None and not source.with_suffix(".pdf").exists():
        error = tex.Problem("XeLaTeX made no PDF")
    problems = [error] if error else list(tex.find_warnings(text))
    if problems:
        lines = [f"{_place(book, source, p, pages)}: {p.message}" for p in problems]
        lines[-1] += f"; see {log.relative_to(book.root)}"
        raise BookError("\n".join(dict.fromkeys(lines)))


def _place(
    book: Book, source: Path, problem: tex.Problem, pages: dict[str, Page]
) -> str:
    """Return the file and line of the Markdown that causes a problem."""
    sections = {section.name: section for section in book.sections}
    if not problem.line:
        return _first_place(problem.text, list(sections.values())) or source.name
    lines = source.read_text("utf-8").split("\n")
    above = "\n".join(lines[: problem.line])
    comments = list(SOURCE_LINE.finditer(above))
    if not comments or comments[-1][1] not in pages:
        return f"{source.name}:{problem.line}"
    name, line = comments[-1][1], int(comments[-1][2])
    first, after = pages[name].origin(line)
    words = COMMANDS.sub(" ", lines[problem.line - 1]).split()
    block = sections[name].text.split("\n")[first - 1 : after - 1]
    for number, source_line in enumerate(block, start=first):
        if words and " ".join(words[:3]) in source_line:
            return sections[name].at(number)
    return sections[name].at(first)


def _first_place(text: str, sections: list[Section]) -> str:
    """Return the first file and line that contain a text, or an empty text."""
    for section in sections:
        if text and text in section.text:
            line = section.text.count("\n", 0, section.text.index(text)) + 1
            return section.at(line)
    return ""
