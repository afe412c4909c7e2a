"""`--changed` chooses the sections and tabs whose records changed, or are stale."""

from pathlib import Path

import pytest
from changed import Case, changed_cases

from book.text.book import Book

ROOT = Path(__file__).resolve().parents[2]


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
