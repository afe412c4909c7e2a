"""Decks of slides: `python -m book slides`, which `make slides` calls.

Each section with slide marks becomes, in each tab, a page `_build/slides/TAB/NAME.html`
that shows itself with reveal.js. `index.html` lists all decks that are there.
"""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from book.base.errors import BookError
from book.base.files import write_whole
from book.pages import merge
from book.pages.sphinx.code_styles import Dark, Light
from book.pages.sphinx.site import STATIC, code_rules
from book.records import store
from book.slides import deck_page, layout, marks
from book.slides.deck_page import Picture
from book.slides.marks import Slide
from book.slides.words import Worded, Words
from book.sources import names
from book.sources.book import Book
from book.sources.section import Section
from book.sources.tabs import tab_name

# What the decks load, and where it comes from in `static/`.
STYLES = ("book.css", "slides.css")
BESIDE = ("favicon.svg", "fonts", "slides.js", "vendor/reveal")


def build(
    book: Book, tabs: list[str] | None = None, sections: list[str] | None = None
) -> Path:
    """Make the decks of `tabs` and `sections`, or all; return the list of all decks."""
    folder = book.root / "_build/slides"
    wanted = [book.check_tab(tab) for tab in tabs or book.tabs]
    chosen = [book.section(name) for name in sections or []] or book.sections
    words = Words(book)
    decks = {
        names.deck(book, section, tab): deck(book, section, tab, words)
        for section in chosen
        for tab in wanted
    }
    if not any(decks.values()):
        raise BookError(
            "no slide marks, such as [**text**]; write some into the text",
            ", ".join(f"{section.name}.md" for section in chosen),
        )
    _write_static(folder / "_static")
    for name, text in decks.items():
        if text:
            write_whole(folder / name, text)
    _forget(book, folder, [name for name, text in decks.items() if not text])
    index = folder / "index.html"
    write_whole(index, deck_page.page("slides.html", **_listed(book, folder)))
    return index


def deck(book: Book, section: Section, tab: str, words: Words) -> str:
    """Return the page of a deck; empty for a section without marks."""
    shown = store.shown(book, section, tab)
    found = marks.read(shown) if shown else []
    if shown is None or not found:
        return ""
    picture = functools.partial(_picture, book, section)
    view = merge.merge_machines({"cpu": shown}, {"cpu": "CPU"})
    made = merge.origin(view, tab, section)
    return _html(book, tab, found, made, words.of(section), picture)


def _html(
    book: Book,
    tab: str,
    found: list[Slide],
    made: str,
    worded: Worded,
    picture: Picture,
) -> str:
    """Return the page of a deck; `made` says what made its outputs, in Markdown."""
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
    """Return the file of a figure that a section names."""
    found = (section.path.parent / path).resolve()
    if not found.is_file():
        message = f"no figure '{path}'; draw it, or correct the name"
        raise BookError(message, f"{section.name}.md")
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


def _forget(book: Book, folder: Path, without: list[str]) -> None:
    """Remove decks that have lost their marks, their section or their tab."""
    known = {names.deck(book, s, tab) for s in book.sections for tab in book.tabs}
    for page in folder.glob("*/*.html"):
        if page.relative_to(folder).as_posix() not in known - set(without):
            page.unlink()


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
        files = {tab: names.deck(book, section, tab) for tab in book.tabs}
        decks = [
            {"name": tab_name(tab), "file": file}
            for tab, file in files.items()
            if (folder / file).exists()
        ]
        if decks and section.title:
            yield {"title": section.title.title, "decks": decks}
