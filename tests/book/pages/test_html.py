"""A book is built into correct pages, and mistakes in it are reported."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from nbformat.v4 import new_output
from rcssmin import cssmin

from book.base.errors import BookError
from book.checks import rules
from book.merge import Run, TabView
from book.pages import html
from book.pages.sets import tab_rules
from book.records import fingerprint, store, validation
from book.render.math import mathml
from book.text.book import Book
from book.text.section import Section

ODD = "│ ┌─┐ \\alpha C:\\new <b> *star* under_ `x` |pipe| :label:``q``   \n\n\n  end__"
INDEX = """\
# A Made-Up Book

Read :numref:`sec_one`.

:bibliography:`refs.bib`

```toc
:maxdepth: 2
:numbered:

chapter/one
```
"""
ONE = """\
# One
:label:`sec_one`

By :eqref:`eq_time`, :numref:`fig_a` and :cite:`Williams.2009`.

![Two devices.](../img/a.svg)
:label:`fig_a`

$$t = \\frac{n}{B}$$
:eqlabel:`eq_time`

:begin_tab:`pytorch`
Text for one alone.
:end_tab:

Between.

```{.python .input}
%%tab pytorch
import torch
```

```{.python .input}
%%tab jax
import jax
```

Between.

```{.python .input}
%%tab jax
only_here()
```

And the rest.

```{.python .input .varies}
%%tab all
shared()
```
"""
Make = Callable[..., Book]


@pytest.fixture
def make_site_book(make_site_book: Make) -> Make:
    return functools.partial(make_site_book, index=INDEX)


def shown(
    book: Book, section: Section, tab: str, printed: str = ODD + "\n"
) -> TabView | None:
    """Return the view of a tab, in which the cell `shared()` has printed a text."""
    blocks = book.blocks(section, tab)
    cells = book.cells(section, tab)
    runs = {}
    for cell in cells:
        output = new_output("stream", name="stdout", text=printed)
        outputs = [output] if cell.code == "shared()" else []
        runs[cell.number] = [Run(("cpu",), outputs)]
    maker = {"machine": "cpu", "machine_name": "CPU"}
    return TabView(tab, blocks, runs, [maker] if cells else []) if blocks else None


def build(book: Book) -> Path:
    return html.build(book, functools.partial(shown, book))


def soup(book: Book, page: str) -> BeautifulSoup:
    file = book.root / "_build/html" / f"{page}.html"
    return BeautifulSoup(file.read_text("utf-8"), "html.parser")


def find(tree: Tag, selector: str) -> Tag:
    found = tree.select_one(selector)
    assert found is not None, selector
    return found


@pytest.fixture
def one(make_site_book: Make) -> tuple[Book, BeautifulSoup]:
    book = make_site_book(one=ONE)
    assert build(book) == book.root / "_build/html/index.html"
    return book, soup(book, "chapter/one")


def test_a_page_shows_all_parts_of_its_section(one):
    book, page = one
    assert find(page, "h1").text.startswith("1. One")
    assert find(page, "div.output pre").text == ODD + "\n"
    assert find(page, ".output-note").text == "Your output may differ, here and below."
    # Shared code and output appear once, outside the tabs.
    assert page.text.count("shared()") == 1
    assert find(page, "div.output").find_parent(class_="tab-set") is None


def test_code_in_a_table_breaks_within_no_name(make_site_book: Make):
    cell = "`torch.max_memory('cuda:0', <b=1.5>)`"
    text = (
        f"# One\n:label:`sec_one`\n\nA line with {cell}.\n\n| a |\n|:--|\n| {cell} |\n"
    )
    book = make_site_book(one=text)
    build(book)
    page = soup(book, "chapter/one")
    line, entry = page.select("article code")
    assert line.text == entry.text == cell.strip("`")
    assert line.find("wbr") is None
    marked = entry.decode_contents().replace("<wbr/>", "|")
    words = "".join(re.split(r"</?span[^>]*>", marked))
    assert words == "torch.|max_memory(|'cuda:0', &lt;b=|1.5&gt;)"


def test_references_are_numbers_that_link_to_their_targets(one):
    book, page = one
    links = {a.text: a["href"] for a in page.select("article p a.reference")}
    assert links["Fig. 1.1"] == "#fig-a"
    equation = find(page, links["(1.1)"])
    assert find(equation, ".eqno").text.startswith("(1.1)")
    cited = links["Williams, 2009"].split("#")[1]
    entry = soup(book, "index").find(id=cited)
    assert entry and "Roofline" in entry.text


def test_equations_are_only_mathml(one):
    _, page = one
    math = find(page, "div.math > math")
    assert math["display"] == "block" and find(math, "mfrac")
    assert not page.select("main [style]") and "mathjax" not in str(page).lower()


@pytest.mark.parametrize(
    "tex, spaces",
    [
        (r"k \max(h, d)", 1),
        (r"2 \log_2 n", 2),
        (r"(a)\min(b)", 1),
        (r"\frac{1}{2}\max(a)", 1),
        (r"\max(h, d)", 0),
        (r"x = \max(h)", 0),
        (r"1 - \tanh^2 x", 1),
    ],
)
def test_the_name_of_a_function_touches_no_symbol(tex: str, spaces: int):
    [converted] = mathml({(tex, False): "here"}).values()
    assert converted.count('<mspace width="0.167em">') == spaces


@pytest.mark.parametrize("tex", [r"\tanh^2 x", r"a \tanh^2", r"\log_2 n", r"n \log_2"])
def test_a_power_and_an_index_have_two_parts(tex: str):
    [converted] = mathml({(tex, False): "here"}).values()
    [script] = BeautifulSoup(converted, "html.parser").select("msup, msub")
    assert len(script.find_all(recursive=False)) == 2


UNITS = """# One
:label:`sec_one`

