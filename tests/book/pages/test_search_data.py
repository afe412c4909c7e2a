"""The data for search and previews matches the text of made-up books."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_html
from bs4 import BeautifulSoup

from book.pages import html
from book.pages.article import Article
from book.pages.page import Written
from book.text.book import Book

INDEX = """\
# A Made-Up Book

:bibliography:`refs.bib`

```toc
:maxdepth: 2
:numbered:

chapter/one
chapter/two
```
"""
ONE = """\
# One
:label:`sec_one`

A tensor has a shape, says :cite:`Williams.2009`.

## Copying
:label:`sec_copying`

Before :numref:`fig_a` the host waits.

![Two devices.](../img/a.svg)
:label:`fig_a`

$$t = \\frac{n}{B}$$
:eqlabel:`eq_time`

:Frameworks

|Name|Age|
|:--|:--|
|Torch|old|
:label:`tab_ages`

:begin_tab:`pytorch`
A silent copy is an error.
:end_tab:

:begin_tab:`jax`
The copy is committed.
:end_tab:

After the tabs.

```{.python .input}
%%tab pytorch
def try_gpu(i):  #@save
    return torch.device(i)
```

```{.python .input}
%%tab pytorch
from d2l.parts import (  #@save
    Timer, plot)
from os import path  #@save
from math import sin
```

```{.python .input}
%%tab jax
def first():
    return jax.device_put(1)
```

```{.python .input}
%%tab all
shared()
```
"""
TWO = """\
# Two

As in :numref:`fig_a`, :eqref:`eq_time` and :numref:`tab_ages` of :numref:`sec_copying`.

Run it <!-- hidden --> now.

```bash
nvidia-smi -L
```
"""
PAGE = "chapter/one.html"

Make = Callable[..., Book]
Entries = list[dict[str, Any]]


@pytest.fixture
def make_site_book(make_site_book: Make) -> Make:
    """Return a function that makes a book of two sections."""
    return functools.partial(make_site_book, index=INDEX, one=ONE, two=TWO)


def build(book: Book) -> Path:
    """Build the book and return the folder of the site's files."""
    views = functools.partial(test_html.shown, book, printed="printed\n")
    return html.build(book, views).parent / "_static"


def read(file: Path, name: str) -> Any:
    """Return the value that a generated script assigns to `name`."""
    text = file.read_text("utf-8")
    start, end = f"{name} = ", ";\n"
    assert text.startswith(start) and text.endswith(end)
    return json.loads(text[len(start) : -len(end)])


def found(static: Path) -> Entries:
    return read(static / "search-data.js", "bookSearchData")["entries"]


def only(entries: Entries, **wanted: Any) -> dict[str, Any]:
    [entry] = [e for e in entries if wanted.items() <= e.items()]
    return entry


@pytest.fixture
def static(make_site_book: Make) -> Path:
    return build(make_site_book())


def test_a_section_is_found_with_its_own_text_under_its_headings(static: Path):
    top = only(found(static), page=PAGE, anchor="one")
    assert top["trail"] == ["1. One"] and top["kind"] == "section"
    assert top["text"] == "A tensor has a shape, says (Williams, 2009)."
    below = only(found(static), page=PAGE, anchor="copying")
    assert below["trail"] == ["1. One", "1.1. Copying"]
    assert below["text"].startswith("Before Fig. 1.1 the host waits.")
    assert below["text"].endswith("After the tabs.")
    assert below["code"] == "shared()"


def test_text_in_a_tab_has_an_entry_of_its_own(static: Path):
    one, other = (e for e in found(static) if "copy is" in e.get("text", ""))
    assert (one["tabs"], other["tabs"]) == (["pytorch"], ["jax"])
    assert one["text"] == "A silent copy is an error."
    assert one["set"] == other["set"] and one["anchor"] != other["anchor"]
    page = BeautifulSoup((static.parent / PAGE).read_text("utf-8"), "html.parser")
    for entry in (one, other):
        panel = page.find(id=entry["anchor"])
        assert panel and panel["data-choices"] == entry["tabs"][0]


def test_code_is_found_with_the_names_that_it_saves(static: Path):
    imported = ["Timer", "plot", "path"]
    saved = only(found(static), names=["try_gpu", *imported])
    assert saved["tabs"] == ["pytorch"] and "def try_gpu(i):" in saved["code"]
    [other] = [e for e in found(static) if "device_put" in e.get("code", "")]
    assert other["tabs"] == ["jax"] and "names" not in other


def test_a_listing_is_found_as_code_and_a_comment_is_not(static: Path):
    two = only(found(static), anchor="two")
    assert two["code"] == "nvidia-smi -L"
    assert two["text"].endswith("Run it now.")


def test_outputs_controls_and_markup_are_not_found(static: Path):
    text = (static / "search-data.js").read_text("utf-8")
    for ignored in ("printed", "No code for", "tab-list", "Permalink", "\\\\frac"):
        assert ignored not in text


