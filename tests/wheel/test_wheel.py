"""The library as a wheel: its contents, and another book's `d2l` beside or over it."""

import configparser
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import installing
import pytest

OTHER_PROJECT = """\
[project]
name = "d2l"
version = "1.0.3"
[tool.setuptools]
packages = ["d2l"]
"""
OTHER_LIBRARY = '"""Saved source code for another book."""\nimport torchvision\n'
OURS, OTHER = "gpus-chapter-d2l", "d2l"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return this library, built as a wheel."""
    return installing.build(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel that looks like PyPI's d2l."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "d2l").mkdir()
    (folder / "pyproject.toml").write_text(OTHER_PROJECT)
    (folder / "d2l/__init__.py").touch()
    for name in ("jax", "mxnet", "tensorflow", "torch"):
        (folder / f"d2l/{name}.py").write_text(OTHER_LIBRARY)
    return installing.build_sources(folder, folder)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment without any package."""
    folder = tmp_path_factory.mktemp("without-frameworks")
    return installing.environment(folder / "environment", sys.executable)


@pytest.fixture
def empty(python: Path) -> Iterator[Path]:
    """Return the same interpreter, and uninstall both libraries afterwards."""
    yield python
    installing.uv("pip", "uninstall", "--quiet", "--python", python, OURS, OTHER)


def install(python: Path, *packages: Path) -> None:
    for package in packages:
        installing.install(python, "--quiet", "--no-deps", package)


def report(python: Path, folder: Path) -> tuple[int, list[str]]:
    """Run `python -m d2l` in `folder`; return its exit status and error lines."""
    command = [str(python), "-m", "d2l"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


# The contents


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode("utf-8"))


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
    modules = ("__init__.py", "__main__.py", "jax.py", "mxnet.py", "tensorflow.py")
    shared = ("fashion_mnist", "figures", "launcher", "plots", "report", "storage")
    names_of_audit = (
        "arguments audit audit_command bounds expectations language_models needs"
        " predictions published recorded_steps serving training_plans"
        " configurations generation model_layers"
    )
    audit = names_of_audit.split()
    command = ("memory_command", "step_memory", "wrappers")
    others = ("torch.py", "common.py", "settings.py", "tables.py", "py.typed")
    tables = (
        "cards cited prices published predicted_steps plans kernels collectives turns"
    )
    data = [f"{name}.csv" for name in tables.split()]
    assert names == {
        *(f"d2l/{name}" for name in (*modules, *others, *data)),
        *("d2l/figures.json", "d2l/models.json"),
        *(f"d2l/{name}.py" for name in (*shared, *audit, *command)),
    }


def test_metadata_agrees_with_the_settings_of_the_book(wheel: Path):
    config = configparser.RawConfigParser()
    config.read(installing.ROOT / "config.ini", "utf-8")
    found = metadata(wheel)
    assert found["Version"] == config["project"]["release"]
    assert found["Author"] == config["project"]["author"]
    tabs = config["build"]["tabs"].replace(" ", "").split(",")
    assert set(found.get_all("Provides-Extra", [])) == set(tabs)
    repository, site = config["publish"]["repository"], config["publish"]["site"]
    urls = [f"Homepage, {site}"] if site else []
    urls += [f"Repository, https://github.com/{repository}"] if repository else []
    assert found.get_all("Project-URL", []) == urls


def test_every_supported_python_is_in_the_metadata(wheel: Path):
    found = metadata(wheel)
    start = "Programming Language :: Python :: 3."
    versions = [c for c in found.get_all("Classifier", []) if c.startswith(start)]
    assert [v.removeprefix(start) for v in versions] == ["11", "12", "13"]
    assert found["Requires-Python"] == ">=3.11"


# The tests of the library, as make test-wheel runs them


def test_the_copied_tests_find_their_marks_and_helpers(tmp_path: Path):
    folder = installing.copied((*installing.TESTS, "d2l"), tmp_path)
    tests = folder / "tests/d2l"
    texts = "".join(file.read_text("utf-8") for file in tests.glob("*.py"))
    for module in re.findall(r"^from (book[\w.]*) import", texts, re.MULTILINE):
        assert (folder / f"{module.replace('.', '/')}.py").exists()
    for tab in installing.EXTRAS:  # their collection imports a framework
        for file in tests.glob(f"*{tab}.py"):
            file.unlink()
    collect = (
        "-m pytest --collect-only --tab pytorch -m slow tests/d2l/test_report_links.py"
    )
    command = [sys.executable, *collect.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# python -m d2l


def test_report_of_a_wheel_without_a_framework(
    empty: Path, wheel: Path, tmp_path: Path
):
    install(empty, wheel)
    status, (line,) = report(empty, tmp_path)
    assert status == 1 and line.startswith("error: install one of torch, mxnet,")


def test_report_when_another_book_is_installed_over_this_one(
    empty: Path, wheel: Path, other: Path, tmp_path: Path
):
    install(empty, wheel, other)
    status, (line,) = report(empty, tmp_path)
    assert status == 1 and line.startswith("error: another book's package d2l 1.0.3")
    assert "pip uninstall d2l" in line and line.endswith("with --force-reinstall")


def test_report_when_this_book_is_installed_over_another(
    empty: Path, wheel: Path, other: Path, tmp_path: Path
):
    install(empty, other, wheel)
    status, lines = report(empty, tmp_path)
    assert status == 1 and len(lines) == 2
    assert lines[0].startswith("error: another book's package d2l 1.0.3 is installed")
    assert lines[1].startswith("error: install one of")


def test_report_in_a_clone_when_another_book_is_installed(empty: Path, other: Path):
    install(empty, other)
    status, lines = report(empty, installing.ROOT)
    assert status == 1 and "another book's package d2l 1.0.3" in lines[0]
    assert lines[0].endswith("pip uninstall d2l'")


def test_report_when_files_of_another_book_replaced_the_library(
    empty: Path, wheel: Path, tmp_path: Path
):
    install(empty, wheel)
    (module,) = empty.parents[1].glob("lib/python*/site-packages/d2l/torch.py")
    module.write_text(OTHER_LIBRARY)
    status, (line,) = report(empty, tmp_path)
    assert status == 1 and "another book's library has replaced the one in" in line


# The oldest releases


def test_the_oldest_releases_of_an_extra():
    oldest = ["jax==0.7.2", "flax==0.12", "optax==0.2.6", "orbax-checkpoint==0.11"]
    assert installing.oldest("jax") == oldest
    assert installing.oldest("mxnet") == ["mxnet==1.9.1", "numpy==1.23.5"]
    cpu, gpu = installing.oldest("tensorflow")
    assert cpu.startswith("tensorflow-cpu==2.19; platform_machine == 'x86_64'")
    assert gpu.startswith("tensorflow==2.19; platform_machine != 'x86_64'")


# make test-wheel


@pytest.mark.parametrize(
    "arguments, line",
    [
        ([], "error: TAB: name one of pytorch, jax, tensorflow, mxnet"),
        (["--tab", "torch"], "error: TAB: name one of pytorch, jax,"),
        (["--tab", "jax", "--python", "3.99"], "error: No interpreter found"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], line: str, capfd: pytest.CaptureFixture[str]
):
    assert installing.main(arguments) != 0
    lines = capfd.readouterr().err.splitlines()
    # A process that an earlier test started may also still write to stderr.
    (error,) = [each for each in lines if each.startswith("error")]
    assert error.startswith(line)
    assert not any(each.startswith("Traceback") for each in lines)
