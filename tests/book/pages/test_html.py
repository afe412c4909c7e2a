"""A book is built once and whole, and mistakes in it are reported.

What its pages look like is in `tests/golden/expected`.
"""

import functools
import re
from collections.abc import Callable

import pytest
from bs4 import BeautifulSoup
from golden.made_up import MACHINES, MadeUp, parsed
from nbformat.v4 import new_output
from rcssmin import cssmin

from book.base import inputs
from book.checks import rules
from book.pages import html
from book.pages.sets import machine_rules, tab_rules
from book.records import fingerprint, store, validation
from book.runner.errors import BookError
from book.text.book import Book

INDEX = """\
# A Made-Up Book

Read :numref:`sec_one`.

:bibliography:`refs.bib`

```toc

chapter/one
```
"""
ONE = """\
# One
:label:`sec_one`

By :cite:`Williams.2009`.

:begin_tab:`pytorch`
Text for one alone.
:end_tab:

And the rest.

```{.python .input}
%%tab all
shared()
```
"""
Make = Callable[..., Book]


@pytest.fixture
def make_site_book(make_site_book: Make) -> Make:
    return functools.partial(make_site_book, index=INDEX)


def soup(book: Book, page: str) -> BeautifulSoup:
    return parsed((book.root / f"_build/html/{page}.html").read_text("utf-8"))


def test_an_unchanged_book_is_not_built_again(make_site_book: Make, monkeypatch):
    book = make_site_book(one=ONE)
    first = html.build(book)
    assert "No outputs" in soup(book, "chapter/one").text

    def fail(*_):
        raise AssertionError("built again")

    monkeypatch.setattr(html, "write_site", fail)
    assert html.build(Book(book.root)) == first == inputs.pages(book.root).path
    assert inputs.pages_are_fresh(book.root)
    (note, *_) = inputs.pages(book.root).notes
    assert note.startswith("without outputs: chapter/one (pytorch, missing)")
    book.section("one").path.write_text(ONE.replace("And the", "And all the"))
    assert not inputs.pages_are_fresh(book.root)


@pytest.mark.parametrize(
    "damage", [b"garbage", b"", b"[build]\n", b"[build]\nnotebooks = \xe9\n"]
)
def test_a_site_with_damaged_settings_is_not_up_to_date(make_book: Make, damage: bytes):
    book = make_book(one="# One\n")
    pages = inputs.pages(book.root)
    with pages.made_from(inputs.digest_of_pages(book.root)):
        pages.path.parent.mkdir(parents=True)
        pages.path.touch()
    assert inputs.pages_are_fresh(book.root)
    (book.root / "config.ini").write_bytes(damage)
    assert not inputs.pages_are_fresh(book.root)


def test_after_a_mistake_the_last_site_stays_until_it_is_corrected(
    make_site_book: Make,
):
    book = make_site_book(one=ONE)
    html.build(book)
    file = book.section("one").path
    file.write_text(ONE.replace("And the rest.", "$\\foo$"))
    for _ in range(2):
        with pytest.raises(BookError, match="cannot convert the equation"):
            html.build(Book(book.root))
    assert not inputs.pages_are_fresh(book.root)
    assert "And the rest." in soup(book, "chapter/one").text
    file.write_text(ONE.replace("And the rest.", "Corrected."))
    html.build(Book(book.root))
    assert "Corrected." in soup(book, "chapter/one").text


def test_the_front_page_shows_the_reading_time_of_todays_text(make_site_book: Make):
    index = INDEX.replace("Read :numref:", "* :ref:")
    book = make_site_book(index=index, one=ONE)

    def shown() -> str:
        html.build(Book(book.root))
        return soup(book, "index").select(".section-card .minutes")[0].text

    assert [shown(), shown()] == ["5 min"] * 2
    book.section("one").path.write_text(ONE.replace("the rest", "a word " * 1000))
    assert shown() == "10 min"


