"""Writes standalone notebooks: plain, for Colab, for SageMaker, and as a zip archive.

python -m book notebooks [--tab TAB] [--section SECTION] [--outputs [1]]

The notebooks do not need the book. The plain ones find the package `d2l` in the folder
above theirs, as in the archive; the others contain the library of their tab.
"""

import base64
import copy
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from book import merge
from book.base import build_paths, inputs
from book.base.drawing import draw_png, shown_size
from book.base.files import locked
from book.base.progress import counted
from book.library import package
from book.notebooks import archive, standalone
from book.notebooks.markdown import MarkdownWriter
from book.pages import addresses, hosting
from book.records import fingerprint, store
from book.records.cleaning import SVG
from book.refs.numbers import Place
from book.refs.targets import Targets
from book.render.plots import restyle
from book.runner.errors import BookError
from book.runner.files import write_bytes_whole
from book.runs import stale
from book.text.blocks import Block, Cell, Heading
from book.text.book import Book
from book.text.section import Section

KINDS = (addresses.PLAIN, addresses.COLAB, addresses.SAGEMAKER)

LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "nbconvert_exporter": "python",
}
SETUP = "Set up this notebook"
HOSTED = (
    "The next cell, which is folded, reports the GPUs of this machine, installs missing"
    " packages, and unpacks `d2l`, the library of this book, which the cell contains as"
    " a zip file. (`d2l.Trainer??` then shows the code of `Trainer`.) An installed"
    " `d2l` of this book is used instead. The notebook also runs without a GPU. To get"
    " one, choose *Runtime > Change runtime type* in Colab, *Settings > Accelerator* in"
    " Kaggle, or the runtime type *GPU* in Studio Lab."
)
ABOUT = {
    addresses.PLAIN: "The next cell, which is folded, reports the GPUs of this machine,"
    " and finds `d2l`, the library of this book, in the folder that came with this"
    " notebook. The notebook also runs without a GPU.",
    addresses.COLAB: HOSTED,
    addresses.SAGEMAKER: HOSTED,
}
ABOUT_MXNET = (
    "MXNet 1.9.1 is the last release. It needs Python 3.11 or older and NumPy below"
    " 1.24, which newer hosted runtimes do not have; the next cell reports whether"
    " this runtime has them. If it does not, run the notebook on your own machine in an"
    " environment with Python 3.11, after `pip install mxnet==1.9.1 numpy==1.23.5"
    " matplotlib scikit-learn jupyterlab`, or read the book in another framework."
)


def write(
    book: Book,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    outputs: bool = False,
    machine: str = "cpu",
) -> Path:
    """Write the notebooks to `_build/notebooks`, and return that folder.

    Without `tabs` and `sections`, the whole folder is replaced, with the archive.
    Otherwise, only the chosen notebooks are written. The notebooks have the recorded
    outputs of `machine` if `outputs` is True.
    """
    stale.check_names(book, tabs, sections, machine)
    chosen = choose(book, tabs, sections)
    folder = book.root / build_paths.NOTEBOOKS
    lock = book.root / build_paths.NOTEBOOKS_LOCK
    with locked(lock, "another process is writing notebooks"):
        made_for = book.setting("publish", "edition")
        digest = inputs.digest_of_inputs(book.root, made_for)
        edition = NotebookEdition(book, machine if outputs else None)
        files = _notebook_files(edition, chosen)
        if tabs or sections:
            for name, data in files.items():
                write_bytes_whole(folder / name, data)
            print("for the zip archive, run make notebooks without TAB and SECTION")
        else:
            archived = {n: d for n, d in files.items() if n.split("/")[0] not in KINDS}
            archived |= archive.supporting_files(edition.book, edition.targets.numbers)
            name = addresses.archive(book)
            files[f"{name}.zip"] = archive.zip_files(archived, name)
            with inputs.notebooks(book.root).made_from(digest):
                archive.replace_files(folder, files | archived)
    return folder


def choose(
    book: Book, tabs: Sequence[str], sections: Sequence[str]
) -> list[tuple[Section, str]]:
    """Return each chosen section and tab with code; without names, choose all.

    Raises a `BookError` if a named section has no code.
    """
    for section in map(book.section, sections):
        if not book.code_tabs(section):
            message = f"{section.name} has no code and thus no notebook; choose another"
            raise BookError(message, "SECTION")
    return stale.plan(book, tabs, sections, force=True)


def _notebook_files(
    edition: "NotebookEdition", chosen: list[tuple[Section, str]]
) -> archive.Files:
    """Return the notebooks of each kind under their paths, and show the progress."""
    files: archive.Files = {}
    for section, tab in counted(chosen, "making notebooks"):
        for kind in KINDS:
            path = addresses.notebook(edition.book, section, tab, kind)
            notebook = edition.notebook(section, tab, kind)
            files[path] = (nbformat.writes(notebook) + "\n").encode()
    print(f"notebooks: {len(files)}, {len(chosen)} of each kind", file=sys.stderr)
    return files


