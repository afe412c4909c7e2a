"""The environments for readers have what they list, and what the sections import."""

import ast
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from book.base import environments
from book.text.book import Book

ROOT = Path(__file__).parents[2]
FILES = {
    "environment.yml": ("pytorch", "jax", "tensorflow"),
    "environments/mxnet.yml": ("mxnet",),
}
# Notebooks install what Numba's kernels need where a section needs it.
ON_DEMAND = {"numba", "numba_cuda", "cuda"}
IMPORTS = """
import ast, importlib, sys
for name in ast.literal_eval(sys.stdin.read()):
    importlib.import_module(name)
"""


def pip_lines(file: Path) -> list[str]:
    """Return what conda hands to pip."""
    dependencies = yaml.safe_load(file.read_text())["dependencies"]
    (pip,) = (entry["pip"] for entry in dependencies if isinstance(entry, dict))
    return pip


def imports(tab: str) -> set[str]:
    """Return the packages that the cells of a tab import."""
    book = Book(ROOT)
    cells = (cell for section in book.sections for cell in book.cells(section, tab))
    found: set[str] = set()
    for node in (n for cell in cells for n in ast.walk(ast.parse(cell.python))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found - ON_DEMAND


def call(command: list[str], env: dict[str, str], folder: Path, text: str = ""):
    return subprocess.run(
        command, env=env, cwd=folder, input=text, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", FILES)
def test_each_package_has_a_pin(name):
    constraint, *packages = pip_lines(ROOT / name)
    pins = (ROOT / name).parent / constraint.removeprefix("--constraint ")
    pinned = {line.partition("==")[0] for line in pins.read_text().splitlines()}
    assert {p.partition(";")[0].lower() for p in packages} <= pinned


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_an_environment_imports_what_the_sections_import(name, tmp_path):
    uv = environments.uv_command(ROOT)
    settings = environments.uv_settings(os.environ)
    python = tmp_path / "venv/bin/python"
    # pip reads the list beside the file, as conda lets it.
    requirements = (ROOT / name).with_name("requirements.tmp.txt")
    requirements.write_text("\n".join(pip_lines(ROOT / name)))
    try:
        for command in (
            ["venv", "--python", "3.11", str(tmp_path / "venv")],
            ["pip", "install", "--python", str(python), "-r", requirements.name],
            ["pip", "check", "--python", str(python)],
        ):
            done = call([*uv, *command], settings, requirements.parent)
            assert done.returncode == 0, done.stderr[-2000:]
    finally:
        requirements.unlink()
    for tab in FILES[name]:
        modules = imports(tab) | {"jupyterlab", "ipykernel"}
        command = [str(python), "-c", IMPORTS]
        done = call(command, settings, ROOT, repr(sorted(modules)))
        assert done.returncode == 0, done.stderr[-2000:]
