"""make test-hosts: which notebooks are in order, and which builds it takes."""

from pathlib import Path
from types import SimpleNamespace

import alone
import hosts as command
import nbformat
import pytest
import yaml
from hosts import Environment, Verdict, judge, nearest_torch, others
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book.base import environments
from book.notebooks import hosts
from book.runner.errors import BookError
from book.text.book import Book

BOOK = Book(command.ROOT)
NEEDS = "this section needs jax 0.10, since its kernels do"


def ran(*errors: tuple[str, str] | None) -> nbformat.NotebookNode:
    """Return a notebook with a cell for each error, or None for a cell without one."""
    cells = []
    for error in errors:
        text = new_output("stream", text="a line\n")
        raised = [new_output("error", ename=error[0], evalue=error[1])] if error else []
        cells.append(new_code_cell("1", outputs=[text, *raised]))
    return new_notebook(cells=[nbformat.v4.new_markdown_cell("# A"), *cells])


@pytest.mark.parametrize(
    "errors, verdict",
    [
        ([None, None], Verdict("a")),
        ([("ImportError", NEEDS), None], Verdict("a", told=NEEDS)),
        (
            [None, ("ImportError", NEEDS)],
            Verdict("a", failure=f"cell 2: ImportError: {NEEDS}"),
        ),
        (
            [("ModuleNotFoundError", "No module named 'jax._src.x'")],
            Verdict("a", failure="cell 1: ModuleNotFoundError: No module named"
                    " 'jax._src.x'"),
        ),
        (
            [("ImportError", "cannot import name 'x'")],
            Verdict("a", failure="cell 1: ImportError: cannot import name 'x'"),
        ),
        (
            [None, None, ("NameError", "name 'd2l'\nhas no value")],
            Verdict("a", failure="cell 3: NameError: name 'd2l'"),
        ),
    ],
)  # fmt: skip
def test_only_a_first_cell_may_fail_and_only_if_it_says_what_it_needs(errors, verdict):
    assert judge("a", ran(*errors), "Traceback" if any(errors) else "") == verdict


def test_a_run_that_breaks_off_without_an_error_in_a_cell_has_failed():
    verdict = judge("a", ran(None), "Traceback\nDeadKernelError: Kernel died\n")
    assert verdict.failure == "DeadKernelError: Kernel died"


def test_the_table_names_each_reason_once():
    told = "x | y. Otherwise, z"
    verdicts = [Verdict("a"), Verdict("b", told=told), Verdict("c", told=told)]
    assert others(verdicts) == "b, c: x \\| y"
    assert others([Verdict("b", failure="z")]) == "all: z"
    assert others([Verdict("a")]) == ""


# Builds


def wheels(folder: Path, *names: str) -> str:
    for name in names:
        (folder / f"{name}-manylinux_2_28_x86_64.whl").touch()
    return str(folder)


def test_the_cpu_build_nearest_to_that_of_the_host_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    names = ("torch-2.9.1+cpu-cp311-cp311", "torch-2.13.0+cpu-cp312-cp312")
    folder = wheels(tmp_path, *names, "torch-2.11.0-cp313-cp313", "triton-3.6.0-cp311")
    monkeypatch.setenv("PIP_FIND_LINKS", folder)
    assert nearest_torch("2.10.0") == ("2.9.1", "3.11")
    assert nearest_torch("2.12.0") == ("2.13.0", "3.12")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(BookError, match="set UV_TORCH_BACKEND=cpu$"):
        nearest_torch("2.12.0")


