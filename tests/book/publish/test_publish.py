"""The published folder is complete, with its buttons and the branch of notebooks."""

import os
import subprocess
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path

import bs4
import imagesize
import pytest
import yaml
from golden.made_up import parsed

from book.__main__ import main
from book.base import inputs
from book.notebooks import editions
from book.pages import buttons, hosting, html
from book.pages.hosting import Hosting
from book.publish import layout
from book.runner.errors import BookError
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[3]
OURS = "someone/made-up"
SITE = "https://example.org/some/book"
MakeBook = Callable[..., Book]


# Settings


def test_settings_have_defaults(make_book: MakeBook):
    assert hosting.load(make_book(one="# One\n")) == Hosting("", "notebooks", "")


def test_settings_are_read(make: Callable[..., Book]):
    settings = hosting.load(make(repository=OURS, branch="nb/all", site=f"{SITE}/"))
    assert settings == Hosting(OURS, "nb/all", SITE)
    assert settings.root == "/some/book/"
    assert Hosting(site="https://example.org").root == Hosting().root == "/"


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("repository", "made-up", "OWNER/NAME"),
        ("repository", "https://github.com/someone/made-up", "OWNER/NAME"),
        ("repository", "a/b/c", "OWNER/NAME"),
        ("branch", "no branch", "branch"),
        ("branch", "a..b", "branch"),
        ("branch", "-f", "branch"),
        ("site", "example.org", "https://"),
        ("site", "ftp://example.org", "https://"),
        ("site", "https://example.org/?a", "https://"),
        ("site", "https://[", "https://"),
        ("repo", "a/b", "repository"),
    ],
)
def test_a_bad_setting_is_reported_in_one_line(make, name: str, value: str, hint: str):
    with pytest.raises(BookError) as raised:
        hosting.load(make(**{name: value}))
    text = str(raised.value)
    assert text.startswith("config.ini, [publish]: ") and "\n" not in text
    assert hint in text and (value if name != "repo" else name) in text


REMOTES = {
    "https://github.com/someone/made-up": OURS,
    "https://github.com/someone/made-up.git": OURS,
    "https://name:secret@github.com/someone/made-up.git/": OURS,
    "git@github.com:someone/made-up.git": OURS,
    "ssh://git@github.com/someone/made-up": OURS,
    "https://gitlab.com/someone/made-up.git": "",  # which no service opens
    "https://github.com.example.org/someone/made-up": "",
    "https://example.org/github.com/someone/made-up": "",
    "/srv/github.com/someone/made-up": "",
    "file:///someone/made-up": "",
}


@pytest.mark.parametrize("address", REMOTES)
def test_a_clone_knows_its_repository(make: Callable[..., Book], address: str):
    book = make()
    git(book.root, "init", "--quiet")
    git(book.root, "remote", "add", "origin", address)
    git(book.root, "add", ".")
    git(book.root, "commit", "--quiet", "-m", "One")

    def found(book: Book) -> str:
        return hosting.with_remote(book, hosting.load(book)).repository

    assert found(book) == ""  # without the branch that the services would open
    before = inputs.digest_of_pages(book.root)
    git(book.root, "update-ref", "refs/remotes/origin/notebooks", "HEAD")
    assert found(book) == REMOTES[address]
    assert (inputs.digest_of_pages(book.root) != before) == bool(REMOTES[address])
    config = book.root / "config.ini"
    config.write_text(config.read_text() + "repository = else/where\n")
    assert found(Book(book.root)) == "else/where"


@pytest.mark.parametrize("settings", [{}, {"edition": "v1.0"}])
def test_pages_offer_notebooks_that_are_up_to_date(
    make: Callable[..., Book], settings: dict[str, str]
):
    def offered() -> list[str]:
        book = Book(make_root)
        page = html.build(book).parent / "chapter/one.html"
        links = parsed(page.read_text("utf-8")).select(".take a[href]")
        for link in links:
            assert (page.parent / str(link["href"])).is_file()
        return [link.text.strip() for link in links]

    make_root = make(**settings).root
    assert offered() == []
    editions.write(Book(make_root))
    assert not inputs.pages_are_fresh(make_root)
    assert set(offered()) == {"Notebook"}
    assert (make_root / "_build/html/notebooks").is_dir()
    text = make_root / "chapter/one.md"
    text.write_text(text.read_text().replace("Text.", "Another text."))
    assert offered() == []  # rather than those of another text