# One notebook


class NotebookEdition:
    """The notebooks of a book, with the outputs of `machine` unless it is None."""

    def __init__(self, book: Book, machine: str | None = None):
        self.book = book
        self.machine = machine
        self.titles = store.titles(book) if machine else {}
        self.targets = Targets(book)
        self.site = hosting.load(book).site  # may be empty

    def notebook(self, section: Section, tab: str, kind: str) -> NotebookNode:
        """Return the notebook of a section in one tab; each build gives equal ids."""
        shown = self._shown(section, tab)
        writer = MarkdownWriter(
            *(section, self.targets),
            link=lambda place: self._link(place, tab, kind),
            link_to_site=lambda place: self._link_to_site(place, tab),
            inline=kind == addresses.COLAB,
            interactive=package.figures_in(self._code(section, tab)),
        )
        cells = list(_cells(shown, writer))
        setup = self._setup_cells(shown, section, kind)
        nb = nbformat.v4.new_notebook(metadata=_metadata(section, kind))
        below = 1 if _is_title(shown.blocks[:1]) else 0
        nb.cells = _number_cells([*cells[:below], *setup, *cells[below:]])
        nbformat.validate(nb)
        return nb

    def _shown(self, section: Section, tab: str) -> store.Shown:
        """Return a section in a tab, with outputs if the edition has outputs."""
        if self.machine is None:
            return store.Shown(tab, self.book.blocks(section, tab))
        shown = store.shown(self.book, section, tab, self.machine)
        assert shown is not None  # The section has code in this tab.
        if shown.state != "fresh":
            print(
                f"warning: {section.name} ({tab}) has no outputs: its record for"
                f" {self.machine} is {shown.state}; make run",
                file=sys.stderr,
            )
        return shown

    def _link(self, place: Place, tab: str, kind: str) -> str:
        """Return the address of a place in another section, for use in a notebook."""
        section = self.book.section(place.page)
        # Colab opens a notebook without the others.
        if kind == addresses.COLAB or tab not in self.book.code_tabs(section):
            return self._link_to_site(place, tab)
        is_page = place.number == self.targets.numbers.pages[place.page]
        there = "" if place.kind == "section" and is_page else f"#{place.anchor}"
        return f"{addresses.short(self.book, section)}.ipynb{there}"

    def _link_to_site(self, place: Place, tab: str) -> str:
        """Return the address of a place on the site, or an empty text."""
        if not self.site:
            return ""
        return f"{self.site}/{place.page}.html?tab={tab}#{place.anchor}"

    def _setup_cells(
        self, shown: store.Shown, section: Section, kind: str
    ) -> Iterator[NotebookNode]:
        """Yield the cells below the title: what the set-up does, and its code."""
        tab = shown.tab
        texts = [ABOUT[kind], _needs(self._packages(section, tab).values())]
        texts.append(ABOUT_MXNET if tab == "mxnet" else "")
        if shown.facts:
            machine = shown.facts["machine"]
            maker = shown.facts | {"title": self.titles.get(machine, machine)}
            texts.append(f"Outputs: {merge.facts(maker, tab)}.")
        yield nbformat.v4.new_markdown_cell("\n\n".join(filter(None, texts)))
        yield _folded_cell(self._setup_code(section, tab, kind), SETUP, kind)

    def _setup_code(self, section: Section, tab: str, kind: str) -> str:
        """Return the code that reports on the machine and makes d2l importable."""
        functions: list[standalone.Function] = [standalone.check_python]
        calls = ["check_python()"]
        if tab == "mxnet":
            functions += [standalone.version_of, standalone.check_mxnet]
            calls.append("check_mxnet()")
        functions += [standalone.nvidia_smi, standalone.report_gpus]
        calls.append("report_gpus()")
        if kind != addresses.PLAIN:
            functions += [standalone.path_files, standalone.check_version]
            functions.append(standalone.install_missing)
            calls.append(f"install_missing({self._packages(section, tab)!r})")
        if recorded := store.pinned_version(self.book, tab):
            functions += [standalone.version_of, standalone.report_version]
            packages = store.distributions(tab)
            calls.append(f"report_version({packages!r}, {recorded!r})")
        if tab in self.book.config.library:
            functions += [standalone.is_our_library, standalone.use_library]
            calls.append(
                self._library_call(section, tab, included=kind != addresses.PLAIN)
            )
        return standalone.cell(dict.fromkeys(functions), "\n".join(calls))

    def _packages(self, section: Section, tab: str) -> dict[str, str]:
        """Return what a notebook needs, by the module that it imports."""
        name = f"{tab}-{Path(section.name).name}"
        return listed_packages(self.book, tab, name, "all")

    def _library_call(self, section: Section, tab: str, included: bool) -> str:
        """Return the call that finds the library, whose files may be `included`."""
        code = self._code(section, tab)
        words = set(re.findall(r"\b\w+\b", package.generated(self.book, tab)))
        settings = {
            "init": package.version_file(self.book),
            "module": Path(self.book.config.library[tab]["lib_file"]).name,
            "names": sorted(words & set(fingerprint.D2L_NAME.findall(code))),
        }
        if included:
            texts = package.files(self.book, [tab], code)
            files = {name: text.encode() for name, text in texts.items()}
            packed = archive.zip_files(files, "d2l")
            settings["archive"] = base64.b64encode(packed).decode()
        lines = [f"    {name}={value!r}," for name, value in settings.items()]
        return "\n".join(["use_library(", *lines, ")"])

    def _code(self, section: Section, tab: str) -> str:
        """Return the code of a section in one tab."""
        return "\n".join(cell.code for cell in self.book.cells(section, tab))


