"""PDFs are tagged, fit their pages and break well; then those of this book."""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pypdf
import pytest
from golden.made_up import MadeUp
from pypdfium2 import PdfDocument
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from book.__main__ import main
from book.base import build_paths
from book.base.paths import TEMPLATES
from book.facts.predictions import Axes
from book.merge import Asked
from book.paper import pdf, terms, writer
from book.paper.writer import TEMPLATE, typeset
from book.runner.errors import BookError
from book.text.book import Book
from book.text.tokens import parse, walk

pytestmark = pytest.mark.xdist_group("a typeset book")
INDEX = """\
# A Made-Up Book

```toc
:numbered:

chapter/one
```
"""
ROOT = Path(__file__).parents[3]
MARGIN, OVERHANG = 51, 8  # points; punctuation and spaces may stand in the margin
HEAD, FOOT = 68, 57  # points above and below the text
Make = Callable[..., Book]


@pytest.fixture
def make_one(make_site_book: Make) -> Callable[[str], Book]:
    """Call it with the text of the only section."""

    def make(text: str) -> Book:
        return make_site_book(INDEX, one=f"# One\n:label:`sec_one`\n\n{text}")

    return make


def pages_of(file: Path) -> list[str]:
    """Return the text of each page; words that are parted at line ends are whole."""
    texts = (page.get_textpage().get_text_bounded() for page in PdfDocument(file))
    return [re.sub(r"\ufffe\s*|\r", "", text) for text in texts]


def text_of(file: Path) -> str:
    return "\n".join(pages_of(file)).replace("\N{NO-BREAK SPACE}", " ")


def lines_of(file: Path) -> list[list[str]]:
    """Return the lines of text on each page, without its head or its number."""
    pages = [[line for line in p.split("\n") if line.strip()] for p in pages_of(file)]
    pages = [lines for lines in pages if len(lines) > 2]
    # A page that begins a chapter has its number below the text, and no head.
    return [lines[:-1] if lines[-1].isdigit() else lines[1:] for lines in pages]


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


def text_beyond_margins(file: Path, margin: int = MARGIN) -> Iterator[str]:
    """Yield the page and the words of each text that is not within the margins."""
    for number, page in enumerate(PdfDocument(file), start=1):
        text, width = page.get_textpage(), page.get_width()
        for place in range(text.count_rects()):
            left, bottom, right, top = text.get_rect(place)
            if left < margin - OVERHANG or right > width - margin + OVERHANG:
                yield f"{number}: {text.get_text_bounded(left, bottom, right, top)}"


def share_of_short_pages(file: Path) -> float:
    """Return the share of pages with text that are less than three quarters full."""
    rooms = []
    for page in PdfDocument(file):
        boxes = [found.get_bounds() for found in page.get_objects()]
        if ends := [bottom for _, bottom, _, top in boxes if top > FOOT]:
            rooms.append((min(ends) - FOOT) / (page.get_height() - HEAD - FOOT))
    return sum(room > 0.25 for room in rooms) / len(rooms)


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


# The made-up book, whose text is in `tests/golden/expected/print`


@pytest.fixture
def printed(made: MadeUp) -> Path:
    return made.pdfs["pytorch"]


def test_the_metadata_name_the_book(printed: Path) -> None:
    reader = pypdf.PdfReader(printed)
    assert reader.metadata is not None
    assert reader.metadata.title == 'A Made-Up "Book" (PyTorch)'
    assert reader.metadata.author == "Nobody"
    assert reader.metadata.subject == "Computing on GPUs with PyTorch"
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
    kinds = [o.type for page in PdfDocument(printed) for o in page.get_objects()]
    # The only one is what a cell drew in pixels.
    assert kinds.count(FPDF_PAGEOBJ_IMAGE) == 1
    assert "queue\nFig. 1.3:" in text_of(printed)


@pytest.mark.parametrize(
    ("tab", "figure"),
    [
        ("pytorch", "text.html?tab=pytorch#fig-queue"),
        ("jax", "outputs.html?tab=jax#fig-shown"),
    ],
)
def test_addresses_are_links(made: MadeUp, tab: str, figure: str) -> None:
    reader = pypdf.PdfReader(made.pdfs[tab])
    annotations = (a.get_object() for p in reader.pages for a in p.get("/Annots", []))
    actions = [a.get("/A", {}) for a in annotations]
    addresses = {action["/URI"] for action in actions if "/URI" in action}
    assert f"https://example.org/made-up/chapter/{figure}" in addresses
    assert "https://example.org/roofline" in addresses