# Buttons


def labels(shown: list[buttons.Button]) -> list[str]:
    return [button["label"] for button in shown]


def test_without_files_there_are_no_buttons(make):
    assert buttons.for_book(make(), Hosting()) == {}


def test_buttons_open_the_notebooks_of_the_branch(make):
    found = buttons.for_book(make(), Hosting(OURS, "nb"))
    # The front page and a section without code have no notebook.
    assert list(found) == ["chapter/one"]
    colab, lab, kaggle = found["chapter/one"]["jax"]
    blob = f"{OURS}/blob/nb/notebooks"
    assert colab["address"] == (
        f"https://colab.research.google.com/github/{blob}/colab/jax/one.ipynb"
    )
    assert lab["address"] == (
        f"https://studiolab.sagemaker.aws/import/github/{blob}/sagemaker/jax/one.ipynb"
    )
    assert kaggle["address"] == (
        "https://kaggle.com/kernels/welcome?src="
        f"https://github.com/{blob}/colab/jax/one.ipynb"
    )


def test_mxnet_has_no_button_of_a_host_with_a_newer_python(make):
    root = make().root
    for path in (root / "config.ini", root / "chapter/one.md"):
        path.write_text(path.read_text().replace("jax", "mxnet"))
    found = buttons.for_book(Book(root), Hosting(OURS))["chapter/one"]
    assert labels(found["mxnet"]) == ["Studio Lab"]
    assert labels(found["pytorch"]) == ["Colab", "Studio Lab", "Kaggle"]


def test_a_file_has_a_button_only_if_it_exists(make):
    book = make()
    files = ["slides/jax/one.html", "pdf/made-up-jax.pdf", "slides/index.html"]
    found = buttons.for_book(book, Hosting(), files)
    assert {tab: labels(b) for tab, b in found["chapter/one"].items()} == {
        "jax": ["Slides", "Book as PDF"]
    }
    assert labels(found["chapter/two"]["jax"]) == ["Book as PDF"]
    assert labels(found["index"][buttons.ALL_TABS]) == ["All slides"]
    assert labels(found["index"]["jax"]) == ["PDF in JAX"]


# The folder


@pytest.fixture
def published(make) -> Path:
    return layout.build(make(repository=OURS, site=SITE), with_pdf=False)


def test_the_folder_is_complete(published: Path):
    names = buttons.files_in(published)
    assert {"index.html", "404.html", "robots.txt", ".nojekyll"} <= set(names)
    assert {"slides/index.html", "slides/jax/one.html"} <= set(names)
    assert "notebooks/made-up-notebooks.zip" in names
    for kind in ("", "colab/", "sagemaker/"):
        assert f"notebooks/{kind}jax/one.ipynb" in names
    assert not [name for name in names if name.startswith("pdf/")]
    leftovers = {path.name for path in published.parent.iterdir()}
    assert not {"publish.draft", "publish.old", "publish.new"} & leftovers


def test_the_sitemap_names_every_page(published: Path):
    tree = xml.etree.ElementTree.parse(published / "sitemap.xml")
    found = [str(element.text) for element in tree.iter() if element.tag[-3:] == "loc"]
    pages = [address.removeprefix(f"{SITE}/") or "index.html" for address in found]
    files = {n for n in buttons.files_in(published) if n.endswith(".html")}
    decks = {n for n in files if n.startswith("slides/")} - {"slides/index.html"}
    assert set(pages) == files - decks - {"404.html"} and len(pages) == len(set(pages))
    text = (published / "sitemap.xml").read_text("utf-8")
    assert text.startswith(
        '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http'
    )
    assert tree.getroot().tag == "{http://www.sitemaps.org/schemas/sitemap/0.9}urlset"
    robots = f"User-agent: *\nAllow: /\nSitemap: {SITE}/sitemap.xml\n"
    assert (published / "robots.txt").read_text() == robots


