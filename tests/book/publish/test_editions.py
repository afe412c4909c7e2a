"""Editions know their address, are kept whole, and stand beside the newest pages."""

import json
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import bs4
import pytest
import yaml

from book.__main__ import main
from book.base import inputs
from book.pages import buttons, hosting
from book.paper import pdf
from book.publish import changelog, kept, layout
from book.runner.errors import BookError
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[3]
OURS, SITE = "someone/made-up", "https://example.org/some/book"
CHANGES = """\
# Changes

What this is.

## Unreleased

### New

- A figure.

### Corrected

- *One*: `x` was 2 MB,
  and is <3 MB.

## 1.1.0 (2026-03-04)

### Corrected

- *Two*: a sum.

## 1.0.0 (2026-01-02)

### New

- The book.
"""
Make = Callable[..., Book]


def parsed(path: Path) -> bs4.BeautifulSoup:
    return bs4.BeautifulSoup(path.read_text("utf-8"), "html.parser")


def footer(path: Path) -> list[tuple[str, str]]:
    """Return the text and the address of each link to the list of editions."""
    links = parsed(path).select("footer .copyright a")
    return [(link.text, str(link["href"])) for link in links]


def archive(root: Path, name: str, files: dict[str, bytes]) -> Path:
    """Write an archive of an edition to the folder in which a book keeps them."""
    path = root / "_build/editions" / f"{name}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for file, data in files.items():
            packed.writestr(file, data)
    return path


def git(root: Path, *arguments: str) -> str:
    user = ["-c", "user.name=N", "-c", "user.email=n@example.org"]
    return subprocess.check_output(["git", *user, *arguments], cwd=root, text=True)


# An edition


def test_an_edition_knows_its_address(make: Make, capsys: pytest.CaptureFixture[str]):
    book = make(repository=OURS, site=f"{SITE}/", branch="nb", edition="v1.0")
    book.config.project["release"] = "1.0.0"
    folder = layout.build(book, with_pdf=False)
    assert "its version" not in capsys.readouterr().err
    one = parsed(folder / "chapter/one.html")
    (canonical,) = one.select("link[rel=canonical]")
    assert canonical["href"] == f"{SITE}/v1.0/chapter/one.html"
    assert footer(folder / "index.html") == [("Edition v1.0", "../editions.html")]
    link = ("Edition v1.0", "../../editions.html")
    assert footer(folder / "chapter/one.html") == [link]
    hosted = [str(a["href"]) for a in one.select(".take a") if "://" in str(a["href"])]
    assert hosted and all(f"{OURS}/blob/nb-v1.0/notebooks" in at for at in hosted)
    # It is not at the root of the host, for whose files these are.
    files = buttons.files_in(folder)
    assert not {"404.html", "robots.txt", "sitemap.xml", ".nojekyll"} & {*files}
    with zipfile.ZipFile(book.root / "_build/editions/v1.0.zip") as packed:
        assert packed.namelist() == [f"v1.0/{name}" for name in files]
        for name in files:
            assert packed.read(f"v1.0/{name}") == (folder / name).read_bytes()


