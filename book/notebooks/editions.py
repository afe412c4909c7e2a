"""The book as notebooks to take away: plain, for Colab, for SageMaker, and as a zip.

python -m book notebooks [--tab TAB] [--section SECTION] [--outputs [1]]

They need nothing of the book. The plain ones find the package `d2l` in the folder
above theirs, where the zip has it; the others carry the library of their tab.
"""

import base64
import copy
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from book.base.errors import BookError
from book.base.files import locked, write_bytes_whole
from book.library import package
from book.notebooks import alone, archive, figures
from book.notebooks.markdown import Writer
from book.pages import merge
from book.records import store
from book.records.cleaning import SVG
from book.runs import run
from book.sources import hosting, names
from book.sources.bibliography import Bibliography
from book.sources.blocks import Block, Cell, Heading
from book.sources.book import Book
from book.sources.numbers import Numbers, Place
from book.sources.section import Section

KINDS = (names.PLAIN, names.COLAB, names.SAGEMAKER)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip knows

LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "nbconvert_exporter": "python",
}
# What must be there to import, and the requirement that brings it.
PACKAGES = {
    "pytorch": {"torch": "torch"},
    "mxnet": {"mxnet": "mxnet==1.9.1 numpy==1.23.5"},
    "jax": {"jax": "jax", "flax": "flax", "optax": "optax"},
    "tensorflow": {"tensorflow": "tensorflow"},
}
ALL_NEED = {"matplotlib": "matplotlib", "sklearn": "scikit-learn"}

ABOUT = {
    names.PLAIN: "The first cell shows the GPUs of this machine; the code also runs"
    " without one. The second cell finds `d2l`, the library of this book, in the folder"
    " that came with this notebook.",
    names.COLAB: "The first cell shows the GPUs of this machine. To get one in Colab,"
    " choose *Runtime > Change runtime type*; the code also runs without one. The"
    " second cell, which is folded, holds `d2l`, the library of this book. It installs"
    " missing packages, and uses an installed `d2l` of this book if there is one.",
    names.SAGEMAKER: "The first cell shows the GPUs of this machine. To get one in"
    " Studio Lab, choose the runtime type *GPU* before you start it; the code also runs"
    " without one. The second cell, which is folded, holds `d2l`, the library of this"
    " book. It installs the packages that are missing, and uses an installed `d2l` of"
    " this book if there is one.",
}
ABOUT_MXNET = (
    "MXNet 1.9.1 is the last release. It needs Python 3.11 or older and a NumPy below"
    " 1.24, and newer hosted runtimes have neither; the second cell says so if that is"
    " the case here. Run the notebook on your own machine then, in an environment with"
    " Python 3.11 and `pip install mxnet==1.9.1 numpy==1.23.5 matplotlib scikit-learn"
    " jupyterlab`, or read the book in another framework."
)
Files = dict[str, bytes]


def write(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    outputs: bool = False,
    machine: str = "cpu",
) -> Path:
    """Write the notebooks to `_build/notebooks`, and return that folder.

    Empty `tabs` and `sections` mean all, and then the folder is made anew, whole or
    not at all, with the zip. Otherwise the notebooks asked for are all that changes.
    """
    run.check_names(book, tabs, sections, machine)
    wanted = _wanted(book, tabs, sections)
    folder = book.root / "_build" / "notebooks"
    lock = book.root / "_build" / "locks" / "notebooks.lock"
    with locked(lock, "another process is writing notebooks"):
        edition = Edition(book, machine if outputs else None)
        files = _files(edition, wanted)
        if tabs or sections:
            for name, data in files.items():
                write_bytes_whole(folder / name, data)
            print("the zip is made by make notebooks without TAB and SECTION")
        else:
            zipped = {n: d for n, d in files.items() if _kind_of(n) == names.PLAIN}
            zipped |= archive.beside(edition.book, edition.numbers)
            name = names.archive(book)
            files[f"{name}.zip"] = archive.zipped(zipped, name)
            archive.replace(folder, files | zipped)
    return folder


def _wanted(
    book: Book, tabs: Sequence[str], sections: Sequence[str]
) -> list[tuple[str, Section]]:
    chosen = [book.section(name) for name in sections]
    for section in chosen:
        if not book.code_tabs(section):
            raise BookError(f"no code in {section.name}, so no notebook", "SECTION")
    return [
        (tab, section)
        for tab in book.tabs
        for section in chosen or book.sections
        if tab in (tabs or book.tabs) and tab in book.code_tabs(section)
    ]


