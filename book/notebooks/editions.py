"""The book as notebooks to take away: plain, for Colab, for SageMaker, and as a zip.

python -m book notebooks [--tab TAB] [--section SECTION] [--outputs [1]]

They need nothing of the book. The plain ones find the package `d2l` in the folder
above theirs, where the zip has it; the others carry the library of their tab.
"""

import base64
import copy
import io
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from book.base import environments
from book.base.errors import BookError
from book.base.files import locked, write_bytes_whole
from book.library import package
from book.notebooks import alone, figures
from book.notebooks.markdown import FENCED, Writer
from book.pages import merge
from book.records import store
from book.records.cleaning import SVG
from book.runs import run
from book.sources import hosting
from book.sources.bibliography import Bibliography
from book.sources.book import Book, Section
from book.sources.numbers import Numbers, Place
from book.sources.tabs import tab_name

PLAIN, COLAB, SAGEMAKER = "", "colab", "sagemaker"
KINDS = (PLAIN, COLAB, SAGEMAKER)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip knows
HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)

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
TO_READ = ("jupyterlab", "ipywidgets")

ABOUT = {
    PLAIN: "The first cell shows which GPU this machine has; the code runs without"
    " one too. The second finds `d2l`, the library of this book, in the folder"
    " that came with this notebook.",
    COLAB: "The first cell shows which GPU this machine has. To get one in Colab,"
    " choose *Runtime > Change runtime type*; the code runs without one too. The second"
    " cell, which is folded, holds `d2l`, the library of this book. It installs"
    " what is missing, and an installed `d2l` of this book comes first.",
    SAGEMAKER: "The first cell shows which GPU this machine has. To get one in Studio"
    " Lab, choose the runtime type *GPU* before you start it; the code runs without"
    " one too. The second cell, which is folded, holds `d2l`, the library of this"
    " book. It installs what is missing, and an installed `d2l` of this book comes"
    " first.",
}
ABOUT_MXNET = (
    "MXNet 1.9.1 is the last release. It needs Python 3.11 or older and a NumPy below"
    " 1.24, and newer hosted runtimes have neither; the second cell says so if that is"
    " the case here. Run the notebook on your own machine then, in an environment with"
    " Python 3.11 and `pip install mxnet==1.9.1 numpy==1.23.5 matplotlib scikit-learn"
    " jupyterlab`, or read the book in another framework."
)
README = """\
# {title}

Notebooks in {tabs}; each framework has a folder.

1. Make an environment with Python 3.11 (`python3.11 -m venv env`, and activate it).
2. Install one framework: `pip install -r requirements-{example}.txt`. These are builds
   that run everywhere; for a GPU see the notebook *Using GPUs*.
3. Run `jupyter lab` in this folder, open a notebook, and choose *Run all cells*.

`d2l` is the library that the notebooks import. It has nothing to do with the package
`d2l` of *Dive into Deep Learning*, which has the same name; the second cell of each
notebook sees to it that the right one is imported. With `ipywidgets`, which the
requirements bring, some cells have controls.

{contents}

{copyright}
"""

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
    with locked(lock, "another process writes notebooks"):
        edition = Edition(book, machine if outputs else None)
        files = _files(edition, wanted)
        if tabs or sections:
            for name, data in files.items():
                write_bytes_whole(folder / name, data)
            print("the zip is made by make notebooks without TAB and SECTION")
        else:
            zipped = {n: d for n, d in files.items() if _kind_of(n) == PLAIN}
            zipped |= _beside(edition)
            files[f"{edition.title}.zip"] = _zip(zipped, edition.title)
            _replace(folder, files | zipped)
    return folder


def _wanted(
    book: Book, tabs: Sequence[str], sections: Sequence[str]
) -> list[tuple[str, Section]]:
    chosen = [run.find_section(book, name) for name in sections]
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
            path = Path(kind, tab, edition.file_name(section))
            notebook = edition.notebook(section, tab, kind)
            files[path.as_posix()] = (nbformat.writes(notebook) + "\n").encode()
    print(f"notebooks: {len(files)}, {len(wanted)} of each kind", file=sys.stderr)
    return files


