"""A small book is typeset with XeLaTeX, and the text of its PDF is checked."""

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdf
import pytest
from nbformat.v4 import new_output

from book.__main__ import main
from book.base.errors import BookError
from book.base.paths import TEMPLATES
from book.merge import Run, TabView
from book.paper import pdf, tex
from book.sources.book import Book
from book.sources.section import Section

pytestmark = pytest.mark.slow
INDEX = """\
# A Made-Up Book on Nothing

What this book is about.

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

Between.

```{.python .input .varies}
%%tab all
shared()
```
""".replace("LONG", "words that go on and on " * 8)
REFERENCES = "# References\n\n:bibliography:`../refs.bib`\n"
WIDE = "│" + "x" * 89 + "│"  # as wide as the table of nvidia-smi
UNBROKEN = "y" * 300
PRINTED = "\n".join(["┌─┐ \\alpha <b> 100% $x$", WIDE, UNBROKEN, *"abc" * 40])
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="90">'
    '<text x="1" y="20" font-family="system-ui">drawn</text></svg>'
)
ROOT = Path(__file__).parents[3]
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
    makers = [{"machine": "cpu", "title": "CPU"}, {"machine": "h200", "title": "H200"}]
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


def text_of(file: Path) -> str:
    pages = [page.extract_text() for page in pypdf.PdfReader(file).pages]
    return "\n".join(pages)


def titles_of(reader: pypdf.PdfReader) -> list[str]:
    def flat(items: list) -> list[str]:
        return [
            t for i in items for t in (flat(i) if isinstance(i, list) else [i.title])
        ]

    return flat(reader.outline)


def log_of(book: Book, name: str = "made-up") -> str:
    return (book.root / f"_build/latex/{name}/pages/{name}.log").read_text("utf-8")


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


@pytest.fixture(scope="module")
def printed_books() -> dict[str, Book]:
    return {}


@pytest.fixture
def printed(make_printed_book: Make, printed_books: dict[str, Book]) -> Book:
    """Return a book that is typeset once for all tests that only read it."""
    if not printed_books:
        book = make_printed_book()
        assert build(book) == book.root / "_build/pdf/made-up.pdf"
        printed_books["printed"] = book
    return printed_books["printed"]


def test_a_pdf_has_the_whole_text(printed: Book) -> None:
    file = printed.root / "_build/pdf/made-up.pdf"
    reader = pypdf.PdfReader(file)
    text = text_of(file)

    assert reader.metadata is not None
    assert reader.metadata.title == "A Made-Up Book on Nothing"
    assert reader.metadata.author == "Nobody"
    assert "PyTorch" in str(reader.metadata["/Keywords"])
    assert reader.root_object["/Lang"] == "en"
    # Headings of the first page have no numbers, and its sections are in chapters.
    assert titles_of(reader) == [
        *("Preface", "1 The Chapter", "1.1 One & Half-Way", "References")
    ]
    assert all(page.extract_text().strip() for page in reader.pages)

    # Both tabs appear under their labels, and both machines under their names.
    assert text.index("import torch") > text.index("PyTorch")
    assert text.index("JAX") < text.index("import jax")
    assert "Your output may differ, here and below." in text
    assert text.index("H200", text.index(WIDE)) < text.index("eight GPUs")
    assert "Interactive in the HTML edition." in text
    assert "https://example.com/a_b" in text
    assert re.search(r"Section 1\.1 \(page \d+\)", text)
    assert "α" in text and "→" in text
    # Outputs are complete.
    assert WIDE in text and "┌─┐ \\alpha <b> 100% $x$" in text
    assert text.count("y") >= len(UNBROKEN)


def test_pages_have_no_overfull_lines_or_missing_glyphs(printed: Book) -> None:
    log = log_of(printed)
    assert "Missing character" not in log
    assert [r for r in re.findall(r"Overfull.*?([\d.]+)pt", log) if float(r) > 1] == []
    fonts = fonts_of(pypdf.PdfReader(printed.root / "_build/pdf/made-up.pdf"))
    assert any("Heros" in name for name in fonts)
    assert fonts and all(fonts.values()), fonts


def test_figures_are_vector_graphics(printed: Book) -> None:
    reader = pypdf.PdfReader(printed.root / "_build/pdf/made-up.pdf")
    assert not [image for page in reader.pages for image in page.images]
    assert "drawn" in text_of(printed.root / "_build/pdf/made-up.pdf")