def _files(edition: "Edition", wanted: list[tuple[str, Section]]) -> Files:
    """The notebooks of each kind, and how far this is."""
    files: Files = {}
    bar = tqdm(wanted, unit=" notebooks", disable=not sys.stderr.isatty())
    for tab, section in bar:
        bar.set_description(f"{tab}: {section.name}")
        for kind in KINDS:
            path = names.notebook(edition.book, section, tab, kind)
            notebook = edition.notebook(section, tab, kind)
            files[path] = (nbformat.writes(notebook) + "\n").encode()
    print(f"notebooks: {len(files)}, {len(wanted)} of each kind", file=sys.stderr)
    return files


def _kind_of(name: str) -> str:
    head = name.partition("/")[0]
    return head if head in KINDS else names.PLAIN


# One notebook


@dataclass
class Edition:
    """The notebooks of a book; with the outputs of `machine`, if that is given."""

    book: Book
    machine: str | None = None
    titles: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.titles = store.titles(self.book) if self.machine else {}

    @cached_property
    def _pages(self) -> dict[str, Section]:
        return {section.name: section for section in self.book.sections}

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers(self.book)

    @cached_property
    def bibliography(self) -> Bibliography:
        return Bibliography(self.book)

    @cached_property
    def site(self) -> str:
        """The address of the published site, if the settings name it."""
        return hosting.load(self.book).site

    def notebook(self, section: Section, tab: str, kind: str) -> NotebookNode:
        """Return the notebook of a section in one tab, with ids that stay the same."""
        shown = self._shown(section, tab)
        writer = Writer(
            *(section, self.numbers, self.bibliography),
            link=lambda place: self._link(place, tab, kind),
            on_site=lambda place: self._on_site(place, tab),
            inline=kind == names.COLAB,
        )
        cells = list(_cells(shown, writer))
        start = self._start(shown, section, kind)
        nb = nbformat.v4.new_notebook(metadata=_metadata(section, kind))
        nb.cells = _with_ids([*cells[:1], *start, *cells[1:]])
        nbformat.validate(nb)
        return nb

    def _shown(self, section: Section, tab: str) -> store.Shown:
        """Return what the tab shows, with outputs if the edition has them."""
        if self.machine is None:
            count = len(self.book.cells(section, tab))
            blocks = self.book.blocks(section, tab)
            return store.Shown(tab, blocks, "fresh", {}, [[]] * count, [None] * count)
        shown = store.shown(self.book, section, tab, self.machine)
        assert shown is not None  # it has code
        if shown.state != "fresh":
            print(
                f"warning: {section.name} ({tab}) has no outputs: its record for"
                f" {self.machine} is {shown.state}; make run",
                file=sys.stderr,
            )
        return shown

    def _link(self, place: Place, tab: str, kind: str) -> str:
        """Where a place in another section is to be found from a notebook."""
        section = self._pages[place.page]
        # Colab opens a notebook without its neighbours.
        if kind == names.COLAB or tab not in self.book.code_tabs(section):
            return self._on_site(place, tab)
        is_page = place.number == self.numbers.headings[place.page][0]
        anchor = "" if place.kind == "section" and is_page else f"#{place.label}"
        return f"{names.short(self.book, section)}.ipynb{anchor}"

    def _on_site(self, place: Place, tab: str) -> str:
        if not self.site:
            return ""
        prefix = "equation-" if place.kind == "equation" else ""
        anchor = f"{prefix}{place.label.replace('_', '-')}"
        return f"{self.site}/{place.page}.html?tab={tab}#{anchor}"

    def _start(
        self, shown: store.Shown, section: Section, kind: str
    ) -> Iterator[NotebookNode]:
        """Yield the cells below the title: what this is, which GPUs, the library."""
        tab = shown.tab
        told = [ABOUT[kind], ABOUT_MXNET if tab == "mxnet" else ""]
        if shown.facts:
            machine = shown.facts["machine"]
            maker = shown.facts | {"title": self.titles.get(machine, machine)}
            told.append(f"Outputs: {merge.facts(maker, tab)}.")
        yield nbformat.v4.new_markdown_cell("\n\n".join(filter(None, told)))
        functions = [alone.nvidia_smi, alone.tell_gpus]
        code = alone.cell(functions, "tell_gpus()")
        yield _folded(code, "The GPUs of this machine", kind)
        if tab in self.book.config.library:
            code = self._library_cell(section, tab, carried=kind != names.PLAIN)
            yield _folded(code, "The library d2l of this book", kind)

    def _library_cell(self, section: Section, tab: str, carried: bool) -> str:
        functions: list[alone.Function] = []
        calls: list[str] = []
        if tab == "mxnet":
            functions.append(alone.check_mxnet)
            calls.append("check_mxnet()")
        if carried:
            functions.append(alone.install_missing)
            calls.append(f"install_missing({PACKAGES.get(tab, {}) | ALL_NEED!r})")
        functions += [alone.library_fits, alone.use_library]
        source = package.generated(self.book, tab)
        code = "\n".join(cell.code for cell in self.book.cells(section, tab))
        settings = {
            "init": package.version_file(self.book),
            "module": Path(self.book.config.library[tab]["lib_file"]).name,
            "needed": sorted(_defined(source) & set(store.D2L_NAME.findall(code))),
        }
        lines = [f"    {name}={value!r}," for name, value in settings.items()]
        lines += ["    source=LIBRARY,"] if carried else []
        calls.append("\n".join(["use_library(", *lines, ")"]))
        if carried:
            calls.insert(0, f"LIBRARY = {_quoted(source)}\n")
        return alone.cell(functions, "\n".join(calls))