def _kind_of(name: str) -> str:
    head = name.partition("/")[0]
    return head if head in KINDS else PLAIN


# One notebook


@dataclass
class Edition:
    """The notebooks of a book; with the outputs of `machine`, if that is given."""

    book: Book
    machine: str | None = None
    titles: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.titles = store.titles(self.book) if self.machine else {}
        short = Counter(Path(s.name).name for s in self.book.sections)
        self._unclear = {name for name, count in short.items() if count > 1}

    @property
    def title(self) -> str:
        """What the zip, and the folder in it, are called."""
        return f"{self.book.config.project['name']}-notebooks"

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
        return hosting.of(self.book).site

    def file_name(self, section: Section) -> str:
        short = Path(section.name).name
        name = section.name.replace("/", "-") if short in self._unclear else short
        return f"{name}.ipynb"

    def notebook(self, section: Section, tab: str, kind: str) -> NotebookNode:
        """The notebook of a section in one tab, valid, with ids that stay the same."""
        source = self._source(section, tab)
        writer = Writer(
            *(section, self.numbers, self.bibliography),
            link=lambda place: self._link(place, tab, kind),
            on_site=lambda place: self._on_site(place, tab),
            inline=kind == COLAB,
        )
        cells = list(_rewritten(source.cells, writer))
        start = self._start(source, section, tab, kind)
        nb = nbformat.v4.new_notebook(metadata=_metadata(section, kind))
        nb.cells = _with_ids([*cells[:1], *start, *cells[1:]])
        nbformat.validate(nb)
        return nb

    def _source(self, section: Section, tab: str) -> NotebookNode:
        if self.machine is None:
            nb = self.book.tab_notebook(section, tab)
            assert nb is not None  # it has code
            return nb
        nb = store.shown_notebook(self.book, section, tab, self.machine)
        assert nb is not None
        state = nb.metadata["record"]["state"]
        if state != "fresh":
            print(
                f"warning: {section.name} ({tab}) has no outputs: its record for"
                f" {self.machine} is {state}; make run",
                file=sys.stderr,
            )
        return nb

    def _link(self, place: Place, tab: str, kind: str) -> str:
        """Where a place in another section is to be found from a notebook."""
        section = self._pages[place.page]
        # Colab opens a notebook without its neighbours.
        if kind == COLAB or tab not in self.book.code_tabs(section):
            return self._on_site(place, tab)
        is_page = place.number == self.numbers.headings[place.page][0]
        anchor = "" if place.kind == "section" and is_page else f"#{place.label}"
        return f"{self.file_name(section)}{anchor}"

    def _on_site(self, place: Place, tab: str) -> str:
        if not self.site:
            return ""
        prefix = "equation-" if place.kind == "equation" else ""
        anchor = f"{prefix}{place.label.replace('_', '-')}"
        return f"{self.site}/{place.page}.html?tab={tab}#{anchor}"

    def _start(
        self, source: NotebookNode, section: Section, tab: str, kind: str
    ) -> Iterator[NotebookNode]:
        """The cells behind the title: what this is, what GPU there is, the library."""
        record = source.metadata.get("record", {})
        told = [ABOUT[kind], ABOUT_MXNET if tab == "mxnet" else ""]
        if "machine" in record:
            title = self.titles.get(record["machine"], record["machine"])
            told.append(f"Outputs: {merge.facts(record | {'title': title}, tab)}.")
        yield nbformat.v4.new_markdown_cell("\n\n".join(filter(None, told)))
        functions = [alone.nvidia_smi, alone.tell_gpus]
        code = alone.cell(functions, "tell_gpus()")
        yield _folded(code, "The GPUs of this machine", kind)
        if tab in self.book.config.library:
            code = self._library_cell(section, tab, carried=kind != PLAIN)
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
        code = "\n".join(c.source for c in self.book.code_cells(section, tab))
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
    if kind == COLAB:
        metadata["cellView"] = "form"
        title = f"@title {title}"
    return nbformat.v4.new_code_cell(f"# {title}\n{code}", metadata=metadata)