def test_a_book_is_the_same_bytes_on_each_run(make_one: Callable[[str], Book]) -> None:
    book = make_one("Text, $x$.\n\n![A picture.](../img/a.svg)\n")
    file = pdf.build(book, "jax")
    first = file.read_bytes()
    file.unlink()
    assert pdf.build(book, "jax").read_bytes() == first


LONG_CODE = "\n\n".join(
    f"def long_{n}():\n" + "\n".join(f"    step_{n}_{k}()" for k in range(2 + n % 5))
    for n in range(40)
)
LONG = "".join(
    f"```{{.python .input}}\n%%tab {tab}\n{code}\n```\n\n"
    for tab, code in (("pytorch", "import torch"), ("jax", LONG_CODE))
)


@pytest.fixture
def long(make_one: Callable[[str], Book]) -> Path:
    """Return the PDF of a book with long code."""
    return pdf.build(make_one(LONG), "jax")


def test_the_head_of_a_page_names_what_goes_on(long: Path) -> None:
    pages = [page.split("\n") for page in pages_of(long) if "step_" in page][1:]
    assert len(pages) > 2
    for lines in pages:
        head = " ".join(lines[:2])
        # Numbers are at the outer edges of left-hand and right-hand pages.
        left, right = (re.search(edge, head) for edge in (r"^(\d+) One", r"One (\d+)$"))
        number = left or right
        assert number and int(number[1]) % 2 == (1 if right else 0), head


def test_what_readers_predict_is_written_with_signs() -> None:
    assert typeset("2^30 of 4 x 16?") == "2³⁰ of 4 × 16?"
    assert typeset("f(2x)") == "f(2x)"


def test_a_line_to_draw_has_empty_axes() -> None:
    answers = (("Output", "20 ms"),)
    fields = [Asked(name, "ms", answers) for name in ("1", "2", "4")]
    assert writer.board(fields, Axes(10, 1000, "n of #it")) == (
        r'board(((0.000, "10"), (0.500, "100"), (1.000, "1000"), ), '
        r"([1], [2], [4], ), [ms], [n of \#it]), "
    )


def test_the_code_of_a_prediction_does_not_stick_to_what_follows(made: MadeUp) -> None:
    folder = made.root / build_paths.TYPST / made.pdfs["pytorch"].stem
    text = (folder / "main.typ").read_text("utf-8")
    found = re.findall(r"^#predict\(.*\n#code\((.*)\)$", text, re.MULTILINE)
    assert found and not [code for code in found if "sticky" in code]
    assert "sticky: true" in text and "#answers[" in text


def test_the_index_has_each_term_once(make_one: Make) -> None:
    words = "*Gate*, *gates*, *Two words*, *two words*, *L2 store*, *an item*."
    text = text_of(pdf.build(make_one(f"{words}\n\n*gate*"), "jax"))
    index = text[text.rindex("Index") :].split("\n")
    entries = {line.partition(",")[0] for line in index if re.search(r", \d", line)}
    assert entries == {"gate", "two words", "L2 store"}


def test_the_index_has_families_and_synonyms(make_one: Make) -> None:
    book = make_one("*shared memory*, *local memory*, *far memory*, *part of memory*.")
    config = book.root / "config.ini"
    text = config.read_text("utf-8")
    see = "[pdf]\nsee = scratchpad: shared memory, nothing: no term"
    config.write_text(text.replace("[pdf]", see, 1), "utf-8")
    text = text_of(pdf.build(Book(book.root), "jax"))
    index = re.sub(r" *\n", "\n", text[text.rindex("Index") :])
    assert "\nmemory\nfar, 3\nlocal, 3\nshared, 3\nP\npart of memory, 3\n" in index
    assert "\nscratchpad, see shared memory\n" in index
    assert "nothing" not in index


def test_the_index_has_the_places_that_mention_a_name_most_often() -> None:
    pages = [parse("Once Gate. " * (1 + n % 3)) for n in range(12)]
    terms.mark_names(pages, ["Gate"])
    marked = [any("entries" in t.meta for t in walk(page)) for page in pages]
    # Those with one mention come last, and later ones before earlier ones.
    assert marked == [n % 3 > 0 for n in range(12)]


