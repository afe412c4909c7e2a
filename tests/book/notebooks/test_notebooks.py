"""Standalone notebooks have the right text, their library, and their files."""

import ast
import base64
import importlib.util
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat import NotebookNode

from book.library import package
from book.notebooks import editions, standalone
from book.notebooks.editions import KINDS, NotebookEdition
from book.pages.addresses import COLAB, PLAIN, SAGEMAKER
from book.records.fingerprint import bound_names
from book.runner.errors import BookError
from book.text.blocks import Cell
from book.text.book import Book

GPUS = Book(Path(__file__).resolve().parents[3])
PLOTS = Path(__file__).parents[1] / "render/plots"

INDEX = """\
# A Made-Up Book

![First](img/a.svg)
:label:`fig_first`

```toc
:numbered:

chapter/one
chapter/two
```
"""
ONE = """\
# One
:label:`sec_one`

[**A *first* look.**]

![A picture.](../img/a.svg)

```{.python .input}
%%tab all
def answer() -> int:  #@save
    return 42
```

```{.python .input}
%%tab pytorch
from d2l import pytorch as d2l
print(d2l.answer())
```

```{.python .input}
%%tab jax
from d2l import jax as d2l
print(d2l.answer())
```
"""
TWO = """\
# Two

See :numref:`sec_one` and :numref:`fig_first`.

```{.python .input}
%%tab pytorch, jax
1 + 1
```
"""
MakeBook = Callable[..., Book]


@pytest.fixture
def book(make_site_book: MakeBook) -> Book:
    return make_site_book(INDEX, one=ONE, two=TWO)


def notebook(book: Book, name: str = "one", tab: str = "jax", kind: str = PLAIN):
    return NotebookEdition(book).notebook(book.section(name), tab, kind)


def text(nb: NotebookNode) -> str:
    """Return the text of a notebook, with "code" for each code cell."""
    cells = [c.source if c.cell_type == "markdown" else "code" for c in nb.cells]
    return "\n\n".join(cells)


# Text


def test_figures_have_twice_the_pixels_of_their_size(book: Book):
    (cell,) = (c for c in notebook(book).cells if "attachments" in c)
    png = base64.b64decode(cell.attachments["a.png"]["image/png"])
    assert png.startswith(b"\x89PNG") and ' width="20">' in cell.source
    assert [int.from_bytes(png[i : i + 4]) for i in (16, 20)] == [40, 20]


def test_without_a_site_other_pages_have_no_links(book: Book):
    shown = text(notebook(book, "two", kind=COLAB))
    assert "See Section 1 and Fig. 1 of the front page." in shown
    assert "See [Section 1](one.ipynb) and Fig. 1" in text(notebook(book, "two"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_valid_and_reproducible(book: Book, kind: str):
    nb = notebook(book, kind=kind)
    nbformat.validate(nb)
    assert nbformat.writes(nb) == nbformat.writes(notebook(Book(book.root), kind=kind))
    assert len({cell.id for cell in nb.cells}) == len(nb.cells)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("It is ~~gone~~ now.", "one.md:4: Jupyter strikes text after '~~' out"),
    ],
)
def test_markup_that_notebooks_cannot_show_is_an_error(
    wrong: str, message: str, book: Book
):
    path = book.root / "chapter/one.md"
    path.write_text(ONE.replace("[**A *first* look.**]", wrong))
    with pytest.raises(BookError, match=re.escape(message)):
        notebook(Book(book.root))


def test_code_and_equations_may_have_two_tildes(book: Book):
    path = book.root / "chapter/one.md"
    path.write_text(ONE.replace("[**A *first* look.**]", "`~~a~~` and $b~~c~~d$."))
    assert "`~~a~~` and $b~~c~~d$." in text(notebook(Book(book.root)))


# The first cell