A copy of 64 MB at 2.5
GB/s takes $t = 26$ ms. The rate is $r$, or $n$ apples. A 4 MBit, 3 skis and `5 ms`.
"""


def test_no_line_ends_between_a_number_and_its_unit_or_punctuation(
    make_site_book: Make,
):
    book = make_site_book(one=UNITS)
    build(book)
    paragraph = find(soup(book, "chapter/one"), "section > p")
    text = re.sub(r"\s+", lambda space: space[0].strip("\n ") or " ", paragraph.text)
    for whole in ("64\xa0MB", "2.5\xa0GB/s", "4 MBit", "3 skis", "5 ms"):
        assert whole in text
    ends = [math.next_sibling for math in paragraph.select(".unbroken > math")]
    assert ends == ["\xa0ms.", ","]


def test_a_heading_links_to_itself_and_has_no_sign(one):
    _, page = one
    for heading in page.select("main :is(h1, h2, h3)"):
        link = find(heading, "a.heading")
        assert link["href"] == f"#{heading.parent['id']}"
        assert "#" not in heading.text and not heading.select(".headerlink")
    assert {link.text for link in page.select(".headerlink")} == {""}


def test_code_and_outputs_are_named_for_screen_readers(one):
    _, page = one
    for block in page.select(".highlight"):
        group = block.parent
        is_output = "output" in group["class"]
        assert group["role"] == "group"
        assert group["aria-label"] == ("Output" if is_output else "Code")


def test_a_figure_has_a_description_and_a_size(one):
    _, page = one
    image = find(page, "figure img")
    assert image["alt"] == "Two devices."
    assert (image["width"], image["height"]) == ("20", "10")


def test_without_javascript_all_panels_have_labels(one):
    _, page = one
    sets = page.select(".tab-set")
    labels = [[p.text for p in s.select(".tab-panel > .tab-label")] for s in sets]
    assert labels == [
        ["PyTorch", "JAX"],  # the origin of the outputs
        ["PyTorch"],
        ["PyTorch", "JAX"],
        ["JAX", "PyTorch"],
    ]
    assert not page.select(".tab-panel [role=tabpanel], .tab-panel[hidden]")


def test_a_missing_panel_is_mentioned_for_code_but_not_for_text(one):
    _, page = one
    of_text, of_code = page.select(".tab-set")[1::2]
    assert of_text["data-choices"] == "pytorch"
    assert of_code["data-choices"] == "pytorch jax"
    absent = find(of_code, ".tab-absent")
    assert absent["data-choices"] == "pytorch" and "No code for PyTorch" in absent.text


def test_tabs_refer_to_their_panels(one):
    _, page = one
    ids = [element["id"] for element in page.select("[id]")]
    assert len(ids) == len(set(ids))
    # The first set with all tabs has a row.
    assert len(page.select(".tab-list")) == 1
    row = page.select(".tab-set")[2].select(":scope > .tab-list > [role=tab]")
    assert [tab.text for tab in row] == ["PyTorch", "JAX"]
    for tab in page.select("[role=tab]"):
        panel = find(page, f"#{tab['aria-controls']}")
        assert tab["data-choice"] in str(panel["data-choices"]).split()


def test_the_stylesheet_hides_the_other_tabs(one):
    book, _ = one
    css = (book.root / "_build/html/_static/site.css").read_text("utf-8")
    assert cssmin(tab_rules(["pytorch", "jax"])) in css
    assert 'data-tab="mxnet"' not in css


def test_the_page_names_the_origin_of_its_outputs(one):
    _, page = one
    assert find(page, ".tab-set.record .tab-panel").text.split("\n")[2:3] == [
        "Outputs: CPU, PyTorch."
    ]


def test_an_unchanged_book_is_not_built_again(make_site_book, monkeypatch):
    book = make_site_book(one=ONE)
    first = html.build(book)
    assert "No outputs" in soup(book, "chapter/one").text

    def fail(*_):
        raise AssertionError("built again")

    monkeypatch.setattr(html, "write_site", fail)
    assert html.build(Book(book.root)) == first == html.up_to_date_index(book.root)
    notes = book.root / "_build/html.notes"
    text = notes.read_text("utf-8")
    notes.unlink()
    assert html.up_to_date_index(book.root) is None
    notes.write_text(text, "utf-8")
    book.section("one").path.write_text(ONE.replace("Between", "In between"))
    assert html.up_to_date_index(book.root) is None


@pytest.mark.parametrize(
    "damage", [b"garbage", b"", b"[build]\n", b"[build]\nnotebooks = \xe9\n"]
)
def test_a_site_with_damaged_settings_is_not_up_to_date(make_book, damage):
    book = make_book(one="# One\n")
    stamp, page = (book.root / "_build" / n for n in ("html.stamp", "html/index.html"))
    page.parent.mkdir(parents=True)
    page.touch()
    stamp.write_text(f"{html.fingerprint(book.root)}\n_build/html/index.html\n")
    stamp.with_suffix(".notes").touch()
    assert html.up_to_date_index(book.root) == page
    (book.root / "config.ini").write_bytes(damage)
    assert html.up_to_date_index(book.root) is None


def rewrite(book: Book, old: str, new: str) -> Book:
    path = book.section("one").path
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    return Book(book.root)


def test_an_edit_reaches_the_page_in_the_same_process(one):
    book, _ = one
    build(rewrite(book, "And the rest", "What is left"))
    assert "What is left" in soup(book, "chapter/one").text


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("Two\nlines, :numref:`fig_none`.", "no label 'fig_none'; correct"),
        ("Two\nlines, :cite:`Nobody`.", "'Nobody' is not in the bibliography"),
        ("Two\nlines, $\\foo{x}$", "cannot convert the equation '\\foo{x}'"),
        ("Two\n\n$$\\foo{x}$$", "cannot convert the equation '\\foo{x}'"),
        ("![No](../img/no.svg)", "no picture '../img/no.svg'; draw it"),
    ],
)
def test_a_mistake_is_reported_each_time_and_the_last_site_stays(one, mistake, message):
    book, _ = one
    wrong = rewrite(book, "And the rest.", mistake)
    for _ in range(2):
        with pytest.raises(BookError) as error:
            build(wrong)
        line = ONE.split("And the rest.")[0].count("\n") + 1 + mistake.count("\n")
        assert str(error.value).startswith(f"chapter/one.md:{line}: {message}")
        assert "\n" not in str(error.value) and str(book.root) not in str(error.value)
    assert html.up_to_date_index(book.root) is None
    assert "And the rest." in soup(book, "chapter/one").text
    build(rewrite(book, mistake, "Corrected."))
    assert "Corrected." in soup(book, "chapter/one").text


def test_a_removed_section_is_removed_from_the_site(make_site_book):
    book = make_site_book(one=ONE, two="# Two\n\nText.\n")
    index = book.root / "index.md"
    index.write_text(INDEX.replace("chapter/one", "chapter/one\nchapter/two"))
    build(Book(book.root))
    assert (book.root / "_build/html/chapter/two.html").exists()
    index.write_text(INDEX)
    build(Book(book.root))
    assert not (book.root / "_build/html/chapter/two.html").exists()
    assert (book.root / "_build/html/chapter/one.html").exists()


def test_cells_for_notebooks_leave_no_trace_on_pages(make_site_book: Make):
    alone = "```{.python .input .notebook}\n%%tab jax\nwidget()\n```\n"
    book = make_site_book(one=f"{ONE}\n{alone}")
    build(book)
    page = soup(book, "chapter/one")
    assert "widget()" in book.section("one").text and "widget" not in page.text
    for panel in page.select(".tab-panel"):
        assert len(panel.find_all(True, recursive=False)) > 1, panel


def test_a_heading_in_a_tab_is_an_error(make_site_book):
    book = make_site_book(
        one=ONE.replace("Text for one alone.", "## In a tab\n\nText.")
    )
    with pytest.raises(BookError, match=r"chapter/one\.md:13: heading inside a tab"):
        rules.check_for_build(book)


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


@pytest.mark.parametrize(
    "name, row",
    [("cited.csv", "id,value\na,{}\n"), ("cards.csv", "card,property,value\na,b,{}\n")],
)
def test_a_change_of_the_librarys_data_is_built(one, name: str, row: str):
    """A page shows measurements of others, which are in the data of the library."""
    book, _ = one
    (book.root / "d2l" / name).write_text(row.format(1), "utf-8")
    build(book)
    assert html.up_to_date_index(book.root)
    (book.root / "d2l" / name).write_text(row.format(2), "utf-8")
    assert not html.up_to_date_index(book.root)


def test_a_picture_may_have_any_name(make_site_book: Make):
    """Parts of the site have these names too."""
    names = ("card", "plus", "book", "basic")
    text = "".join(f"![One.](../img/{name}.svg)\n\n" for name in names)
    book = make_site_book(one=f"# One\n:label:`sec_one`\n\n{text}")
    for name in names:
        (book.root / f"img/{name}.svg").write_text(
            (book.root / "img/a.svg").read_text("utf-8"), "utf-8"
        )
    html.build(book)
    images = soup(book, "chapter/one").select("article img")
    assert len(images) == len(names)
    for image in images:
        assert (book.root / "_build/html/chapter" / str(image["src"])).exists()


def test_the_site_holds_no_part_of_another_file(one):
    book, _ = one
    build(book)
    site = book.root / "_build/html"
    there = {f.relative_to(site).as_posix() for f in site.rglob("*")}
    assert {"_static/site.css", "_static/site.js", "_static/card.png"} <= there
    static = ("book.css", "book.js", "early.js", "card.svg")
    decks = ("vendor/reveal", "slides.css", "slides.js")
    gone = {f"_static/{name}" for name in (*static, *decks)}
    assert not there & gone


def test_a_build_removes_the_notes_of_the_last_one(one):
    book, _ = one
    notes = book.root / "_build/html.notes"
    notes.write_text("without outputs: all\n", encoding="utf-8")
    build(book)
    assert "without outputs: all" not in notes.read_text("utf-8")


def test_only_output_with_long_lines_is_wrapped(make_site_book):
    book = make_site_book(one=ONE)

    for width, folds in ((91, False), (101, True)):
        html.build(book, functools.partial(shown, book, printed="-" * width))
        output = find(soup(book, "chapter/one"), "div.output")
        assert ("fold" in output["class"]) == folds


TEXT = """\
# One "Quoted" -- and More
:label:`sec_one`