@pytest.mark.parametrize("tab", ["jax", "tensorflow", "pytorch", "mxnet"])
def test_an_environment_has_the_versions_of_the_host(
    tab: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("UV_TORCH_BACKEND", "cpu")
    environment = Environment(BOOK, "colab", tab)
    python, pins = environment._choose_builds()
    theirs = hosts.load(BOOK.root, "colab")
    assert python == theirs.python
    versions = dict(pin.split("==") for pin in pins)
    cpu = versions.pop("tensorflow-cpu", None)
    assert {"numpy", "ipykernel", "matplotlib"} <= versions.keys()
    assert versions.items() <= theirs.versions.items()
    assert cpu == (theirs.versions["tensorflow"] if tab == "tensorflow" else None)
    assert bool(environment.notes) == (tab == "tensorflow")
    assert ("torch" in versions) == (tab == "pytorch")


def test_another_build_of_pytorch_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("UV_TORCH_BACKEND", raising=False)
    monkeypatch.setattr(command, "nearest_torch", lambda wish: ("9.1.0", "3.11"))
    environment = Environment(BOOK, "colab", "pytorch")
    python, pins = environment._choose_builds()
    theirs = hosts.load(BOOK.root, "colab").versions["torch"]
    assert python == "3.11" and "torch==9.1.0" in pins
    assert f"torch 9.1.0 for a CPU on Python 3.11 in place of torch {theirs}" in (
        environment.shown_versions()
    )


# A run


@pytest.mark.slow
def test_a_notebook_installs_into_a_copy_and_keeps_what_it_showed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    python = environments.python("jax", BOOK.root)
    monkeypatch.setattr(command, "BUILT", tmp_path)
    environment = Environment(BOOK, "colab", "jax")
    environment.folder.symlink_to(python.parents[1], target_is_directory=True)
    copy = environment.copy(tmp_path / "copy")
    code = "import jax, sys, site; print(sys.prefix, len(site.getsitepackages()))"
    found = command.run_python(copy, "-c", code).stdout.split()
    assert found == [str(tmp_path / "copy"), "2"]
    folder = tmp_path / "work"
    (folder / "home").mkdir(parents=True)
    cells = [new_code_cell(code) for code in ("print('shown')", "1 / 0", "2")]
    nbformat.write(new_notebook(cells=cells), folder / "a.ipynb")
    env = alone.without_settings_of_python()
    done = alone.run_notebook(folder / "a.ipynb", folder, copy, env)
    notebook = nbformat.read(folder / "a.ipynb", as_version=4)
    assert done.returncode == 1 and notebook.cells[0].outputs[0].text == "shown\n"
    failure = "cell 2: ZeroDivisionError: division by zero"
    assert judge("a", notebook, done.stderr) == Verdict("a", failure=failure)


# The command


@pytest.mark.parametrize(
    "words, line",
    [
        ("--host binder", "error: HOST: unknown host 'binder'; choose from colab, "),
        ("--host colab --tab torch", "error: TAB: unknown tab 'torch'"),
        ("--section nope", "error: SECTION: unknown section 'nope'"),
        ("--jobs x", "error: JOBS: 'x' is not a positive integer"),
    ],
)
def test_a_mistake_is_one_line(
    words: str, line: str, capsys: pytest.CaptureFixture[str]
):
    assert command.main(words.split()) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(line)


def test_a_failure_is_an_error_and_a_part_changes_no_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    kept: list[dict[str, str]] = []
    verdicts = {"use-gpu": Verdict("use-gpu", failure="cell 2: OSError: x")}
    answers = SimpleNamespace(stdout="Python 3.13.0")
    monkeypatch.setattr(Environment, "build", lambda self: Path("python"))
    monkeypatch.setattr(Environment, "fetch_missing", lambda self, folder: None)
    monkeypatch.setattr(command, "run_python", lambda *words: answers)
    monkeypatch.setattr(hosts, "keep_result", lambda root, row: kept.append(row))
    monkeypatch.setattr(
        command,
        "run_one",
        lambda environment, section, make: verdicts.get(
            Path(section.name).name, Verdict(Path(section.name).name)
        ),
    )
    words = ["--host", "colab", "--tab", "jax"]
    assert command.main([*words, "--section", "use-gpu,trainer"]) == 1 and not kept
    assert "error: jax on colab: notebooks failed" in capsys.readouterr().err
    assert command.main([*words, "--section", "trainer"]) == 0 and not kept
    assert command.main(words) == 1
    (row,) = kept
    assert row["others"] == "use-gpu: cell 2: OSError: x"
    assert int(row["ran"]) == int(row["notebooks"]) - 1 > 30


def test_all_hosts_and_tabs_run_each_week():
    file = BOOK.root / ".github/workflows/hosts.yml"
    matrix = yaml.safe_load(file.read_text("utf-8"))["jobs"]["hosts"]["strategy"]
    assert matrix["matrix"] == {"host": [*hosts.HOSTS], "tab": BOOK.tabs}