def _rewritten(cells: list[NotebookNode], writer: Writer) -> Iterator[NotebookNode]:
    """The cells in Markdown for all; text is one cell a heading, the title first."""
    text: list[str] = []
    for cell in cells:
        if cell.cell_type == "markdown":
            text.append(cell.source)
            continue
        yield from _text_cells(text, writer)
        text = []
        yield _code_cell(cell)
    yield from _text_cells(text, writer)
    references = writer.references()
    if references:
        yield references


def _text_cells(texts: list[str], writer: Writer) -> Iterator[NotebookNode]:
    for part in _parts("\n\n".join(texts)):
        cell = writer.cell(part)
        if cell.source.strip():
            yield cell


def _parts(text: str) -> list[str]:
    """`text` cut before its headings, and after a title."""
    fences = [range(*fence.span()) for fence in FENCED.finditer(text)]
    cuts = {
        found.start()
        for found in HEADING.finditer(text)
        if not any(found.start() in fence for fence in fences)
    }
    if title := merge.TITLE.match(text):
        cuts.add(title.end())
    places = sorted({0, *cuts, len(text)})
    return [text[a:b] for a, b in zip(places, places[1:], strict=False)]


def _code_cell(cell: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_code_cell(
        cell.source,
        outputs=[_output(output) for output in cell.get("outputs", [])],
        execution_count=cell.get("execution_count"),
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
    if kind == COLAB:
        name = f"{Path(section.name).name}.ipynb"
        metadata["accelerator"] = "GPU"
        metadata["colab"] = {"name": name, "gpuType": "T4", "toc_visible": True}
        metadata["colab"]["provenance"] = []
        metadata["kaggle"] = {
            **{"accelerator": "gpu", "isGpuEnabled": True, "isInternetEnabled": True},
            **{"language": "python", "sourceType": "notebook"},
        }
    return metadata


# What stands beside them


def _beside(edition: Edition) -> Files:
    """The library, the requirements and the words of the zip."""
    book = edition.book
    files = {"README.md": _readme(edition)}
    for tab in book.tabs:
        files[f"requirements-{tab}.txt"] = _requirements(book, tab)
        if tab in book.config.library:
            name = Path(book.config.library[tab]["lib_file"]).name
            files[f"d2l/{name}"] = package.generated(book, tab)
    files["d2l/__init__.py"] = package.version_file(book)
    return {name: text.encode() for name, text in files.items()}


def _readme(edition: Edition) -> str:
    book = edition.book
    pages = [s for s in book.sections if book.code_tabs(s)]
    contents = []
    for page in pages:
        number = edition.numbers.headings[page.name][0]
        title = merge.TITLE.match(page.text)
        name = title[0].split("\n")[0].lstrip("# ") if title else page.name
        contents.append(f"* {number} {name}: `{edition.file_name(page)}`")
    return README.format(
        title=book.config.project["title"],
        copyright=f"© {book.config.project['copyright']}",
        tabs=", ".join(map(tab_name, book.tabs)),
        example=book.tabs[0],
        contents="\n".join(contents),
    )


def _requirements(book: Book, tab: str) -> str:
    """Return what the library needs in `tab`, in the versions of its environment."""
    file = book.root / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"][tab]]
    names = {re.split(r"[<>=~! \[;]", requirement)[0] for requirement in listed}
    pins = [p for p in environments.pins(tab, book.root) if p.split("==")[0] in names]
    return "".join(f"{line}\n" for line in [*pins, *TO_READ])


def _zip(files: Files, folder: str) -> bytes:
    """An archive of `files` in one folder, the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def _replace(folder: Path, files: Files) -> None:
    """Put a folder with `files`, and nothing else, in the place of the last one."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f".{folder.name}."
        ) as scratch:
            draft = Path(scratch) / folder.name
            for name, data in files.items():
                file = draft / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            if folder.exists():
                shutil.rmtree(folder)
            draft.rename(folder)
    except OSError as error:
        raise BookError(f"cannot be written ({error.strerror})", folder) from error
