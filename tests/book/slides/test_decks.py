"""Decks are made from slide marks, and slides that do not fit are split."""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_output

from book.__main__ import main
from book.base.errors import BookError
from book.records import store
from book.records.store import Shown
from book.slides import decks, layout, marks
from book.slides.marks import Code, Figure, Plot, Printed, Slide, Text
from book.sources.book import Book
from book.sources.inline import MarkupError
from book.sources.parsing import parse

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"></svg>'
BIB = "@article{A.2009, author={Bee, Ann and Cee, Bo and Dee, Cy}, year={2009}}"
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

Prose before. [~~On slides alone~~] Also :cite:`A.2009` and :numref:`sec_one` here.

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
    blocks = parse("\n\n".join(texts) + "\n").blocks
    outputs = [printed for _, printed in cells]
    return marks.read(Shown("jax", blocks, "fresh", {}, outputs, [None] * len(cells)))


@pytest.fixture
def one(make_book: Callable[..., Book]) -> Book:
    """Return a book with one section, which has a record for PyTorch with a plot."""
    book = make_book(one=ONE)
    (book.root / "refs.bib").write_text(BIB)
    (book.root / "img").mkdir()
    (book.root / "img/a.svg").write_text(SVG)
    section = book.section("one")
    record = store.blank(book, section, "pytorch")
    record.cells[0].outputs = [
        new_output("execute_result", {"text/plain": "<b>1</b>"}),
        new_output("display_data", {"image/svg+xml": SVG, "text/plain": "Figure"}),
    ]
    facts = dict.fromkeys(store.FACTS, "") | {"machine": "cpu", "date": "2026-11-21"}
    facts["fingerprint"] = store.fingerprint(book, section, "pytorch")
    store.write(book, section, "pytorch", record, facts)
    return book


def deck(book: Book, tab: str) -> BeautifulSoup:
    page = decks.build(book).parent / f"{tab}/one.html"
    return BeautifulSoup(page.read_text("utf-8"), "html.parser")


def titles(page: BeautifulSoup) -> list[str]:
    return [heading.get_text() for heading in page.select("section > :is(h1, h2)")]


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
    slides = read("# T\n\n[**a**]\n\nof a\n\n[**b**] and [**c**]\n\n## P\n\n[~~d~~]")
    assert [s.title for s in slides] == ["T", "A", "B", "C", "D"]
    assert [s.notes for s in slides] == [[], ["of a"], ["b and"], [], []]
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
    assert marks.shown_source(SOURCE) == SHOWN
    assert marks.shown_source("!ls | cat  #@save") == "!ls | cat"


def test_outputs_are_shown_as_printed():
    outputs = [
        new_output("stream", text="\x1b[31mred\x1b[0m\nold\rnew\n"),
        new_output("display_data", {"image/png": "QUJD", "text/plain": "x"}),
        new_output("error", ename="E", evalue="e", traceback=["one", "two"]),
    ]
    [_, slide] = read("# T\n\n[**a**]", code("1", *outputs))
    _, printed, plot, raised = slide.blocks
    assert printed == Printed("red\nnew") and raised == Printed("one\ntwo")
    assert isinstance(plot, Plot) and (plot.kind, plot.data) == ("image/png", "QUJD")
    assert plot.alt


# The size of slides


def lines_of(lines: int, width: int = 20) -> str:
    return "\n".join("x" * width for _ in range(lines))


def test_short_slides_are_enlarged_and_long_ones_reduced():
    sizes = [layout.pages(Slide("T", "", [Code(lines_of(n))])) for n in (2, 14, 20)]
    assert all(len(pages) == 1 for pages in sizes)
    scales = [pages[0].scale for pages in sizes]
    assert scales == sorted(scales, reverse=True) and scales[0] > 1 > scales[-1]