def test_a_lead_in_is_on_the_page_of_its_table(make_printed_book: Make) -> None:
    parts = [
        f"Lead{n}:\n\n| a | b |\n|:--|:--|\n" + f"| row{n}. | 1 |\n" * 4
        for n in range(24)
    ]
    filled = ("\n" + "Text.\n\n" * 3).join(parts)
    book = make_printed_book(one=f"# One\n:label:`sec_one`\n\n{filled}")
    pages = [page.extract_text() for page in pypdf.PdfReader(build(book)).pages]
    assert sum("Lead" in page for page in pages) > 3
    for n in range(24):
        assert [f"Lead{n}:" in page for page in pages] == [
            f"row{n}." in page for page in pages
        ]


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
        config = make_printed_book(index=mention, one=TERMS).root / "config.ini"
        text = config.read_text("utf-8").replace("[pdf]\n", "[pdf]\nstressed = not\n")
        config.write_text(f"{text}\n[publish]\nsite = https://example.org/gpus/\n")
        book = Book(config.parent)
        typeset_terms.update({"all": build(book), "jax": build(book, "jax")})
    return typeset_terms


def lines_of(file: Path) -> list[list[str]]:
    """Return the lines of text on each page, without its head and its number."""
    pages = [page.extract_text() for page in pypdf.PdfReader(file).pages]
    return [[line for line in p.split("\n") if line.strip()][1:-1] for p in pages]


def test_the_index_has_terms_names_and_definitions(terms: dict[str, Path]) -> None:
    reader = pypdf.PdfReader(terms["all"])
    assert titles_of(reader)[-1] == "Index"
    entries = " ".join(reader.pages[-1].extract_text().split())
    assert re.search(r"\bwork queue, \d+ ", entries)
    assert re.search(r"\btorch\.cuda\.synchronize, \d+ ", entries)
    assert entries.count("synchronize") == 1
    assert re.search(r"\bd2l\.Saved, \d+ ", entries)
    assert not re.search(r"\bnot,|\bOne,|\bx\.y|Unnamed|method", entries)


def test_the_imprint_has_the_address_of_the_site(terms: dict[str, Path]) -> None:
    text = text_of(terms["all"])
    assert "The HTML edition is at https://example.org/gpus/" in text


def test_a_continued_cell_names_its_framework_among_several(
    terms: dict[str, Path],
) -> None:
    several, one = (text_of(terms[name]) for name in ("all", "jax"))
    assert "(JAX, continued from previous page)" in several
    assert "(continued from previous page)" in one
    assert "JAX, continued" not in one


def test_the_head_of_a_page_names_the_tab_within_which_it_begins(
    terms: dict[str, Path],
) -> None:
    for name, file in terms.items():
        for page in pypdf.PdfReader(file).pages:
            head, first, *_ = page.extract_text().split("\n")
            continued = "(JAX, continued from previous page)" in first
            assert ("JAX, continued" in head) == (continued and name == "all"), head
            assert continued or ", continued" not in head


def test_the_contents_are_the_only_list_of_sections(make_printed_book: Make) -> None:
    item = "* :ref:`chap_made_up`. Read it.\n\n  Requires time.\n"
    listed = f"## Groups\n\n### All of It\n\n{item}\n## More\n\nText.\n\n"
    front = INDEX.replace("```toc", f"{listed}```toc", 1)
    below = "* :numref:`sec_one`, an item of the chapter\n\n```toc"
    one = f"{ONE}\n## A Part of One\n\nIt has text.\n"
    book = make_printed_book(
        front=front, index=CHAPTER.replace("```toc", below, 1), one=one
    )
    reader = pypdf.PdfReader(build(book))
    pages = [page.extract_text() for page in reader.pages]
    [contents] = [page for page in pages if page.startswith("Contents")]
    assert contents.index("All of It") < contents.index("The Chapter")
    assert "One & Half-Way" in contents and "A Part of One" not in contents
    assert "A Part of One" in " ".join(titles_of(reader))
    [chapter] = [page for page in pages if page.startswith("1 The Chapter")]
    assert "Requires time.\nIt has one section." in chapter
    text = "\n".join(pages)
    assert text.count("All of It") == 1 and "Groups" in text
    assert "Read it." not in text and "an item of the chapter" not in text


def test_page_numbers_of_four_digits_fit_into_the_contents() -> None:
    preamble = (TEMPLATES / "preamble.tex").read_text("utf-8")
    width = re.search(r"\\@pnumwidth\{([\d.]+)em\}", preamble)
    assert width and float(width[1]) >= 4 * 0.5  # a digit of Pagella has half an em