A **bold** and *slanted* text of $a_b^2
\\cdot c$ bytes, `code`, [a link](https://d2l.ai), <https://d2l.ai>, it's 5 \\$.

* an item
  of two lines
* another

  with a paragraph

3. third
4. fourth

> A quotation.

Water is H~2~O, C:\\temp, A) B, and :: no more...

```bash
ls -l
```
"""


def test_a_page_shows_a_text_as_markdown_means_it(make_site_book: Make):
    book = make_site_book(one=TEXT)
    build(book)
    page = soup(book, "chapter/one")
    assert find(page, "h1").text == "1. One “Quoted” – and More"
    assert find(page, "section")["id"] == "one-quoted-and-more"
    first, *_, last = page.select("section > p")
    assert [tag.name for tag in first.find_all(True, recursive=False)] == [
        *("strong", "em", "math", "code", "a", "a")
    ]
    assert first.text.endswith("it’s 5 $.")
    assert last.text == "Water is H~2~O, C:\\temp, A) B, and :: no more…"
    assert [item.name for item in page.select("section > ul > li > *")] == ["p"] * 3
    assert find(page, "section > ol")["start"] == "3"
    assert find(page, "blockquote").text.strip() == "A quotation."
    assert find(page, ".highlight-bash pre").text == "ls -l\n"


QUOTED = """\
# One
:label:`sec_one`