def test_of_an_output_only_the_error_messages_are_found(make_site_book: Make):
    book = make_site_book()
    messages = "RuntimeError: Expected all\ntorch.OutOfMemoryError: CUDA: no"
    views = functools.partial(test_html.shown, book, printed=f"first\n{messages}\n")
    records = found(html.build(book, views).parent / "_static")
    below = only(records, page=PAGE, anchor="copying")
    assert below["code"] == f"shared()\n{messages}"


def test_figures_equations_tables_and_sources_are_found_by_their_text(static: Path):
    figure = only(found(static), kind="figure")
    assert (figure["anchor"], figure["names"]) == ("fig-a", ["fig_a"])
    assert figure["text"] == "Fig. 1.1 Two devices."
    equation = only(found(static), kind="equation")
    assert equation["names"] == ["eq_time"] and equation["text"] == "t=n/B (1.1)"
    table = only(found(static), kind="table")
    assert table["names"] == ["tab_ages"] and "Torch old" in table["text"]
    assert "Roofline" in only(found(static), kind="source")["text"]


def test_every_entry_has_a_target(static: Path):
    for entry in found(static):
        text = (static.parent / entry["page"]).read_text("utf-8")
        page = BeautifulSoup(text, "html.parser")
        assert page.find(id=entry["anchor"]), entry


def test_the_same_book_gives_the_same_bytes(make_site_book: Make):
    one, other = (build(make_site_book(folder=f)) for f in ("here", "there"))
    for name in ("search-data.js", "previews.js"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_pages_that_have_not_changed_are_still_found(
    make_site_book: Make, monkeypatch: pytest.MonkeyPatch
):
    book = make_site_book(one=ONE.replace("#@save", "# not saved"))
    before = found(html.build(book).parent / "_static")
    file = book.root / "chapter/two.md"
    file.write_text(TWO.replace("As in", "Anew, as in"), "utf-8")
    written, write = [], html._written

    def noting(article: Article) -> Written:
        written.append(article.name)
        return write(article)

    monkeypatch.setattr(html, "_written", noting)
    after = found(html.build(Book(book.root)).parent / "_static")
    # The front page shows the reading times of others.
    assert written == ["chapter/two", "index"]
    assert [e for e in after if e["page"] == PAGE] == [
        e for e in before if e["page"] == PAGE
    ]
    assert only(after, anchor="two")["text"].startswith("Anew, as in Fig. 1.1,")


def test_a_removed_page_is_not_found(make_site_book: Make):
    book = make_site_book()
    build(book)
    index = book.root / "index.md"
    index.write_text(INDEX.replace("chapter/two\n", ""), "utf-8")
    (book.root / "chapter/two.md").unlink()
    static = build(Book(book.root))
    assert {e["page"] for e in found(static)} == {"index.html", PAGE}


def test_previews_show_what_other_pages_refer_to(static: Path):
    shown = read(static / "previews.js", "bookPreviews")
    # A figure on its own page needs none.
    kinds = {key.partition("#")[2]: key.partition("#")[0] for key in shown}
    assert {"fig-a", "equation-eq-time", "tab-ages"} <= set(kinds)
    assert kinds["Williams-2009"] == "index.html" and len(kinds) == 5
    section = shown[f"{PAGE}#sec-copying"]
    assert section.count("<p") == 2 and "<h" not in section
    figure = shown[f"{PAGE}#fig-a"]
    assert 'src="_images/a.svg"' in figure and "Two devices." in figure
    assert "<math" in shown[f"{PAGE}#equation-eq-time"]
    for text in shown.values():
        part = BeautifulSoup(text, "html.parser")
        assert not part.select("[id], [loading], [style], a, annotation")


def test_a_panel_for_all_frameworks_belongs_to_its_section(make_site_book: Make):
    book = make_site_book()
    text = ":begin_tab:`pytorch, jax`\nBoth see it.\n:end_tab:\n"
    (book.root / "chapter/two.md").write_text(f"{TWO}\n{text}", "utf-8")
    entry = only(found(build(Book(book.root))), page="chapter/two.html")
    assert entry["text"].endswith("Both see it.") and "tabs" not in entry


def test_a_preview_has_no_script_and_a_section_without_text_its_title(
    make_site_book: Make,
):
    """The figure `queue` is interactive."""
    text = "## Devices\n:label:`sec_devices`\n\n### Two\n\nText.\n"
    figure = ONE.replace("../img/a.svg", "../img/queue.svg").replace("#@save", "")
    two = TWO.replace("As in", "See :numref:`sec_devices`. As in")
    book = make_site_book(one=f"{figure}\n{text}", two=two)
    picture = (book.root / "img/a.svg").read_bytes()
    (book.root / "img/queue.svg").write_bytes(picture)
    static = build(book)
    shown = read(static / "previews.js", "bookPreviews")
    assert "data-" not in shown[f"{PAGE}#fig-a"]
    assert "data-explorable" in (static.parent / PAGE).read_text("utf-8")
    title = '<span class="section-number">1.2. </span>Devices'
    wanted = f'<div><p class="previewed-title">{title}</p></div>'
    assert shown[f"{PAGE}#sec-devices"] == wanted
