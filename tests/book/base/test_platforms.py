"""Each environment can be installed on the systems that README names, and on no other.

uv chooses the files of a system that need not be this one, and installs none of them.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from book.base import environments

ROOT = environments.ROOT
# Their oldest releases are those that README names.
SYSTEMS = {
    "Linux, x86-64": ("x86_64-manylinux_2_28", ""),
    "Linux, ARM": ("aarch64-manylinux_2_28", ""),
    "macOS, Apple silicon": ("aarch64-apple-darwin", "14.0"),
    "macOS, Intel": ("x86_64-apple-darwin", "14.0"),
    "Windows": ("x86_64-pc-windows-msvc", ""),
}
NAMES = sorted(p.stem for p in ROOT.glob("environments/*.txt") if p.stem != "uv")
# The first three have no wheels at all. A C compiler builds the others where they have
# none.
SOURCES = ("font-roboto", "mxtheme", "pandoc-attributes", "rcssmin", "rjsmin")
INTEL_SOURCES = ("argon2-cffi-bindings",)
# These lack a wheel of a framework; `plans` is for those who change the book.
MISSING = {
    "macOS, Apple silicon": {"mxnet", "reader-mxnet", "plans"},
    "macOS, Intel": {"pytorch", "jax", "tensorflow", "mxnet", "plans", "reader"},
    "Windows": {"mxnet", "reader-mxnet", "plans"},
}
# The columns and the rows of README's table, and the environments that each row needs.
COLUMNS = {
    "Linux on x86-64 or ARM": ("Linux, x86-64", "Linux, ARM"),
    "macOS 14 or newer, Apple silicon": ("macOS, Apple silicon",),
    "Mac with Intel": ("macOS, Intel",),
}
ROWS = {
    "`make`, `pdf`, `slides`, `notebooks`": {"book"},
    "`lab`, `live`: PyTorch, JAX, TensorFlow": {"pytorch", "jax", "tensorflow"},
    "`lab`, `live`: MXNet": {"mxnet"},
    "conda: `environment.yml`": {"reader"},
    "conda: `environments/mxnet.yml`": {"reader-mxnet"},
}
FRAMEWORK = r"Because (mxnet|torch|jaxlib|jax-cuda12-pjrt|llvmlite)==\S+ has no"
FIRST_LAB = ("macOS, Apple silicon", "pytorch")  # the only one in `make test`


def install(system: str, name: str, folder: Path) -> str:
    """Return why an environment cannot be installed on a system, or an empty text."""
    platform, macos = SYSTEMS[system]
    built = SOURCES + (INTEL_SOURCES if system == "macOS, Intel" else ())
    command = [*environments.uv_command(ROOT), "pip", "install", "--dry-run", "--quiet"]
    command += ["--python-platform", platform, "--only-binary", ":all:"]
    command += [f"--no-binary={package}" for package in built]
    pins = environments.pins_file(name, ROOT)
    settings = environments.uv_settings(os.environ) | {
        "MACOSX_DEPLOYMENT_TARGET": macos
    }
    settings.pop("UV_FIND_LINKS", None)  # wheels of this machine only
    done = subprocess.run(
        [*command, "--target", str(folder), "-r", str(pins)],
        env=settings,
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode else ""


CASES = [
    # One of them is a part of `make test`: the first lab on a Mac.
    pytest.param(
        *(system, name),
        marks=[pytest.mark.slow]
        * ((system, name) != ("macOS, Apple silicon", "pytorch")),
        id=f"{system}: {name}",
    )
    for system in SYSTEMS
    for name in NAMES
]


@pytest.mark.parametrize("system, name", CASES)
def test_an_environment_installs_on_the_systems_that_have_its_framework(
    system: str, name: str, tmp_path: Path
):
    reason = install(system, name, tmp_path)
    if name in MISSING.get(system, ()):
        assert re.search(FRAMEWORK, reason), reason[-1000:]
    else:
        assert not reason, reason[-1000:]


def table(readme: str) -> dict[str, dict[str, str]]:
    """Return README's table of systems: the cells of each row by their columns."""
    after = readme.partition("exist for these systems:")[2]
    lines = after.strip().split("\n\n")[0].splitlines()
    (_, *columns), _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines
    )
    return {name: dict(zip(columns, cells, strict=True)) for name, *cells in rows}


def wrong_cells(readme: str) -> list[tuple[str, str]]:
    """Return the rows and columns of README's table that contradict `MISSING`."""
    return [
        (row, column)
        for row, cells in table(readme).items()
        for column, cell in cells.items()
        for system in COLUMNS[column]
        if cell.partition(",")[0] != says(ROWS[row], MISSING.get(system, set()))
    ]


def says(needed: set[str], missing: set[str]) -> str:
    """Return what the cell of such packages says; 'some' is no answer."""
    if needed <= missing:
        return "no"
    return "some" if needed & missing else "yes"


def test_readme_says_what_installs_where():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert table(readme).keys() == ROWS.keys()
    assert not wrong_cells(readme)


@pytest.mark.parametrize(
    "row, old, new, column",
    [
        ("`lab`, `live`: MXNet", "| no | no |", "| yes | no |", "macOS 14 or newer"),
        ("conda: `environment.yml`", "yes | no |", "yes | yes |", "Mac with Intel"),
    ],
)
def test_a_wrong_cell_is_found(row: str, old: str, new: str, column: str):
    readme = (ROOT / "README.md").read_text("utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith(f"| {row} |"))
    assert old in line
    ((found_row, found),) = wrong_cells(readme.replace(line, line.replace(old, new)))
    assert found_row == row and found.startswith(column)