:cite:`Williams.2009,B` or :citet:`Williams.2009`, :ref:`fig_a`, :numref:`sec_front`.

![A *"fast"* \\<b>.](../img/a.svg)
:label:`fig_a`

![Two.](../img/a.svg 'A "b" & c.')

:Ages

| JAX |
|-----|
| b   |
:label:`tab_a`
"""
AND = "@misc{B, author={{A & <b>}}, title={It}, year={2001}}"


def test_signs_of_html_in_captions_and_citations_are_text(make_site_book: Make):
    index = INDEX.replace("Book\n", "Book\n:label:`sec_front`\n", 1)
    book = make_site_book(index=index, one=QUOTED)
    with (book.root / "refs.bib").open("a") as file:
        file.write(AND)
    build(Book(book.root))
    page = soup(book, "chapter/one")
    cited, *_ = page.select("section > p")
    assert " ".join(cited.text.split()) == (
        "(A & <b>, 2001, Williams, 2009) or Williams (2009), Fig. 1.1, A Made-Up Book."
    )
    assert "Roofline" in str(find(cited, "a[href$=Williams-2009]")["title"])
    alts = [image["alt"] for image in page.select("figure img")]
    assert alts == ["A “fast” <b>.", 'A "b" & c.']
    assert find(page, "figcaption").text.strip() == "Fig. 1.1 A “fast” <b>."
    links = [str(link["href"]) for link in page.select(".headerlink")]
    assert links == ["#fig-a", "#tab-a"]
    assert find(page, ".table-wrapper > .columns-setting")
    assert [find(page, link).name for link in links] == ["figure", "table"]


def test_a_wrong_equation_in_a_heading_is_reported_with_its_line(make_site_book: Make):
    book = make_site_book(one=ONE.replace("Between.", "## No $\\foo$\n:label:`n`", 1))
    line = ONE.split("Between.")[0].count("\n") + 1
    with pytest.raises(BookError, match=rf"^chapter/one\.md:{line}: cannot convert"):
        build(book)


def test_without_a_list_of_works_none_can_be_cited(make_site_book: Make):
    book = make_site_book(one=ONE)
    index = book.root / "index.md"
    index.write_text(INDEX.replace(":bibliography:`refs.bib`", "Nothing."), "utf-8")
    with pytest.raises(BookError, match=r"one\.md:4: no page lists the works") as error:
        html.build(Book(book.root))
    assert ":bibliography:`refs.bib`" in str(error.value)


def test_a_build_reports_the_mistakes_of_all_pages(make_site_book: Make):
    wrong = "# {}\n:label:`sec_{}`\n\nSee :numref:`none`.\n"
    book = make_site_book(
        one=wrong.format("One", "one"), two=wrong.format("Two", "two")
    )
    index = book.root / "index.md"
    index.write_text(INDEX.replace("chapter/one", "chapter/one\nchapter/two"), "utf-8")
    with pytest.raises(BookError) as error:
        html.build(Book(book.root))
    places = [line.split(": ")[0] for line in str(error.value).splitlines()]
    assert places == ["chapter/one.md:4", "chapter/two.md:4"]


def test_a_heading_that_holds_a_link_is_none_itself(make_site_book: Make):
    book = make_site_book(one=f"{ONE}\n## As in :numref:`sec_one`\n\nText.\n")
    build(book)
    heading = soup(book, "chapter/one").select("main h2")[-1]
    assert [link.text for link in heading.select("a")] == ["Section 1"]


def test_two_pictures_of_one_name_are_an_error(make_site_book: Make):
    book = make_site_book(one=ONE.replace("Between.", "![Other.](a.svg)", 1))
    (book.root / "chapter/a.svg").write_bytes((book.root / "img/a.svg").read_bytes())
    with pytest.raises(
        BookError, match=r"chapter/a\.svg: another picture has the name"
    ):
        build(book)


def test_a_listing_in_one_tab_is_missed_in_the_others(make_site_book: Make):
    listing = ":begin_tab:`jax`\n```bash\nls\n```\n:end_tab:\n"
    book = make_site_book(one=f"{ONE}\n{listing}")
    build(book)
    absent = soup(book, "chapter/one").select(".tab-absent")
    assert [panel["data-choices"] for panel in absent] == ["pytorch", "pytorch"]
