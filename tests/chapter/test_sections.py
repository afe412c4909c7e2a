"""Every section runs in every tab, and shows what its record shows.

    make test-chapter, or: python -m pytest tests/chapter -k "use-gpu and jax"

The framework environments are built when a test that needs them is chosen.
"""

from pathlib import Path

import nbformat
import pytest
from compare import differences
from nbformat import NotebookNode

from book.records import store
from book.runs.kernels import Job, execute
from book.runs.run import interpreters
from book.text.book import Book
from book.text.section import Section

BOOK = Book(Path(__file__).resolve().parents[2])
CASES = [(section, tab) for section in BOOK.sections for tab in BOOK.code_tabs(section)]
# `make test` runs these, and what is stale; `make test-all` runs all.
CHOSEN = {
    *(("use-gpu", "pytorch"), ("trainer", "mxnet")),
    *(("data-movement", "jax"), ("use-gpu", "tensorflow")),
}
NAMES = [f"{Path(section.name).name}-{tab}" for section, tab in CASES]

Results = dict[tuple[Section, str], NotebookNode]


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Results:
    """Fresh runs of the cases that were chosen; those that failed are not there."""
    tests = "".join(item.nodeid for item in request.session.items)
    chosen = [
        case for case, name in zip(CASES, NAMES, strict=True) if f"[{name}]" in tests
    ]
    done: Results = {}

    def keep(job: Job, notebook: NotebookNode) -> None:
        done[job.section, job.tab] = store.cleaned(notebook)

    of = interpreters(BOOK, (tab for _, tab in chosen))
    jobs = [Job(BOOK, section, tab, "cpu", of[tab]) for section, tab in chosen]
    for failure in execute(jobs, keep):
        print(failure.message, failure.traceback, sep="\n")
    return done


def marks(section: Section, tab: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a case, which is slow unless it is chosen or stale."""
    chosen = (Path(section.name).name, tab) in CHOSEN
    is_fast = chosen or store.state(BOOK, section, tab) != "fresh"
    return [] if is_fast else [pytest.mark.slow]


@pytest.mark.parametrize(
    "section, tab",
    [pytest.param(*case, marks=marks(*case)) for case in CASES],
    ids=NAMES,
)
def test_a_fresh_run_shows_what_the_record_shows(
    section: Section, tab: str, results: Results
):
    state = store.state(BOOK, section, tab)
    assert state == "fresh", f"the record is {state}: make run"
    assert (section, tab) in results, "it did not run to its end, see above"
    kept = nbformat.read(store.path(BOOK, section, tab), as_version=4)
    found = differences(kept, results[section, tab])
    assert not found, "\n".join(found)