def listed_packages(book: Book, *names: str) -> dict[str, str]:
    """Return the modules that notebooks import, and what installs each.

    config.ini lists them for a tab, for one section in a tab, and for all notebooks.
    """
    parser, found = book.config.build.parser, {}
    for name in names:
        lines = parser.get("notebooks", name, fallback="").splitlines()
        for line in filter(None, map(str.strip, lines)):
            module, _, requirement = line.partition(": ")
            found[module] = requirement
    return found


def _needs(requirements: Iterable[str]) -> str:
    """Return the sentence that names what a notebook needs, without the reasons."""
    packages = [p for each in requirements for p in each.partition(", ")[0].split()]
    names = ", ".join(f"`{package}`" for package in packages)
    return f"This section needs these packages: {names}." if packages else ""


def _folded_cell(code: str, title: str, kind: str) -> NotebookNode:
    """Return a code cell that shows only its title until a reader opens it."""
    metadata: dict[str, Any] = {"jupyter": {"source_hidden": True}}
    if kind == addresses.COLAB:
        metadata |= {"cellView": "form", "_kg_hide-input": True}  # Colab's, Kaggle's
        title = f"@title {title}"
    return nbformat.v4.new_code_cell(f"# {title}\n{code}", metadata=metadata)


def _cells(shown: store.Shown, writer: MarkdownWriter) -> Iterator[NotebookNode]:
    """Yield the text and code cells of a section; each heading begins a new cell."""
    text: list[Block] = []
    for block in shown.blocks:
        if text and (isinstance(block, Cell | Heading) or _is_title(text)):
            yield from _text_cell(text, writer)
            text = []
        if isinstance(block, Cell):
            yield _code_cell(block)
        else:
            text.append(block)
    yield from _text_cell(text, writer)
    if references := writer.references():
        yield references


def _is_title(text: list[Block]) -> bool:
    return isinstance(text[0], Heading) and text[0].level == 1


def _text_cell(text: list[Block], writer: MarkdownWriter) -> Iterator[NotebookNode]:
    """Yield a cell with these blocks, unless it would be empty."""
    cell = writer.cell(text)
    if cell.source.strip():
        yield cell


def _code_cell(cell: Cell) -> NotebookNode:
    outputs = [_output(output) for output in cell.outputs]
    return nbformat.v4.new_code_cell(
        cell.code, outputs=outputs, execution_count=cell.count
    )


def _output(output: NotebookNode) -> NotebookNode:
    """Return an output with a PNG next to its SVG; a plot looks as on a page.

    Jupyter shows the SVG only in notebooks that the reader trusts, such as those that
    the reader has run. Otherwise it shows the PNG.
    """
    svg = output.get("data", {}).get(SVG)
    if svg is None:
        return output
    shown = copy.deepcopy(output)
    svg = shown.data[SVG] = restyle(svg)
    png = draw_png(svg, "a plot of a record")
    shown.data["image/png"] = base64.b64encode(png).decode()
    width, height = shown_size(png)
    shown.metadata["image/png"] = {"width": width, "height": height}
    return shown


def _number_cells(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Return the cells with numbers as their ids, since random ids would differ."""
    counts: Counter[str] = Counter()
    for cell in cells:
        kind = "text" if cell.cell_type == "markdown" else "code"
        counts[kind] += 1
        cell["id"] = f"{kind}-{counts[kind]:03}"
    return cells


def _metadata(section: Section, kind: str) -> dict[str, Any]:
    """Return the metadata of a notebook, with settings for its host."""
    metadata: dict[str, Any] = {"kernelspec": store.KERNEL, "language_info": LANGUAGE}
    if kind == addresses.COLAB:
        name = f"{Path(section.name).name}.ipynb"
        metadata["accelerator"] = "GPU"
        metadata["colab"] = {"name": name, "gpuType": "T4", "toc_visible": True}
        metadata["colab"]["provenance"] = []
        metadata["kaggle"] = {
            **{"accelerator": "gpu", "isGpuEnabled": True, "isInternetEnabled": True},
            **{"language": "python", "sourceType": "notebook"},
        }
    return metadata