def run_cells(nb: NotebookNode, folder: Path, *before: str) -> str:
    """Return what the code of a notebook prints, run outside the book."""
    code = [c.source for c in nb.cells if c.cell_type == "code"]
    # The made-up tabs have no framework to install.
    code = [re.sub(r"^install_missing.*$", "", c, flags=re.MULTILINE) for c in code]
    result = subprocess.run(
        [sys.executable, "-I", "-c", "\n".join([*before, *code])],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("kind", [COLAB, SAGEMAKER])
def test_a_hosted_notebook_contains_the_library(book: Book, tmp_path: Path, kind: str):
    printed = run_cells(notebook(book, kind=kind), tmp_path)
    (folder,) = re.findall(r"^d2l is imported from (.+)\.$", printed, re.MULTILINE)
    assert printed.endswith("42\n")
    assert not Path(folder).parent.exists()  # the kernel has ended


@pytest.mark.parametrize("kind", KINDS)
def test_data_and_modules_by_hand_come_with_the_notebooks(
    book: Book, tmp_path: Path, kind: str
):
    (book.root / "d2l/numbers.csv").write_text("id,value\na,43\n")
    (book.root / "d2l/parts.py").write_text("from d2l.units import one\n")
    (book.root / "d2l/units.py").write_text("one = 1\n")
    path = book.root / "chapter/one.md"
    text = path.read_text().replace("    return 42", "    return 41 + one")
    marked = "%%tab all\nfrom d2l.parts import one  #@save\ndef answer"
    read = "from importlib import resources\nprint(resources.files('d2l')"
    code = f"{read}.joinpath('numbers.csv').read_text(), end='')"
    cell = f"\n```{{.python .input}}\n%%tab all\n{code}\n```\n"
    path.write_text(text.replace("%%tab all\ndef answer", marked) + cell)
    folder = editions.write(Book(book.root))
    with zipfile.ZipFile(folder / "made-up-notebooks.zip") as archive:
        archive.extractall(tmp_path)
    where = tmp_path / "made-up-notebooks" if kind == PLAIN else tmp_path
    nb = notebook(Book(book.root), kind=kind)
    assert run_cells(nb, where).endswith("42\nid,value\na,43\n")


def test_hosted_notebooks_have_what_no_code_names(book: Book, tmp_path: Path):
    """An attribute that `__getattr__` makes, and a function that a rank imports."""
    (book.root / "d2l/parts.py").write_text("def run():\n    print('a rank')\n")
    (book.root / "d2l/other.py").write_text("from d2l import parts\n")
    path = book.root / "chapter/one.md"
    dynamic = "\n\ndef __getattr__(name):  #@save\n    return f'made: {name}'\n```\n"
    text = path.read_text().replace("    return 42\n```\n", f"    return 42{dynamic}")
    code = "print(d2l.plt)\nexec('from d2l import other; other.parts.run()')"
    path.write_text(f"{text}\n```{{.python .input}}\n%%tab all\n{code}\n```\n")
    printed = run_cells(notebook(Book(book.root), kind=COLAB), tmp_path)
    assert printed.endswith("42\nmade: plt\na rank\n")


OTHER = {"__init__.py": '"""Dive into Deep Learning"""\n', "jax.py": "answer = None\n"}


def put_library(folder: Path, files: dict[str, str]) -> Path:
    (folder / "d2l").mkdir(parents=True)
    for name, content in files.items():
        (folder / "d2l" / name).write_text(content)
    return folder


@pytest.mark.parametrize("loaded", ["", "import d2l.jax"])
def test_the_library_takes_precedence_over_other_packages(
    book: Book, tmp_path: Path, loaded: str
):
    put_library(tmp_path / "site", OTHER)
    path = f"import sys; sys.path.append({str(tmp_path / 'site')!r})"
    printed = run_cells(notebook(book, kind=COLAB), tmp_path, path, loaded)
    assert printed.endswith("42\n")


def test_an_installed_library_of_this_book_is_used(book: Book, tmp_path: Path):
    init = package.version_file(book)
    ours = {"__init__.py": init, "jax.py": "def answer():\n    return 43\n"}
    put_library(tmp_path / "site", ours)
    path = f"import sys; sys.path.append({str(tmp_path / 'site')!r})"
    nb = notebook(book, kind=COLAB)
    assert run_cells(nb, tmp_path, path).endswith("43\n")
    # An installed library that lacks a name is older than the notebook.
    (tmp_path / "site/d2l/jax.py").write_text("question = 6 * 7\n")
    assert run_cells(nb, tmp_path, path).endswith("42\n")


def test_a_plain_notebook_without_its_folder_reports_that(book: Book, tmp_path: Path):
    with pytest.raises(AssertionError, match="unpack the whole zip"):
        run_cells(notebook(book), tmp_path)


@pytest.mark.parametrize(
    "python, numpy, fits",
    [
        ((3, 11), "1.23.5", True),
        ((3, 11), "2.0.2", False),
        ((3, 12), "1.23.5", False),
    ],
)
def test_mxnet_reports_its_requirements(
    python: tuple[int, int], numpy: str, fits: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(standalone.importlib.metadata, "version", lambda name: numpy)
    here = SimpleNamespace(version_info=python, version=f"{python[0]}.{python[1]} x")
    monkeypatch.setattr(standalone, "sys", here)
    if fits:
        standalone.check_mxnet()
        return
    with pytest.raises(ImportError, match=f"NumPy {numpy}"):
        standalone.check_mxnet()


@pytest.mark.parametrize("kind", [PLAIN, COLAB])
def test_the_first_cell_names_what_the_section_needs(kind: str):
    edition = NotebookEdition(GPUS)
    for tab, section, packages in [
        ("jax", "memory", "`jax`, `flax`, `optax`"),
        ("pytorch", "tiles", "`torch`, `triton>=3.6`"),
        ("mxnet", "kernels", "`mxnet==1.9.1`, `numpy==1.23.5`, `numba-cuda[cu12]`"),
    ]:
        nb = edition.notebook(GPUS.section(section), tab, kind)
        needed = f"{packages}, `cloudpickle`, `matplotlib`, `scikit-learn`"
        assert f"This section needs these packages: {needed}." in nb.cells[1].source


def test_only_missing_packages_are_installed(monkeypatch: pytest.MonkeyPatch):
    commands: list[tuple[str, str]] = []
    shell = SimpleNamespace(run_line_magic=lambda *words: commands.append(words))
    monkeypatch.setattr(standalone, "get_ipython", lambda: shell)
    standalone.install_missing({"json": "json"})
    assert commands == []
    standalone.install_missing({"json": "json", "no_such_module": "nosuch==1"})
    assert commands == [("pip", "install -q nosuch==1")]
    standalone.install_missing({"no_such_module": "nosuch>=3.6, older ones fail"})
    assert commands[1:] == [("pip", "install -q nosuch")]


def test_an_old_package_is_refused_with_the_reason():
    standalone.install_missing({"nbformat": "nbformat>=1.2, older ones lack it"})
    message = r"needs nbformat 99 or newer, as older ones lack it, and"
    with pytest.raises(ImportError, match=message):
        standalone.install_missing({"nbformat": "nbformat>=99, older ones lack it"})


def test_what_a_package_does_at_the_start_happens_without_a_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(standalone.site, "getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.syspath_prepend(tmp_path)
    old, new = (f"import sys; sys.{name} = 1\n" for name in ("old_file", "new_file"))
    (tmp_path / "old.pth").write_text(old)

    def install(*words: str) -> None:
        (tmp_path / "new.pth").write_text(new)
        (tmp_path / "a_new_module.py").touch()

    shell = SimpleNamespace(run_line_magic=install)
    monkeypatch.setattr(standalone, "get_ipython", lambda: shell)
    monkeypatch.setattr(sys, "new_file", 0, raising=False)
    standalone.install_missing({"a_new_module": "new"})
    assert sys.new_file == 1  # type: ignore[attr-defined]
    assert not hasattr(sys, "old_file")
    assert importlib.util.find_spec("a_new_module")


def test_gpus_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
):
    monkeypatch.setenv("PATH", str(tmp_path))
    standalone.report_gpus()
    assert capsys.readouterr().out == (
        "Found no NVIDIA GPU here; the code runs on the CPU.\n"
    )
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\n[ "$1" ] && echo "A\nB" || echo "| table |"\n')
    tool.chmod(0o755)
    standalone.report_gpus()
    assert capsys.readouterr().out == "Found 2 NVIDIA GPUs: A, B.\n"
    tool.write_text("#!/bin/sh\necho has failed\nexit 9\n")
    standalone.report_gpus()
    assert capsys.readouterr().out.startswith("Found no NVIDIA GPU")


def test_an_old_python_is_refused(monkeypatch: pytest.MonkeyPatch):
    standalone.check_python()
    here = SimpleNamespace(version_info=(3, 10, 13), version="3.10.13 (main)")
    monkeypatch.setattr(standalone, "sys", here)
    with pytest.raises(ImportError, match=r"3.11 or newer, .* has Python 3.10.13;"):
        standalone.check_python()


@pytest.mark.parametrize(
    "installed, printed",
    [
        ("0.10.2", ""),
        ("0.10.2+cuda13", ""),
        (
            "0.12.0",
            "The outputs in the book were made with jax 0.10.2; this runtime has jax"
            " 0.12.0.\n",
        ),
    ],
)
def test_another_version_of_the_framework_is_reported(
    installed: str,
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
):
    monkeypatch.setattr(standalone.importlib.metadata, "version", lambda _: installed)
    standalone.report_version(["jax"], "0.10.2")
    assert capsys.readouterr().out == printed


def test_every_section_with_kernels_installs_the_language_of_its_tab():
    importing = {
        (Path(section.name).name, tab)
        for section in GPUS.sections
        for tab in GPUS.code_tabs(section)
        for cell in GPUS.cells(section, tab)
        if re.search(r"^(import|from) (triton|numba)\b", cell.code, re.MULTILINE)
    }
    listed = {
        (name, tab)
        for name in (Path(section.name).name for section in GPUS.sections)
        for tab in GPUS.tabs
        if {"triton", "numba_cuda"}
        & set(editions.listed_packages(GPUS, f"{tab}-{name}"))
    }
    assert importing and importing == listed


def top_level_names(module: str) -> set[str]:
    """Return the names of a module, with `plt` if it makes attributes."""
    names = {name for node in ast.parse(module).body for name in bound_names(node)}
    return names | ({"plt"} if "__getattr__" in names else set())


@pytest.mark.parametrize("tab", GPUS.tabs)
def test_each_hosted_notebook_has_the_names_and_files_that_it_uses(tab: str):
    by_hand = {
        path.name: path.read_text("utf-8")
        for pattern in ("*.py", "*.csv")
        for path in package.folder(GPUS).glob(pattern)
        if "Generated by `make lib`" not in path.read_text("utf-8")
    }
    edition = NotebookEdition(GPUS)
    for section in GPUS.sections:
        code = "\n".join(cell.code for cell in GPUS.cells(section, tab))
        if not code:
            continue
        setup = edition._setup_code(section, tab, COLAB)
        (packed,) = re.findall(r"^    archive='(.+)',$", setup, re.MULTILINE)
        library = zipfile.ZipFile(io.BytesIO(base64.b64decode(packed)))
        files = {
            name.removeprefix("d2l/"): library.read(name).decode()
            for name in library.namelist()
        }
        assert by_hand.items() <= files.items(), section.name
        module = GPUS.config.library[tab]["lib_file"].removeprefix("d2l/")
        used = set(re.findall(r"(?<!from )d2l\.(\w+)", code))
        assert used <= top_level_names(files[module]), section.name
        figures = json.loads(files.get("figures.json", '{"pictures": {}}'))["pictures"]
        assert package.figures_in(code) == figures.keys(), section.name


# Files


def test_the_folder_and_the_archive_are_complete(book: Book, tmp_path: Path):
    folder = editions.write(book)
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*.*")}
    archive = (folder / "made-up-notebooks.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        unpacked.extractall(tmp_path)
    inside = tmp_path / "made-up-notebooks"
    assert {p.relative_to(inside).as_posix() for p in inside.rglob("*.*")} == {
        name for name in found if not name.startswith(("colab", "sagemaker", "made"))
    }
    nb = nbformat.read(inside / "jax/one.ipynb", as_version=4)
    for place in ("jax", "."):
        assert run_cells(nb, inside / place).endswith("42\n")
    editions.write(Book(book.root))
    assert (folder / "made-up-notebooks.zip").read_bytes() == archive


def test_a_single_notebook_can_be_written(book: Book):
    folder = editions.write(book)
    other = folder / "pytorch/one.ipynb"
    other.write_text("unchanged")
    (folder / "jax/one.ipynb").unlink()
    editions.write(book, ["jax"], ["one"])
    assert other.read_text() == "unchanged"
    assert (folder / "jax/one.ipynb").exists()


def test_a_page_without_code_has_no_notebook(book: Book):
    with pytest.raises(BookError, match="SECTION: index has no code"):
        editions.write(book, sections=["index"])


def test_a_stale_record_gives_no_outputs(
    asking: Callable[..., Book], capsys: pytest.CaptureFixture
):
    book = asking("```{.python .input}\n1 + 1\n```\n", "2\n")

    def outputs(book: Book, machine: str | None) -> list:
        nb = NotebookEdition(book, machine).notebook(book.section("one"), "jax", PLAIN)
        return [c.outputs for c in nb.cells if c.cell_type == "code" and c.outputs]

    assert outputs(book, None) == []
    assert outputs(book, "cpu")[0][0].text == "2\n"
    path = book.section("one").path
    path.write_text(path.read_text().replace("1 + 1", "1 + 2"))
    assert outputs(Book(book.root), "cpu") == []
    assert "chapter/one (jax) has no outputs" in capsys.readouterr().err


def cell_with(output: NotebookNode) -> Cell:
    return Cell(
        line=1, number=1, source="", code="plot()", rows=(1,), outputs=(output,)
    )


def test_a_plot_in_a_notebook_stands_alone():
    """It has the size and the light colors of the page, and needs no stylesheet."""
    svg = (PLOTS / "letters-as-paths.svg").read_text("utf-8")
    plot = nbformat.v4.new_output("display_data", {"image/svg+xml": svg})
    (shown,) = editions._code_cell(cell_with(plot)).outputs
    assert "#1a56b0" in shown.data["image/svg+xml"]
    assert "var(" not in shown.data["image/svg+xml"]
    assert 440 < shown.metadata["image/png"]["width"] < 520
    assert plot.data == {"image/svg+xml": svg}  # the record is unchanged
