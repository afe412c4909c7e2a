"""Lay out the published book: `python -m book publish`, which `make publish` calls.

`_build/publish` then holds all that a static host needs: the pages, `slides/`, `pdf/`
and `notebooks/`, of which the pages have buttons. A branch on GitHub with its
`notebooks/` is what the buttons of hosted notebooks open.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from book.base.errors import BookError
from book.base.files import locked
from book.notebooks import editions
from book.pages import buttons, html
from book.paper import pdf, tex
from book.records import store
from book.slides import deck_page, decks
from book.sources import hosting
from book.sources.book import Book
from book.sources.hosting import Hosting

URLSET = """\
<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}</urlset>
"""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self';"
    " base-uri 'none'; form-action 'none'"
)


def build(book: Book, with_pdf: bool = True) -> Path:
    """The folder of the published book, whole and new; the last one if that fails."""
    settings = hosting.load(book)
    if with_pdf:
        tex.check_tools()  # before minutes have gone by
    folder = book.root / "_build/publish"
    draft = folder.with_suffix(".draft")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        for name, made in _parts(book, with_pdf):
            _say(f"publish: {name}")
            shutil.copytree(made, draft / name)
        _say("publish: pages")
        _add_pages(book, settings, draft)
        _add_for_hosts(book, settings, draft)
        html.replace_folder(folder, draft)
    except OSError as error:
        raise BookError(f"cannot be written ({error.strerror})", folder) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if not settings.site:
        _say(f"publish: no sitemap.xml, which needs site in {hosting.WHERE}")
    return folder


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parts(book: Book, with_pdf: bool) -> Iterator[tuple[str, Path]]:
    """What the pages have beside them: a folder's name, and what is copied there."""
    yield "notebooks", editions.write(book)
    with locked(book.root / "_build/slides.lock", "another process is making slides"):
        yield "slides", decks.build(book).parent
    if with_pdf:
        yield "pdf", _pdfs(book)


def _pdfs(book: Book) -> Path:
    """A folder with the PDFs of this book and no other."""
    folder = book.root / "_build/publishing/pdf"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with locked(book.root / "_build/.lock", "another process is building the book"):
        for tab in (None, *book.tabs):
            _say(f"publish: PDF {'of all tabs' if tab is None else f'of {tab}'}")
            shutil.copy(pdf.build(book, tab), folder)
    return folder


def _add_pages(book: Book, settings: Hosting, draft: Path) -> None:
    """Put the pages into `draft`, with buttons for all that is there already."""
    folder = book.root / "_build/publishing"
    there = buttons.files_in(draft)
    shown: dict[str, Any] = {"book_buttons": buttons.for_book(book, settings, there)}
    # The settings in config.ini name these from a folder that is less deep.
    shown |= {
        "html_static_path": [str(book.root / "static")],
        "html_favicon": str(book.root / "static/favicon.svg"),
        "templates_path": [str(book.root / "book/templates")],
    }
    titles = store.titles(book)
    with locked(book.root / "_build/.lock", "another process is building the book"):
        views = html.views_of_records(book, titles)
        pages = html.write_pages(book, views, folder / "sphinx")
        shutil.rmtree(folder / "pages/_static", ignore_errors=True)
        html.run_sphinx(book, folder, titles, pages, settings=shown)
    unused = shutil.ignore_patterns(*html.UNUSED)
    shutil.copytree(folder / "pages", draft, ignore=unused, dirs_exist_ok=True)


# What hosts and search engines look for


def _add_for_hosts(book: Book, settings: Hosting, draft: Path) -> None:
    files = {
        ".nojekyll": "",  # GitHub would leave out what begins with "_"
        "robots.txt": _robots(settings),
        "404.html": deck_page.render_template(
            "404.html", **_missing_page(book, settings)
        ),
    }
    if settings.site:
        files["sitemap.xml"] = _sitemap(book, settings, draft)
    for name, text in files.items():
        (draft / name).write_text(text, "utf-8")


