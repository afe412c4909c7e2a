"""Makes decks of slides: `python -m book slides`, which `make slides` calls.

Each section with points becomes a page `_build/slides/TAB/NAME.html` in each tab, which
reveal.js shows as slides. A section without code becomes one page in `all/`.
`index.html` lists all decks in that folder.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from book import merge
from book.base import build_paths
from book.base.paths import STATIC
from book.base.progress import counted
from book.facts import points
from book.library import figures, package
from book.pages import addresses
from book.records import store
from book.render import code
from book.render.templates import render_template
from book.runner.errors import BookError
from book.runner.files import write_whole
from book.slides import composition, deck_page
from book.slides.words import Words
from book.text.blocks import Cell
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

# The files in `static/` that become the stylesheet of decks, and those that are copied.
STYLES = ("book.css", "slides.css")
STATIC_FILES = ("favicon.svg", "fonts", "guess.js", "slides.js", "vendor/reveal")


def build(
    book: Book, tabs: list[str] | None = None, sections: list[str] | None = None
) -> Path:
    """Make the decks of `tabs` and `sections`, or all, and return the page of the list.

    Raises a `BookError` if none of the sections has points.
    """
    folder = book.root / build_paths.SLIDES
    chosen_tabs = [book.check_tab(tab) for tab in tabs or book.tabs]
    chosen_sections = [book.section(name) for name in sections or []] or book.sections
    words = Words(book)
    chosen = [(section, tab) for section in chosen_sections for tab in chosen_tabs]
    decks = {
        addresses.deck(book, section, tab): deck(book, section, tab, words)
        for section, tab in counted(chosen, "making decks")
    }
    if not any(decks.values()):
        raise BookError(
            "no points; mark some sentences, such as [A sentence.]{.point}",
            ", ".join(f"{section.name}.md" for section in chosen_sections),
        )
    _write_static(folder / "_static")
    _write_figures(book, folder / "_static" / "figures", "".join(decks.values()))
    for name, text in decks.items():
        if text:
            write_whole(folder / name, text)
    empty = [name for name, text in decks.items() if not text]
    _remove_obsolete_decks(book, folder, empty)
    index = folder / "index.html"
    parts = [
        {"title": title, "sections": list(_with_decks(book, sections, folder))}
        for title, sections in book.parts
    ]
    page = render_template("slides.html", project=book.config.project, parts=parts)
    write_whole(index, page)
    return index


def deck(book: Book, section: Section, tab: str, words: Words) -> str:
    """Return the page of a deck; it is empty for a section without points."""
    shown = store.shown(book, section, tab)
    talk = points.talk(shown.blocks, tab) if shown else None
    if shown is None or talk is None or not talk.points or not section.title:
        return ""
    view = merge.merge_machines({"cpu": shown}, {"cpu": "CPU"})
    parts = merge.parts_of(merge.merge(section, [view], words.measurements))
    predictions = {
        part.block.number: part.prediction
        for part, _ in parts
        if isinstance(part.block, Cell)
    }
    slides = list(composition.compose(section.title.title, talk, predictions))
    if origin := merge.origin(view, tab, section):
        slides[0].blocks.append(composition.Text(origin))
    return render_template(
        "deck.html",
        project=book.config.project,
        framework=tab_name(tab) if book.code_tabs(section) else "",
        slides=deck_page.render_slides(slides, section, words),
    )


# The files that decks share, and the list of decks


def _write_static(folder: Path) -> None:
    """Write the stylesheet, scripts and fonts of all decks to `folder`."""
    for name in STATIC_FILES:
        source, target = STATIC / name, folder / Path(name).name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    styles = [(STATIC / name).read_text("utf-8") for name in STYLES]
    # A page that began in another font keeps it, so that nothing moves. Slides are
    # fitted in the book's font, so a deck waits for it.
    css = "\n".join([*styles, code.rules()])
    css = css.replace("font-display: optional", "font-display: swap")
    write_whole(folder / "slides.css", css)


def _write_figures(book: Book, folder: Path, text: str) -> None:
    """Write each interactive figure that the text of decks names, for slides.js.

    A deck that is a file cannot read pages into frames, but it can load scripts.
    """
    for name in dict.fromkeys(re.findall(r'data-figure="([\w-]+)"', text)):
        context = figures.standalone(name, package.tables(book))
        page = render_template("figure.html", **context)
        script = f"deckFigures[{json.dumps(name)}] = {json.dumps(page)};\n"
        write_whole(folder / f"{name}.js", script)


def _remove_obsolete_decks(book: Book, folder: Path, empty: list[str]) -> None:
    """Remove decks whose points, section or tab no longer exist."""
    known = {addresses.deck(book, s, tab) for s in book.sections for tab in book.tabs}
    for page in folder.glob("*/*.html"):
        if page.relative_to(folder).as_posix() not in known - set(empty):
            page.unlink()


def _with_decks(
    book: Book, sections: list[Section], folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield the title and the decks of each section that has decks."""
    for section in sections:
        tabs = book.code_tabs(section)
        found = {
            addresses.deck(book, section, tab): tab for tab in tabs or book.tabs[:1]
        }
        decks = [
            {"name": tab_name(tab) if tabs else "All frameworks", "file": file}
            for file, tab in found.items()
            if (folder / file).exists()
        ]
        if decks and section.title:
            yield {"title": section.title.title, "decks": decks}