def test_a_removed_section_is_removed_from_the_site(make_site_book: Make):
    book = make_site_book(one=ONE, two="# Two\n\nText.\n")
    index = book.root / "index.md"
    index.write_text(INDEX.replace("chapter/one", "chapter/one\nchapter/two"))
    data = html.build(Book(book.root)).parent / "_static/search-data.js"
    assert (book.root / "_build/html/chapter/two.html").exists()
    assert "chapter/two" in data.read_text()
    index.write_text(INDEX)
    html.build(Book(book.root))
    assert not (book.root / "_build/html/chapter/two.html").exists()
    assert "chapter/two" not in data.read_text()
    assert (book.root / "_build/html/chapter/one.html").exists()


# Mistakes


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("Two\nlines, $\\foo{x}$", "cannot convert the equation '\\foo{x}'"),
        ("Two\n\n$$\\foo{x}$$", "cannot convert the equation '\\foo{x}'"),
        ("## No $\\foo$", "cannot convert the equation '\\foo'"),
    ],
)
def test_a_mistake_is_reported_in_one_line_with_its_place(
    make_site_book: Make, mistake: str, message: str
):
    book = make_site_book(one=ONE.replace("And the rest.", mistake))
    with pytest.raises(BookError) as error:
        html.build(book)
    line = ONE.split("And the rest.")[0].count("\n") + 1 + mistake.count("\n")
    assert str(error.value).startswith(f"chapter/one.md:{line}: {message}")
    assert "\n" not in str(error.value) and str(book.root) not in str(error.value)


def test_a_build_reports_the_mistakes_of_all_pages(make_site_book: Make):
    wrong = "# {}\n:label:`sec_{}`\n\nSee $\\foo$.\n"
    texts = {name: wrong.format(name.title(), name) for name in ("one", "two")}
    index = INDEX.replace("chapter/one", "chapter/one\nchapter/two")
    with pytest.raises(BookError) as error:
        html.build(make_site_book(index=index, **texts))
    places = [line.split(": ")[0] for line in str(error.value).splitlines()]
    assert places == ["chapter/one.md:4", "chapter/two.md:4"]


def test_without_a_list_of_works_none_can_be_cited(make_site_book: Make):
    index = INDEX.replace(":bibliography:`refs.bib`", "Nothing.")
    with pytest.raises(BookError, match=r"one\.md:4: no page lists the works") as error:
        html.build(make_site_book(index=index, one=ONE))
    assert ":bibliography:`refs.bib`" in str(error.value)


def test_two_pictures_of_one_name_are_an_error(make_site_book: Make):
    pictures = "![One.](../img/a.svg)\n\n![Other.](a.svg)"
    book = make_site_book(one=ONE.replace("And the rest.", pictures))
    (book.root / "chapter/a.svg").write_bytes((book.root / "img/a.svg").read_bytes())
    message = r"chapter/a\.svg: another picture has the name"
    with pytest.raises(BookError, match=message):
        html.build(book)


def test_a_heading_in_a_tab_is_an_error(make_site_book: Make):
    heading = ONE.replace("Text for one alone.", "## In a tab\n\nText.")
    with pytest.raises(BookError, match=r"chapter/one\.md:7: heading inside a tab"):
        rules.check_for_build(make_site_book(one=heading))


# What holds for every site


def test_the_facts_of_a_record_are_text(make_site_book: Make):
    book = make_site_book(one=ONE)
    section = book.section("one")
    evil = "<script>a()</script> `x`_ |y| :ref:`z`\n\n.. raw:: html\n\n   <b>"
    facts = dict.fromkeys(validation.FACTS, evil) | {"framework": "jax"}
    for machine in ("cpu", "h200"):
        nb = store.blank(book, section, "jax")
        for cell in nb.cells:
            cell.outputs = [new_output("stream", text=f"{machine} <script>b()\n")]
        own = {"fingerprint": fingerprint.fingerprint(book, section, "jax")}
        store.write(book, section, "jax", nb, facts | {"machine": machine} | own)
    html.build(book)
    page = soup(book, "chapter/one")
    assert not page.find_all("script", string=re.compile(r"[ab]\(\)"))
    assert not page.find_all("b")
    assert page.get_text().count("<script>a()</script>") > 2
    assert "h200 <script>b()" in page.get_text()


