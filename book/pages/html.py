"""Builds the HTML pages of the book: `python -m book html`, which `make` calls.

Articles and the data derived from them are cached, so a build writes only the articles
that have changed. The folder of the site is replaced as a whole.
"""

from __future__ import annotations

import configparser
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from book.base import build_paths
from book.base.errors import BookError
from book.base.files import replace_folder
from book.runner.files import write_whole

# Functions that build import what they need, so that an up-to-date book is found fast.
if TYPE_CHECKING:
    from book.merge import TabView
    from book.pages.article import Article
    from book.pages.buttons import Buttons
    from book.pages.page import Written
    from book.pages.search import Index
    from book.pages.site import Site, Views
    from book.text.book import Book
    from book.text.section import Section

SOURCES = ("config.ini", "outputs/**/*.ipynb", "d2l/*", "environments/*.txt")
TOOLS = ("book/**/*.py", "book/templates/*", "static/**/*")
NOTEBOOKS = "**/*.md"  # the default of d2lbook
WORDS_PER_MINUTE = 200
CODE_LINES_PER_MINUTE = 15
KERNEL_MINUTES = 10  # to write a kernel in the page, whose picture is img/task-NAME
STEP = 5  # minutes
DESCRIPTION_LENGTH = 160


def up_to_date_index(root: Path) -> Path | None:
    """Return the index page of the book in `root`, or None if it has to be built."""
    stamp, notes = root / build_paths.HTML_STAMP, root / build_paths.HTML_NOTES
    if not (stamp.exists() and notes.exists()):
        return None
    built_from, _, index = stamp.read_text("utf-8").strip().partition("\n")
    page = root / index
    try:
        unchanged = page.is_file() and built_from == fingerprint(root)
    except (configparser.Error, ValueError, NotImplementedError):
        # The build reads the settings too and reports the mistake in them.
        return None
    return page if unchanged else None


def build(book: Book, views: Views | None = None) -> Path:
    """Build the book if it is not up to date, and return its index page.

    `views` returns the view of a section in a tab; the default shows the records.
    Raises a `BookError` with a line for each mistake.
    """
    if views is None and (index := up_to_date_index(book.root)):
        return index
    from book.pages import buttons, hosting
    from book.records import store

    published = hosting.load(book)
    stamp, built_from = book.root / build_paths.HTML_STAMP, fingerprint(book.root)
    stamp.unlink(missing_ok=True)
    # The notes describe the last build and not this one.
    notes = book.root / build_paths.HTML_NOTES
    notes.unlink(missing_ok=True)
    shown = buttons.for_book(book, published)
    with replace_folder(book.root / build_paths.HTML) as new:
        written = write_site(book, new, shown, published.site, views)
    states = (state for each in written.values() for state in each.states)
    write_whole(notes, "".join(f"{line}\n" for line in store.notes(states)))
    index = book.root / build_paths.HTML / f"{book.config.build['index']}.html"
    write_whole(stamp, f"{built_from}\n{index.relative_to(book.root)}\n")
    return index


def views_of_records(book: Book, titles: dict[str, str]) -> Views:
    """Return a function that returns the view of a section in a tab with its records.

    `titles` holds the name of each machine that readers see.
    """
    from book import merge
    from book.records import store

    # If no record is fresh, the view gives the reason for the first machine.
    machines = dict.fromkeys(["cpu", *titles])

    def view(section: Section, tab: str) -> TabView | None:
        records = {m: store.shown(book, section, tab, m) for m in machines}
        shown = {m: record for m, record in records.items() if record is not None}
        return merge.merge_machines(shown, titles) if shown else None

    return view


def fingerprint(root: Path) -> str:
    """Return a hash of all files that the pages depend on."""
    config = configparser.ConfigParser()
    config.read(root / "config.ini", encoding="utf-8")
    notebooks = config.get("build", "notebooks", fallback=NOTEBOOKS).split()
    resources = config.get("build", "resources", fallback="").split()
    return _hash_of_files(root, [*SOURCES, *TOOLS, *notebooks, *resources])


