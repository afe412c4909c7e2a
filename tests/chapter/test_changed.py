"""`make quick` finds the records that changed since the branch left its base."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from changed import Case, changed_cases, changed_files

from book.records import store
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[2]
WHO = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]


@pytest.fixture
def repository(tmp_path: Path) -> Any:
    """A repository with two records; what has a `root`, as a book has."""

    class Repository:
        root = tmp_path

    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in ("same", "edited"):
        write(tmp_path, name, "old")
    commit(tmp_path)
    return Repository()


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=x")


def write(folder: Path, name: str, text: str) -> None:
    file = folder / "outputs" / f"{name}.ipynb"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def test_edited_and_new_records_are_found(repository: Any):
    assert changed_files(repository) == set()
    write(repository.root, "edited", "new")
    write(repository.root, "added", "new")
    wanted = {"outputs/edited.ipynb", "outputs/added.ipynb"}
    assert changed_files(repository) == wanted


def test_commits_since_the_branch_left_origin_count(repository: Any):
    git(repository.root, "update-ref", "refs/remotes/origin/main", "HEAD")
    write(repository.root, "edited", "new")
    commit(repository.root)
    assert changed_files(repository) == {"outputs/edited.ipynb"}


def test_outside_of_a_repository_nothing_is_known_to_have_changed(
    repository: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert changed_files(repository) == set()


def pretend(
    monkeypatch: pytest.MonkeyPatch, stale: set[Case], changed: set[str]
) -> None:
    """Say which records are stale, and which have changed since the base."""
    monkeypatch.setattr(
        store, "state", lambda _, *case: "stale" if case in stale else "fresh"
    )
    monkeypatch.setattr("changed.changed_files", lambda book: changed)


def test_a_stale_record_is_chosen(monkeypatch: pytest.MonkeyPatch):
    book = Book(ROOT)
    stale = {(book.section("use-gpu"), "jax")}
    pretend(monkeypatch, stale, changed=set())
    assert changed_cases(book) == [*stale]


def test_a_changed_record_is_chosen(monkeypatch: pytest.MonkeyPatch):
    book = Book(ROOT)
    section = book.section("use-gpu")
    pretend(monkeypatch, set(), {f"outputs/cpu/mxnet/{section.name}.ipynb"})
    assert changed_cases(book) == [(section, "mxnet")]
