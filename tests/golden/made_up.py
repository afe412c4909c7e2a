"""Builds the made-up book in `book/`, and reduces what becomes of it to readable text.

`expected/` holds these texts. After a change that is wanted, write them anew, and read
the difference before you commit it:

    .venvs/test/bin/python -m pytest tests/book/test_made_up_book.py --update
"""

import base64
import contextlib
import difflib
import itertools
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup, NavigableString, Tag
from golden.compare import SEAL
from nbformat import NotebookNode
from nbformat.v4 import new_output
from pypdfium2 import PdfDocument

from book.base.drawing import draw_png
from book.library import package
from book.notebooks import editions
from book.pages import html
from book.paper import pdf
from book.records import fingerprint, store, validation
from book.slides import decks
from book.text.book import Book
from book.text.section import Section

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
ROOT = HERE.parents[1]
PLOTS = ROOT / "tests/book/render/plots"
CPU = dict.fromkeys(validation.FACTS, "") | {
    "machine_name": "CPU",
    "cpu": "Some Processor",
    "python": "3.11.2",
    "date": "2026-01-02",
}
GPU = CPU | {"machine_name": "NVIDIA TEST", "gpu": "NVIDIA TEST", "driver": "000.00"}
# A name may have any sign.
ODD = GPU | {"gpu": 'NVIDIA "A" <b> *c* \\d `e` &amp; :ref:`f` é'}
MACHINES = {"cpu": CPU, "a100": ODD, "h200": GPU}
NOT_RUN = ("chapter/solutions", "jax", "h200")
VERSIONS = {"pytorch": "2.13.0+cpu", "jax": "0.10.2"}
OTHER = {("a100", "pytorch"): "2.14.0+cu130"}
# Parts of notebooks and decks that nobody can read.
UNREADABLE = re.compile(r"(?<=archive=')[\w+/=]+|(?<=base64,)[\w+/=]+")
# The code of functions in the first cell of a notebook, which have tests of their own.
FUNCTIONS = re.compile(r"\nimport .*\n(?=check_python\(\))", re.DOTALL)
SPACES = r"[ \n]+"
Texts = Iterator[tuple[str, str]]


def write(root: Path) -> Book:
    """Copy the book to `root`, with this project's tools and with records."""
    shutil.copytree(HERE / "book", root, dirs_exist_ok=True)
    shutil.copy(ROOT / "d2l/cards.csv", root / "d2l")  # which figures need
    for folder in ("book", "static"):
        (root / folder).symlink_to(ROOT / folder)
    # d2lbook looks for the index page in the folder it is called from.
    with contextlib.chdir(root):
        book = Book(root)
        package.write(book)
        for section in book.sections:
            for tab, machine in itertools.product(book.code_tabs(section), MACHINES):
                if (section.name, tab, machine) != NOT_RUN:
                    _record(book, section, tab, machine)
        return Book(root)


def _record(book: Book, section: Section, tab: str, machine: str) -> None:
    """Write the record of a section in one tab on a machine."""
    printed = tomllib.loads((book.root / "outputs.toml").read_text("utf-8"))
    kind = "cpu" if machine == "cpu" else "gpu"
    notebook = store.blank(book, section, tab)
    for cell in notebook.cells:
        made = printed.get(cell.source.splitlines()[-1], {})
        found = next((made[key] for key in ("all", tab, kind) if key in made), "")
        cell.outputs = [_output(found)] if found else []
    made_by = {"machine": machine, "framework": tab}
    made_by["framework_version"] = OTHER.get((machine, tab), VERSIONS[tab])
    made_by["fingerprint"] = fingerprint.fingerprint(book, section, tab)
    store.write(book, section, tab, notebook, MACHINES[machine] | made_by)


def _output(made: str | dict[str, Any]) -> NotebookNode:
    """Return the output that an entry of `outputs.toml` describes."""
    match made:
        case {"svg": name, "alt": alt}:
            data = {"image/svg+xml": (PLOTS / f"{name}.svg").read_text("utf-8")}
            return new_output("display_data", data, metadata={"alt": alt})
        case {"figure": figure}:
            data = {"text/vnd.d2l.figure": figure, "text/plain": "A <figure>."}
        case {"png": _}:
            picture = HERE / "book/img/devices.svg"
            png = draw_png(picture.read_text("utf-8"), picture)
            data = {"image/png": base64.b64encode(png).decode()}
        case _:
            return new_output("stream", name="stdout", text=made)
    return new_output("display_data", data)


