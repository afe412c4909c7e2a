"""Decks are composed from points: a question first, then what shows the point."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_output

from book.__main__ import main
from book.facts.points import talk
from book.merge import Asked, Prediction
from book.pages import addresses
from book.records import fingerprint, store, validation
from book.records.outputs import Picture
from book.runner.errors import BookError
from book.slides import composition, decks
from book.slides.composition import Code, Output, Slide, SlideFigure, Text
from book.text.blocks import Cell
from book.text.book import Book
from book.text.parsing import parse

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"></svg>'
BIB = """\
@article{A.2009, author={Bee, Ann and Cee, Bo and Dee, Cy}, title={On Bees},
  journal={Hives}, year={2009}, url={https://bees.example/a}}
"""
ONE = """\
# One Thing
:label:`sec_one`

You learn it here, as :cite:`A.2009` says.

![Two $n$ devices.](../img/a.svg "Two boxes.")
:label:`fig_a`

## Outputs

:begin_tab:`pytorch`
How many are there? [$1 + 1 = 2$ ms]{.arithmetic}
:end_tab:

[**It begins**] with `x`.

[An output shows `x`.]{.point}

```{.python .input .predict question="How many ms is <x>?" answer="took ? ms"}
%%tab pytorch
x = 1  #@save
x
```

Because of :numref:`fig_a`.

[Code shows it.]{.point show=code}

```{.python .input}
%%tab all
y = 3
z = 4
```

## Pictures

[It is $n$.]{.point}

With 70 000 rows of $n$ bytes. Is it so?

(**$$n = 1 \\\\ m = 22$$**)
:eqlabel:`eq_n`

[~~On slides of d2lbook alone~~]

## Summary

* One for all.
* PyTorch does it.

## Exercises

1. Do it.
1. Do more.
"""
CELL = "```{{.python .input{mark}}}\n%%tab all\n{source}\n```"
PREDICT = ' .predict question="How many ms?" answer="took ? ms"'
ASKED = Asked("", "ms", (("Output", "2 ms"),))
PREDICTION = Prediction("How many ms?", (ASKED,))


def printed(text: str) -> NotebookNode:
    return new_output("stream", text=text)


def compose(
    markdown: str, *outputs: NotebookNode, prediction: Prediction = PREDICTION
) -> list[Slide]:
    """Return the slides of some Markdown, whose first cell has these outputs."""
    blocks = [
        replace(b, outputs=outputs) if isinstance(b, Cell) and b.number == 1 else b
        for b in parse(markdown + "\n").blocks
    ]
    return list(composition.compose("T", talk(blocks, "jax"), {1: prediction}))


@pytest.fixture
def make(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """Call it with `name="Markdown"` sections, which may show a figure and cite."""

    def make(**sections: str) -> Book:
        book = make_book(**sections)
        (book.root / "refs.bib").write_text(BIB)
        (book.root / "img").mkdir()
        (book.root / "img/a.svg").write_text(SVG)
        return book

    return make


@pytest.fixture
def one(make: Callable[..., Book]) -> Book:
    """Return a book with one section, which has a record for PyTorch with a plot."""
    book = make(one=ONE)
    section = book.section("one")
    record = store.blank(book, section, "pytorch")
    record.cells[0].outputs = [
        printed("took <b>2 ms\n"),
        new_output("display_data", {"image/svg+xml": SVG, "text/plain": "SlideFigure"}),
    ]
    record.cells[0].outputs[0].text = "took 2 ms\n"
    facts = dict.fromkeys(validation.FACTS, "") | {
        "machine": "cpu",
        "date": "2026-11-21",
    }
    facts["fingerprint"] = fingerprint.fingerprint(book, section, "pytorch")
    store.write(book, section, "pytorch", record, facts)
    return book


def deck(book: Book, tab: str) -> BeautifulSoup:
    folder = decks.build(book).parent
    page = folder / addresses.deck(book, book.section("one"), tab)
    return BeautifulSoup(page.read_text("utf-8"), "html.parser")


def titles(page: BeautifulSoup) -> list[str]:
    return [heading.get_text() for heading in page.select("section > :is(h1, h2)")]


# Slides


def test_a_question_precedes_its_point_and_each_has_notes():
    cell = CELL.format(mark=PREDICT, source="f(1)")
    text = (
        f"# T\n\nLead.\n\nBefore.\n\n[A claim.]{{.point}}\n\n{cell}\n\nAfter.\n\nMore."
    )
    front, asks, shows = compose(text, printed("took 2 ms"))
    assert (front.kind, front.title, front.notes) == ("front", "T", ["Lead."])
    assert (asks.kind, asks.title, asks.blocks) == ("asks", "How many ms?", [])
    assert asks.notes == ["Lead.", "Before."]
    assert (shows.kind, shows.title, shows.line) == ("point", "A claim", 7)
    assert asks.prediction is shows.prediction is PREDICTION
    assert shows.blocks == [Code("f(1)"), Output("took 2 ms")]
    assert shows.notes == ["After."]


def test_only_a_shown_output_with_the_number_is_asked_for():
    for show, output in ((" show=code", "took 2 ms"), ("", "no number")):
        point = f"# T\n\nNotes.\n\n[A claim.]{{.point{show}}}\n\n"
        text = point + CELL.format(mark=PREDICT, source="f(1)")
        _, shows = compose(text, printed(output))
        assert shows.prediction is None and shows.notes == ["Notes."]


@pytest.mark.parametrize(
    ("lines", "code", "joins"), [(1, 20, True), (3, 9, True), (3, 10, False)]
)
def test_code_joins_a_short_output(lines: int, code: int, joins: bool):
    source = "\n".join(["x = 1"] * code)
    text = f"# T\n\n[A claim.]{{.point}}\n\n{CELL.format(mark='', source=source)}"
    _, shows = compose(text, printed("a\n" * lines))
    assert (shows.blocks[0] == Code(source)) is joins
    assert isinstance(shows.blocks[-1], Output)


def test_a_plot_is_alone_and_other_outputs_are_as_printed():
    plot = new_output("display_data", {"image/png": "QUJD", "text/plain": "x"})
    error = new_output("error", ename="E", evalue="e", traceback=["one", "two"])
    text = f"# T\n\n[A claim.]{{.point}}\n\n{CELL.format(mark='', source='1')}"
    _, shows = compose(text, printed("a"), plot)
    [picture] = shows.blocks
    assert isinstance(picture, Picture) and picture.data == "QUJD" and picture.alt
    _, shows = compose(text, printed("\x1b[31mred\x1b[0m\nold\rnew\n"), error)
    assert shows.blocks == [Output("red\nnew"), Output("one\ntwo")]


def test_an_equation_is_explained_by_the_sentences_below_it():
    point = "# T\n\nAbove:\n\n[A claim.]{.point}\n\n$$x$$\n\n"
    _, shows = compose(f"{point}Here, $x$ is 1. It is small. How many? More.")
    assert shows.blocks == [Text("$$x$$"), Text("Here, $x$ is 1. It is small.")]
    _, shows = compose(point)
    assert shows.blocks == [Text("$$x$$"), Text("Above.")]


def test_figures_tables_and_listings_fill_a_slide():
    claim = "[A claim.]{.point}\n\n"
    figure, rows = '![Three. More.](b.svg "A b.")', "| a |\n|--|\n| 1 |"
    listing = "```bash\nls\npwd\n```"
    text = f"# T\n\n{claim}{figure}\n\n{claim}:Two\n\n{rows}\n\n{claim}{listing}"
    _, *slides = compose(text)
    shown = [slide.blocks for slide in slides]
    assert shown == [[SlideFigure("b.svg", "A b.")], [Text(rows)], [Text(listing)]]
    assert [slide.notes for slide in slides] == [["Three. More."], ["Two"], []]


def test_a_deck_opens_with_the_first_figure_unless_a_point_shows_it():
    figure, point = '![B.](b.svg "A b.")', "[A claim.]{.point}\n\n$$x$$"
    front, *_ = compose(f"# T\n\n{figure}\n\n## P\n\n{point}")
    assert front.blocks == [SlideFigure("b.svg", "A b.")]
    for others in (f"[It.]{{.point}}\n\n{figure}", f"## P\n\n{point}\n\n{figure}"):
        front, *_ = compose(f"# T\n\n{others}")
        assert front.blocks == []


def test_a_summary_is_without_the_other_frameworks_and_has_an_exercise():
    items = "* One.\n* MXNet\n  too.\n* JAX."
    text = (
        f"# T\n\n[A.]{{.point}}\n\n$$x$$\n\n## Summary\n\n{items}\n\n## Exercises\n\n"
    )
    summary = compose(f"{text}Intro.\n\n1. Do.\n1. Do more.")[-1]
    assert (summary.kind, summary.title) == ("summary", "Summary")
    assert summary.blocks == [Text("* One.\n* JAX.")]
    assert summary.notes == ["1. Do."]
    assert compose(text)[-1].notes == ["T"]  # without exercises


SOURCE = '''\
def f():  #@save
    """First.

    More.
    """
    return "#@x"

#@save
class A:
    """One."""
'''
SHOWN = '''\
def f():
    """First."""
    return "#@x"


class A:
    """One."""'''


def test_code_has_no_save_marks_and_short_docstrings():
    assert composition.shown_source(SOURCE) == SHOWN
    assert composition.shown_source("!ls | cat  #@save") == "!ls | cat"


# The pages


def test_a_deck_shows_the_slides_of_its_tab(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    shared = ["Code shows it", "It is n", "Summary"]
    assert titles(pytorch)[:2] == ["One Thing", "An output shows x"]
    assert titles(pytorch)[2] == "Code shows it" and "Summary" in titles(pytorch)
    # There is no record for JAX, and only PyTorch has the cell of the first point.
    assert titles(jax)[0] == "One Thing" and titles(jax)[-1] == shared[-1]
    assert "PyTorch does it." in pytorch.get_text()
    assert "PyTorch" not in " ".join(s.get_text() for s in jax.select("section"))
    assert jax.title and jax.title.string == "One Thing, in JAX – A Made-Up Book"
    assert jax.html and jax.html["lang"] == "en"
    assert not {":label:", ":numref:", "**", "~~", "#@save"} & set(str(jax).split())


def test_a_question_has_fields_and_its_point_the_numbers(one: Book):
    page = deck(one, "pytorch")
    asks = page.select_one("section.asks")
    assert asks and asks["data-question"] == "How many ms is <x>?"
    assert asks.select_one("form input[type=text]") and "An output" not in str(asks)
    shows = asks.find_next_sibling("section")
    assert shows and [dt.get_text() for dt in shows.select("dt")] == [
        *("The room", "Arithmetic", "Output")
    ]
    notes = shows.select_one("aside")
    assert notes and notes.get_text() == "Because of the figure."
    assert shows.select("img.plot") and not shows.select(".fragment")


def test_what_a_cell_shows_follows_its_code(one: Book):
    text = one.section("one").path.read_text("utf-8")
    section = text.replace(" .predict", "").replace(
        "`x`.]{.point}", "`x`.]{.point show=both}"
    )
    one.section("one").path.write_text(section, "utf-8")
    shows = deck(Book(one.root), "pytorch").select("section.point")[0]
    assert [part.name for part in shows.select(".fragment")] == ["img"]


@pytest.mark.parametrize(("size", "least"), [("15", "120px"), ("4", "450px"), ("", "")])
def test_a_figure_has_the_height_at_which_its_text_can_be_read(
    one: Book, size: str, least: str
):
    label = f'<text font-size="{size}">a</text>' if size else ""
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="100">{label}'
    (one.root / "img/a.svg").write_text(f"{drawn}</svg>")
    [figure] = deck(one, "jax").select("figure")
    assert figure.get("style", "") == (least and f"--least: {least}")


def test_a_drawing_holds_the_font_of_the_book(one: Book):
    svg = SVG.replace("<svg", '<svg font-family="serif"')
    for text, faces in [("a", 1), ('<tspan font-weight="600">a</tspan>', 2)]:
        drawn = svg.replace("</svg>", f"<text>{text}</text></svg>")
        (one.root / "img/a.svg").write_text(drawn)
        [image] = deck(one, "jax").select("figure img")
        data = base64.b64decode(str(image["src"]).split(",", 1)[1]).decode()
        assert 'font-family="Book Sans, serif"' in data
        assert data.count("@font-face") == data.count("url(data:font/woff2;") == faces


def test_a_section_without_code_has_one_deck(make_book: Callable[..., Book]):
    point = "# T\n\n[A claim.]{.point}\n\n$$x$$"
    book = make_book(one=point, two="# U\n\n[**No points.**]")
    folder = decks.build(book).parent
    assert [p.relative_to(folder).as_posix() for p in folder.glob("*/*.html")] == [
        "all/one.html"
    ]
    page = BeautifulSoup((folder / "all/one.html").read_text(), "html.parser")
    assert not page.select(".framework") and "No code" not in page.get_text()
    links = BeautifulSoup((folder / "index.html").read_text(), "html.parser")
    assert [a["href"] for a in links.select(".decks a")] == ["all/one.html"]


def test_outputs_are_those_of_a_record_or_the_front_names_the_command(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    [figure, plot] = pytorch.select("section img")
    data = f"data:image/svg+xml;base64,{base64.b64encode(SVG.encode()).decode()}"
    assert plot["src"] == figure["src"] == data
    # There is no record for JAX.
    assert "make run TAB=jax SECTION=one" in jax.select(".front")[0].get_text()
    assert not jax.select(".printed, .plot")


def test_equations_and_their_texts(one: Book):
    [equation, text] = deck(one, "jax").select("section.point:has(.said) > .said")
    assert equation.select('math[display="block"] mtable')
    assert (
        text.get_text() == "With 70\N{NO-BREAK SPACE}000 rows of nn bytes."
    )  # MathML, and its TeX


def test_pages_load_only_files_that_exist(one: Book):
    index = decks.build(one)
    for page in [index, *index.parent.glob("*/*.html")]:
        tree = BeautifulSoup(page.read_text("utf-8"), "html.parser")
        found = tree.select("script, link, a:not(li a), .decks a")
        files = [t.get("src") or t.get("href") for t in found]
        assert files and all((page.parent / str(f)).exists() for f in files), files


def test_the_list_names_all_decks(one: Book):
    index = decks.build(one, tabs=["jax"])
    files = sorted(p.relative_to(index.parent) for p in index.parent.glob("*/*.*ml"))
    assert files == [Path("jax/one.html")]
    decks.build(one, ["pytorch"], ["one"])
    tree = BeautifulSoup(index.read_text("utf-8"), "html.parser")
    links = [a["href"] for a in tree.select("a")]
    assert links == ["pytorch/one.html", "jax/one.html"]


def test_a_deck_that_loses_its_points_is_removed(one: Book):
    folder = decks.build(one).parent
    text = one.section("one").path
    text.write_text("# One Thing\n:label:`sec_one`\n\n[**Text.**]\n")
    with pytest.raises(BookError, match="no points; mark some sentences"):
        decks.build(Book(one.root))
    assert (folder / "jax/one.html").exists()
    cell = CELL.format(mark="", source="1")
    jax = ":begin_tab:`jax`\n[A.]{.point}\n:end_tab:\n\n$$x$$"
    text.write_text(f"# One\n:label:`sec_one`\n\n{jax}\n\n{cell}\n")
    decks.build(Book(one.root))
    assert sorted(p.name for p in folder.glob("*/one.*")) == ["one.html"]


@pytest.mark.parametrize(
    ("right", "broken", "message"),
    [
        ("../img/a.svg", "../img/b.svg", "chapter/one.md:6: no file '../img/b.svg'"),
        (":cite:`A.2009`", ":cite:`B`", "chapter/one.md:4: 'B' is not in"),
        ("n = 1", r"\frac{n", "chapter/one.md:41: cannot convert the equation"),
        ("[**It", "[**[**It", "chapter/one.md:15: slide mark '[**' without"),
    ],
)
def test_a_mistake_leaves_the_last_decks_unchanged(
    one: Book,
    capsys: pytest.CaptureFixture[str],
    right: str,
    broken: str,
    message: str,
):
    folder = decks.build(one).parent
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    path = one.section("one").path
    path.write_text(path.read_text().replace(right, broken))
    assert main(["slides"]) == 1
    assert message in capsys.readouterr().err
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_the_command(one: Book, capsys: pytest.CaptureFixture[str]):
    assert main(["slides", "--tab", "jax"]) == 0
    index = one.root / "_build/slides/index.html"
    assert capsys.readouterr().out == f"{index}\n" and index.exists()
    assert main(["slides", "--tab", "julia"]) == 1
    assert "TAB: unknown tab 'julia'" in capsys.readouterr().err
