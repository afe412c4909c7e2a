"""`--changed` chooses the sections and tabs whose records changed, or are stale."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--changed",
        action="store_true",
        help="only what changed since the branch left origin, or else since the commit",
    )
