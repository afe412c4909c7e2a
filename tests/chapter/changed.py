"""The sections and tabs whose records changed, which `make quick` runs again."""

import subprocess

from book.records import store
from book.text.book import Book, Section

# Branches that a change is meant for, in the order in which they are looked for.
BRANCHES = ("@{upstream}", "origin/HEAD", "origin/main")
Case = tuple[Section, str]


def changed_cases(book: Book) -> list[Case]:
    """The sections and tabs whose record is stale or not that of the base."""
    files = changed_files(book)
    return [
        (section, tab)
        for section in book.sections
        for tab in book.code_tabs(section)
        if store.state(book, section, tab) != "fresh"
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
    """Return the output of git, or nothing if it fails, as without a repository."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    return subprocess.run(command, cwd=book.root, capture_output=True, text=True).stdout