def test_long_code_is_split_at_blank_lines():
    source, text = "\n\n".join([lines_of(9)] * 5), lines_of(70)
    blocks: list[marks.Block] = [Code(source), Printed(text)]
    pages = layout.pages(Slide("T", "P", blocks, ["note"]))
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert {page.total for page in pages} == {len(pages)}
    assert [page.slide.notes for page in pages] == [["note"], *[[]] * (len(pages) - 1)]
    shown = [block for page in pages for block in page.slide.blocks]
    lines = [b.source for b in shown if isinstance(b, Code)]
    assert "\n\n".join(lines) == source
    printed = [b.text for b in shown if isinstance(b, Printed)]
    assert "\n".join(printed) == text
    for page in pages:
        assert page.scale >= layout.SMALLEST
        assert layout.fits(page.slide, page.slide.blocks, page.scale)


def test_a_long_list_is_split_between_its_items():
    items = [f"* {n} {'word ' * 30}" for n in range(12)]
    pages = layout.pages(Slide("T", "", [Text("\n".join(items))]))
    assert len(pages) > 1
    shown = [b.markdown for p in pages for b in p.slide.blocks if isinstance(b, Text)]
    assert "\n".join(shown).split("\n") == items


def test_wide_tables_are_reduced_and_longer_lines_wrapped():
    table = layout.pages(Slide("T", "", [Printed(lines_of(20, width=91))]))
    assert [page.scale < 1 for page in table] == [True]
    one = layout.pages(Slide("T", "", [Printed("x" * 300)]))
    assert [page.scale for page in one] == [layout.SCALES[0]]


def test_figures_fill_a_slide():
    blocks: list[marks.Block] = [Figure("a.svg", "", "c")] * 3
    assert len(layout.pages(Slide("T", "", blocks))) == 3


# The pages


def test_a_deck_shows_the_slides_of_its_tab(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    shared = ["One Thing", "It begins, as x shows", "On slides alone"]
    assert titles(pytorch) == [*shared, "Summary"]
    title = "Said of the figure by (Bee et al., 2009)"
    assert titles(jax) == [*shared, title, "Summary"]
    assert "PyTorch does it." in pytorch.get_text()
    assert "PyTorch" not in " ".join(s.get_text() for s in jax.select("section"))
    assert jax.title and jax.title.string == "One Thing, in JAX – A Made-Up Book"
    assert jax.html and jax.html["lang"] == "en"
    assert not {":label:", ":numref:", "**", "~~", "#@save"} & set(str(jax).split())


def test_notes_hold_the_text_that_is_not_on_the_slide(one: Book):
    notes = [n.get_text() for n in deck(one, "jax").select("aside.notes")]
    assert "It begins, as x shows: and this is said." in notes[0]
    assert "Also (Bee et al., 2009) and One Thing here." in notes[1]
    assert not any("On slides alone" in note for note in notes)
    assert "Do it." in notes[-1]


def test_outputs_figures_and_equations_are_on_the_slides(one: Book):
    pytorch, jax = deck(one, "pytorch"), deck(one, "jax")
    [printed] = pytorch.select(".printed pre")
    assert printed.get_text().strip() == "<b>1</b>"
    data = f"data:image/svg+xml;base64,{base64.b64encode(SVG.encode()).decode()}"
    [plot, figure] = pytorch.select("section img")
    assert plot["src"] == data and plot["alt"] and figure["src"] == data
    assert figure["alt"] == "Two boxes."
    assert pytorch.select('math[display="block"] mtable')
    assert pytorch.select("figcaption math")
    code = [block.get_text() for block in pytorch.select(".highlight")]
    assert code == ["x = 1\nx\n"]
    [front] = pytorch.select(".front")
    assert "Outputs: CPU, PyTorch, 2026-11-21." in front.get_text()
    # There is no record for JAX.
    assert "make run TAB=jax SECTION=one" in jax.select(".front")[0].get_text()
    assert not jax.select(".printed, .plot")


def test_pages_load_only_files_that_exist(one: Book):
    index = decks.build(one)
    for page in [index, *index.parent.glob("*/*.html")]:
        tree = BeautifulSoup(page.read_text("utf-8"), "html.parser")
        files = [t.get("src") or t.get("href") for t in tree.select("script, link, a")]
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
        (":cite:`A.2009` and", ":cite:`B` and", "chapter/one.md:27: 'B' is not in"),
        ("n = 1", r"\frac{n", "cannot convert the equation"),
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