def test_the_option_sets_the_edition(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    root = make(site=SITE, edition="v1").root
    one = root / "chapter/one.md"
    one.write_text(one.read_text().replace("Text.", "See :numref:`sec_two`."))
    monkeypatch.chdir(root)
    kept_bytes = []
    for _ in range(2):
        assert main(["publish", "--pdf=0", "--edition=v2.1"]) == 0
        assert capsys.readouterr().err.endswith(
            "publish: its version is 0.1; make release sets another\n"
            "publish: _build/editions/v2.1.zip\n"
        )
        kept_bytes.append((root / "_build/editions/v2.1.zip").read_bytes())
    assert kept_bytes[0] == kept_bytes[1]  # the same tree, the same bytes
    colab = root / "_build/publish/notebooks/colab/pytorch/one.ipynb"
    cells = json.loads(colab.read_text())["cells"]
    text = "".join("".join(cell["source"]) for cell in cells)
    assert f"{SITE}/v2.1/chapter/two.html" in text
    # `make` does not offer the notebooks of another edition.
    made = inputs.notebooks(root)
    assert made.is_fresh(inputs.digest_of_inputs(root, "v2.1"))
    assert not made.is_fresh(inputs.digest_of_inputs(root, "v1"))
    for wrong in ("2.1", "v2.", "v2-beta", "../v2", ""):
        assert main(["publish", f"--edition={wrong}"]) == 1
        said = f"error: EDITION: '{wrong}' is not an edition such as v1.0\n"
        assert capsys.readouterr().err == said


def test_a_wrong_edition_in_the_settings_is_reported(make: Make):
    with pytest.raises(BookError, match=r"'1\.0' is not an edition; write .* v1\.0"):
        hosting.load(make(edition="1.0"))


@pytest.mark.parametrize("is_option", [True, False])
def test_an_edition_opens_notebooks_of_its_own_branch(make: Make, is_option: bool):
    book = make(**{} if is_option else {"edition": "v1.0"})
    if is_option:
        hosting.choose_edition(book, "v1.0")
    remote = ["remote", "add", "origin", f"https://github.com/{OURS}"]
    git(book.root, "init", "--quiet")
    git(book.root, *remote)
    git(book.root, "commit", "--quiet", "--allow-empty", "-m", "A book")
    for branch, found in (("notebooks", ""), ("notebooks-v1.0", OURS)):
        git(book.root, "update-ref", f"refs/remotes/origin/{branch}", "HEAD")
        settings = hosting.with_remote(book, hosting.load(book))
        assert settings.repository == found
        if not is_option:
            assert inputs.remote_repository(book.root) == found


def test_an_edition_has_pdfs_of_its_own(make: Make, monkeypatch: pytest.MonkeyPatch):
    typeset: list[Path] = []

    def made(book: Book, folder: Path) -> bytes:
        typeset.append(folder)
        return b"%PDF"

    monkeypatch.setattr(pdf, "_typeset", made)
    book = make(site=SITE)
    for edition, count in (("", 1), ("v1", 2), ("v1", 2), ("", 3)):
        hosting.choose_edition(book, edition)
        pdf.build(book, "jax")
        assert len(typeset) == count
        facts = json.loads((typeset[-1] / "facts.json").read_text())
        assert facts["site"] == (f"{SITE}/{edition}/" if edition else f"{SITE}/")


# Beside the newest pages


def test_editions_are_beside_the_newest_pages(make: Make):
    book = make(site=SITE)
    alone = layout.build(book, with_pdf=False)
    before = {name: (alone / name).read_bytes() for name in buttons.files_in(alone)}
    assert "editions.html" not in before and footer(alone / "index.html") == []
    (book.root / "CHANGELOG.md").write_text(CHANGES)
    edition = {"index.html": b"<p>As it was", "404.html": b"", "_static/a.js": b"1"}
    for name in ("v1.0", "v1.10", "v1.9"):
        files = {f"{name}/{path}": data for path, data in edition.items()}
        archive(book.root, name, files)
    folder = layout.build(book, with_pdf=False)
    after = {name: (folder / name).read_bytes() for name in buttons.files_in(folder)}
    added = {f"{name}/{path}" for name in ("v1.0", "v1.9", "v1.10") for path in edition}
    assert after.keys() - before.keys() == added | {"editions.html"}
    assert after["v1.9/index.html"] == b"<p>As it was"
    # Search, sitemap and files for hosts are those of the newest pages alone.
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"index.html", "chapter/one.html", "chapter/two.html"}
    assert footer(folder / "index.html") == [("All editions", "editions.html")]
    link = ("All editions", "../editions.html")
    assert footer(folder / "chapter/one.html") == [link]
    headings = [h.text for h in parsed(folder / "editions.html").select("h2")]
    assert headings == ["Newest pages", *(f"Edition v1.{n}" for n in (10, 9, 0))]