def _defined(module: str) -> set[str]:
    return set(re.findall(r"\b\w+\b", module))


def _quoted(text: str) -> str:
    """A literal that a reader can read."""
    plain = "'''" not in text and "\\\r" not in text and not text.endswith("\\")
    return f"r'''{text}'''" if plain else repr(text)


def _folded(code: str, title: str, kind: str) -> NotebookNode:
    """A code cell of which one sees the title alone, until it is opened."""
    metadata: dict[str, Any] = {"jupyter": {"source_hidden": True}}
    if kind == names.COLAB:
        metadata["cellView"] = "form"
        title = f"@title {title}"
    return nbformat.v4.new_code_cell(f"# {title}\n{code}", metadata=metadata)


def _cells(shown: store.Shown, writer: Writer) -> Iterator[NotebookNode]:
    """Yield the cells in Markdown for all; each heading begins one, after the title."""
    text: list[Block] = []
    outputs = zip(shown.outputs, shown.counts, strict=True)
    for block in shown.blocks:
        if text and (isinstance(block, Cell | Heading) or _is_title(text)):
            yield from _text_cell(text, writer)
            text = []
        if isinstance(block, Cell):
            yield _code_cell(block.code, *next(outputs))
        else:
            text.append(block)
    yield from _text_cell(text, writer)
    references = writer.references()
    if references:
        yield references


def _is_title(text: list[Block]) -> bool:
    return isinstance(text[0], Heading) and text[0].level == 1


def _text_cell(text: list[Block], writer: Writer) -> Iterator[NotebookNode]:
    cell = writer.cell(text)
    if cell.source.strip():
        yield cell


def _code_cell(
    code: str, outputs: list[NotebookNode], count: int | None
) -> NotebookNode:
    return nbformat.v4.new_code_cell(
        code, outputs=[_output(o) for o in outputs], execution_count=count
    )


def _output(output: NotebookNode) -> NotebookNode:
    """An output with pixels in the place of an SVG.

    Jupyter shows the SVG of those notebooks alone that ran where they are.
    """
    svg = output.get("data", {}).get(SVG)
    if svg is None:
        return output
    png = figures.drawn(svg, "a plot of a record")
    shown = copy.deepcopy(output)
    del shown.data[SVG]
    shown.data["image/png"] = base64.b64encode(png).decode()
    width, height = figures.shown_size(png)
    shown.metadata["image/png"] = {"width": width, "height": height}
    return shown


def _with_ids(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells with ids that do not differ from run to run, as new ones do."""
    counts: Counter[str] = Counter()
    for cell in cells:
        kind = "text" if cell.cell_type == "markdown" else "code"
        counts[kind] += 1
        cell["id"] = f"{kind}-{counts[kind]:03}"
    return cells


def _metadata(section: Section, kind: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"kernelspec": store.KERNEL, "language_info": LANGUAGE}
    if kind == names.COLAB:
        name = f"{Path(section.name).name}.ipynb"
        metadata["accelerator"] = "GPU"
        metadata["colab"] = {"name": name, "gpuType": "T4", "toc_visible": True}
        metadata["colab"]["provenance"] = []
        metadata["kaggle"] = {
            **{"accelerator": "gpu", "isGpuEnabled": True, "isInternetEnabled": True},
            **{"language": "python", "sourceType": "notebook"},
        }
    return metadata