def test_the_404_page_asks_the_front_page(published: Path):
    text = (published / "404.html").read_text("utf-8")
    page = bs4.BeautifulSoup(text, "html.parser")
    form = page.select_one("form")
    assert form and str(form["action"]).endswith("/index.html")
    assert form.select_one("input[name=search][aria-label]")
    policy = page.select_one("meta[http-equiv]")
    assert policy and str(policy["content"]) == (
        "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self';"
        " base-uri 'none'; form-action 'self'"
    )
    assert page.select_one("link[href^='/some/book/_static/']")
    assert 1 < len(page.select("article a")) < 5


def test_pages_name_their_address_and_a_picture(published: Path):
    found = {}
    for name in ("index", "chapter/one"):
        text = (published / f"{name}.html").read_text("utf-8")
        page = bs4.BeautifulSoup(text, "html.parser")
        found[name] = {
            **{str(m["property"]): m["content"] for m in page.select("meta[property]")},
            **{str(link["rel"][0]): link["href"] for link in page.select("link")},
        }
        assert found[name]["og:image"] == f"{SITE}/_static/card.png"
        assert found[name]["og:url"] == found[name]["canonical"]
    assert found["index"]["canonical"] == f"{SITE}/"
    assert found["chapter/one"]["canonical"] == f"{SITE}/chapter/one.html"
    assert imagesize.get(published / "_static/card.png") == (1200, 630)


def test_publishing_twice_gives_the_same_bytes(
    make, capsys: pytest.CaptureFixture[str]
):
    book = make()
    contents = []
    for _ in range(2):
        folder = layout.build(book, with_pdf=False)
        names = buttons.files_in(folder)
        contents.append({name: (folder / name).read_bytes() for name in names})
    assert contents[0] == contents[1]
    assert "sitemap.xml" not in contents[0]
    assert contents[0]["robots.txt"] == b"User-agent: *\nAllow: /\n"
    assert contents[0][".nojekyll"] == b""
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("publish: ")] == 2 * [
        *(f"publish: {part}" for part in ("notebooks", "slides", "pages")),
        "publish: no sitemap.xml, because config.ini, [publish] has no site",
    ]


def test_a_failure_leaves_the_last_folder_unchanged(
    make, monkeypatch: pytest.MonkeyPatch
):
    book = make()
    folder = layout.build(book, with_pdf=False)
    before = buttons.files_in(folder)
    (book.root / "chapter/two.md").write_text("# Two\n\n$\\foo$\n")
    with pytest.raises(BookError, match="cannot convert the equation"):
        layout.build(Book(book.root), with_pdf=False)
    assert buttons.files_in(folder) == before
    assert not folder.with_suffix(".draft").exists()


# The branch


def git(folder: Path, *arguments: str) -> str:
    names = {f"GIT_{w}_NAME": "Nobody" for w in ("AUTHOR", "COMMITTER")}
    names |= {f"GIT_{w}_EMAIL": "nobody@example.org" for w in ("AUTHOR", "COMMITTER")}
    command = ["git", *arguments]
    env = os.environ | names
    return subprocess.check_output(command, cwd=folder, env=env, text=True).strip()


@pytest.fixture
def repository(published: Path, tmp_path: Path) -> Path:
    """Return a remote repository from which the book was cloned."""
    remote = tmp_path / "remote.git"
    make_remote(published.parents[1], remote)
    return remote


def make_remote(root: Path, remote: Path) -> None:
    """Commit a file of the book in `root`, and push it to a new repository."""
    git(root, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / ".gitignore").write_text("_build\n")
    git(root, "add", "index.md", ".gitignore")
    git(root, "commit", "--quiet", "-m", "A book")
    git(root, "remote", "add", "origin", str(remote))
    git(root, "push", "--quiet", "origin", "main")


