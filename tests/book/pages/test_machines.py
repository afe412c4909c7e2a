"""Pages show the fresh records of several machines, and name what is missing.

What they look like is in `tests/golden/expected/pages/outputs.txt`. The titles of the
machines are those of `book/records/store.py`.
"""

from collections.abc import Callable

import pytest
from golden.made_up import CPU, VERSIONS
from nbformat.v4 import new_output

from book import merge
from book.merge import TabView
from book.pages import html
from book.pages.sets import machine_rules
from book.records import fingerprint, store
from book.text.book import Book

TEXT = """\
# One

```{.python .input}
%%tab all
where()
```
"""
GPU = {"gpu": "NVIDIA TEST", "machine_name": "NVIDIA TEST", "driver": "000.00"}
Make = Callable[..., Book]


def record(
    book: Book, machine: str, output: str, tabs: str = "pytorch jax", **facts: str
) -> None:
    """Record the output of the cell of section `one` on a machine, in each tab."""
    section = book.section("one")
    for tab in tabs.split():
        nb = store.blank(book, section, tab)
        nb.cells[0].outputs = [new_output("stream", name="stdout", text=output)]
        origin = {
            "machine": machine,
            "framework": tab,
            "framework_version": VERSIONS.get(tab, ""),
            "fingerprint": fingerprint.fingerprint(book, section, tab),
        }
        store.write(book, section, tab, nb, CPU | origin | facts)


def view(book: Book, tab: str = "jax") -> TabView:
    """Return the view of section `one` that its page shows."""
    book = Book(book.root)
    found = merge.views_of_records(book, store.titles(book))(book.section("one"), tab)
    assert found is not None
    return found


def shown(book: Book) -> dict[str, str]:
    """Return what the page shows of the cell, by machines."""
    (runs,) = view(book).runs.values()
    return {" ".join(run.machines): run.outputs[0].text for run in runs}


def origin(book: Book) -> str:
    return merge.origin(view(book), "jax", book.section("one"))


@pytest.fixture
def book(make_book: Make) -> Book:
    return make_book(one=TEXT)


def edit(book: Book) -> None:
    book.section("one").path.write_text(TEXT.replace("where()", "where(1)"))


def test_a_stale_record_is_neither_shown_nor_offered(book: Book):
    record(book, "h200", "gpu\n", **GPU)
    edit(book)
    record(Book(book.root), "cpu", "cpu\n")
    assert shown(book) == {"cpu": "cpu\n"}
    assert [*store.titles(Book(book.root))] == ["cpu"]


@pytest.mark.parametrize("text", ["", "{", '{"nbformat": 4}'])
def test_a_damaged_record_is_neither_shown_nor_offered(book: Book, text: str):
    record(book, "cpu", "cpu\n")
    record(book, "h200", "gpu\n", **GPU)
    for tab in book.tabs:
        store.path(book, book.section("one"), tab, "h200").write_text(text)
    assert shown(book) == {"cpu": "cpu\n"}
    assert [*store.titles(Book(book.root))] == ["cpu"]


def test_another_machine_is_shown_if_the_cpu_has_no_record(book: Book):
    record(book, "h200", "gpu\n", **GPU)
    assert shown(book) == {"h200": "gpu\n"}
    assert origin(book).startswith("Outputs: NVIDIA TEST, driver 000.00")


def test_a_page_without_a_fresh_record_gives_the_reason(book: Book):
    record(book, "h200", "gpu\n", **GPU)
    edit(book)
    # The first machine is the CPU.
    reason = "No outputs. This code has not been run yet: `make run"
    assert origin(book).startswith(reason)


def test_a_renamed_folder_is_a_machine_of_the_new_name(book: Book):
    record(book, "cpu", "cpu\n")
    record(book, "h200", "gpu\n", **GPU)
    (book.root / "outputs/h200").rename(book.root / "outputs/other")
    assert shown(book) == {"cpu": "cpu\n", "other": "gpu\n"}
    assert [maker["machine"] for maker in view(book).makers] == ["cpu", "other"]