def test_the_list_says_what_has_been_corrected_since(make: Make):
    book = make(site=SITE)
    (book.root / "CHANGELOG.md").write_text(CHANGES)
    git(book.root, "init", "--quiet")
    git(book.root, "commit", "--quiet", "--allow-empty", "-m", "A book")
    commit = git(book.root, "log", "-1", "--format=%cs (commit %H)")
    text = kept.page(book, ["v1.1", "v1.0", "v0.9"], layout.POLICY)
    page = bs4.BeautifulSoup(text, "html.parser")
    newest, *editions = page.select("section")
    assert f"version 0.1 of {commit[:29]}" in newest.text
    assert [a["href"] for a in page.select("section a")] == [
        *("index.html", "v1.1/index.html", "v1.0/index.html", "v0.9/index.html")
    ]
    size = "<em>One</em>: <code>x</code> was 2 MB, and is &lt;3 MB."
    listed = [
        {h.text: [li.decode_contents() for li in ul.select("li")] for h, ul in found}
        for found in (
            zip(each.select("h3"), each.select("ul"), strict=True) for each in editions
        )
    ]
    total = "<em>Two</em>: a sum."
    assert listed == [
        {
            "Corrected since v1.1": [size],
            "New or changed since v1.1": ["A figure."],
        },
        {
            "Corrected since v1.0": [size, total],
            "New or changed since v1.0": ["A figure."],
        },
        {
            "Corrected since v0.9": [size, total],
            "New or changed since v0.9": ["A figure.", "The book."],
        },
    ]
    cited = [
        " ".join(each.blockquote.text.split()) for each in editions if each.blockquote
    ]
    assert cited[1] == (
        f"Nobody. A Made-Up Book. Edition v1.0, 2026-01-02. {SITE}/v1.0/"
    )
    assert cited[2] == f"Nobody. A Made-Up Book. Edition v0.9. {SITE}/v0.9/"


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("v1.0/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("../x", "it holds '../x', which is not in the folder v1.0"),
        ("/x", "it holds '/x', which is not in the folder v1.0"),
        ("v1.0/../../x", "it holds 'v1.0/../../x', which is not in"),
        ("v1.0/a\\..\\..\\x", "it holds 'v1.0/a"),
        ("v1.1/x", "it holds 'v1.1/x', which is not in the folder v1.0"),
        ("index.html", "it holds 'index.html', which is not in the folder v1.0"),
        (link(), "it holds a link, 'v1.0/link'"),
        (None, "it has no file v1.0/index.html"),
        ("cut", "it is damaged"),
        ("changed", "it is damaged"),
    ],
)
def test_a_bad_archive_is_one_line_and_loses_nothing(
    make: Make, name: str | zipfile.ZipInfo | None, wrong: str, tmp_path: Path
):
    book = make()
    published = book.root / "_build/publish"
    published.mkdir(parents=True)
    (published / "index.html").write_text("The last")
    file = archive(book.root, "v1.0", {"v1.0/index.html": b"contents" * bool(name)})
    with zipfile.ZipFile(file, "a" if name else "w") as packed:
        packed.writestr(name or "v1.0/a.html", b"x")
    data = file.read_bytes()
    if name == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif name == "changed":
        archive(book.root, "v1.0", {"v1.0/index.html": b"contents"})
        file.write_bytes(file.read_bytes().replace(b"contents", b"Contents"))
    with pytest.raises(BookError) as raised:
        layout.build(book)
    message = str(raised.value)
    assert message.startswith(f"_build/editions/v1.0.zip: {wrong}")
    assert message.endswith("; fetch this edition again, or delete it")
    assert "\n" not in message and file.exists()
    assert buttons.files_in(published) == ["index.html"]
    made = {*tmp_path.rglob("x"), *tmp_path.rglob("link")}
    assert made == set()


def test_the_name_of_an_archive_is_that_of_an_edition(make: Make):
    book = make()
    archive(book.root, "newest", {"newest/index.html": b""})
    with pytest.raises(BookError, match="newest.zip: not the name of an edition; ren"):
        kept.unpack(book, book.root / "folder")


# The changelog


