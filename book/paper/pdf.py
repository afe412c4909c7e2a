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
from book.sources.tabs import tab_name

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from book.sources.book import Book, Section

FILE_LABEL = re.compile(r"\\label\{\\detokenize\{([^}]+)::doc\}\}")
COMMANDS = re.compile(r"\\[A-Za-z@]+\*?|[{}\\$&~%]")


def build(
    book: Book, tab: str | None = None, notebooks: html.Notebooks | None = None
) -> Path:
    """The PDF of the book, of all its tabs or of `tab` alone.

    `notebooks` gives a section in a tab, by default the kept records'.
    """
    edition = book if tab is None else _edition(book, book.check_tab(tab))
    name = book.config.project["name"] + (f"-{tab}" if tab else "")
    folder, pdf = (
        book.root / "_build/latex" / name,
        book.root / f"_build/pdf/{name}.pdf",
    )
    stamp, made_of = folder / "pdf.stamp", html.fingerprint(book.root)
    if notebooks is None and pdf.exists() and _is(stamp, made_of):
        return pdf
    tex.check_tools()
    stamp.unlink(missing_ok=True)
    source = _write_latex(edition, name, folder, notebooks)
    made = tex.typeset(source)
    _refuse_errors(book, source)
    _publish(made, pdf)
    write_whole(stamp, made_of)
    return pdf


def _is(stamp: Path, made_of: str) -> bool:
    return stamp.exists() and stamp.read_text("utf-8") == made_of


def _edition(book: Book, tab: str) -> Book:
    """The book with one tab, whose text and code then stand in no panels."""
    edition = copy.copy(book)
    edition.tabs = [tab]
    return edition


def _write_latex(
    edition: Book, name: str, folder: Path, notebooks: html.Notebooks | None
) -> Path:
    from book.records import store

    titles = store.titles(edition)
    shown = notebooks or html.recorded(edition, titles)

    def complete(section: Section, tab: str) -> NotebookNode | None:
        found = shown(section, tab)
        alone = len(edition.tabs) == 1
        return _bare(edition, section) if found is None and alone else found

    html.write_pages(edition, complete, folder / "sphinx")
    settings = _settings(edition, name)
    html.run_sphinx(edition, folder, titles, "latex", settings)
    return folder / "pages" / f"{name}.tex"


def _bare(edition: Book, section: Section) -> NotebookNode:
    """The heading, and so the number, of a section that has nothing in this tab."""
    from book.pages import merge

    nb = edition.notebook(section)
    heading = merge.TITLE.match(nb.cells[0].source)
    nb.cells = nb.cells[:1]
    told = f"Nothing here is for {tab_name(edition.tabs[0])}."
    nb.cells[0].source = f"{heading[0] if heading else ''}\n{told}"
    nb.cells[0].metadata["origin_pos"] = 0
    nb.metadata.update(tab=edition.tabs[0], record={})
    return nb


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


# What went wrong


def _refuse_errors(book: Book, source: Path) -> None:
    """Raise a `BookError` if XeLaTeX failed, lost a character or overran the page."""
    log = source.with_suffix(".log")
    told = log.read_text("utf-8", errors="replace") if log.exists() else ""
    error = tex.error_in(told)
    if error is None and not source.with_suffix(".pdf").exists():
        error = tex.Remark("XeLaTeX made no PDF")
    problems = [error] if error else list(tex.remarks_in(told))
    if problems:
        where = source.relative_to(book.root).with_suffix(".log")
        lines = [f"{_place(book, source, p)}: {p.text}" for p in problems]
        lines[-1] += f"; {where} has more"
        raise BookError("\n".join(dict.fromkeys(lines)))


def _place(book: Book, source: Path, problem: tex.Remark) -> str:
    """The section and, if what is told of can be found there, the line."""
    lines = source.read_text("utf-8").split("\n")
    if not problem.line:
        found = (s for s in book.sections if problem.clue and problem.clue in s.text)
        section = next(found, None)
        return section.where(problem.clue) if section else source.name
    above = FILE_LABEL.findall("\n".join(lines[: problem.line]))
    section = next((s for s in book.sections if above and s.name == above[-1]), None)
    if section is None:
        return f"{source.name}:{problem.line}"
    near = [problem.clue, *lines[problem.line - 1 : problem.line + 3]]
    for words in filter(None, (COMMANDS.sub(" ", text).split() for text in near)):
        clue = " ".join(words[:3])
        if clue in section.text:
            return section.where(clue)
    return f"{section.name}.md"