class MadeUp:
    """The book, and everything that is made of it, each when it is first needed."""

    def __init__(self, root: Path):
        self.root = root
        self.book = write(root)

    @cached_property
    def site(self) -> Path:
        """The folder of the pages."""
        with contextlib.chdir(self.root):
            return html.build(self.book).parent

    @cached_property
    def notebooks(self) -> Path:
        """The folder of the notebooks with outputs."""
        with contextlib.chdir(self.root):
            return editions.write(self.book, outputs=True)

    @cached_property
    def slides(self) -> Path:
        """The folder of the decks."""
        with contextlib.chdir(self.root):
            return decks.build(self.book).parent

    @cached_property
    def pdfs(self) -> dict[str, Path]:
        """The PDF of each framework."""
        with contextlib.chdir(self.root):
            return {tab: pdf.build(self.book, tab) for tab in self.book.tabs}

    def page(self, name: str) -> BeautifulSoup:
        """Return a page as a tree."""
        return parsed((self.site / f"{name}.html").read_text("utf-8"))

    def data(self, name: str) -> Any:
        """Return the data that a script of the site holds."""
        script = (self.site / f"_static/{name}.js").read_text("utf-8")
        return json.loads(script[script.index("{") : script.rindex("}") + 1])

    def search_entries(self) -> list[dict[str, Any]]:
        """Return the entries of the search, each with its page."""
        script = (self.site / "_static/search-data.js").read_text("utf-8")
        text = json.loads(script.removeprefix("bookSearchData = ").removesuffix(";\n"))
        pages = json.loads(text)["pages"].items()
        return [{"page": page, **entry} for page, found in pages for entry in found]


# The texts of each product


def pages(made: MadeUp) -> Texts:
    """Yield the pages: their titles, contents, articles and links; one whole frame."""
    for section in made.book.sections:
        page = made.page(section.name)
        parts = "title, meta[name=description], #book-contents, article, .turn"
        found = page.select(f"{parts}, #page-contents")
        yield f"pages/{Path(section.name).name}", tree(*found)
    page = made.page("chapter/text")
    for tag in page.select("article, head script:not([src])"):
        tag.clear()
    # The hash of the inline script, which changes with each setting, is in the policy.
    yield "frame", re.sub("'sha256-[^']+'", "'HASH'", tree(page))
    yield "files", _names(made.site, "explorables", "fonts", "vendor")


def data(made: MadeUp) -> Texts:
    """Yield the data of search, of previews, and of solutions with their answers.

    The entries of the search have one field a line.
    """
    fields = (
        [f"{name}: {value}\n" for name, value in entry.items()]
        for entry in made.search_entries()
    )
    yield "search", "\n".join(map("".join, fields))
    for name in ("previews", "solutions/chapter/solutions"):
        found = made.data(name).items()
        shown = (f"# {key}\n{tree(parsed(html))}\n" for key, html in found)
        yield Path(name).name, "".join(shown)
    script = (made.site / "_static/solutions/chapter/solutions.js").read_text("utf-8")
    encoded = script.partition('bookAnswers = "')[2].partition('"')[0]
    answers = json.loads(base64.b64decode(encoded))
    yield "answers", json.dumps(answers, indent=1) + "\n"


def slides(made: MadeUp) -> Texts:
    """Yield two decks, and the list of decks."""
    for name in ("jax/outputs", "jax/predictions", "index"):
        page = parsed((made.slides / f"{name}.html").read_text("utf-8"))
        yield f"slides/{Path(name).name}", tree(*page.select("main"))


