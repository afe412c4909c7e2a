"""Decks are made from slide marks, and slides that do not fit are split."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_output

from book.__main__ import main
from book.pages import addresses
from book.records import fingerprint, store, validation
from book.records.outputs import Picture
from book.records.store import Shown
from book.render.code import colored
from book.runner.errors import BookError
from book.slides import deck_page, decks, slide_marks
from book.slides.division import CHARACTERS, LINES, divide
from book.slides.slide_marks import Code, Output, Slide, SlideFigure, Text
from book.slides.words import Words
from book.text.blocks import Cell
from book.text.book import Book
from book.text.inline import MarkupError
from book.text.parsing import parse

PLOTS = Path(__file__).parents[1] / "render/plots"

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"></svg>'
BIB = """\
@article{A.2009, author={Bee, Ann and Cee, Bo and Dee, Cy}, title={On Bees},
  journal={Hives}, year={2009}, url={https://bees.example/a}}
@article{B.2010, author={Foe, Al}, title={Only in the Notes}, journal={Hives},
  year={2010}}
"""
ONE = """\
# One Thing
:label:`sec_one`

(**You learn it here.**)

[**It begins, as `x` shows**]: and this is said. (**A part of a sentence**), no more.

```{.python .input}
%%tab pytorch
x = 1  #@save
x
```

```{.python .input}
%%tab jax
x = 2  # 'why'
print('a # b', x)
```

```{.python .input .off-slides}
%%tab all
y = 3
```

## Pictures

Prose before. [~~On slides alone~~] Also :cite:`B.2010` and :numref:`sec_one` here.

(**![Two $n$ devices.](../img/a.svg "Two boxes.")**)
:label:`fig_a`

(**$$n = 1 \\\\ m = 22$$**)
:eqlabel:`eq_n`

:begin_tab:`jax`
[**Said of :numref:`fig_a` by :cite:`A.2009`.**]
:end_tab:

## Summary

* One for all.
* PyTorch does it.

## Exercises

1. Do it.
"""


def code(source: str, *outputs: NotebookNode) -> tuple[str, list[NotebookNode]]:
    """Return a cell in Markdown and its outputs."""
    return f"```{{.python .input}}\n%%tab all\n{source}\n```", list(outputs)


def read(*parts: str | tuple[str, list[NotebookNode]]) -> list[Slide]:
    """Return the slides of some Markdown with cells in it."""
    cells = [part for part in parts if not isinstance(part, str)]
    texts = [part if isinstance(part, str) else part[0] for part in parts]
    blocks = [
        replace(block, outputs=tuple(cells[block.number - 1][1]))
        if isinstance(block, Cell)
        else block
        for block in parse("\n\n".join(texts) + "\n").blocks
    ]
    return slide_marks.read(Shown("jax", blocks))


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
        new_output("execute_result", {"text/plain": "<b>1</b>"}),
        new_output("display_data", {"image/svg+xml": SVG, "text/plain": "SlideFigure"}),
    ]
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


def texts_of(slide: Slide) -> list[Text]:
    return [block for block in slide.blocks if isinstance(block, Text)]


# The marks


def test_marks_become_slides_and_other_text_becomes_notes():
    front, slide = read(
        "# T\n\nLead. (**On the front.**)\n\n## P\n\nBefore.\n\n"
        "[**the claim**], with more. (**A whole sentence.**) And (**a part**) of one.",
        code("f(1)"),
        "After. (**last,**)",
    )
    assert (front.title, front.blocks) == ("T", [Text("On the front.")])
    assert front.notes == ["Lead."]
    assert (slide.title, slide.part) == ("The claim", "P")
    texts = [Text("A whole sentence."), Text("A part.")]
    assert slide.blocks == [*texts, Code("f(1)"), Text("Last.")]
    notes = ["Before.", "the claim, with more.  And a part of one.", "After."]
    assert slide.notes == notes


def test_each_mark_in_square_brackets_begins_a_slide():
    marked = "# T\n\n[**a**] (**is**)\n\nof a\n\n[**b**] and [**c**]\n\n## P\n\n[~~d~~]"
    slides = read(marked)
    assert [s.title for s in slides] == ["T", "A", "B", "C", "D"]
    assert [s.notes for s in slides] == [[], ["a is", "of a"], ["b and"], [], []]
    assert [s.part for s in slides] == ["", "", "", "", "P"]


def test_bold_words_before_a_mark_are_added():
    _, symptom, fix = read(
        "# T\n\n[**the symptom.**]\n\n"
        "**Reason.** (**It was late.**) More, and (**a part**).",
        "**Fix.** [**Be early.**] Else\n\n**not** (**this.**)",
    )
    assert symptom.blocks == [Text("**Reason.** It was late."), Text("A part.")]
    assert symptom.notes == ["More, and a part."]
    assert (fix.title, fix.blocks) == ("Fix: Be early", [Text("This.")])
    assert fix.notes == ["Else", "**not** this."]


def test_without_marks_there_are_no_slides():
    assert read("# T\n\n**bold** [**link**](a.md)", code("1")) == []


def test_a_long_text_becomes_a_title_and_a_paragraph():
    [_, slide] = read(f"# T\n\n[**first one. {'more ' * 30}**]")
    assert slide.title == "First one"
    assert slide.blocks == [Text(f"More {'more ' * 28}more.")]


def test_a_title_is_a_single_sentence():
    [_, slide] = read("# T\n\n[**One is so. Two is not.**]")
    assert (slide.title, slide.blocks) == ("One is so", [Text("Two is not.")])


def test_marks_below_a_heading_are_not_on_the_slide_of_another_part():
    [_, a, more, last] = read(
        "# T\n\n[**a**]\n\n## More\n\nBefore. (**The rest.**)\n\n[**Last**]",
        code("x"),
    )
    assert (a.title, a.blocks, a.part) == ("A", [], "")
    assert (more.title, more.blocks) == ("More", [Text("The rest.")])
    assert more.notes == ["Before."]
    assert (last.part, last.blocks) == ("More", [Code("x")])
    [_, _, below] = read("# T\n\n[**a**]\n\n## More\n\nSo:", code("x = 1"))
    assert (below.title, below.blocks) == ("More", [Code("x = 1")])


def test_imports_are_on_no_slide():
    setup = "import math\nfrom d2l import jax as d2l\n\nmath.pi"
    slides = read("# T", code(setup), "[**a**]", code("import math\ny = 1\nz = 2"))
    assert [s.title for s in slides] == ["T", "A"]
    assert slides[1].blocks == [Code("import math\ny = 1\nz = 2")]


def test_the_explanation_of_a_figure_is_a_note_and_so_is_a_figure_without_mark():
    shown, other = "(**![Two $n$. More of it.](a.svg)**)", "![Three. More.](b.svg)"
    [_, slide] = read(f"# T\n\n[**a**]\n\n{shown}\n\n{other}")
    assert slide.blocks == [SlideFigure("a.svg", "", "Two $n$.")]
    assert slide.notes == ["More of it.", "Three. More."]


def test_the_caption_of_a_table_is_a_note():
    rows = "| a |\n|--|\n| 1 |"
    table = f":Two *rows*\n\n{rows}\n:label:`tab_a`"
    [_, slide] = read(f"# T\n\n[**a**] (**b**)\n\n{table}")
    assert slide.notes[1:] == ["Two *rows*", rows]
    [_, slide] = read(f"# T\n\n[**a**]\n\n(**\n{table}\n**)")
    assert slide.blocks == [Text(rows)] and slide.notes == ["Two *rows*"]


def test_a_slide_knows_its_line():
    slides = read("# T\n\n[**a**]\n\nb\n[**c**]\n\n## P\n\nNotes.", code("f(1)"))
    assert [slide.line for slide in slides] == [1, 3, 6, 12]


def test_a_summary_is_a_slide_without_the_other_frameworks():
    items = "* One.\n* MXNet\n  too.\n* JAX."
    text = f"# T\n\n[**a**]\n\n## Summary\n\n{items}\n\n## More\n\nx"
    assert read(text)[-1].title == "Summary"
    assert read(text)[-1].blocks == [Text("* One.\n* JAX.")]
    marked = read(text.replace("* One.", "[**one**]"))
    assert marked[-1].title == "One"


@pytest.mark.parametrize("text", ["[**a", "(**a **) **)", "[**a [**b] **]"])
def test_marks_that_do_not_match_are_errors(text: str):
    with pytest.raises(MarkupError):
        read(f"# T\n\n{text}")


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
    assert slide_marks.shown_source(SOURCE) == SHOWN
    assert slide_marks.shown_source("!ls | cat  #@save") == "!ls | cat"


def test_outputs_are_shown_as_printed():
    outputs = [
        new_output("stream", text="\x1b[31mred\x1b[0m\nold\rnew\n"),
        new_output("display_data", {"image/png": "QUJD", "text/plain": "x"}),
        new_output("error", ename="E", evalue="e", traceback=["one", "two"]),
    ]
    [_, slide] = read("# T\n\n[**a**]", code("1", *outputs))
    _, printed, plot, raised = slide.blocks
    assert printed == Output("red\nnew") and raised == Output("one\ntwo")
    assert isinstance(plot, Picture) and (plot.kind, plot.data) == ("image/png", "QUJD")
    assert plot.alt


# Slides that would be too long


def lines_of(lines: int, width: int = 20) -> str:
    return "\n".join("x" * width for _ in range(lines))


def divided(*items: slide_marks.SlideItem) -> list[list[slide_marks.SlideItem]]:
    """Return the items of the slides that show `items`."""
    return [part.blocks for part in divide(Slide("T", "P", list(items)))]


def sources(slides: list[list[slide_marks.SlideItem]]) -> list[str]:
    return [item.text for items in slides for item in items if isinstance(item, Code)]


def test_each_part_of_a_slide_has_its_title_and_the_first_has_the_notes():
    parts = divide(Slide("T", "P", [Code(lines_of(15))] * 3, ["note"], line=7))
    assert [(p.title, p.part, p.line) for p in parts] == [("T", "P", 7)] * 3
    assert [(p.number, p.total) for p in parts] == [(1, 3), (2, 3), (3, 3)]
    assert [p.notes for p in parts] == [["note"], [], []]


def test_a_slide_is_filled_up_to_its_last_line():
    full: list[slide_marks.SlideItem] = [
        Code(lines_of(LINES - 6)),
        Output("x"),
        Text("y"),
    ]
    assert divided(*full[:2]) == [full[:2]]
    assert divided(Code(lines_of(LINES - 2))) == [[Code(lines_of(LINES - 2))]]
    assert divided(*full) == [full[:2], full[2:]]
    for characters, slides in ((3 * CHARACTERS, 1), (3 * CHARACTERS + 1, 2)):
        text = Text("y" * characters)
        assert len(divided(Output(lines_of(8)), text, Code(lines_of(6)))) == slides


def test_a_cell_stays_with_its_text_and_its_outputs():
    above, text, cell = Code(lines_of(10)), Text("It is so:"), Code(lines_of(8))
    plot, figure = Picture("image/png", "", ""), SlideFigure("a.svg", "", "c")
    printed = Output(lines_of(4))
    assert divided(above, text, cell) == [[above], [text, cell]]
    assert divided(above, cell, printed) == [[above], [cell, printed]]
    assert divided(Code(lines_of(5)), plot, text) == [[Code(lines_of(5)), plot], [text]]
    assert divided(figure, figure) == [[figure], [figure]]
    assert divided() == [[]]


def test_long_code_is_cut_at_blank_lines_and_long_output_anywhere():
    source, printed = "\n\n".join([lines_of(9)] * 5), lines_of(70)
    slides = divided(Code(source), Output(printed))
    assert "\n\n".join(sources(slides)) == source
    assert sources(slides)[0] == "\n\n".join([lines_of(9)] * 2)
    outputs = [i.text for items in slides for i in items if isinstance(i, Output)]
    assert "\n".join(outputs) == printed and len(outputs) == 4


LONG = """\
class A(Base):
    \"\"\"An A.\"\"\"

    def f(self):
BODY

    def g(self):
        for y in z:
BLOCK""".replace("BODY", "\n".join(["        x = 1"] * 40)).replace(
    "BLOCK", "\n".join(["            x = 2"] * 30)
)


def test_a_slide_that_continues_a_definition_repeats_its_first_line():
    first, *others = sources(divided(Code(LONG)))
    starts = (
        "class A(Base):\n    ...\n    def",
        "class A(Base):\n    def f(self):\n        ...\n        x",
        "class A(Base):\n    def g(self):\n        for y in z:\n            ...\n    ",
    )
    assert len(others) > 2 and first.startswith('class A(Base):\n    """An A')
    for start in starts:
        assert any(source.startswith(start) for source in others), start
    assert all(source.startswith(starts) for source in others)
    assert all(source.count("\n") < LINES - 2 for source in (first, *others))


def test_statements_are_whole_on_a_slide():
    call = "f(\n    1,\n)\nif x:\n    y = 1\nelse:\n    y = 2"
    source = "\n".join([lines_of(LINES - 5), call])
    assert sources(divided(Code(source))) == [
        "\n".join([lines_of(LINES - 5), "f(\n    1,\n)"]),
        "if x:\n    y = 1\nelse:\n    y = 2",
    ]


def test_a_line_that_cannot_be_cut_is_on_a_slide():
    lines = ",\n".join(["      1"] * 40)
    assert divided(Text("a"), Code(f"f({lines})")) == [
        [Text("a")],
        [Code(f"f({lines})")],
    ]


def test_a_slide_that_begins_within_a_string_shows_its_beginning():
    lines = [f"line {n} of the script, as long as code may be" for n in range(60)]
    script = 'script = """\n' + "\n\n".join(lines) + '\n"""\nprint(script)'
    _, *others = sources(divided(Code(script)))
    assert len(others) > 1
    assert all(source.startswith('script = """\n...\n') for source in others)
    html = colored(others[-1], "python")
    assert html.rindex("line 59") < html.rindex("print")
    assert '<span class="kc">print</span>' in html  # code again after the string


def test_a_long_list_is_cut_between_its_items():
    items = [f"* {n} {'word ' * 30}" for n in range(20)]
    shown = [i.text for [i] in divided(Text("\n".join(items))) if isinstance(i, Text)]
    assert len(shown) > 1 and "\n".join(shown).split("\n") == items


def test_a_long_table_is_cut_between_rows_and_repeats_its_head():
    rows = [f"| {n} | {'word ' * 30} |" for n in range(20)]
    head = "| a | b |\n|:--|:--|"
    table = Text("\n".join([head, *rows]))
    shown = [item.text for [item] in divided(table) if isinstance(item, Text)]
    assert len(shown) > 1
    assert all(text.startswith(f"{head}\n") for text in shown)
    assert "\n".join(t.removeprefix(f"{head}\n") for t in shown).split("\n") == rows


# The pages


def test_a_deck_shows_the_slides_of_its_tab(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    shared = ["One Thing", "It begins, as x shows", "On slides alone"]
    parts = [f"It begins, as x shows {n} of 2" for n in (1, 2)]
    assert titles(pytorch) == ["One Thing", *parts, *shared[2:], "Summary"]
    said = "Said of the figure by (Bee et al., 2009)"
    assert titles(jax) == [*shared, said, "Summary"]
    assert "Said of" not in pytorch.get_text()
    assert "PyTorch does it." in pytorch.get_text()
    assert "PyTorch" not in " ".join(s.get_text() for s in jax.select("section"))
    assert jax.title and jax.title.string == "One Thing, in JAX – A Made-Up Book"
    assert jax.html and jax.html["lang"] == "en"
    assert not {":label:", ":numref:", "**", "~~", "#@save"} & set(str(jax).split())


def test_blocks_appear_in_turn_and_outputs_together(one: Book):
    plot = Picture("image/png", "QUJD", "A plot.")
    slide = Slide("T", "", [Text("a"), Code("f(1)"), Output("1"), plot])
    section, words = one.section("one"), Words(one)
    [rendered] = deck_page.render_slides([slide], section, words)
    assert [block["step"] for block in rendered["blocks"]] == [None, 1, 2, 2]


def test_a_slide_shows_the_figure_of_another_section_that_it_names(
    make: Callable[..., Book],
):
    other = "# T\n\n(**On the front.**)\n\n[**a claim**]\n\n(**See :numref:`fig_a`.**)"
    book = make(one=ONE, two=other)
    folder = decks.build(book, tabs=["jax"]).parent
    tree = BeautifulSoup((folder / "all/two.html").read_text(), "html.parser")
    [figure] = tree.select("section:not(.front) figure")
    assert figure.img and figure.img["alt"] == "Two boxes."
    # The section with the figure shows it only once.
    one = BeautifulSoup((folder / "jax/one.html").read_text(), "html.parser")
    assert len(one.select("figure")) == 1


@pytest.mark.parametrize(("size", "least"), [("15", "120px"), ("4", "450px"), ("", "")])
def test_a_figure_has_the_height_at_which_its_text_can_be_read(
    one: Book, size: str, least: str
):
    label = f'<text font-size="{size}">a</text>' if size else ""
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="100">{label}'
    (one.root / "img/a.svg").write_text(f"{drawn}</svg>")
    [figure] = deck(one, "jax").select("figure")
    assert figure.get("style", "") == (least and f"--least: {least}")


def test_a_section_without_code_has_one_deck(make_book: Callable[..., Book]):
    book = make_book(one="# T\n\n[**a claim**]", two="# U\n\nNo slides.")
    folder = decks.build(book).parent
    assert [p.relative_to(folder).as_posix() for p in folder.glob("*/*.html")] == [
        "all/one.html"
    ]
    page = BeautifulSoup((folder / "all/one.html").read_text(), "html.parser")
    assert not page.select(".framework") and "No code" not in page.get_text()
    links = BeautifulSoup((folder / "index.html").read_text(), "html.parser")
    assert [a["href"] for a in links.select(".decks a")] == ["all/one.html"]


def test_a_deck_begins_with_its_points(one: Book):
    text = one.section("one").path.read_text("utf-8")
    point = (
        "[An output shows `x`.]{.point show=both}\n\n```{.python .input}\n%%tab pytorch"
    )
    text = text.replace("```{.python .input}\n%%tab pytorch", point, 1)
    text = text.replace("(**$$n", "[It is $n$.]{.point}\n\n(**$$n")
    one.section("one").path.write_text(text, "utf-8")
    page = deck(Book(one.root), "pytorch")
    first, second, third, fourth, *_ = titles(page)
    assert [first, second] == ["One Thing", "An output shows x"]
    assert third.startswith("It is n")
    assert fourth == "The Section in Detail"
    output, equation = page.select("section.point")
    assert output.select("img.plot") and not output.select(".printed")
    assert output.select(".highlight") and equation.select("math[display]")
    assert "(" not in equation.select(".said")[0].get_text()


def test_outputs_are_those_of_a_record_or_the_front_names_the_command(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    [printed] = pytorch.select(".printed pre")
    assert printed.get_text().strip() == "<b>1</b>"
    [plot, figure] = pytorch.select("section img")
    data = f"data:image/svg+xml;base64,{base64.b64encode(SVG.encode()).decode()}"
    assert plot["src"] == figure["src"] == data
    assert pytorch.select('math[display="block"] mtable')
    # There is no record for JAX.
    assert "make run TAB=jax SECTION=one" in jax.select(".front")[0].get_text()
    assert not jax.select(".printed, .plot")


def test_equations_within_a_text(make_book: Callable[..., Book]):
    text = "# T\n\n[**a**]\n\n(**With 70 000 rows of $n$ bytes,\n$$a \\\\ b$$.**)\n"
    [_, slide] = deck(make_book(one=text), "jax").select("section")
    shown = slide.select_one(".said > p")
    assert shown and "70\N{NO-BREAK SPACE}000 rows" in shown.get_text()
    inline, displayed = shown.find_all("math", recursive=False)
    assert inline.get("display") is None and not inline.mtable
    assert displayed["display"] == "block" and displayed.mtable
    assert displayed.next_sibling == "."


def test_a_mistake_in_the_figure_of_another_section(make: Callable[..., Book]):
    other = "# T\n\n(**Text.**)\n\n[**a claim of :numref:`fig_a`**]"
    book = make(one=ONE.replace("Two $n$", r"Two $\frac{n$"), two=other)
    with pytest.raises(BookError, match=r"chapter/one\.md:29: cannot convert the"):
        decks.build(book, ["jax"], ["two"])


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


def test_a_deck_that_loses_its_marks_is_removed(one: Book):
    folder = decks.build(one).parent
    text = one.section("one").path
    text.write_text("# One Thing\n:label:`sec_one`\n\nText.\n")
    with pytest.raises(BookError, match="no slide marks"):
        decks.build(Book(one.root))
    assert (folder / "jax/one.html").exists()
    text.write_text("# One\n:label:`sec_one`\n\n:begin_tab:`jax`\n[**a**]\n:end_tab:\n")
    decks.build(Book(one.root))
    assert sorted(p.name for p in folder.glob("*/one.*")) == ["one.html"]


@pytest.mark.parametrize(
    ("right", "broken", "message"),
    [
        ("../img/a.svg", "../img/b.svg", "chapter/one.md:29: no file '../img/b.svg'"),
        (":cite:`B.2010` and", ":cite:`B` and", "chapter/one.md:27: 'B' is not in"),
        ("n = 1", r"\frac{n", "chapter/one.md:32: cannot convert the equation"),
        ("[**It", "[**[**It", "chapter/one.md:6: slide mark '[**' without"),
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
