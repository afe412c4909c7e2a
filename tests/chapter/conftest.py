"""`--changed` chooses the sections and tabs whose records changed, or are stale."""

import subprocess
from pathlib import Path

import pytest

from book.records import store
from book.sources.book import Book, Section

ROOT = Path(__file__).resolve().parents[2]
# Branches that a change is meant for, in the order in which they are looked for.
BRANCHES = ("@{upstream}", "origin/HEAD", "origin/main")
Case = tuple[Section, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--changed",
        action="store_true",
        help="only what changed since the branch left origin, or else since the commit",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what has not changed."""
    if config.getoption("--changed"):
        cases = changed_cases(Book(ROOT))
        out = [item for item in items if case_of(item) not in (None, *cases)]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def case_of(item: pytest.Item) -> Case | None:
    """The section and the tab that a test runs; None of any other test."""
    callspec = getattr(item, "callspec", None)
    if item.path.name != "test_sections.py" or callspec is None:
        return None
    return callspec.params["section"], callspec.params["tab"]


def changed_cases(book: Book) -> list[Case]:
    """The sections and tabs whose record is stale or not that of the base."""
    files = changed_files(book)
    return [
        (section, tab)
        for section, tab, state in store.states(book)
        if state != "fresh"
        or store.path(book, section, tab).relative_to(book.root).as_posix() in files
    ]


def changed_files(book: Book) -> set[str]:
    """The records that are new or changed since the base, as paths in the book."""
    bases = (git(book, "merge-base", "HEAD", branch) for branch in BRANCHES)
    base = next(filter(None, bases), "HEAD").strip()
    changed = git(book, "diff", "--name-only", "--relative", base, "--", "outputs")
    new = git(book, "ls-files", "--others", "--exclude-standard", "--", "outputs")
    return {*changed.splitlines(), *new.splitlines()}


def git(book: Book, *arguments: str) -> str:
    """What git prints; nothing where it fails, as without a repository."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    return subprocess.run(command, cwd=book.root, capture_output=True, text=True).stdout
