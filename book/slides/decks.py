"""Decks of slides: `python -m book slides`, which `make slides` calls.

Each section with slide marks becomes, in each tab, a page `_build/slides/TAB/NAME.html`
that shows itself with reveal.js, and the notebook that d2lbook makes of the same
marks, `NAME.ipynb`. `index.html` lists all decks that are there.
"""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from book.base.errors import BookError
from book.base.files import write_whole
from book.pages import merge
from book.pages.sphinx.code_styles import Dark, Light
from book.pages.sphinx.site import STATIC, code_rules
from book.records import store
from book.slides import deck_page, layout, marks, rise
from book.slides.deck_page import Picture
from book.slides.marks import Slide
from book.slides.words import Worded, Words
from book.sources.book import Book, Section
from book.sources.tabs import tab_name

# What the decks load, and where it comes from in `static/`.
STYLES = ("book.css", "slides.css")
BESIDE = ("favicon.svg", "fonts", "slides.js", "vendor/reveal")


def build(
    book: Book, tabs: list[str] | None = None, sections: list[str] | None = None
) -> Path:
    """The list of all decks, when those of `tabs` and `sections`, or all, are made."""
    folder = book.root / "_build/slides"
    wanted = [book.check_tab(tab) for tab in tabs or book.tabs]
    chosen = [book.section(name) for name in sections or []] or book.sections
    words = Words(book)
    decks = {
        file(section, tab): deck(book, section, tab, words)
        for section in chosen
        for tab in wanted
    }
    if not any(decks.values()):
        raise BookError(
            "no slide marks, such as [**text**]; write some into the text",
            ", ".join(f"{section.name}.md" for section in chosen),
        )
    _write_static(folder / "_static")
    for name, made in decks.items():
        for suffix, text in made.items():
            write_whole((folder / name).with_suffix(suffix), text)
    _forget(book, folder, [name for name, made in decks.items() if not made])
    index = folder / "index.html"
    write_whole(index, deck_page.page("slides.html", **_listed(book, folder)))
    return index


def file(section: Section, tab: str) -> Path:
    """Where a deck is, in the folder of the decks, without the end of its name."""
    return Path(tab, Path(section.name).name)


def deck(book: Book, section: Section, tab: str, words: Words) -> dict[str, str]:
    """The files of a deck by the ends of their names; none without marks."""
    nb = store.shown_notebook(book, section, tab)
    where = f"{section.name}.md"
    found = marks.read(nb, where, tab) if nb else []
    if nb is None or not found:
        return {}
    picture = functools.partial(_picture, book, section)
    worded = words.of(section)
    notebook = rise.notebook(nb, where, tab, worded, picture)
    record = nb.metadata.get("record")
    made = merge.origin(tab, record, section.name)
    html = _html(book, tab, found, made, worded, picture)
    return {".html": html, ".ipynb": nbformat.writes(notebook) + "\n"}


def _html(
    book: Book,
    tab: str,
    found: list[Slide],
    made: str,
    worded: Worded,
    picture: Picture,
) -> str:
    """The page of a deck; `made` tells what made its outputs, in Markdown."""
    head, *rest = found
    head.blocks.append(marks.Text(made))
    pages = [layout.Page(head, 1.0)]
    pages += [page for slide in rest for page in layout.pages(slide)]
    slides = deck_page.rendered(pages, worded, picture)
    return deck_page.page(
        "deck.html",
        lang=book.config.project["lang"],
        book=book.config.project["title"],
        framework=tab_name(tab),
        title=slides[0],
        slides=slides[1:],
    )


def _picture(book: Book, section: Section, path: str) -> Path:
    """The file of a figure that a section names."""
    found = (section.path.parent / path).resolve()
    if not found.is_file():
        message = f"no figure '{path}'; draw it, or mend the name"
        raise BookError(message, section.where(path))
    return found


# The files that decks share, and the list of decks


def _write_static(folder: Path) -> None:
    for name in BESIDE:
        source, target = STATIC / name, folder / Path(name).name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    styles = [(STATIC / name).read_text("utf-8") for name in STYLES]
    # A page that began in another font keeps it, so that nothing moves. The sizes of
    # slides are reckoned with the book's font, so a deck takes it whenever it comes.
    css = "\n".join([*styles, code_rules(Light, Dark)])
    css = css.replace("font-display: optional", "font-display: swap")
    write_whole(folder / "slides.css", css)


def _forget(book: Book, folder: Path, without: list[Path]) -> None:
    """Take away decks that have lost their marks, their section or their tab."""
    known = {file(section, tab) for section in book.sections for tab in book.tabs}
    for page in folder.glob("*/*.html"):
        name = page.relative_to(folder).with_suffix("")
        if name in without or name not in known:
            page.unlink()
            page.with_suffix(".ipynb").unlink(missing_ok=True)


def _listed(book: Book, folder: Path) -> dict[str, Any]:
    """What the list of decks says."""
    return {
        "lang": book.config.project["lang"],
        "book": book.config.project["title"],
        "copyright": book.config.project["copyright"],
        "sections": list(_sections_with_decks(book, folder)),
    }


def _sections_with_decks(book: Book, folder: Path) -> Iterator[dict[str, Any]]:
    for section in book.sections:
        decks = [
            {"name": tab_name(tab), "file": file(section, tab).as_posix()}
            for tab in book.tabs
            if (folder / file(section, tab)).with_suffix(".html").exists()
        ]
        if decks:
            title = next(section.found(marks.SECTION_TITLE))[0]
            yield {"title": title, "decks": decks}
