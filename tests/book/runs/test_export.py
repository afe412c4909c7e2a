"""A folder goes to a machine without the book, and its results come back as records.

There, `book/runner/run.py` runs it.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from book.__main__ import main
from book.records import fingerprint, store, validation
from book.runner import command
from book.runner import folder as in_folder
from book.runner.errors import BookError
from book.runs import export
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = '''\
import sys

def two():  #@save
    """Two."""
    return 2

def other():  #@save
    return 3'''
USES = """\
import importlib.util, os, sys
from d2l import pytorch as d2l
print(sys.prefix, os.listdir(), importlib.util.find_spec("book"))
d2l.two()"""

Run = Callable[..., subprocess.CompletedProcess[str]]


def section(*cells: str, label: str = "sec_a") -> str:
    """A section of code cells for one tab."""
    fences = (f"```{{.python .input}}\n%%tab pytorch\n{c}\n```\n" for c in cells)
    return f"# A\n:label:`{label}`\n\n" + "\nText.\n\n".join(fences)


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    lib = section(LIBRARY, label="sec_lib")
    return make_book(folder="a book", lib=lib, a=section(USES, "1 + 1"))


def state(book: Book, name: str = "a", machine: str = "h200") -> store.State:
    book = Book(book.root)
    return store.state(book, book.section(name), "pytorch", machine)


pytestmark = pytest.mark.usefixtures("gpu")  # that run.py finds


def exported(book: Book, folder: Path, **options) -> Path:
    """A copy of what is exported, as it stands on the other machine."""
    made = export.export(book, "h200", **options)
    assert made is not None
    shutil.copytree(made, folder)
    return folder


def run_there(
    folder: Path, *arguments: str, python: Path | str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """Run the folder from another one, with nothing of ours in the environment."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [python, folder / "run.py", *arguments]
    return subprocess.run(
        command, cwd=folder.parent, env=env, capture_output=True, text=True
    )


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the folder as `run_there` does, but in this process, which is quicker."""

    def run_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        before = signal.getsignal(signal.SIGTERM)
        status = command.main(folder, arguments)
        signal.signal(signal.SIGTERM, before)
        printed = capfd.readouterr()
        return subprocess.CompletedProcess([], status, printed.out, printed.err)

    return run_here


@pytest.fixture
def done(book: Book, tmp_path: Path) -> Path:
    """An exported folder with results that no kernel had to make."""
    folder = exported(book, tmp_path / "done")
    facts = dict.fromkeys(validation.FACTS, "") | {"machine": "h200", "gpu": "A GPU"}
    facts |= {"framework": "pytorch", "python": "3.10.1", "machine_name": "A GPU"}
    del facts["fingerprint"]
    for file in in_folder.notebooks(folder):
        nb = in_folder.read_notebook(folder, file)
        for number, cell in enumerate(nb.cells, start=1):
            cell.execution_count = number
            cell.outputs = [nbformat.v4.new_output("stream", text="seen there\n")]
        result = folder / in_folder.RESULTS / file
        result.parent.mkdir(parents=True, exist_ok=True)
        nb.metadata = nbformat.NotebookNode(book=nb.metadata.book | facts)
        result.write_text(nbformat.writes(nb))
    return folder


A = "pytorch/chapter/a.ipynb"
NO_GPU = (
    "no GPU is found here ({}), but 'h200' names a machine with a GPU; fix the driver,"
    " or use a name that begins with cpu-, as in MACHINE=cpu-arm"
)


# The whole way


@pytest.mark.slow
def test_there_and_back(
    book: Book,
    other_python: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    folder = exported(book, tmp_path / "on the machine")
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "exported: chapter/lib (pytorch), chapter/a (pytorch)",
        "copy this folder to h200 and run in it: python run.py",
        str(book.root / "_build/export/h200"),
    ]
    assert {path.name for path in folder.iterdir()} == {
        *("run.py", "runner", "notebooks", "d2l")
    }
    ran = run_there(folder, python=other_python)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("pytorch: chapter/a: 2 cells in ")
    assert ran.stdout.startswith(f"2 of 2 notebooks are in {folder / 'results'};")

    export.import_results(book, folder)
    assert state(book) == state(book, "lib") == "fresh"
    assert state(book, machine="cpu") == "missing"
    shown = store.shown(book, book.section("a"), "pytorch", "h200")
    assert shown is not None
    printed, two, sum_ = [output for cell in shown.cells for output in cell.outputs]
    assert printed.text == f"{other_python.parent.parent} [] None\n"
    assert [two.data["text/plain"], sum_.data["text/plain"]] == ["2", "2"]
    facts = shown.facts
    assert set(validation.FACTS) <= set(facts) and "library" not in facts
    assert (facts["machine"], facts["framework"]) == ("h200", "pytorch")
    assert facts["date"] and facts["platform"] and facts["python"].startswith("3.")
    assert main(["export", "--machine", "h200"]) == 0
    assert capsys.readouterr().out.endswith("are fresh; there is nothing to export\n")


@pytest.mark.slow
def test_a_record_of_results_is_that_of_a_run_there(
    book: Book, tmp_path: Path, run_here: Run
):
    from book.runs import stale

    folder = exported(book, tmp_path / "there", sections=["a"])
    assert run_here(folder).returncode == 0
    export.import_results(book, folder)
    file = store.path(book, book.section("a"), "pytorch", "h200")
    imported = file.read_bytes()
    stale.run(book, ["pytorch"], ["a"], "h200", force=True, python=Path(sys.executable))
    assert file.read_bytes() == imported


@pytest.mark.slow
def test_what_fails_there_is_told_and_the_rest_comes_back(
    make_book: Callable[..., Book],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    run_here: Run,
):
    book = make_book(
        bad=section("x = 1", "y = x / 0", label="sec_bad"),
        dead=section("import os\nos._exit(1)", label="sec_dead"),
        good=section("1 + 1", label="sec_good"),
    )
    folder = exported(book, tmp_path / "there")
    ran = run_here(folder)
    assert ran.returncode == 1
    bad, dead, good = ran.stderr.splitlines()
    log = folder / "results/pytorch/chapter/bad.log"
    assert bad == (
        "error: pytorch: chapter/bad, cell 2: ZeroDivisionError: division by zero;"
        f" see {log}"
    )
    assert "y = x / 0" in log.read_text() and "\x1b" not in log.read_text()
    end = f"see {log.with_name('dead.log')}"
    assert dead == (
        "error: pytorch: chapter/dead, cell 1: the kernel exited with status 1; " + end
    )
    assert good.startswith("pytorch: chapter/good: 1 cells in ")
    assert ran.stdout.startswith("1 of 3 notebooks are in ")

    assert main(["import", "--from", str(folder)]) == 0
    imported, missing = capfd.readouterr().out.splitlines()
    assert imported == "imported: outputs/h200/pytorch/chapter/good.ipynb"
    assert missing.startswith(
        "without a result: chapter/bad (pytorch), chapter/dead (pytorch); "
    )
    assert state(book, "good") == "fresh" and state(book, "bad") == "missing"


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_was_finished(
    make_book: Callable[..., Book], tmp_path: Path
):
    marker = tmp_path / "marker"
    sleep = f"import os, time\nopen({str(marker)!r}, 'w').close()\ntime.sleep(600)"
    book = make_book(a=section("1 + 1"), b=section(sleep, label="sec_b"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        marker.unlink(missing_ok=True)
        folder = exported(book, tmp_path / number.name)
        process = subprocess.Popen(
            [sys.executable, folder / "run.py"], stderr=subprocess.PIPE, text=True
        )
        end = time.monotonic() + 120
        while not marker.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr is not None
        told = process.stderr.read()
        assert process.wait(120) == (-9 if number == signal.SIGKILL else 130)
        if number != signal.SIGKILL:
            assert told.endswith("interrupted: finished work is kept\n")
            assert "Traceback" not in told
        files = [p.name for p in (folder / "results").rglob("*") if p.is_file()]
        assert files == ["a.ipynb"]


# What is not imported


def refusals(book: Book, folder: Path) -> list[str]:
    with pytest.raises(BookError) as caught:
        export.import_results(Book(book.root), folder)
    lines = str(caught.value).splitlines()
    start = f"{folder / 'results'}/"
    assert all(line.startswith(start) for line in lines), lines
    return [line.removeprefix(start) for line in lines]


def edit(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize(
    "file, old, new, refused",
    [
        ("chapter/a.md", "1 + 1", "1 + 2", True),
        ("chapter/a.md", "Text", "Prose", False),
        ("chapter/lib.md", "return 2", "return 4 - 2", True),
        ("environments/pytorch.txt", "7.4.0", "7.4.1", True),
    ],
)
def test_stale_results_are_refused(
    file: str, old: str, new: str, refused: bool, book: Book, done: Path
):
    edit(book.root / file, old, new)
    if refused:
        lines = [x for x in refusals(book, done) if x.startswith(A)]
        assert lines[0].startswith(f"{A}: stale: ")
        assert lines[0].endswith("; export it and run it again")
        assert state(book) == "missing"
    else:
        export.import_results(Book(book.root), done)
        assert state(book) == "fresh"


def test_what_a_result_does_not_use_may_change(book: Book, done: Path):
    edit(book.root / "chapter/lib.md", "return 3", "return 4")
    (line,) = refusals(book, done)
    assert line.startswith("pytorch/chapter/lib.ipynb: stale: ")
    assert state(book) == "fresh"


def alter(file: Path, change: Callable[[NotebookNode], object]) -> None:
    """Change a result as if it had come so from the machine."""
    nb = nbformat.read(file, as_version=4)
    change(nb)
    file.write_text(nbformat.writes(nb))


def one_cell_less(nb: NotebookNode) -> None:
    del nb.cells[1]


def a_broken_image(nb: NotebookNode) -> None:
    data = {"image/png": "no base64!"}
    nb.cells[1].outputs = [nbformat.v4.new_output("display_data", data=data)]


@pytest.mark.parametrize(
    "change, message",
    [
        (one_cell_less, "damaged (not a result); "),
        (a_broken_image, "cell 2: an image (image/png) is broken"),
        (lambda nb: nb.metadata.book.update(gpu=8), "a fact of its machine is not a"),
        (lambda nb: nb.metadata.book.pop("gpu"), "damaged (not a result); "),
        (lambda nb: nb.metadata.book.update(machine="../x"), "MACHINE: '../x' is not"),
        (lambda nb: nb.metadata.book.update(fingerprint="x"), "stale: "),
    ],
)
def test_results_that_are_none_are_refused(
    change: Callable[[NotebookNode], None], message: str, book: Book, done: Path
):
    alter(done / "results" / A, change)
    (line,) = refusals(book, done)
    assert line.startswith(f"{A}: {message}")
    assert "export it and run it again" in line or "MACHINE" in line
    assert state(book) == "missing" and state(book, "lib") == "fresh"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"outputs"', '"output"'),
        lambda text: text.replace('"fingerprint"', '"print"'),
        lambda text: text[: len(text) // 2],
        lambda text: "{}",
        lambda text: "",
    ],
)
def test_damaged_results_are_refused(
    damage: Callable[[str], str], book: Book, done: Path
):
    file = done / "results" / A
    file.write_text(damage(file.read_text()))
    (line,) = refusals(book, done)
    assert line.startswith(f"{A}: damaged (")
    assert state(book) == "missing" and state(book, "lib") == "fresh"


@pytest.mark.parametrize(
    "file, old, new",
    [("pytorch.py", "return 2", "return 1"), ("numbers.csv", "", "1\n")],
)
def test_an_edited_d2l_does_not_run(
    file: str, old: str, new: str, book: Book, tmp_path: Path, run_here: Run
):
    folder = exported(book, tmp_path / "there")
    library = folder / "d2l" / file
    library.touch()
    edit(library, old, new)
    ran = run_here(folder)
    assert ran.returncode == 1 and not (folder / "results").exists()
    assert ran.stderr == "error: d2l/ is not what was exported; export it again\n"


def test_numbers_that_an_import_does_not_have_are_printed(
    book: Book, done: Path, capsys: pytest.CaptureFixture[str]
):
    path = book.root / "chapter/a.md"
    text = path.read_text() + "\nIt takes [16 ms]{.measured}.\n"
    path.write_text(text)
    export.import_results(Book(book.root), done)
    title, number = capsys.readouterr().out.splitlines()[-2:]
    assert title == "reread these sentences: the outputs of h200 have other numbers"
    where = f"chapter/a.md:{text.count(chr(10))}"
    assert number.startswith(f"{where}: '16 ms' quotes no cell, because none prints")


def test_the_old_record_stays_when_a_result_is_refused(book: Book, done: Path):
    export.import_results(book, done)
    before = store.path(book, book.section("a"), "pytorch", "h200").read_bytes()
    (done / "results" / A).write_text("")
    refusals(book, done)
    assert store.path(book, book.section("a"), "pytorch", "h200").read_bytes() == before


def test_what_the_book_does_not_have_is_refused(book: Book, done: Path):
    shutil.copy(done / "results" / A, done / "results/pytorch/stray.ipynb")
    shutil.copy(done / "results" / A, done / "results/lib.ipynb")
    edit(book.root / "index.md", "chapter/a\n", "")
    lines = refusals(book, done)
    assert [line.partition(": ")[::2] for line in lines] == [
        ("lib.ipynb", "the book no longer has code of lib.ipynb in lib"),
        (A, "the book no longer has code of chapter/a in pytorch"),
        ("pytorch/stray.ipynb", "the book no longer has code of stray in pytorch"),
    ]


# What is asked for wrongly


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["export"], "MACHINE: name the machine, as in MACHINE=h200"),
        (["export", "--machine", "H200"], "MACHINE: 'H200' is not a valid name"),
        (["export", "--machine", "x", "--tab", "torch"], "TAB: unknown tab 'torch'"),
        (
            ["export", "--machine", "x", "--section", "c"],
            "SECTION: unknown section 'c'",
        ),
        (["export", "--machine", "x", "--to", ""], "TO: '' is not a path"),
        (["export", "--machine", "x", "--to", "."], "holds other files; name a new"),
        (
            ["export", "--machine", "x", "--to", "index.md"],
            "a file, not a folder; name a",
        ),
        (["export", "--machine", "x", "--to", "index.md/x"], "cannot be written"),
        (["import"], "FROM: name the folder, as in FROM=_build/export/h200"),
        (["import", "--from", "nosuch"], "nosuch: there is no notebooks/; name a"),
        (["import", "--from", "index.md"], "index.md"),
    ],
)
def test_a_users_mistake_is_one_line(
    arguments: list[str],
    message: str,
    book: Book,
    capsys: pytest.CaptureFixture[str],
):
    before = sorted(book.root.glob("*"))
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line
    assert sorted({*book.root.glob("*")} - {book.root / "_build"}) == before


def test_an_export_replaces_an_older_one_but_no_results(
    book: Book, capsys: pytest.CaptureFixture[str]
):
    folder = export.export(book, "h200", sections=["lib"])
    assert folder is not None
    assert export.export(book, "h200", sections=["a"]) == folder
    assert [p.name for p in (folder / "notebooks").rglob("*.ipynb")] == ["a.ipynb"]
    assert [p.name for p in folder.parent.iterdir()] == ["h200"]

    result = folder / "results" / A
    result.parent.mkdir(parents=True)
    result.write_text("precious")
    with pytest.raises(
        BookError, match="holds results; import them with make import FROM="
    ):
        export.export(book, "h200")
    assert result.read_text() == "precious"
    with pytest.raises(BookError, match="damaged"):
        export.import_results(book, folder)


def test_a_failed_export_leaves_the_old_one(
    book: Book, monkeypatch: pytest.MonkeyPatch
):
    folder = export.export(book, "h200")
    assert folder is not None

    def full(*args: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(BookError, match=r"cannot be written \(No space left"):
        export.export(book, "h200")
    assert (folder / "run.py").exists()
    assert [p.name for p in folder.parent.iterdir()] == ["h200"]


def test_without_results_there_is_nothing_to_import(book: Book, tmp_path: Path):
    folder = exported(book, tmp_path / "there")
    with pytest.raises(
        BookError, match="there are no results; make them first: python"
    ):
        export.import_results(book, folder)


# The script


@pytest.mark.slow
def test_the_script_says_what_is_wrong(book: Book, tmp_path: Path, run_here: Run):
    folder = exported(book, tmp_path / "there")
    for arguments, message in (
        (["--tab", "jax"], "error: no tab 'jax' here; there are pytorch\n"),
        (["--section", "b"], "error: no section 'b' here; there are chapter/a, "),
    ):
        ran = run_here(folder, *arguments)
        assert ran.returncode == 1 and ran.stderr.startswith(message)
    venv.create(tmp_path / "bare", symlinks=True)
    bare = tmp_path / "bare/bin/python"
    ran = run_there(folder, python=bare)
    assert ran.returncode == 1
    assert ran.stderr == (
        f"error: nbclient is missing here; {bare} -m pip install nbclient ipykernel\n"
    )
    (folder / "notebooks" / A).write_text("{")
    ran = run_here(folder, "--section", "a.md", "--tab", "pytorch")
    assert ran.returncode == 1
    assert ran.stderr == (
        f"error: {folder / 'notebooks' / A}: damaged; export it again\n"
    )


def test_the_script_refuses_a_machine_without_the_gpu_that_its_name_promises(
    book: Book, tmp_path: Path, nvidia_smi: Callable[..., None]
):
    folder = exported(book, tmp_path / "there", sections=["a"])
    nvidia_smi("exit 9")
    ran = run_there(folder)
    assert ran.returncode == 1 and not (folder / "results").exists()
    assert ran.stderr == f"error: {NO_GPU.format('nvidia-smi fails')}\n"


def test_a_second_machine_without_a_gpu(
    book: Book, tmp_path: Path, nvidia_smi: Callable[..., None]
):
    """Its name begins with cpu-, so its records are those of a CPU."""
    nvidia_smi("exit 9")
    made = export.export(book, "cpu-arm", sections=["a"])
    assert made is not None
    folder = shutil.copytree(made, tmp_path / "there")
    assert run_there(folder).returncode == 0
    export.import_results(book, folder)
    shown = store.shown(book, book.section("a"), "pytorch", "cpu-arm")
    assert shown is not None
    assert (shown.facts["machine_name"], shown.facts["gpu"]) == ("CPU", "")


def test_the_runner_needs_nothing_of_the_book_and_an_older_python_reads_it():
    names = set()
    for file in export.RUNNER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(), feature_version=(3, 10))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module).split(".")[0])
    names.remove(export.RUNNER.name)  # run.py finds it beside itself
    beside = {"nbformat", "nbclient", "jupyter_client", "psutil"}
    assert names - set(sys.stdlib_module_names) == beside


def test_a_notebook_says_what_it_was_made_from(make_book: Callable[..., Book]):
    book = make_book(a=section("1", "2"))
    folder = export.export(book, "h200", to=Path("some where/new"))
    assert folder == Path.cwd() / "some where/new"
    assert in_folder.notebooks(folder) == [A]
    assert in_folder.read_notebook(folder, A).metadata == {
        "book": {
            "machine": "h200",
            "framework": "pytorch",
            "library": in_folder.library_digest(book.root),
            "fingerprint": fingerprint.fingerprint(book, book.section("a"), "pytorch"),
        },
        "distributions": ["torch"],
    }