def test_a_changelog_is_read(tmp_path: Path):
    assert changelog.read(tmp_path) == []
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    versions = changelog.read(tmp_path)
    assert [(v.number, v.date) for v in versions] == [
        *(("", ""), ("1.1.0", "2026-03-04"), ("1.0.0", "2026-01-02"))
    ]
    assert versions[0].entries == {
        "New": ["A figure."],
        "Changed": [],
        "Corrected": ["*One*: `x` was 2 MB, and is <3 MB."],
    }
    within = [[v.is_in(e) for v in versions] for e in ("v1", "v1.1", "v0.9", "v1.10")]
    assert within == [
        *([False, False, True], [False, True, True]),
        *([False, False, False], [False, True, True]),
    ]


@pytest.mark.parametrize(
    "old, new, line, message",
    [
        ("## 1.1.0 (2026-03-04)", "## 1.1.0", 16, "a wrong heading; write"),
        ("## Unreleased", "## Unreleasd", 5, "a wrong heading; write"),
        (
            "### New\n\n- A",
            "### News\n\n- A",
            7,
            "neither a heading nor an item; write",
        ),
        ("### New\n\n- A", "- A", 7, "neither a heading nor an item; write"),
        ("  and is", "and is", 14, "neither a heading nor an item; write"),
    ],
)
def test_a_wrong_line_of_a_changelog_is_named(
    tmp_path: Path, old: str, new: str, line: int, message: str
):
    (tmp_path / "CHANGELOG.md").write_text(CHANGES.replace(old, new, 1))
    with pytest.raises(BookError, match=rf"^CHANGELOG.md:{line}: {message}"):
        changelog.read(tmp_path)


# The workflow


def run_step(name: str, folder: Path, functions: str, **variables: str) -> list[str]:
    """Return the commands that a step of the workflow calls, one in a line."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text())["jobs"]
    (step,) = (s for s in jobs["build"]["steps"] if s.get("name", "").startswith(name))
    command = ["bash", "-e", "-o", "pipefail", "-c", f"{functions}\n{step['run']}"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()


def test_the_workflow_fetches_the_editions_of_all_releases(tmp_path: Path):
    gh = (
        'gh() { if [ "$1" = api ]; then echo v1.0; echo v1.1; else echo "$@" >&2; fi; }'
    )
    assert run_step("Fetch", tmp_path, gh, GH_REPO=OURS) == [
        f"release download {tag} --pattern {tag}.zip --dir _build/editions"
        for tag in ("v1.0", "v1.1")
    ]
    failing = 'gh() { if [ "$1" = api ]; then return 1; fi; }'
    with pytest.raises(subprocess.CalledProcessError):
        run_step("Fetch", tmp_path, failing, GH_REPO=OURS)


@pytest.mark.parametrize("has_release", [True, False])
def test_the_workflow_attaches_the_edition_of_a_tag(tmp_path: Path, has_release: bool):
    (tmp_path / "config.ini").touch()
    make = 'make() { echo "$@" >&2; }'
    said = run_step("Publish", tmp_path, make, EDITION="v1.0")
    assert said == ["publish PUSH=0 EDITION=v1.0"]
    view = f'[ "$2" != view ] || {"true" if has_release else "false"}'
    gh = f'gh() {{ echo "$1 $2 $3" >&2; {view}; }}'
    said = run_step("Attach", tmp_path, gh, EDITION="v1.0", MAIN="main")
    create = [] if has_release else ["release create v1.0"]
    upload = ["release upload v1.0", "workflow run publish.yml"]
    assert said == ["release view v1.0", *create, *upload]


# What is kept


def test_make_clean_keeps_the_editions(tmp_path: Path):
    (tmp_path / "config.ini").touch()
    for name in ("editions/v1.0.zip", "publish/index.html", "html.stamp"):
        (tmp_path / "_build" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "_build" / name).touch()
    subprocess.run(["make", "-f", ROOT / "Makefile", "clean"], cwd=tmp_path, check=True)
    assert buttons.files_in(tmp_path / "_build") == ["editions/v1.0.zip"]