def notebooks(made: MadeUp) -> Texts:
    """Yield some notebooks of each kind, and the files beside them."""
    folder = made.notebooks
    yield "notebooks/files", _names(folder)
    for name in ("README.md", "requirements-jax.txt"):
        yield f"notebooks/{Path(name).stem}", (folder / name).read_text("utf-8")
    kinds = ("", "colab/", "sagemaker/")
    some = ["jax/outputs", "jax/solutions", *(f"{kind}pytorch/text" for kind in kinds)]
    for name in some:
        text = (folder / f"{name}.ipynb").read_text("utf-8")
        shown = _notebook(nbformat.reads(text, as_version=4))
        yield f"notebooks/{name.replace('/', '-')}", shown


def _notebook(notebook: NotebookNode) -> str:
    """Return the metadata and the cells of a notebook, without data of pictures."""
    parts = [json.dumps(notebook.metadata, indent=1)]
    for cell in notebook.cells:
        parts.append(f"# {cell.cell_type} {cell.id} {json.dumps(cell.metadata)}")
        parts.append(FUNCTIONS.sub("\n…\n", cell.source))
        parts += (f"attachment {name}" for name in cell.get("attachments", {}))
        for output in cell.get("outputs", []):
            for kind in output.get("data", {}):
                output.data[kind] = "…" if kind[:5] == "image" else output.data[kind]
            parts.append(json.dumps(output, indent=1, ensure_ascii=False))
    return UNREADABLE.sub("…", "\n\n".join(parts)) + "\n"


def library(made: MadeUp) -> Texts:
    """Yield the modules of the library."""
    for tab in package.libraries(made.book):
        yield f"library/{tab}", SEAL.sub("", package.generated(made.book, tab))


def print_(made: MadeUp) -> Texts:
    """Yield the outlines of the PDFs, and the text of their pages."""
    for file in made.pdfs.values():
        printed = PdfDocument(file)
        outline = (f"{'  ' * e.level}{e.get_title()}" for e in printed.get_toc())
        pages = (page.get_textpage().get_text_bounded() for page in printed)
        numbered = (f"--- page {n}\n{text}" for n, text in enumerate(pages, start=1))
        text = "\n".join([*outline, *numbered, ""])
        yield f"print/{file.stem}", text.replace("\r", "")


PRODUCTS: dict[str, Callable[[MadeUp], Texts]] = {
    "pages": pages,
    "data": data,
    "slides": slides,
    "notebooks": notebooks,
    "library": library,
    "print": print_,
}


def _names(folder: Path, *without: str) -> str:
    """Return the names of the files in a folder, except those in some folders."""
    files = (file.relative_to(folder) for file in sorted(folder.rglob("*.*")))
    named = (f.as_posix() for f in files if not set(f.parts).intersection(without))
    return "".join(f"{name}\n" for name in named)


# HTML


def parsed(markup: str) -> BeautifulSoup:
    return BeautifulSoup(markup, "html.parser")


def tree(*nodes: Tag) -> str:
    """Return HTML with one element or one line of text a line, indented."""
    return "".join(f"{line}\n" for node in nodes for line in _element(node, ""))


def _element(tag: Tag, indent: str) -> Iterator[str]:
    if tag.name != "[document]":
        named = (_attribute(name, value) for name, value in tag.attrs.items())
        yield f"{indent}{' '.join([tag.name, *named])}"
        indent += "  "
    if tag.name == "svg":
        return
    if tag.name in ("math", "pre"):  # an equation on one line, and code by its lines
        lines = tag.decode_contents().removesuffix("\n").split("\n")
        yield from (f"{indent}| {line}" for line in lines)
        return
    for child in tag.children:
        if isinstance(child, Tag):
            yield from _element(child, indent)
        elif type(child) is NavigableString and child.strip():
            yield f"{indent}{_quoted(re.sub(SPACES, ' ', child))}"


def _attribute(name: str, value: str | list[str]) -> str:
    text = value if isinstance(value, str) else " ".join(value)
    return f"{name}={_quoted(UNREADABLE.sub('…', text))}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# The comparison


def difference(name: str, text: str, update: bool) -> str:
    """Return how a text differs from the expected one; write it anew to `update`."""
    file = EXPECTED / f"{name}.txt"
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    expected = file.read_text("utf-8") if file.exists() else ""
    before, after = expected.splitlines(), text.splitlines()
    names = f"{name} expected", f"{name} now"
    changes = difflib.unified_diff(before, after, *names, lineterm="", n=4)
    return "\n".join(changes)
