"""Makes the published book: `python -m book publish`, which `make publish` calls.

The folder `_build/publish` holds everything that a static host needs: the pages, and
`slides/`, `pdf/` and `notebooks/`, which buttons of the pages open. The buttons for
hosted notebooks open `notebooks/` on a branch on GitHub. The editions that are kept are
beside the newest pages, each in a folder of its own, such as `v1.0/`.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from book.base import build_paths
from book.base.files import locked, replace_folder
from book.notebooks import editions as notebooks
from book.pages import hosting, html
from book.pages.hosting import Hosting
from book.paper import pdf
from book.publish import kept
from book.publish.changelog import order
from book.publish.git import git
from book.render.templates import render_template
from book.runner.errors import BookError
from book.runner.signals import report
from book.slides import decks
from book.text.book import Book

URLSET = """\
<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}</urlset>
"""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self';"
    " base-uri 'none'; form-action 'self'"
)


def build(book: Book, with_pdf: bool = True) -> Path:
    """Make the folder of the published book and return it.

    An edition is kept as an archive, too. It goes beside the newest pages, so it has no
    files for hosts and holds no other edition. If a step fails, the last folder remains
    unchanged and a `BookError` is raised.
    """
    settings = hosting.load(book)
    folder = book.root / build_paths.PUBLISH
    with replace_folder(folder) as draft:
        if not settings.edition:
            _add_editions(book, draft)  # before minutes of work
        for name, source in _make_parts(book, with_pdf):
            report(f"publish: {name}")
            shutil.copytree(source, draft / name)
        report("publish: pages")
        with locked(book.root / build_paths.PAGES_LOCK, "another process builds it"):
            html.write_site(book, draft)
        if not settings.edition:
            _add_files_for_hosts(book, settings, draft)
    if settings.edition:
        release = book.config.project["release"]
        if order(release) != order(settings.edition):
            report(f"publish: its version is {release}; make release sets another")
        archive = kept.keep(book.root, folder, settings.edition)
        report(f"publish: {archive.relative_to(book.root)}")
    elif not settings.site:
        report(f"publish: no sitemap.xml, because {hosting.WHERE} has no site")
    return folder


def _add_editions(book: Book, draft: Path) -> None:
    """Put all editions into the folder, with the page that lists them."""
    if editions := kept.unpack(book, draft):
        report(f"publish: editions {', '.join(editions)}")
        (draft / hosting.EDITIONS).write_text(
            kept.page(book, editions, POLICY), "utf-8"
        )


def _make_parts(book: Book, with_pdf: bool) -> Iterator[tuple[str, Path]]:
    """Make the parts beside the pages; yield the name and the source of each folder."""
    yield "notebooks", notebooks.write(book)
    with locked(
        book.root / build_paths.SLIDES_LOCK, "another process is making slides"
    ):
        yield "slides", decks.build(book).parent
    if with_pdf:
        yield "pdf", _make_pdfs(book)


def _make_pdfs(book: Book) -> Path:
    """Make all PDFs and return a folder that holds only these."""
    folder = book.root / build_paths.PUBLISHING / "pdf"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with locked(book.root / build_paths.PAGES_LOCK, "another process builds it"):
        for tab in book.tabs:
            report(f"publish: PDF of {tab}")
            shutil.copy(pdf.build(book, tab), folder)
    return folder


# Files for hosts and search engines


def _add_files_for_hosts(book: Book, settings: Hosting, draft: Path) -> None:
    """Write the files that hosts and search engines look for."""
    files = {
        ".nojekyll": "",  # Otherwise, GitHub omits names that begin with "_".
        "robots.txt": "User-agent: *\nAllow: /\n",
        "404.html": render_template(
            "404.html",
            project=book.config.project,
            policy=POLICY,
            root=settings.root,
            index=book.config.build["index"],
            glossary=book.setting("pages", "glossary"),
        ),
    }
    if settings.site:
        files["robots.txt"] += f"Sitemap: {settings.site}/sitemap.xml\n"
        files["sitemap.xml"] = _sitemap(book, settings)
    for name, text in files.items():
        (draft / name).write_text(text, "utf-8")


def _sitemap(book: Book, settings: Hosting) -> str:
    """Return the sitemap with the addresses of all pages and of the list of decks."""
    index = book.config.build["index"]
    pages = ["" if s.name == index else f"{s.name}.html" for s in book.sections]
    addresses = (f"{settings.site}/{page}" for page in [*pages, "slides/index.html"])
    urls = (f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    return URLSET.format("".join(urls))


# The branch of notebooks


def check_push(book: Book, remote: str = "origin") -> Hosting:
    """Return the settings, or raise a `BookError` if `push` would refuse."""
    settings = hosting.load(book)
    if not settings.repository:
        raise BookError(
            "no repository to push to; write repository = OWNER/NAME or omit PUSH=1",
            hosting.WHERE,
        )
    _check_branch(book.root, settings, remote)
    return settings


def push(book: Book, folder: Path, remote: str = "origin") -> None:
    """Replace the branch of notebooks on `remote` with the notebooks in `folder`.

    The branch has only one commit, so that the repository does not grow. Raises a
    `BookError` if no repository is set, if the branch holds other files, or if git
    fails.
    """
    settings = check_push(book, remote)
    commit = _commit_notebooks(book.root, folder)
    target = f"refs/heads/{settings.branch}"
    git(book.root, "push", "--quiet", "--force", remote, f"{commit}:{target}")
    report(f"publish: pushed the notebooks to {remote}/{settings.branch}")


def _check_branch(root: Path, settings: Hosting, remote: str) -> None:
    """Raise a `BookError` if the branch exists and holds more than notebooks."""
    name = f"refs/heads/{settings.branch}"
    if not git(root, "ls-remote", remote, name):
        return
    git(root, "fetch", "--quiet", "--depth=1", remote, name)
    names = set(git(root, "ls-tree", "--name-only", "FETCH_HEAD").split("\n"))
    if names != {"notebooks"}:
        raise BookError(
            f"branch '{settings.branch}' holds more than notebooks, which a push would"
            " delete; name a branch that is only for notebooks",
            hosting.WHERE,
        )


def _commit_notebooks(root: Path, folder: Path) -> str:
    """Return a new commit of the notebooks, without a change to the user's index."""
    index = root / build_paths.PUBLISH_INDEX
    index.unlink(missing_ok=True)
    settings = {"GIT_INDEX_FILE": str(index)}
    for role in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{role}_NAME": "make publish", f"GIT_{role}_EMAIL": "<>"}
    path = folder.relative_to(root).as_posix()
    git(root, "add", "--force", f"{path}/notebooks", **settings)
    tree = git(root, "write-tree", f"--prefix={path}/", **settings)
    source = git(root, "rev-parse", "HEAD")
    index.unlink(missing_ok=True)
    return git(root, "commit-tree", tree, "-m", f"Notebooks of {source}", **settings)
