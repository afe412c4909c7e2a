"""Tests that share something that takes long to make stay on one worker."""

from pathlib import Path

import pytest
from scheduling import KEPT_TOGETHER, Scheduling

TESTS = Path(__file__).parents[1]


def test_every_file_that_is_kept_together_exists():
    assert KEPT_TOGETHER <= {path.name for path in TESTS.rglob("test_*.py")}


@pytest.mark.parametrize(
    "nodeid, scope",
    [
        ("tests/site/test_site.py::test_a[x::y]", "tests/site/test_site.py"),
        (
            "tests/site/test_search.py::test_a[x]",
            "tests/site/test_search.py::test_a[x]",
        ),
    ],
)
def test_a_test_goes_with_its_file_or_alone(nodeid: str, scope: str):
    assert Scheduling._split_scope(None, nodeid) == scope  # type: ignore[arg-type]