def _robots(settings: Hosting) -> str:
    text = "User-agent: *\nAllow: /\n"
    return f"{text}Sitemap: {settings.site}/sitemap.xml\n" if settings.site else text


def _sitemap(book: Book, settings: Hosting, draft: Path) -> str:
    """The addresses of all pages and of the list of decks."""
    index = f"{book.config.build['index']}.html"
    pages = [f"{section.name}.html" for section in book.sections]
    extra = [name for name in ("references.html",) if (draft / name).exists()]
    names = ["" if page == index else page for page in pages]
    addresses = [
        escape(f"{settings.site}/{name}")
        for name in dict.fromkeys([*names, *extra, "slides/index.html"])
    ]
    return URLSET.format("".join(f"<url><loc>{a}</loc></url>\n" for a in addresses))


def _missing_page(book: Book, settings: Hosting) -> dict[str, Any]:
    """Return the context of the 404 page."""
    titles = {s.name: s.title.title for s in book.sections if s.title}
    return {
        "lang": book.config.project["lang"],
        "book": book.config.project["title"],
        "copyright": book.config.project["copyright"],
        "policy": POLICY,
        "root": settings.root,
        "index": f"{book.config.build['index']}.html",
        "sections": list(titles.items()),
    }


# The branch of notebooks


def push(book: Book, folder: Path, remote: str = "origin") -> None:
    """Make the notebooks of `folder` all that the branch on `remote` holds.

    The branch has one commit, so that the repository does not grow with each. One
    that holds something else is left alone.
    """
    settings = hosting.load(book)
    if not settings.repository:
        _say(f"publish: nothing to push to, without repository in {hosting.WHERE}")
        return
    _refuse_other_branch(book.root, settings, remote)
    commit = _commit(book.root, folder)
    target = f"refs/heads/{settings.branch}"
    _git(book.root, "push", "--quiet", "--force", remote, f"{commit}:{target}")
    _say(f"publish: {remote}/{settings.branch} holds the notebooks")


def _refuse_other_branch(root: Path, settings: Hosting, remote: str) -> None:
    """Raise a `BookError` if the branch is there and is not one of notebooks."""
    name = f"refs/heads/{settings.branch}"
    if not _git(root, "ls-remote", remote, name):
        return
    _git(root, "fetch", "--quiet", "--depth=1", remote, name)
    held = set(_git(root, "ls-tree", "--name-only", "FETCH_HEAD").split("\n"))
    if held != {"notebooks"}:
        raise BookError(
            f"'{settings.branch}' holds more than notebooks and would be lost;"
            " name a branch that is for them alone",
            hosting.WHERE,
        )


def _commit(root: Path, folder: Path) -> str:
    """A commit of the notebooks alone; the index of the user's own work stays."""
    index = root / "_build/publish.index"
    index.unlink(missing_ok=True)
    own = {"GIT_INDEX_FILE": str(index)}
    for role in ("AUTHOR", "COMMITTER"):
        own |= {f"GIT_{role}_NAME": "make publish", f"GIT_{role}_EMAIL": "<>"}
    inside = folder.relative_to(root).as_posix()
    _git(root, "add", "--force", f"{inside}/notebooks", **own)
    tree = _git(root, "write-tree", f"--prefix={inside}/", **own)
    source = _git(root, "rev-parse", "HEAD")
    index.unlink(missing_ok=True)
    return _git(root, "commit-tree", tree, "-m", f"Notebooks of {source}", **own)


def _git(root: Path, *arguments: str, **settings: str) -> str:
    """What git prints; a `BookError` with the reason that it gives if it fails."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=root,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        lines = done.stderr.strip().split("\n")
        reasons = (line for line in lines if line.startswith(("fatal:", "error:")))
        raise BookError(f"git {arguments[0]}: {next(reasons, lines[-1])}")
    return done.stdout.strip()