def test_the_branch_holds_the_notebooks_that_buttons_open(
    published: Path, repository: Path, capsys: pytest.CaptureFixture[str]
):
    book = Book(published.parents[1])
    staged = git(book.root, "status", "--short")
    for _ in range(2):
        capsys.readouterr()
        layout.push(book, published)
        said = "publish: pushed the notebooks to origin/notebooks\n"
        assert capsys.readouterr().err == said
    names = git(repository, "ls-tree", "-r", "--name-only", "notebooks").split("\n")
    assert names == [n for n in buttons.files_in(published) if n[:10] == "notebooks/"]
    assert git(repository, "rev-list", "--count", "notebooks") == "1"
    about = git(repository, "log", "--format=%an %ae %cn %ce: %s", "notebooks")
    made_of = git(book.root, "rev-parse", "HEAD")
    assert about == f"make publish  make publish : Notebooks of {made_of}"
    assert git(book.root, "status", "--short") == staged
    found = buttons.for_book(book, hosting.load(book))["chapter/one"]
    for button in found["pytorch"] + found["jax"]:
        assert button["address"].partition("/blob/notebooks/")[2] in names


OTHER_FILES = (
    "branch 'main' holds more than notebooks, which a push would delete; name a branch"
    " that is only for notebooks"
)


@pytest.mark.parametrize("with_notebooks", [False, True])
def test_a_branch_with_other_files_is_not_replaced(
    with_notebooks: bool, published: Path, repository: Path
):
    root = published.parents[1]
    if with_notebooks:
        (root / "notebooks").mkdir()
        (root / "notebooks/mine.ipynb").write_text("{}")
        git(root, "add", "notebooks")
        git(root, "commit", "--quiet", "-m", "A notebook")
        git(root, "push", "--quiet", "origin", "main")
    config = (root / "config.ini").read_text()
    (root / "config.ini").write_text(config.replace(OURS, f"{OURS}\nbranch = main"))
    tip = git(repository, "rev-parse", "main")
    with pytest.raises(BookError) as raised:
        layout.push(Book(root), published)
    assert str(raised.value) == f"config.ini, [publish]: {OTHER_FILES}"
    assert git(repository, "rev-parse", "main") == tip


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {},
            "no repository to push to; write repository = OWNER/NAME or omit PUSH=1",
        ),
        ({"repository": OURS, "branch": "main"}, OTHER_FILES),
    ],
)
def test_what_stops_a_push_is_found_before_anything_is_made(
    make,
    settings: dict[str, str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    root = make(**settings).root
    make_remote(root, tmp_path / "remote.git")
    monkeypatch.chdir(root)
    assert main(["publish", "--pdf=0", "--push=1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"error: config.ini, [publish]: {message}"
    assert not (root / "_build/publish").exists()


@pytest.mark.parametrize(
    "settings, given",
    [({}, "0"), ({"repository": ""}, "0"), ({"repository": OURS}, "1")],
)
def test_the_workflow_pushes_only_with_a_repository(
    make, settings: dict[str, str], given: str
):
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text())["jobs"]
    (step,) = (s for s in jobs["build"]["steps"] if "make publish" in s.get("run", ""))
    script = 'make() { echo "$@"; }\n' + step["run"]
    command = ["bash", "-e", "-o", "pipefail", "-c", script]
    said = subprocess.check_output(command, cwd=make(**settings).root, text=True)
    assert said == f"publish PUSH={given}\n"


def test_a_push_that_fails_is_reported_in_one_line(published: Path, tmp_path: Path):
    root = published.parents[1]
    git(root, "init", "--quiet", "--initial-branch=main")
    with pytest.raises(BookError, match="git ls-remote: fatal: .*") as raised:
        layout.push(Book(root), published)
    assert "\n" not in str(raised.value)
    make_remote(root, tmp_path / "remote.git")
    (published / "notebooks").rename(published / "others")
    with pytest.raises(BookError, match="^git add: fatal: pathspec '_build/.*'"):
        layout.push(Book(root), published)


@pytest.mark.slow
def test_only_the_pdfs_of_this_book_are_published(
    make, monkeypatch: pytest.MonkeyPatch
):
    book = make()
    stale = book.root / "_build/pdf/made-up-mxnet.pdf"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"%PDF")
    folder = layout.build(book)
    names = {p.name for p in (folder / "pdf").iterdir()}
    assert names == {"made-up-pytorch.pdf", "made-up-jax.pdf"}
    page = (folder / "chapter/two.html").read_text("utf-8")
    assert 'href="../pdf/made-up-jax.pdf"' in page
