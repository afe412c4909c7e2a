"""A small book is typeset with Typst, and its PDF is checked; then the real one."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pypdf
import pytest
from nbformat.v4 import new_output
from pypdfium2 import PdfDocument

from book.__main__ import main
from book.base.errors import BookError
from book.merge import Run, TabView
from book.paper import pdf
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import TAB_NAMES

INDEX = """\
# A Made-Up Book on Nothing

What this book is about.

[Press the button.]{.web}

![Unnumbered.](img/queue.svg)

## How to Read It

Begin with :numref:`sec_one`.

```toc
:maxdepth: 2
:numbered:

chapter/index
chapter/references
```
"""
CHAPTER = """\
# The Chapter
:label:`chap_made_up`

It has one section.

```toc
:maxdepth: 1

one
```
"""
ONE = """\
# One & Half-Way
:label:`sec_one`

By :eqref:`eq_time`, :numref:`fig_a` and :cite:`Williams.2009`, α → β. See [a page](https://example.com/a_b).

![Two devices.](../img/queue.svg)
:label:`fig_a`

$$t = \\frac{n}{B}$$
:eqlabel:`eq_time`

:begin_tab:`pytorch`
Text for PyTorch alone.
:end_tab:

```{.python .input}
%%tab pytorch
import torch
```

```{.python .input}
%%tab jax
import jax
```

| Short | Long |
|:--|:--|
| one | LONG |

1. First.
2. Second, of $n$ B.

   > Quoted *#strong[words]*, 1\\. `a_b` and -- so on.

```bash
make pdf
```

(~~Only on slides.~~)

Between.

```{.python .input .varies}
%%tab all
shared()
```
""".replace("LONG", "words that go on and on " * 8)
REFERENCES = "# References\n\n:bibliography:`../refs.bib`\n"
WIDE = "│" + "x" * 89 + "│"  # as wide as the table of nvidia-smi
UNBROKEN = "y" * 300
PRINTED = "\n".join(["┌─┐ \\alpha <b> 100% $x$ #x", WIDE, UNBROKEN, *"abc" * 40])
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="90">'
    '<text x="1" y="20" font-family="system-ui">drawn</text></svg>'
)
ROOT = Path(__file__).parents[3]
MARGIN, OVERHANG = 79, 8  # points; punctuation and spaces may stand in the margin
Make = Callable[..., Book]


def shown(book: Book, section: Section, tab: str) -> TabView | None:
    """Return the view of a tab, in which the cell `shared()` ran on two machines."""
    blocks = book.blocks(section, tab)
    runs = {}
    for cell in book.cells(section, tab):
        printed = {"cpu": PRINTED, "h200": "eight GPUs"}
        both = [
            Run((machine,), [new_output("stream", name="stdout", text=text)])
            for machine, text in printed.items()
        ]
        runs[cell.number] = both if cell.code == "shared()" else []
    cpu = {"machine": "cpu", "title": "CPU", "framework_version": "1", "installs": "2"}
    makers = [cpu, {"machine": "h200", "title": "H200"}]
    return TabView(tab, blocks, runs, makers if runs else []) if blocks else None


def build(book: Book, tab: str | None = None) -> Path:
    return pdf.build(book, tab, functools.partial(shown, book))


@pytest.fixture
def make_printed_book(make_site_book: Make) -> Make:
    def make(**sections: str) -> Book:
        texts = {"index": CHAPTER, "one": ONE, "references": REFERENCES} | sections
        front = texts.pop("front", INDEX)
        chapters = {k: v for k, v in texts.items() if k != "index"}
        book = make_site_book(front, **chapters)
        (book.root / "chapter/index.md").write_text(texts["index"], "utf-8")
        (book.root / "img/queue.svg").write_text(FIGURE, "utf-8")
        return Book(book.root)

    return make


@pytest.fixture
def make_one(make_printed_book: Make) -> Callable[[str], Book]:
    """Call it with the text of the only section."""

    def make(text: str) -> Book:
        return make_printed_book(one=f"# One\n:label:`sec_one`\n\n{text}")

    return make


def pages_of(file: Path) -> list[str]:
    """Return the text of each page; words that are parted at line ends are whole."""
    texts = (page.get_textpage().get_text_bounded() for page in PdfDocument(file))
    return [re.sub(r"\ufffe\s*|\r", "", text) for text in texts]


def text_of(file: Path) -> str:
    return "\n".join(pages_of(file)).replace("\N{NO-BREAK SPACE}", " ")


def lines_of(file: Path) -> list[list[str]]:
    """Return the lines of text on each page, without its head and its number."""
    pages = [[line for line in p.split("\n") if line.strip()] for p in pages_of(file)]
    return [lines[1:-1] for lines in pages if len(lines) > 2]


def titles_of(file: Path) -> list[str]:
    return [entry.get_title() for entry in PdfDocument(file).get_toc()]


def links_of(file: Path) -> list[str]:
    """Return the addresses to which links lead."""
    return [
        a.get_object()["/A"]["/URI"]
        for page in pypdf.PdfReader(file).pages
        for a in page.get("/Annots", [])
        if "/URI" in a.get_object().get("/A", {})
    ]


def tags_of(reader: pypdf.PdfReader) -> tuple[Counter[str], Counter[str]]:
    """Return how often a PDF has each tag, and each tag with a description."""
    tags, described = Counter[str](), Counter[str]()
    rest: list[Any] = [reader.root_object["/StructTreeRoot"]]
    while rest:
        node = rest.pop().get_object()
        if isinstance(node, list):
            rest += node
        elif isinstance(node, dict):
            tags[str(node.get("/S"))] += 1
            described[str(node.get("/S"))] += "/Alt" in node
            rest += [node["/K"]] if "/K" in node else []
    return tags, described


def text_beyond_margins(file: Path) -> Iterator[str]:
    """Yield the page and the words of each text that is not within the margins."""
    for number, page in enumerate(PdfDocument(file), start=1):
        text, width = page.get_textpage(), page.get_width()
        for place in range(text.count_rects()):
            left, bottom, right, top = text.get_rect(place)
            if left < MARGIN - OVERHANG or right > width - MARGIN + OVERHANG:
                yield f"{number}: {text.get_text_bounded(left, bottom, right, top)}"


def fonts_of(reader: pypdf.PdfReader) -> dict[str, bool]:
    """Return each font of the pages and figures; True if it is embedded."""
    found: dict[str, bool] = {}

    def collect(resources: Any) -> None:
        for font in resources.get("/Font", {}).values():
            font = font.get_object()
            inner = font.get("/DescendantFonts", [font])[0].get_object()
            descriptor = inner["/FontDescriptor"].get_object()
            files = {"/FontFile", "/FontFile2", "/FontFile3"} & set(descriptor)
            found[font["/BaseFont"]] = bool(files)
        for form in resources.get("/XObject", {}).values():
            if "/Resources" in form.get_object():
                collect(form.get_object()["/Resources"].get_object())

    for page in reader.pages:
        collect(page["/Resources"].get_object())
    return found


# A book with a bit of everything


@pytest.fixture(scope="module")
def printed_books() -> dict[str, Book]:
    return {}


@pytest.fixture
def printed(make_printed_book: Make, printed_books: dict[str, Book]) -> Path:
    """Return the PDF of a book that is typeset once for all tests that only read it."""
    if not printed_books:
        book = make_printed_book()
        assert build(book) == book.root / "_build/pdf/made-up.pdf"
        printed_books["printed"] = book
    return printed_books["printed"].root / "_build/pdf/made-up.pdf"


def test_a_pdf_has_the_whole_text(printed: Path) -> None:
    text = text_of(printed)
    # Headings of the first page have no numbers, and its sections are in chapters.
    assert titles_of(printed) == [
        *("Contents", "Preface", "How to Read It", "1 The Chapter"),
        *("1.1 One & Half-Way", "References", "Index"),
    ]
    assert all(page.strip() for page in pages_of(printed))
    # Both tabs appear under their labels, and both machines under their names.
    assert text.index("import torch") > text.index("PyTorch")
    assert text.index("JAX") < text.index("import jax")
    assert "Your output may differ, here and below." in text
    assert text.index("H200", text.index(WIDE)) < text.index("eight GPUs")
    assert "button" not in text and "slides" not in text
    assert "α → β" in text and "Fig. 1: Unnumbered." in text
    assert "Quoted #strong[words], 1. a_b and – so on." in text
    # Outputs are complete.
    assert WIDE in text and "┌─┐ \\alpha <b> 100% $x$ #x" in text
    assert text.count("y") >= len(UNBROKEN)


def test_the_origin_of_outputs_is_under_the_title(printed: Path) -> None:
    text = text_of(printed)
    assert re.search(r"Way\nPyTorch\s+Outputs: CPU, PyTorch 1; H200, PyTorch\.\n", text)
    assert "Outputs: CPU, JAX 1; H200, JAX." in text
    assert "Made with JAX 1 on CPU; these instructions install 2." in text


def test_references_have_numbers_and_pages(printed: Path) -> None:
    text = " ".join(text_of(printed).split())
    assert re.search(r"Begin with Section 1\.1 \(page \d+\)\.", text)
    assert "By (1.1), Fig. 1.1 and (Williams, 2009)" in text
    assert "Fig. 1.1: Two devices. Interactive in the HTML edition." in text


def test_an_address_is_a_link_and_a_footnote(printed: Path) -> None:
    assert "See a page1." in text_of(printed)
    assert re.search(r"^1 ?https://example\.com/a_b$", text_of(printed), re.MULTILINE)
    assert set(links_of(printed)) == {"https://example.com/a_b"}


def test_the_metadata_name_the_book(printed: Path) -> None:
    reader = pypdf.PdfReader(printed)
    assert reader.metadata is not None
    assert reader.metadata.title == "A Made-Up Book on Nothing"
    assert reader.metadata.author == "Nobody"
    assert reader.metadata.subject == "Computing on GPUs with PyTorch, JAX"
    assert "PyTorch" in str(reader.metadata["/Keywords"])
    assert reader.root_object["/Lang"] == "en"
    assert reader.root_object["/PageLabels"]


def test_a_pdf_is_tagged(printed: Path) -> None:
    reader = pypdf.PdfReader(printed)
    metadata: Any = reader.root_object["/Metadata"].get_object()
    assert re.search(rb"pdfuaid:part[^0-9]*1", metadata.get_data())
    tags, described = tags_of(reader)
    kinds = {"/H1", "/H2", "/TH", "/LI", "/Note", "/Code", "/TOC", "/BlockQuote"}
    assert kinds <= set(tags)
    for kind in ("/Figure", "/Formula"):
        assert tags[kind] == described[kind] > 0


def test_no_text_is_beyond_the_margins(printed: Path) -> None:
    assert list(text_beyond_margins(printed)) == []
    fonts = fonts_of(pypdf.PdfReader(printed))
    assert any("Roboto" in name for name in fonts)
    assert fonts and all(fonts.values()), fonts


def test_figures_are_vector_graphics(printed: Path) -> None:
    pages = pypdf.PdfReader(printed).pages
    assert not [image for page in pages for image in page.images]
    assert "drawn" in text_of(printed)


def test_a_book_is_the_same_bytes_on_each_run(make_printed_book: Make) -> None:
    book = make_printed_book()
    first = build(book).read_bytes()
    assert build(book).read_bytes() == first


# The index and the contents


LONG_CODE = "\n\n".join(
    f"def long_{n}():\n" + "\n".join(f"    step_{n}_{k}()" for k in range(2 + n % 5))
    for n in range(40)
)
TERMS = """\
# One
:label:`sec_one`

A *work queue* is explained. *Work queues* hold tasks, and this is *not* stressed.
Call `torch.cuda.synchronize(device)`, or see *One*.

| a | b |
|:--|:--|
| `torch.cuda.synchronize` | `x.y` |

```{.python .input}
%%tab jax
class Saved:  #@save
    pass

class Unnamed:  #@save
    pass

@d2l.add_to_class(Saved)  #@save
def method():
    pass
```

```{.python .input}
%%tab pytorch
import torch
```

```{.python .input}
%%tab jax
CODE
```
""".replace("CODE", LONG_CODE)


@pytest.fixture(scope="module")
def typeset_terms() -> dict[str, Path]:
    return {}


@pytest.fixture
def terms(make_printed_book: Make, typeset_terms: dict[str, Path]) -> dict[str, Path]:
    """Return the PDFs of a book with terms and long code: all tabs, and only JAX."""
    if not typeset_terms:
        mention = CHAPTER.replace("one section.", "`d2l.Saved` and `method`.")
        figure = "\n![A queue.](../img/queue.svg)\n:label:`fig_a`\n"
        config = make_printed_book(index=mention, one=TERMS + figure).root
        config /= "config.ini"
        text = config.read_text("utf-8").replace("[pdf]\n", "[pdf]\nstressed = not\n")
        config.write_text(f"{text}\n[publish]\nsite = https://example.org/gpus/\n")
        book = Book(config.parent)
        typeset_terms.update({"all": build(book), "jax": build(book, "jax")})
    return typeset_terms


def test_the_index_has_terms_names_and_definitions(terms: dict[str, Path]) -> None:
    assert titles_of(terms["all"])[-1] == "Index"
    entries = pages_of(terms["all"])[-1] + "\n"
    assert re.search(r"^work queue, \d+$", entries, re.MULTILINE)
    assert re.search(r"^torch\.cuda\.synchronize, \d+$", entries, re.MULTILINE)
    assert entries.count("synchronize") == 1 and "queues" not in entries
    assert re.search(r"^d2l\.Saved, \d+$", entries, re.MULTILINE)
    assert not re.search(r"\bnot,|\bOne,|\bx\.y|Unnamed|method", entries)


def test_the_imprint_has_the_address_of_the_site(terms: dict[str, Path]) -> None:
    text = text_of(terms["all"])
    assert "The HTML edition is at https://example.org/gpus/" in text


def test_interactive_figures_link_to_the_site(terms: dict[str, Path]) -> None:
    address = "https://example.org/gpus/chapter/one.html"
    assert f"{address}#fig-a" in links_of(terms["all"])
    assert f"{address}?tab=jax#fig-a" in links_of(terms["jax"])


def test_the_head_of_a_page_names_its_section_and_tab(terms: dict[str, Path]) -> None:
    for name, file in terms.items():
        pages = [page for page in pages_of(file) if "step_20_1" in page]
        [head] = {page.split("\n")[0] for page in pages}
        assert head.startswith("1.1\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}One")
        assert ("JAX, continued" in head) == (name == "all")
        assert ("· JAX" in head) == (name == "jax")


def test_the_contents_are_the_only_list_of_sections(make_printed_book: Make) -> None:
    item = "* :ref:`chap_made_up`. Read it.\n\n  Requires time.\n"
    listed = f"## Groups\n\n### All of It\n\n{item}\n## More\n\nText.\n\n"
    front = INDEX.replace("```toc", f"{listed}```toc", 1)
    below = "* :numref:`sec_one`, an item of the chapter\n\n```toc"
    one = f"{ONE}\n## A Part of One\n\nIt has text.\n"
    book = make_printed_book(
        front=front, index=CHAPTER.replace("```toc", below, 1), one=one
    )
    file = build(book)
    pages = pages_of(file)
    [contents] = [page for page in pages if page.startswith("Contents")]
    assert contents.index("All of It") < contents.index("The Chapter")
    assert "One & Half-Way" in contents and "A Part of One" not in contents
    assert "1.1.1 A Part of One" in titles_of(file)
    [chapter] = [page for page in pages if "1 The Chapter\nReq" in page]
    assert chapter.startswith("All of It\n")
    assert "Requires time.\nIt has one section." in chapter
    text = "\n".join(pages)
    assert text.count("All of It") == 2 and "Groups" in text
    assert "Read it." not in text and "an item of the chapter" not in text


def test_an_edition_has_only_one_tab(make_printed_book: Make) -> None:
    only = "# Two\n:label:`sec_two`\n\n```{.python .input}\n%%tab jax\ntwo()\n```\n"
    index = CHAPTER.replace("\none\n", "\none\ntwo\n")
    book = make_printed_book(index=index, two=only)
    text = text_of(build(book, "pytorch"))

    assert "import torch" in text and "Text for PyTorch alone." in text
    assert "import jax" not in text and "two()" not in text
    assert "This section does not apply to PyTorch." in text
    # The numbers are the same in all editions.
    assert "1.2 Two" in text


# Breaks


def test_a_lead_in_is_on_the_page_of_its_table(make_one: Make) -> None:
    parts = [
        f"Lead{n}:\n\n| a | b |\n|:--|:--|\n" + f"| row{n}. | 1 |\n" * 4
        for n in range(36)
    ]
    pages = pages_of(build(make_one(("\n" + "Text.\n\n" * 3).join(parts))))
    assert sum("Lead" in page for page in pages) > 3
    for n in range(36):
        assert [f"Lead{n}:" in page for page in pages] == [
            f"row{n}." in page for page in pages
        ]


def test_code_is_not_hyphenated_and_breaks_only_if_it_is_long(make_one: Make) -> None:
    text = "".join(
        f"{'a' * (n % 9)} {'word ' * (n % 7)} `enabled=False` and `Y.cpu()` and"
        " `torch.cuda.set_sync_debug_mode('warn')` here.\n\n"
        for n in range(1, 60)
    )
    lines = [line for page in lines_of(build(make_one(text))) for line in page]
    assert "\n".join(lines).count("enabled=False") == 59
    assert "\n".join(lines).count("Y.cpu()") == 59
    broken = [line for line in lines if re.search(r"torch[\w.(]*$", line)]
    assert broken and all(line[-1] in "._(" for line in broken)


def test_a_heading_with_a_short_text_is_on_the_page_of_what_follows(
    make_one: Make,
) -> None:
    code = "```{.python .input}\n%%tab jax\n" + "f()\n" * 8 + "```\n"
    parts = [
        f"{'Words. ' * (20 + 9 * (n % 5))}\n\n## Part {n}\n\nQuestion {n}.\n\n"
        f"Answer {n}.\n\n{code}"
        for n in range(24)
    ]
    for page in lines_of(build(make_one("\n".join(parts)))):
        assert not re.match(r"Question|Answer|1\.1\.\d", page[-1]), page[-1]


def test_an_item_is_on_the_page_of_the_code_below_it(make_one: Make) -> None:
    code = "```{.python .input}\n%%tab jax\nf()\n```\n"
    parts = [
        f"{n}. Item {n} is here.\n\n{'Words. ' * 9}\n\n" * (n % 3)
        + f"1. Do {n}.\n\n{code}"
        for n in range(60)
    ]
    pages = lines_of(build(make_one("\n".join(parts))))
    assert len(pages) > 4
    assert not [page[-1] for page in pages if re.match(r"1\. ?Do \d", page[-1])]


def test_a_text_with_a_colon_is_on_the_page_of_what_it_announces(
    make_one: Make,
) -> None:
    below = ["* item", "```\ncode\n```", "$$x = 1$$", "```{.python .input}\n1\n```"]
    parts = [
        f"{'Words of a long text ' * (18 + n % 4)} announce {n}:\n\n{below[n % 4]}\n"
        for n in range(60)
    ]
    last_lines = [page[-1] for page in lines_of(build(make_one("\n".join(parts))))]
    assert len(last_lines) > 6
    assert not [line for line in last_lines if line.rstrip().endswith(":")]


def test_no_page_ends_with_the_first_line_of_a_definition(
    terms: dict[str, Path],
) -> None:
    pages = [page for page in lines_of(terms["all"]) if "step_" in "".join(page)]
    assert len(pages) > 2
    for page in pages:
        assert not page[-1].strip().startswith("def "), page[-1]


def test_code_in_a_table_fits_its_column(make_one: Make) -> None:
    code = "`config.experimental(memory_of['processes_in_use_by_others']=value_of_it)`"
    row = f"| row | {code} | {code} | {code} | {code} |\n"
    file = build(make_one(f"| a | b | c | d | e |\n|:--|:--|:--|:--|:--|\n{row * 3}"))
    assert list(text_beyond_margins(file)) == []


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$$x = \\nonsense{n}$$", r"cannot convert the equation 'x = \\nonsense\{n\}'"),
        (f"$$x = {'yz + ' * 40}1$$", "too wide for the page; break the equation"),
        ("Between\n漢 both.", "no '漢' in the font Libertinus Serif; use another char"),
        ("```\na\n漢\n```", "no '漢' in the font DejaVu Sans Mono; use another"),
        ("![A.](../img/bad.svg)", "the picture is damaged: failed to parse SVG"),
    ],
)
def test_an_error_names_the_line_and_the_old_pdf_stays(
    make_one: Make, text: str, message: str
) -> None:
    book = make_one("Words.")
    (book.root / "img/bad.svg").write_text("<svg width='1' height='1' <", "utf-8")
    good = build(book)
    before, page = good.read_bytes(), book.root / "chapter/one.md"
    whole = f"{page.read_text('utf-8')}\n\n{text}\n"
    page.write_text(whole, "utf-8")
    line = whole.split("漢" if "漢" in text else text)[0].count("\n") + 1
    with pytest.raises(
        BookError, match=rf"^chapter/one\.md:{line}: {message}"
    ) as error:
        build(Book(book.root))
    assert "\n" not in str(error.value)
    assert good.read_bytes() == before

    page.write_text(whole.replace(text, "Corrected."), "utf-8")
    assert "Corrected." in text_of(build(Book(book.root)))


def test_a_process_that_is_ended_is_reported(
    make_one: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "_compile", lambda folder, results: None)
    with pytest.raises(BookError, match="^make pdf: Typst was ended; it may need more"):
        build(make_one("Words."))


def test_an_unknown_tab_is_an_error(
    make_printed_book: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    make_printed_book()
    assert main(["pdf", "--tab", "nope"]) == 1
    message = capsys.readouterr().err
    assert message == "error: TAB: unknown tab 'nope'; choose from pytorch, jax\n"


# The real book


@pytest.mark.slow
def test_an_edition_of_this_book_is_within_its_margins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["pdf", "--tab", "pytorch"]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert list(text_beyond_margins(file)) == []
    reader = pypdf.PdfReader(file)
    fonts = fonts_of(reader)
    assert fonts and all(fonts.values()), fonts
    assert not re.search("[ﬀﬁﬂﬃﬄ]", text_of(file))


@pytest.mark.slow
def test_the_edition_of_all_frameworks_is_within_its_margins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["pdf"]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert list(text_beyond_margins(file)) == []
    # A page that begins with the label of a tab continues no other tab.
    pages = [page.split("\n") for page in pages_of(file)]
    continued = [lines[1] for lines in pages if ", continued" in lines[0]]
    assert continued and not {*continued} & {*TAB_NAMES.values()}