def test_a_table_has_no_columns_of_other_frameworks(make_one: Make) -> None:
    table = "| Task | PyTorch | JAX |\n|:--|:--|--:|\n| wait | sync `a` | block `b` |\n"
    text = text_of(pdf.build(make_one(f"Before.\n\n{table}\nAfter."), "jax"))
    assert "Task JAX" in text and "block b" in text
    assert "sync" not in text


def test_the_cells_of_a_row_begin_at_the_same_height(make_one: Make) -> None:
    row = f"| Short cell here | {'Long text of a cell ' * 30} |\n"
    table = f":Rows\n\n| a | b |\n|:--|:--|\n{row * 4}:label:`tab_a`\n"
    text = f"{'Words. ' * 90}\n\n{table}\n{'Words. ' * 90}"
    pages = list(PdfDocument(pdf.build(make_one(text), "jax")))
    words = next(w for p in pages if box_of(w := p.get_textpage(), "Short"))
    left, _, _, top = box_of(words, "Short")
    other, _, _, other_top = box_of(words, "Long")
    assert abs(top - other_top) < 2
    # The longer text has more room.
    assert other - left < 0.4 * (pages[0].get_width() - 2 * MARGIN)


def test_the_points_of_numbers_are_below_each_other(make_one: Make) -> None:
    rows = "".join(f"| row | {n} |\n" for n in ("8.0", "17.125", "4.25", ""))
    book = make_one(f"| a | b |\n|:--|--:|\n{rows}")
    *_, page = PdfDocument(pdf.build(book, "jax"))
    words = page.get_textpage()
    starts = (words.search(number).get_next()[0] for number in ("8.0", "17.1", "4.2"))
    points = [
        words.get_charbox(s + p)[0] for s, p in zip(starts, (1, 2, 1), strict=True)
    ]
    assert max(points) - min(points) < 0.5


def box_of(words: Any, word: str) -> tuple[float, ...]:
    """Return the left, bottom, right and top of the first letter of a word, if any."""
    found = words.search(word).get_next()
    return words.get_charbox(found[0]) if found else ()


@pytest.mark.parametrize(("paper", "size"), [("book", (540, 666)), ("a4", (595, 842))])
def test_the_size_of_the_pages_is_a_setting(
    make_one: Make, paper: str, size: tuple[int, int]
) -> None:
    book = make_one("Words. " * 900)
    file = pdf.build(with_paper(book, paper), "jax")
    assert {tuple(map(round, page.get_size())) for page in PdfDocument(file)} == {size}
    margin = 79 if paper == "a4" else MARGIN
    assert list(text_beyond_margins(file, margin)) == []


def test_an_unknown_paper_is_an_error(make_one: Make) -> None:
    message = "^config.ini: unknown paper 'a3'; choose from book, a4$"
    with pytest.raises(BookError, match=message):
        pdf.build(with_paper(make_one("Words."), "a3"), "jax")


def with_paper(book: Book, paper: str) -> Book:
    """Return the book with a size of its printed pages."""
    config = book.root / "config.ini"
    text = config.read_text("utf-8")
    config.write_text(text.replace("[pdf]", f"[pdf]\npaper = {paper}", 1), "utf-8")
    return Book(book.root)


# The functions of the template


@pytest.fixture
def typeset_calls(make_one: Make, tmp_path: Path) -> Callable[[str], Path]:
    """Call it with calls of the template; it returns their PDF."""
    book, folder = make_one("Words."), tmp_path / "calls"
    folder.mkdir()
    for name in TEMPLATE:
        shutil.copy(TEMPLATES / name, folder)

    def make(calls: str) -> Path:
        start = '#import "book.typ": *\n#show: book.with(name: "A", framework: "JAX")\n'
        text = f'{start}#head(1, number: "1")[One]\n{calls}'
        (folder / "main.typ").write_text(text, "utf-8")
        # In a process of its own: Typst has threads, which a fork would not have.
        pdf._typeset(book, folder)
        return folder / pdf.MADE

    return make