def test_a_picture_may_have_any_name(make_site_book: Make):
    """Parts of the site have these names too."""
    names = ("card", "plus", "book", "basic")
    text = "".join(f"![One.](../img/{name}.svg)\n\n" for name in names)
    book = make_site_book(one=f"# One\n:label:`sec_one`\n\n{text}")
    picture = (book.root / "img/a.svg").read_bytes()
    for name in names:
        (book.root / f"img/{name}.svg").write_bytes(picture)
    html.build(book)
    images = soup(book, "chapter/one").select("article img")
    assert len(images) == len(names)
    for image in images:
        assert (book.root / "_build/html/chapter" / str(image["src"])).exists()


def test_no_id_is_on_a_page_twice_also_if_solutions_are_open(made: MadeUp):
    solutions = made.data("solutions/chapter/solutions").values()
    for page in ("chapter/text", "chapter/outputs", "chapter/solutions"):
        trees = [made.page(page), *map(parsed, solutions)]
        ids = [str(tag["id"]) for tree in trees for tag in tree.select("[id]")]
        assert len(ids) > 50 and len(ids) == len(set(ids))


def test_controls_of_panels_and_references_in_plots_have_their_targets(made: MadeUp):
    shown = (
        made.page("chapter/outputs"),
        *map(parsed, made.data("solutions/chapter/solutions").values()),
    )
    for tree in shown:
        named = {str(tag["id"]) for tag in tree.select("[id]")}
        controls = {str(tag["aria-controls"]) for tag in tree.select("[aria-controls]")}
        plots = re.findall(r'(?:url\(#|href="#)([^")]*plot-[^")]*)', str(tree))
        assert controls | set(plots) <= named


def test_every_entry_of_the_search_has_a_target(made: MadeUp):
    for entry in made.search_entries():
        page = made.page(entry["page"].removesuffix(".html"))
        assert page.find(id=entry["anchor"]), entry


def test_the_styles_hide_other_tabs_and_machines(made: MadeUp):
    css = (made.site / "_static/site.css").read_text("utf-8")
    assert cssmin(tab_rules(["pytorch", "jax"])) in css
    assert cssmin(machine_rules([*MACHINES])) in css and 'data-tab="mxnet"' not in css


def test_buttons_are_above_the_figure_of_the_front_page_or_below_a_title(made: MadeUp):
    written = html.write_articles(made.book, store.titles(made.book))
    above = written["index"].above
    assert 'class="start"' in above and "<figure" not in above
    assert written["chapter/text"].above.endswith("</h1>\n")


NOTICES = """\
# One
:label:`sec_one`

```{{.python .input}}
%%tab pytorch
only_here()
```

{}

```{{.python .input}}
%%tab pytorch
only_here_too()
```

```{{.python .input}}
%%tab {}
of_others()
```
"""


@pytest.mark.parametrize(
    "between, tab, notices",
    [
        ("[~~For slides.~~]", "jax", []),  # no text divides the two sets
        ("[~~For slides.~~]", "all", []),
        ("[~~For slides.~~]", "pytorch", ["JAX"]),  # once for both sets
        ("For all.", "jax", ["JAX"]),  # above the text
        (":begin_tab:`jax`\nJAX has no such thing.\n:end_tab:", "pytorch", []),
    ],
)
def test_no_notice_stands_beside_code_or_text_of_its_tab(
    make_site_book: Make, between: str, tab: str, notices: list[str]
):
    tabs = ("pytorch", "jax")
    html.build(make_site_book(one=NOTICES.format(between, tab), tabs=tabs))
