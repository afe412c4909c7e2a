"""Builds the HTML pages of the book: `python -m book html`, which `make` calls.

Articles and the data derived from them are cached, so a build writes only the articles
that have changed. The folder of the site is replaced as a whole.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from book import merge
from book.base import build_paths, inputs
from book.base.files import locked, replace_folder
from book.base.progress import counted
from book.facts.marked_numbers import published_measurements
from book.library import package
from book.pages import (
    addresses,
    answer_fields,
    asked,
    buttons,
    hosting,
    previews,
    search,
    site_files,
    solutions,
)
from book.pages.article import Article
from book.pages.front import FrontPage
from book.pages.page import Pages, Written
from book.pages.search import Index
from book.pages.site import Site
from book.records import store
from book.runner.errors import BookError
from book.runner.freshness import digest_of_files
from book.text.book import Book
from book.text.section import Section

SHARED = ("config.ini", "environments/*.txt", "d2l/*", "static/explorables/*.js")
WORDS_PER_MINUTE = 200
CODE_LINES_PER_MINUTE = 15
KERNEL_MINUTES = 10  # to write a kernel in the page, whose picture is img/task-NAME
STEP = 5  # minutes
DESCRIPTION_LENGTH = 160


def build(book: Book) -> Path:
    """Build the book if it is not up to date, and return its index page.

    Raises a `BookError` with a line for each mistake.
    """
    pages, digest = inputs.pages(book.root), inputs.digest_of_pages(book.root)
    if not pages.is_fresh(digest):
        with pages.made_from(digest) as notes:
            with replace_folder(book.root / build_paths.HTML) as new:
                _link_notebooks(book, new)
                written = write_site(book, new).values()
            notes += store.notes(state for each in written for state in each.states)
    return pages.path


def _link_notebooks(book: Book, folder: Path) -> None:
    """Put the notebooks that buttons offer beside the pages, if they are up to date.

    `make notebooks` makes them. A page without them has no button that leads nowhere.
    """
    lock = book.root / build_paths.NOTEBOOKS_LOCK
    with locked(lock, "another process is writing notebooks"):
        made = inputs.notebooks(book.root)
        edition = book.setting("publish", "edition")
        if not made.is_fresh(inputs.digest_of_inputs(book.root, edition)):
            return
        archive = made.path / f"{addresses.archive(book)}.zip"
        for file in [archive, *made.path.glob(f"{addresses.SAGEMAKER}/**/*")]:
            target = folder / "notebooks" / file.relative_to(made.path)
            if file.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(file, target)


# The site


def write_site(book: Book, folder: Path) -> dict[str, Written]:
    """Write the pages of a book, and the files that they load, to a new folder.

    The pages have buttons for the notebooks, decks and PDFs that the folder holds, and
    lead to its list of editions. Returns what was written for each section.
    """
    settings = hosting.with_remote(book, hosting.load(book))
    files = buttons.files_in(folder)
    shown = buttons.for_book(book, settings, files)
    titles = store.titles(book)
    machines = list(titles) or ["cpu"]
    written = write_articles(book, titles)
    has_editions = hosting.EDITIONS in files
    pages = Pages(book, written, shown, machines, settings, has_editions)
    for section in counted(book.sections, "writing pages"):
        page = folder / f"{section.name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(pages.page(section), "utf-8")
    site_files.write_static(book, machines, folder / "_static")
    _write_data(book, written, folder / "_static")
    _write_images(book, written, folder / "_images")
    return written


def _write_data(book: Book, written: dict[str, Written], folder: Path) -> None:
    """Write the scripts with the data of search, previews and solutions."""
    records = {f"{name}.html": written[name].records for name in sorted(written)}
    found = search.script(asked.add(book.root, records), book.tabs)
    (folder / "search-data.js").write_text(found, "utf-8")
    wanted = {place for each in written.values() for place in each.referred}
    shown = {
        f"{name}.html#{anchor}": html
        for name, each in written.items()
        for anchor, html in each.previews.items()
        if (f"{name}.html", anchor) in wanted
    }
    (folder / "previews.js").write_text(previews.script(shown), "utf-8")
    for name, each in written.items():
        if each.solutions:
            file = folder / "solutions" / f"{name}.js"
            file.parent.mkdir(parents=True, exist_ok=True)
            script = solutions.script(each.solutions, each.answers)
            file.write_text(script, "utf-8")


def _write_images(book: Book, written: dict[str, Written], folder: Path) -> None:
    folder.mkdir()
    paths: dict[str, str] = {}
    for each in written.values():
        for path in each.figures:
            name = Path(path).name
            if paths.setdefault(name, path) != path:
                message = f"another picture has the name of {paths[name]}; rename one"
                raise BookError(message, path)
            shutil.copyfile(book.root / path, folder / name)
        for name, data in each.images.items():
            (folder / name).write_bytes(data)


# The articles


def write_articles(book: Book, titles: dict[str, str]) -> dict[str, Written]:
    """Return the article of each section, and the data derived from it, by name.

    `titles` holds the name of each machine that readers see.
    """
    site = Site(book, merge.views_of_records(book, titles))
    cache = build_paths.cache(book.root, "pages")
    front, *others = book.sections
    shared = _shared_parts(site, titles)

    def article(section: Section) -> Written:
        captions = site.numbers.captions.items()
        numbers = repr([n for (page, _), n in captions if page == section.name])
        asked = repr(site.questions_for(section))
        own = (section.name, section.text, numbers, repr(site.minutes), asked)
        parts: list[str | bytes] = [*shared, *own]
        parts += _records(book, section)
        return cache.value(parts, lambda: _written(_article(site, section)))

    cache.fill(article, others, "making pages")
    found: dict[str, Written] = {}
    problems: list[str] = []
    for section in counted(others, "making pages"):
        try:
            found[section.name] = article(section)
        except BookError as error:
            problems.append(str(error))
    if problems:
        raise BookError("\n".join(problems))
    site.minutes = {
        section.name: found[section.name].minutes
        for section in others
        if not book.below(section)
    }
    written = {front.name: article(front), **found}  # The front page shows the minutes.
    cache.forget_others()
    return written


def _shared_parts(site: Site, titles: dict[str, str]) -> list[str]:
    """Return the inputs that all articles share, as a part of their cache keys."""
    book, numbers = site.book, site.numbers
    resources = book.config.build["resources"].split()
    libraries = [package.generated(book, tab) for tab in package.libraries(book)]
    places = [numbers.places, numbers.pages, site.glossary.terms, site.references]
    names = repr([*places, titles, list(site.bibliography.works)])
    return [digest_of_files(book.root, *SHARED, *resources), *libraries, names]


def _records(book: Book, section: Section) -> Iterator[bytes]:
    """Yield the records of a section."""
    for machine in store.machines(book):
        for tab in book.tabs:
            file = store.path(book, section, tab, machine)
            yield file.read_bytes() if file.is_file() else b""


def _article(site: Site, section: Section) -> Article:
    """Return the article of a section."""
    found = (site.views(section, tab) for tab in site.book.tabs)
    views = [view for view in found if view is not None]
    items = merge.merge(section, views, published_measurements(site.book))
    kind = FrontPage if section is site.front else Article
    return kind(site, section, items, views)


def _written(article: Article) -> Written:
    """Return an article and the data derived from it."""
    above, below = article.html()
    index, book = article.index, article.site.book
    return Written(
        above=above,
        below=below,
        titles=article.titles,
        records=index.records(),
        referred=list(article.referred),
        previews=dict(previews.previews(article)),
        solutions=dict(solutions.solutions(article)),
        answers=_answers(article),
        minutes=reading_time(index, [f.stem for f in article.figures]),
        description=_shortened(article.first_text()),
        figures=[str(f.relative_to(book.root)) for f in article.figures],
        images=article.images,
        states=[*store.states(book, article.section)],
    )


def _answers(article: Article) -> str:
    """Return the answers that the solutions of an article have, encoded, if any."""
    asked = article.site.questions_for(article.section)
    found = answer_fields.answers(asked, article.views)
    return answer_fields.encoded(found) if found else ""


def reading_time(index: Index, figures: Sequence[str] = ()) -> int:
    """Return the reading time of a page in minutes, rounded to a multiple of five.

    The time includes that of writing the kernels below some of its figures.
    """
    kernels = sum(name.startswith("task-") for name in figures)
    minutes = index.words / WORDS_PER_MINUTE + index.lines / CODE_LINES_PER_MINUTE
    minutes += KERNEL_MINUTES * kernels
    return max(STEP, STEP * round(minutes / STEP))


def _shortened(text: str) -> str:
    """Return the beginning of a text, as the description for search engines."""
    text = " ".join(text.split())
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    return text[: DESCRIPTION_LENGTH - 1].rsplit(" ", 1)[0] + "…"
