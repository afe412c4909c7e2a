"""A change of anything that a page shows reaches the page, though articles are kept."""

from collections.abc import Callable

import pytest
from golden.made_up import CPU
from test_machines import GPU, record

from book.base import inputs
from book.pages import html
from book.records import fingerprint, store
from book.text.book import Book

INDEX = """\
# A Made-Up Book

Read.

```toc

chapter/two
chapter/one
chapter/terms
chapter/works
```
"""
SECTIONS = {
    "one": """\
# One

A warp, a thread. See :ref:`sec_two` and :cite:`Williams.2009`.

![Two devices.](../img/a.svg)

```{.python .input .predict question="How many ms?" answer="took ? ms" cited=queue}
%%tab all
d2l.wait()
```
""",
    "two": """\
# Two
:label:`sec_two`

Text.

```{.python .input}
%%tab all
def wait():  #@save
    pass
```
""",
    "terms": "# Terms\n\n* **Thread**: one.\n\n* **Grid**: all.\n",
    "works": "# Works\n\n:bibliography:`refs.bib`\n",
}
ROWS = """\
id,topic,what,framework,value,unit,hardware,source
queue,queue,a queue,PyTorch,80.1,ms,RTX 4090,Williams.2009
"""
OTHER = """
@article{Other, author={Williams, Samuel}, title={Models}, journal={J}, year={2009}}
"""
SETTINGS = "[pages]\nglossary = chapter/terms\neveryday = thread\n"
PIN = "environments/pytorch.txt"
TABS = "%%tab all\ndef wait"


@pytest.fixture
def book(make_site_book: Callable[..., Book]) -> Book:
    root = make_site_book(index=INDEX, **SECTIONS).root
    with (root / "config.ini").open("a") as file:
        file.write(f"\n{SETTINGS}")
    with (root / "refs.bib").open("a") as file:
        file.write(OTHER)
    (root / "d2l/cited.csv").write_text(ROWS)
    (root / PIN).write_text("torch==2.13.0\n")
    book = Book(root)
    record(book, "cpu", "took 1 ms")
    record(book, "h200", "took 2 ms", **GPU)
    run_elsewhere(book, fingerprint="stale")
    return Book(root)


def written(book: Book) -> dict[str, str]:
    """Return the article of each page of a book as a new build writes it."""
    book = Book(book.root)
    articles = html.write_articles(book, store.titles(book))
    return {name: each.above + each.below for name, each in articles.items()}


def replace(name: str, old: str, new: str) -> Callable[[Book], None]:
    """Return a function that replaces a text in a file of a book."""

    def edit(book: Book) -> None:
        file = book.root / name
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")

    return edit


def rerun(book: Book) -> None:
    record(Book(book.root), "h200", "took 3 ms", **GPU)


def rename(book: Book) -> None:
    (book.root / "outputs/h200").rename(book.root / "outputs/i200")


def run_elsewhere(book: Book, **facts: str) -> None:
    """Record another section on a second machine of the same name."""
    section = book.section("two")
    origin = {"machine": "other", "framework": "jax"}
    origin["fingerprint"] = fingerprint.fingerprint(book, section, "jax")
    nb = store.blank(book, section, "jax")
    store.write(book, section, "jax", nb, CPU | GPU | origin | facts)


# An edit, and what the page `one` or that of terms shows only after it.
EDITS: dict[str, tuple[Callable[[Book], None], str]] = {
    "its text": (replace("chapter/one.md", "A warp", "Some warp"), "Some warp"),
    "a record": (rerun, "took 3 ms"),
    "the folder of a machine": (rename, "i200"),
    "the name of a machine": (run_elsewhere, "NVIDIA TEST (h200)"),
    "a published measurement": (replace("d2l/cited.csv", "80.1", "90.1"), "90.1 ms"),
    "the library": (replace("chapter/two.md", "pass", "return 1"), "No outputs."),
    "an environment": (replace(PIN, "2.13.0", "2.14.0"), "No outputs."),
    "the title of another page": (
        replace("chapter/two.md", "# Two", "# Second"),
        ">Second</a>",
    ),
    "the order of the pages": (
        replace("index.md", "chapter/one\nchapter/terms", "chapter/terms\nchapter/one"),
        '<span class="section-number">2. </span>Terms',
    ),
    "a term": (replace("chapter/terms.md", "Grid", "Warp"), "#term-warp"),
    "the settings": (replace("config.ini", "= thread", "= none"), "#term-thread"),
    "a work": (replace("refs.bib", "Williams, Samuel", "Abel, Bo"), "Abel, 2009"),
    "the works that other pages cite": (
        replace("chapter/two.md", "Text", "By :cite:`Other`"),
        "Williams, 2009b",
    ),
    "the size of a figure": (
        replace("img/a.svg", 'width="20"', 'width="30"'),
        'width="30"',
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_page_shows_a_change_of(book: Book, name: str):
    edit, shown = EDITS[name]
    before, of_files = written(book), inputs.digest_of_inputs(book.root)
    pages = ("chapter/one", "chapter/terms")
    assert not any(shown in before[page] for page in pages)
    edit(book)
    after = written(book)
    assert any(shown in after[page] for page in pages)
    assert inputs.digest_of_inputs(book.root) != of_files
    cites = name == "the works that other pages cite"
    assert after["chapter/works"].count('class="citation"') == 1 + cites