def test_machines_of_one_name_are_distinguished(book: Book):
    for machine, facts in {"cpu": {}, "laptop": {}, "a": GPU, "b": GPU}.items():
        record(book, machine, "", **facts)
    record(book, "c", "", tabs="pytorch", **GPU)
    record(book, "c", "", tabs="jax", **GPU | {"gpu": "NVIDIA OTHER"})
    (book.root / "outputs/none").mkdir()
    assert store.titles(book) == {
        "cpu": "CPU",
        "a": "NVIDIA TEST (a)",
        "b": "NVIDIA TEST (b)",
        "c": "NVIDIA TEST / NVIDIA OTHER",
        "laptop": "CPU (laptop)",
    }


@pytest.mark.parametrize(
    "tab, pin, ran, notice",
    [
        ("jax", "jax==0.10.2", "0.9.1", "JAX 0.9.1; these instructions install 0.10.2"),
        ("jax", "jax==0.10.2", "0.10.2", ""),
        ("jax", "jaxlib==0.10.2", "0.9.1", ""),
        ("jax", "jax[cuda13]==0.10.2 ; python_version > '3'", "0.10.2+cuda13", ""),
        ("jax", "jax==0.10.2", "", ""),
        ("pytorch", "torch==2.13.0", "2.13.0+cu130", ""),
        (
            *("pytorch", "torch==2.13.0+cpu", "2.9.0a0+nv25"),
            "PyTorch 2.9.0a0; these instructions install 2.13.0",
        ),
        (
            *("tensorflow", "tensorflow-cpu==2.21.0", "2.20.1"),
            "TensorFlow 2.20.1; these instructions install 2.21.0",
        ),
        ("tensorflow", "tensorflow==2.21.0", "2.21.0", ""),
        (
            *("mxnet", "mxnet-cu117==1.9.1", "2.0"),
            "MXNet 2.0; these instructions install 1.9.1",
        ),
    ],
)
def test_a_record_of_another_version_has_a_notice(
    make_book: Make, tab: str, pin: str, ran: str, notice: str
):
    book = make_book(one=TEXT, tabs=(tab,))
    (book.root / f"environments/{tab}.txt").write_text(f"ipykernel==7.4.0\n{pin}\n")
    record(book, "cpu", "", tabs=tab, framework_version=ran)
    notices = [n.replace("\\", "") for n in merge.version_notices(view(book, tab))]
    assert notices == ([f"Made with {notice}."] if notice else [])


def test_rules_hide_the_other_machines_or_all_panels_but_the_first():
    rules = machine_rules(["cpu", "h200"])
    assert rules.endswith(" { display: none; }\n")
    assert (
        'html.js[data-machine="h200"] .tab-set[data-axis="machine"]'
        '[data-choices~="h200"] > .tab-panel:not([data-choices~="h200"])' in rules
    )
    assert (
        'html.js[data-machine="h200"] .tab-set[data-axis="machine"]'
        ':not([data-choices~="h200"]) > .tab-panel ~ .tab-panel' in rules
    )
    assert rules.count('html.js[data-machine="cpu"]') == 2
    assert machine_rules([]) == ""


@pytest.mark.parametrize(
    "machine, varies, printed, note",
    [
        ("cpu", True, "it took 3.1 ms\n", "Measured on a CPU."),
        ("h200", True, "2.0 times as fast\n", "Measured on NVIDIA TEST."),
        ("cpu", True, "copies: 3.1 GB/s\n", "Measured on a CPU."),
        ("cpu", True, "no GPU\n", ""),
        ("cpu", False, "predicted 3.1 ms\n", ""),
    ],
)
def test_a_time_says_on_what_it_was_measured(
    make_site_book: Make, machine: str, varies: bool, printed: str, note: str
):
    text = TEXT.replace(".input}", ".input .varies}") if varies else TEXT
    book = make_site_book("# Front\n\n```toc\nchapter/one\n```\n", one=text)
    record(book, machine, printed, **(GPU if machine == "h200" else {}))
    site = html.write_articles(Book(book.root), store.titles(book))
    below = site[book.section("one").name].below
    assert ("output-note" in below) is bool(note) and note in below
    outputs, records = below.index("</pre>"), below.index("Outputs: ")
    assert outputs < records  # which are at the foot of the page
