"""Sections run in the book's kernels, and show what their records show.

    make test-chapter, or: python -m pytest tests/chapter -k "use-gpu and jax"

These are a few sections and what is stale, or what changed if pytest has `--changed`.
`test_hosted.py` compares all sections with their records. The framework environments
are built when a test that needs them is chosen.
"""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from changed import changed_cases
from compare import differences
from nbformat import NotebookNode

from book.base import environments
from book.records import store
from book.runs.stale import Job, execute
from book.text.book import Book
from book.text.section import Section

pytestmark = pytest.mark.xdist_group("fresh runs")
BOOK = Book(Path(__file__).resolve().parents[2])
CHOSEN = {
    *(("use-gpu", "pytorch"), ("trainer", "mxnet")),
    *(("data-movement", "jax"), ("use-gpu", "tensorflow")),
}

Results = dict[tuple[Section, str], NotebookNode]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the test its cases."""
    if metafunc.config.getoption("changed"):
        cases = changed_cases(BOOK)
    else:
        cases = [
            (section, tab)
            for section in BOOK.sections
            for tab in BOOK.code_tabs(section)
            if store.state(BOOK, section, tab) != "fresh"
            or (Path(section.name).name, tab) in CHOSEN
        ]
    found = [
        pytest.param(section, tab, id=f"{Path(section.name).name}-{tab}")
        for section, tab in cases
    ]
    nothing = pytest.param(None, "", marks=pytest.mark.skip("nothing has changed"))
    metafunc.parametrize("section, tab", found or [nothing])


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Results:
    """Fresh runs of the chosen cases; those that failed are not there."""
    chosen: list[Any] = [
        (item.callspec.params["section"], item.callspec.params["tab"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__)
    ]
    done: Results = {}

    def keep(job: Job, notebook: NotebookNode) -> None:
        done[job.section, job.tab] = store.cleaned(notebook)

    of = {tab: environments.python(tab) for _, tab in chosen}
    jobs = [
        Job(BOOK, section, tab, "cpu", of[tab])
        for section, tab in chosen
        if store.state(BOOK, section, tab) == "fresh"
    ]
    for failure in execute(jobs, keep):
        print(failure.reason, failure.traceback, sep="\n")
    return done


def test_a_fresh_run_shows_what_the_record_shows(
    section: Section, tab: str, results: Results
):
    state = store.state(BOOK, section, tab)
    assert state == "fresh", f"the record is {state}: make run"
    assert (section, tab) in results, "it did not run to its end, see above"
    kept = nbformat.read(store.path(BOOK, section, tab), as_version=4)
    found = differences(kept, results[section, tab])
    assert not found, "\n".join(found)