def test_output_that_is_a_little_too_wide_does_not_fold(
    typeset_calls: Callable[[str], Path],
) -> None:
    rows = ["word " * (n // 5 - 1) + "last" for n in (90, 105, 130)]
    file = typeset_calls("\n".join(f'#output("{row}")' for row in rows))
    lines = [line for page in pages_of(file) for line in page.split("\n")]
    folds = [len(line) for line in lines if line.strip().endswith("last")]
    assert folds[0] > 80 and folds[1] > 100 and folds[2] < 60
    assert list(text_beyond_margins(file)) == []


def test_few_lines_of_answers_are_not_alone_on_a_page(
    typeset_calls: Callable[[str], Path],
) -> None:
    for count in 79, 82, 85:  # a few more than fit on two pages in full size
        body = "\n\n".join(f"Answer {n}." for n in range(count))
        [*_, last] = pages_of(typeset_calls(f"#answers[\n{body}\n]\n"))
        assert last.count("Answer ") > 30
    body = "\n\n".join(f"Answer {n}." for n in range(88))
    [*_, last] = pages_of(typeset_calls(f"#answers[\n{body}\n]\n"))
    assert last.count("Answer ") < 30  # no smaller than can be read


# Breaks


def test_a_lead_in_is_on_the_page_of_its_table(make_one: Make) -> None:
    parts = [
        f"Lead{n}:\n\n| a | b |\n|:--|:--|\n" + f"| row{n}. | 1 |\n" * 4
        for n in range(36)
    ]
    pages = pages_of(pdf.build(make_one(("\n" + "Text.\n\n" * 3).join(parts)), "jax"))
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
    lines = [
        line for page in lines_of(pdf.build(make_one(text), "jax")) for line in page
    ]
    assert "\n".join(lines).count("enabled=False") == 59
    assert "\n".join(lines).count("Y.cpu()") == 59
    broken = [line for line in lines if re.search(r"torch[\w.(]*$", line)]
    assert broken and all(line[-1] in "._(" for line in broken)


def test_a_heading_with_a_short_text_is_on_the_page_of_what_follows(
    make_one: Make,
) -> None:
    code = "```{.python .input}\n%%tab jax\n" + "f()\n" * 8 + "```\n"
    long = ", which fills one line of a page nearly to its end"  # but is short
    parts = [
        f"{'Words. ' * (20 + 9 * (n % 5))}\n\n## Part {n}\n\nQuestion {n}{long}.\n\n"
        f"Answer {n}{long}.\n\n{code}"
        for n in range(24)
    ]
    for page in lines_of(pdf.build(make_one("\n".join(parts)), "jax")):
        assert not re.match(r"Question|Answer|1\.1\.\d", page[-1]), page[-1]


def test_an_item_is_on_the_page_of_the_code_below_it(make_one: Make) -> None:
    code = "```{.python .input}\n%%tab jax\nf()\n```\n"
    parts = [
        f"{n}. Item {n} is here.\n\n{'Words. ' * 9}\n\n" * (n % 3)
        + f"1. Do {n}.\n\n{code}"
        for n in range(60)
    ]
    pages = lines_of(pdf.build(make_one("\n".join(parts)), "jax"))
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
    last_lines = [
        page[-1] for page in lines_of(pdf.build(make_one("\n".join(parts)), "jax"))
    ]
    assert len(last_lines) > 6
    assert not [line for line in last_lines if line.rstrip().endswith(":")]


def test_no_page_ends_with_the_first_line_of_a_definition(long: Path) -> None:
    pages = [page for page in lines_of(long) if "step_" in "".join(page)]
    assert len(pages) > 2
    for page in pages:
        assert not page[-1].strip().startswith("def "), page[-1]


def test_no_line_of_a_listing_is_alone_on_a_page(make_one: Make) -> None:
    code = "\n\n".join([f"import_{n}" for n in range(9)] + ["last_" + "x" * 9])
    cell = f"```{{.python .input}}\n%%tab jax\n{code}\n```\n\n"
    parts = [f"{'Words. ' * (30 + 17 * (n % 9))}\n\n{cell}" for n in range(30)]
    torn = 0
    for page in lines_of(pdf.build(make_one("".join(parts)), "jax")):
        mark = page.pop(0) if page[0].endswith("continued") else ""
        are_code = [line.startswith(("import_", "last_")) for line in page]
        for side in (are_code, are_code[::-1]):
            count = side.index(False) if False in side else len(side)
            assert count != 1, page
        if are_code[0] and not page[0].startswith("import_0"):
            torn += 1
            assert re.fullmatch(r"1\.\d+, continued", mark), page[0]
        else:
            assert not mark
    assert torn > 2


def test_a_table_with_a_number_floats(make_one: Make) -> None:
    parts = [
        f"Before{n}. {'Words. ' * 60}\n\n:Rows\n\n| a | b |\n|:--|:--|\n"
        + f"| row{n}. | 1 |\n" * 14
        + f":label:`tab_{n}`\n\nAfter{n}. {'Words. ' * (60 + n % 5)}\n\n"
        for n in range(12)
    ]
    pages = pages_of(pdf.build(make_one("".join(parts)), "jax"))

    def page_of(word: str) -> int:
        return next(n for n, page in enumerate(pages) if word in page)

    # Text goes on where the table does not fit.
    assert any(page_of(f"After{n}.") < page_of(f"row{n}.") for n in range(12))
    for n in range(12):
        assert sum(f"row{n}." in page for page in pages) == 1


def test_a_unit_is_not_parted(make_one: Make) -> None:
    text = "".join(
        f"{'a' * (n % 9)} {'word ' * (n % 13)}67 TFLOP/s here, {'word ' * 9}\n\n"
        for n in range(60)
    )
    assert text_of(pdf.build(make_one(text), "jax")).count("TFLOP/s") == 60


def test_code_in_a_table_fits_its_column(make_one: Callable[[str], Book]) -> None:
    code = "`config.experimental(memory_of['processes_in_use_by_others']=value_of_it)`"
    head = "| a | b | c | d | e |\n|:--|:--|:--|:--|:--|\n"
    row = f"| row | {code} | {code} | {code} | {code} |\n"
    assert (
        list(text_beyond_margins(pdf.build(make_one(f"{head}{row * 3}"), "jax"))) == []
    )


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$$x = \\nonsense{n}$$", r"cannot convert the equation 'x = \\nonsense\{n\}'"),
        (f"$$x = {'yz + ' * 40}1$$", "too wide for the page; break the equation"),
        ("Between\n漢 both.", "no '漢' in the font Libertinus Serif; use another char"),
        ("```\na\n漢\n```", "no '漢' in the font DejaVu Sans Mono; use another"),
        ("![A.](../img/bad.svg)", "the picture is damaged: failed to parse SVG"),
        ("![A.](../img/odd.svg)", "no '漢' in the font "),
    ],
)
def test_an_error_names_the_line_and_the_old_pdf_stays(
    make_one: Make, text: str, message: str
) -> None:
    book = make_one("Words.")
    (book.root / "img/bad.svg").write_text("<svg width='1' height='1' <", "utf-8")
    odd = "<svg xmlns='http://www.w3.org/2000/svg' width='99' height='99'>"
    odd += "<text x='9' y='30' font-family='Roboto'>漢</text></svg>"
    (book.root / "img/odd.svg").write_text(odd, "utf-8")
    good = pdf.build(book, "jax")
    before, page = good.read_bytes(), book.root / "chapter/one.md"
    whole = f"{page.read_text('utf-8')}\n\n{text}\n"
    page.write_text(whole, "utf-8")
    line = whole.split("漢" if "漢" in text else text)[0].count("\n") + 1
    with pytest.raises(
        BookError, match=rf"^chapter/one\.md:{line}: {message}"
    ) as error:
        pdf.build(Book(book.root), "jax")
    assert "\n" not in str(error.value)
    assert good.read_bytes() == before

    page.write_text(whole.replace(text, "Corrected."), "utf-8")
    assert "Corrected." in text_of(pdf.build(Book(book.root), "jax"))