def test_code_is_not_hyphenated_and_breaks_only_if_it_is_long(
    make_printed_book: Make,
) -> None:
    text = "".join(
        f"{'a' * (n % 9)} {'word ' * (n % 7)} `enabled=False` and `Y.cpu()` and"
        " `torch.cuda.set_sync_debug_mode('warn')` here.\n\n"
        for n in range(1, 60)
    )
    book = make_printed_book(one=f"# One\n:label:`sec_one`\n\n{text}")
    lines = [line for page in lines_of(build(book)) for line in page]
    assert "\n".join(lines).count("enabled=False") == 59
    assert "\n".join(lines).count("Y.cpu()") == 59
    assert not [line for line in lines if line.endswith("-")]
    broken = [line for line in lines if re.search(r"torch[\w.(]*$", line)]
    assert broken and all(line[-1] in "._(" for line in broken)
    assert "Underfull \\hbox (badness 10000)" not in log_of(book)


def test_a_heading_with_a_short_text_is_on_the_page_of_what_follows(
    make_printed_book: Make,
) -> None:
    code = "```{.python .input}\n%%tab jax\n" + "f()\n" * 8 + "```\n"
    parts = [
        f"{'Words. ' * (20 + 9 * (n % 5))}\n\n## Part {n}\n\nQuestion {n}.\n\n"
        f"Answer {n}.\n\n{code}"
        for n in range(24)
    ]
    filled = "\n".join(parts)
    book = make_printed_book(one=f"# One\n:label:`sec_one`\n\n{filled}")
    for page in lines_of(build(book)):
        if page:
            assert not re.match(r"Question|Answer|1\.1\.\d", page[-1]), page[-1]


def test_an_item_is_on_the_page_of_the_code_below_it(make_printed_book: Make) -> None:
    code = "```{.python .input}\n%%tab jax\nf()\n```\n"
    parts = [
        f"{n}. Item {n} is here.\n\n{'Words. ' * 9}\n\n" * (n % 3)
        + f"1. Do {n}.\n\n{code}"
        for n in range(60)
    ]
    filled = "\n".join(parts)
    book = make_printed_book(one=f"# One\n:label:`sec_one`\n\n{filled}")
    pages = [page for page in lines_of(build(book)) if page]
    assert len(pages) > 4
    assert not [page[-1] for page in pages if re.match(r"1\. Do \d", page[-1])]


def test_no_page_ends_with_the_first_line_of_a_definition(
    terms: dict[str, Path],
) -> None:
    pages = [page for page in lines_of(terms["all"]) if "step_" in "".join(page)]
    assert len(pages) > 2
    for page in pages:
        code = [line for line in page if "page)" not in line]
        assert not code[-1].strip().startswith("def "), code[-1]
        assert code[0].strip()


def test_a_text_with_a_colon_is_on_the_page_of_what_it_announces(
    make_printed_book: Make,
) -> None:
    below = ["* item", "```\ncode\n```", "$$x = 1$$", "```{.python .input}\n1\n```"]
    parts = [
        f"{'Words of a long text ' * (18 + n % 4)} announce {n}:\n\n{below[n % 4]}\n"
        for n in range(40)
    ]
    filled = "\n".join(parts)
    book = make_printed_book(one=f"# One\n:label:`sec_one`\n\n{filled}")
    last_lines = [page[-1] for page in lines_of(build(book)) if page]
    assert len(last_lines) > 6
    assert not [line for line in last_lines if line.rstrip().endswith(":")]


def test_code_in_a_table_fits_its_column(make_printed_book: Make) -> None:
    code = "`config.experimental(memory_of['processes_in_use_by_others']=value_of_it)`"
    row = f"| row | {code} | {code} | {code} | {code} |\n"
    table = f"| a | b | c | d | e |\n|:--|:--|:--|:--|:--|\n{row * 3}"
    text = text_of(build(make_printed_book(one=f"# One\n:label:`sec_one`\n\n{table}")))
    assert "config.experimental(" in text


def test_an_edition_has_only_one_tab(make_printed_book: Make) -> None:
    only = "# Two\n:label:`sec_two`\n\n```{.python .input}\n%%tab jax\ntwo()\n```\n"
    index = CHAPTER.replace("\none\n", "\none\ntwo\n")
    book = make_printed_book(index=index, two=only)
    text = text_of(build(book, "pytorch"))

    assert "import torch" in text and "Text for PyTorch alone." in text
    assert "import jax" not in text and "two()" not in text
    assert "This section does not apply to PyTorch." in text
    # The numbers are the same in all editions.
    assert "1.2" in text and "Two" in text