def _hash_of_files(root: Path, patterns: Iterable[str]) -> str:
    """Return a hash of the names and contents of all files that match a pattern."""
    files = {p for pattern in patterns for p in root.glob(pattern) if p.is_file()}
    named = (str(p.relative_to(root)).encode() + p.read_bytes() for p in sorted(files))
    return _hash("".join(map(_hash, named)).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# The site


def write_site(
    book: Book,
    folder: Path,
    buttons: Buttons,
    address: str = "",
    views: Views | None = None,
) -> dict[str, Written]:
    """Write the pages of a book, and the files that they load, to a new folder.

    `address` is that of the published site, if there is one. Returns what was written
    for each section.
    """
    from book.pages import files
    from book.pages.page import Pages
    from book.records import store

    titles = store.titles(book)
    machines = list(titles) or ["cpu"]
    written = write_articles(book, views, titles)
    pages = Pages(book, written, buttons, machines, address)
    for section in book.sections:
        page = folder / f"{section.name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(pages.page(section), "utf-8")
    files.write_static(book, machines, folder / "_static")
    _write_data(book, written, folder / "_static")
    _write_images(book, written, folder / "_images")
    return written


def _write_data(book: Book, written: dict[str, Written], folder: Path) -> None:
    """Write the scripts with the data of search, previews and solutions."""
    from book.pages import previews, search, solutions

    records = [record for name in sorted(written) for record in written[name].records]
    (folder / "search-data.js").write_text(search.script(records, book.tabs), "utf-8")
    wanted = {place for each in written.values() for place in each.referred}
    found = {
        f"{name}.html#{anchor}": html
        for name, each in written.items()
        for anchor, html in each.previews.items()
        if (f"{name}.html", anchor) in wanted
    }
    (folder / "previews.js").write_text(previews.script(found), "utf-8")
    for name, each in written.items():
        if each.solutions:
            file = folder / "solutions" / f"{name}.js"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(solutions.script(each.solutions), "utf-8")


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


def write_articles(
    book: Book, views: Views | None, titles: dict[str, str]
) -> dict[str, Written]:
    """Return the article of each section, and the data derived from it, by name.

    Articles made from given `views` are not cached.
    """
    from book.pages.front import FrontPage
    from book.pages.site import Site

    site = Site(book, views or views_of_records(book, titles))
    cache = build_paths.cache(book.root, "pages")
    front, *others = book.sections
    shared = [] if views else _shared_parts(site, titles)

    def article(section: Section) -> Written:
        if views:
            return _written(_article(site, section))
        parts: list[str | bytes] = [*shared, section.name, section.text]
        captions = site.numbers.captions.items()
        parts.append(repr([n for (page, _), n in captions if page == section.name]))
        parts += _records(book, section)
        return cache.value(parts, lambda: _written(_article(site, section)))

    if not views:
        cache.fill(article, others)
    found: dict[str, Written] = {}
    problems: list[str] = []
    for section in others:
        try:
            found[section.name] = article(section)
        except BookError as error:
            problems.append(str(error))
    if problems:
        raise BookError("\n".join(problems))
    first = FrontPage(*_contents(site, front))
    first.minutes = {
        section.name: found[section.name].minutes
        for section in others
        if not any(True for _ in section.contents)
    }
    cache.forget_others()
    return {front.name: _written(first), **found}


def _shared_parts(site: Site, titles: dict[str, str]) -> list[str]:
    """Return the inputs that all articles share, as a part of their cache keys."""
    from book.library import package

    book, numbers = site.book, site.numbers
    resources = book.config.build["resources"].split()
    inputs = ("config.ini", "environments/*.txt", "d2l/*", "static/explorables/*.js")
    libraries = [package.generated(book, tab) for tab in book.tabs]
    places = [numbers.places, numbers.headings, site.glossary.terms, site.references]
    names = repr([*places, titles, list(site.bibliography.works)])
    return [_hash_of_files(book.root, [*inputs, *resources]), *libraries, names]


def _records(book: Book, section: Section) -> Iterator[bytes]:
    """Yield the records of a section."""
    from book.records import store

    for machine in store.machines(book):
        for tab in book.tabs:
            file = store.path(book, section, tab, machine)
            yield file.read_bytes() if file.is_file() else b""


def _contents(site: Site, section: Section) -> tuple[Site, Section, list, list]:
    """Return the inputs of an article; raise a `BookError` if there are none."""
    from book import merge
    from book.facts.marked_numbers import published_measurements

    found = (site.views(section, tab) for tab in site.book.tabs)
    views = [view for view in found if view is not None]
    if not views:
        raise BookError("the page is empty; write something", f"{section.name}.md")
    items = merge.merge(section, views, published_measurements(site.book))
    return site, section, items, views


def _article(site: Site, section: Section) -> Article:
    from book.pages.article import Article

    return Article(*_contents(site, section))


def _written(article: Article) -> Written:
    """Return an article and the data derived from it."""
    from book.pages import previews, solutions
    from book.pages.page import Written
    from book.records import store

    above, below = article.html()
    index, book = article.index, article.site.book
    return Written(
        above=above,
        below=below,
        titles=article.titles,
        records=index.records(),
        referred=list(article.referred),
        previews=dict(previews.Preview(article).all(iter(article.titles))),
        solutions=dict(solutions.solutions(article)),
        minutes=reading_time(index, [f.stem for f in article.figures]),
        description=_shortened(article.first_text()),
        states=list(store.states(book, article.section)),
        figures=[str(f.relative_to(book.root)) for f in article.figures],
        images=article.images,
    )


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
