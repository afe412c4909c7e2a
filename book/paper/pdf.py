"""Print the book: `python -m book pdf`, which `make pdf` calls.

The same text and the same kept outputs as on the pages: all tabs, each labelled, or
the edition of one tab. Sphinx writes LaTeX in `_build/latex/NAME`, XeLaTeX makes
pages of it, and these become `_build/pdf/NAME.pdf` if all went well.
"""

from __future__ import annotations

import configparser
import copy
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from book.base.errors import BookError
from book.base.files import write_whole
from book.pages import html
from book.paper import tex
from book.sources import names
from book.sources.tabs import tab_name

if TYPE_CHECKING:
    from book.pages.merge import TabView
    from book.pages.rst import Page
    from book.sources.book import Book
    from book.sources.section import Section

# A comment of our LaTeX translator: a page and a line of its reStructuredText.
PLACE = re.compile(r"^%% (\S+):(\d+)$", re.MULTILINE)
COMMANDS = re.compile(r"\\[A-Za-z@]+\*?|[{}\\$&~%]")


def build(book: Book, tab: str | None = None, views: html.Views | None = None) -> Path:
    """Print the book, all its tabs or `tab` alone, and return the path of the PDF.

    `views` gives what a tab shows of a section; by default it shows the kept records.
    """
    edition = book if tab is None else _edition(book, book.check_tab(tab))
    name = names.pdf(book, tab)
    pdf = book.root / "_build/pdf" / name
    folder = book.root / "_build/latex" / pdf.stem
    stamp, made_of = folder / "pdf.stamp", html.fingerprint(book.root)
    if views is None and pdf.exists() and _is(stamp, made_of):
        return pdf
    tex.check_tools()
    stamp.unlink(missing_ok=True)
    source, pages = _write_latex(edition, pdf.stem, folder, views)
    made = tex.typeset(source)
    _refuse_errors(book, source, pages)
    _publish(made, pdf)
    write_whole(stamp, made_of)
    return pdf


def _is(stamp: Path, made_of: str) -> bool:
    return stamp.exists() and stamp.read_text("utf-8") == made_of


def _edition(book: Book, tab: str) -> Book:
    """Return the book with one tab, whose text and code are then in no panels."""
    edition = copy.copy(book)
    edition.tabs = [tab]
    return edition


def _write_latex(
    edition: Book, name: str, folder: Path, views: html.Views | None
) -> tuple[Path, dict[str, Page]]:
    """Return the file that Sphinx writes, and the pages that it is made of."""
    from book.records import store

    titles = store.titles(edition)
    shown = views or html.views_of_records(edition, titles)

    def complete(section: Section, tab: str) -> TabView | None:
        found = shown(section, tab)
        alone = len(edition.tabs) == 1
        return _bare(section, tab) if found is None and alone else found

    pages = html.write_pages(edition, complete, folder / "sphinx", "print")
    settings = _settings(edition, name)
    html.run_sphinx(edition, folder, titles, pages, "latex", settings)
    return folder / "pages" / f"{name}.tex", pages


def _bare(section: Section, tab: str) -> TabView:
    """Return the heading, and so the number, of a section without code for a tab."""
    from book.pages import merge
    from book.sources.blocks import Prose

    title = [section.title] if section.title else []
    line = title[0].line if title else 1
    text = Prose(line=line, source=f"Nothing here is for {tab_name(tab)}.")
    return merge.TabView(tab, [*title, text], [], [])


def _settings(edition: Book, name: str) -> dict[str, object]:
    config = configparser.RawConfigParser()
    config.read(edition.root / "config.ini", encoding="utf-8")
    keywords = config.get("pdf", "keywords", fallback="")
    return {
        "book_name": name,
        "book_keywords": [k.strip() for k in keywords.split(",") if k.strip()],
        "book_site": config.get("publish", "site", fallback="").strip(),
        # What the pages of the site need, and lies elsewhere from here.
        "html_static_path": [],
        "html_favicon": None,
        "templates_path": [],
    }


def _publish(made: Path, pdf: Path) -> None:
    """Put a whole copy in the place of the last good one."""
    new = pdf.with_suffix(".new")
    try:
        pdf.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, new)
        os.replace(new, pdf)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise BookError(f"cannot be written ({error.strerror})", pdf) from error


# Errors


def _refuse_errors(book: Book, source: Path, pages: dict[str, Page]) -> None:
    """Raise a `BookError` if XeLaTeX failed, lost a character or overran the page."""
    log = source.with_suffix(".log")
    told = log.read_text("utf-8", errors="replace") if log.exists() else ""
    error = tex.error_in(told)
    if error is None and not source.with_suffix(".pdf").exists():
        error = tex.Remark("XeLaTeX made no PDF")
    problems = [error] if error else list(tex.remarks_in(told))
    if problems:
        where = source.relative_to(book.root).with_suffix(".log")
        lines = [f"{_place(book, source, p, pages)}: {p.text}" for p in problems]
        lines[-1] += f"; {where} has more"
        raise BookError("\n".join(dict.fromkeys(lines)))


def _place(
    book: Book, source: Path, problem: tex.Remark, pages: dict[str, Page]
) -> str:
    """Return the file and line of the Markdown that a remark is about."""
    sections = {section.name: section for section in book.sections}
    if not problem.line:
        return _place_of(problem.clue, list(sections.values())) or source.name
    lines = source.read_text("utf-8").split("\n")
    above = "\n".join(lines[: problem.line])
    found = list(PLACE.finditer(above))
    if not found or found[-1][1] not in pages:
        return f"{source.name}:{problem.line}"
    name, line = found[-1][1], int(found[-1][2])
    first, after = pages[name].origin(line)
    near = COMMANDS.sub(" ", lines[problem.line - 1]).split()
    text = sections[name].text.split("\n")[first - 1 : after - 1]
    for number, source_line in enumerate(text, start=first):
        if near and " ".join(near[:3]) in source_line:
            return sections[name].at(number)
    return sections[name].at(first)


def _place_of(clue: str, sections: list[Section]) -> str:
    """Return the first place of the book that holds `clue`, empty if none does."""
    for section in sections:
        if clue and clue in section.text:
            line = section.text.count("\n", 0, section.text.index(clue)) + 1
            return section.at(line)
    return ""