def test_an_edition_of_this_book_has_no_warnings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["pdf", "--tab", "pytorch"]) == 0
    file = Path(capsys.readouterr().out.strip())
    name = file.stem
    log = (ROOT / f"_build/latex/{name}/pages/{name}.log").read_text("utf-8")
    assert list(tex.find_warnings(log)) == []
    fonts = fonts_of(pypdf.PdfReader(file))
    assert fonts and all(fonts.values()), fonts


def test_interactive_figures_link_to_the_site(make_printed_book: Make) -> None:
    book = make_printed_book()
    config = book.root / "config.ini"
    config.write_text(
        config.read_text("utf-8") + "\n[publish]\nsite = https://example.org/gpus/\n"
    )
    reader = pypdf.PdfReader(build(Book(book.root), "jax"))
    links = [
        a.get_object()["/A"]["/URI"]
        for page in reader.pages
        for a in page.get("/Annots", [])
        if "/URI" in a.get_object().get("/A", {})
    ]
    assert "https://example.org/gpus/chapter/one.html?tab=jax#fig-a" in links


def test_an_error_is_reported_in_one_line_and_the_next_run_works(
    make_printed_book: Make,
) -> None:
    book = make_printed_book()
    good = build(book)
    before = good.read_bytes()
    page = book.root / "chapter/one.md"
    text = page.read_text("utf-8")

    page.write_text(text.replace("\\frac{n}{B}", "\\nonsense{n}"), "utf-8")
    line = text.split("\\frac")[0].count("\n") + 1
    with pytest.raises(BookError, match=rf"one\.md:{line}: Undefined control sequence"):
        build(Book(book.root))
    assert good.read_bytes() == before

    page.write_text(text.replace("Between.", "Between 漢 both."), "utf-8")
    with pytest.raises(BookError, match=r"chapter/one\.md:\d+: no '漢' in the font"):
        build(Book(book.root))

    page.write_text(text.replace("Between.", "Corrected."), "utf-8")
    assert "Corrected." in text_of(build(Book(book.root)))


def test_a_missing_tool_names_the_command_that_installs_it(
    make_printed_book: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name: None if name == "xelatex" else which(name)
    )
    with pytest.raises(BookError) as error:
        build(make_printed_book())
    message = str(error.value)
    assert message.startswith("not installed: xelatex; ") and "\n" not in message


def test_an_unknown_tab_is_an_error(
    make_printed_book: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    make_printed_book()
    assert main(["pdf", "--tab", "nope"]) == 1
    message = capsys.readouterr().err
    assert message == "error: TAB: unknown tab 'nope'; choose from pytorch, jax\n"


def test_problems_are_found_in_the_log() -> None:
    log = "\n".join(
        [
            "Overfull \\hbox (12.5pt too wide) in paragraph at lines 7--9",
            "Overfull \\vbox (0.5pt too high) has occurred while \\output is active []",
            "Missing character: There is no 漢 (U+6F22) in font DejaVu Serif/OT:x;y!",
            "LaTeX Warning: Reference `a:b' on page 1 undefined on input line 3.",
        ]
    )
    warnings = [(w.message, w.line) for w in tex.find_warnings(log)]
    assert warnings == [
        ("no '漢' in the font DejaVu Serif; use another character", 0),
        ("no label 'a:b'; add it or correct the name", 0),
        ("12.5 pt too wide for the page; shorten it", 7),
    ]
    assert tex.find_error(log) is None
    failed = "./b.tex:12: Undefined control sequence.\nl.12 a \\nonsense\n        {n}\n"
    first = tex.Problem("Undefined control sequence", 12, "a \\nonsense")
    assert tex.find_error(failed) == first
    bare = "! Emergency stop.\nl.3 text"
    assert tex.find_error(bare) == tex.Problem("Emergency stop", 3, "text")


def test_an_interrupted_run_does_not_affect_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tex"
    (tmp_path / "a.aux").write_text("\\undefinedhere")
    file.write_text("\\documentclass{article}\\begin{document}a\\end{document}")

    def interrupt(process: subprocess.Popen[bytes]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tex, "_show_progress", interrupt)
        with pytest.raises(KeyboardInterrupt):
            tex.typeset(file)
    assert not (tmp_path / "a.aux").exists()
    assert tex.typeset(file).read_bytes().startswith(b"%PDF")