def test_a_process_that_is_ended_is_reported(
    make_one: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "_compile", lambda folder, results: None)
    with pytest.raises(BookError, match="^make pdf: Typst was ended; it may need more"):
        pdf.build(make_one("Words."), "jax")


def test_an_unknown_tab_is_an_error(
    make_one: Callable[[str], Book], capsys: pytest.CaptureFixture[str]
) -> None:
    make_one("Words.")
    assert main(["pdf", "--tab", "nope"]) == 1
    message = capsys.readouterr().err
    assert message == "error: TAB: unknown tab 'nope'; choose from pytorch, jax\n"


# The real book


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_an_edition_of_this_book_is_a_book(
    tab: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["pdf", "--tab", tab]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert list(text_beyond_margins(file)) == []
    fonts = fonts_of(pypdf.PdfReader(file))
    assert fonts and all(fonts.values()), fonts
    text = text_of(file)
    assert not re.search("[ﬀﬁﬂﬃﬄ]", text)
    assert not re.search(r"\( [a-z]", text)
    assert share_of_short_pages(file) < 0.08
    # No heading stands alone at the foot of a page.
    titles = {entry.get_title() for entry in PdfDocument(file).get_toc()}
    lasts = [page[-1].replace("\N{NO-BREAK SPACE}", " ") for page in lines_of(file)]
    assert len(titles) > 200 and [last for last in lasts if last in titles] == []
