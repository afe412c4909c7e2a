"""A release sets the version everywhere, or nowhere."""

import subprocess
from datetime import date
from pathlib import Path

import pytest

from book.__main__ import main
from book.publish import release
from book.runner.errors import BookError
from book.runner.files import write_whole

FILES = {
    "config.ini": "[project]\nname = made-up\nrelease = 1.2.9\nlang = en\n",
    "d2l/__init__.py": '"""The library."""\n\n__version__ = "1.2.9"\n',
    "CITATION.cff": 'title: A Book\nversion: 1.2.9\ndate-released: "2026-01-02"\n',
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n### New\n\n- A figure.\n\n"
    "## 1.2.9 (2026-01-02)\n\n### New\n\n- The book.\n",
}
TODAY = date(2026, 3, 4)


def git(root: Path, *arguments: str) -> None:
    user = ["-c", "user.name=N", "-c", "user.email=n@example.org"]
    subprocess.run(["git", *user, *arguments], cwd=root, check=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "A book")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a book, whose files are committed."""
    for name, text in FILES.items():
        write_whole(tmp_path / name, text)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def texts(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in FILES}


def test_a_release_sets_the_version_everywhere(root: Path):
    left = release.release(root, "1.2.10", TODAY)
    expected = {name: text.replace("1.2.9", "1.2.10") for name, text in FILES.items()}
    expected["CITATION.cff"] = expected["CITATION.cff"].replace("01-02", "03-04")
    expected["CHANGELOG.md"] = FILES["CHANGELOG.md"].replace(
        "## Unreleased\n", "## Unreleased\n\n## 1.2.10 (2026-03-04)\n"
    )
    assert texts(root) == expected
    assert left == [
        "git commit --all --message 'Version 1.2.10'",
        "git tag v1.2.10",
        "git push origin HEAD v1.2.10",
    ]
    commit(root)
    with pytest.raises(BookError, match="CHANGELOG.md: nothing below '## Unreleased'"):
        release.release(root, "1.3.0", TODAY)


@pytest.mark.parametrize(
    "version, edition", [("1.0.0", "v1.0"), ("2.10.0", "v2.10"), ("1.0.10", "v1.0.10")]
)
def test_the_edition_of_a_version(version: str, edition: str):
    assert release.edition(version) == edition


@pytest.mark.parametrize("version", ["1.2.9", "1.2.8", "0.9.9"])
def test_a_version_that_is_not_newer_is_refused(root: Path, version: str):
    with pytest.raises(BookError) as raised:
        release.release(root, version, TODAY)
    assert str(raised.value) == f"VERSION: {version} is not newer than 1.2.9"
    assert texts(root) == FILES


def test_changes_without_a_commit_are_refused(root: Path):
    (root / "new.md").touch()
    with pytest.raises(BookError, match="^git status: there are changes without a"):
        release.release(root, "1.3.0", TODAY)
    assert texts(root) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_a_version_stops_the_release(root: Path, name: str):
    text = FILES[name].replace("version", "issue").replace("release", "issue")
    (root / name).write_text(text)
    commit(root)
    with pytest.raises(BookError, match=f"^{name}.*: "):
        release.release(root, "1.3.0", TODAY)
    assert texts(root) == FILES | {name: text}


@pytest.mark.parametrize("error", [OSError("No space left"), KeyboardInterrupt()])
def test_a_release_that_fails_leaves_the_old_version(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    def write(path: Path, text: str) -> None:
        if path.name == "CITATION.cff":
            raise error
        write_whole(path, text)

    monkeypatch.setattr(release, "write_whole", write)
    with pytest.raises(type(error)):
        release.release(root, "1.3.0", TODAY)
    assert texts(root) == FILES


@pytest.mark.parametrize(
    "given, message",
    [
        ([], "name the version, as in VERSION=1.0.0"),
        (["--version=1.3"], "'1.3' is not a version such as 1.0.0"),
        (["--version=v1.3.0"], "'v1.3.0' is not a version such as 1.0.0"),
        (["--version=1.03.0"], "'1.03.0' is not a version such as 1.0.0"),
    ],
)
def test_a_mistake_is_one_line(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    message: str,
):
    monkeypatch.chdir(root)
    assert main(["release", *given]) == 1
    assert capsys.readouterr().err == f"error: VERSION: {message}\n"


def test_the_command_prints_what_is_left(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(root)
    assert main(["release", "--version=2.0.0"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        *("git tag v2.0", "git push origin HEAD v2.0")
    ]
    assert f"## 2.0.0 ({date.today()})" in (root / "CHANGELOG.md").read_text()
