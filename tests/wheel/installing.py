"""Test the library as users install it: a wheel, in a new environment.

    make test-wheel TAB=jax PYTHON=python3.13    # with the newest releases
    make test-wheel TAB=jax OLDEST=1             # with the oldest that are supported

The environment has what the wheel and its extra ask for, and the tools of the tests.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from book.base.environments import uv_command, uv_settings
from book.runner.errors import BookError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "d2l")
TESTS = (
    *("pyproject.toml", "config.ini", "tests/conftest.py", "tests/d2l"),
    *("chapter_gpus", "outputs", "environments", "book/__init__.py", "book/runner"),
)
COMPILED = shutil.ignore_patterns("__pycache__")  # another process may be writing them
GROUPS = PROJECT["dependency-groups"]


def build(folder: Path) -> Path:
    """Return the library's wheel, built in `folder` from a copy of its sources."""
    return build_sources(copied(SOURCES, folder / "sources"), folder)


def build_sources(sources: Path, folder: Path) -> Path:
    """Return the wheel of the project in `sources`, built without a network."""
    here = ("--no-build-isolation", "--python", sys.executable)
    uv("build", "--quiet", "--wheel", *here, "--out-dir", folder, sources)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path, python: str) -> Path:
    """Return the interpreter of a new environment in `folder`."""
    uv("venv", "--quiet", "--python", python, folder)
    return folder / "bin/python"


def install(python: Path, *packages: str | Path) -> None:
    uv("pip", "install", "--python", python, *packages)


def uv(*arguments: str | Path) -> None:
    command = [*uv_command(), *map(str, arguments)]
    subprocess.run(command, env=uv_settings(os.environ), check=True)


def copied(names: Sequence[str], folder: Path) -> Path:
    """Return `folder` with copies of these files and folders of the book."""
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=COMPILED)
        else:
            shutil.copy(ROOT / name, target)
    return folder


def oldest(tab: str) -> list[str]:
    """Return an extra's requirements: `a==1` for `a>=1,<3`."""
    return [re.sub(r">=([^,;]+),[^;]*", r"==\1", each) for each in EXTRAS[tab]]


def test(wheel: Path, tab: str, interpreter: Path, old: bool, folder: Path) -> int:
    """Test `wheel` in one framework; return the exit status of pytest.

    `interpreter` is that of an empty environment in `folder`.
    """
    tools = (*GROUPS["run"], *GROUPS.get(f"run-{tab}", ()))
    install(interpreter, f"{wheel}[{tab}]", *tools, *(oldest(tab) if old else ()))
    tests = copied(TESTS, folder / "tests")
    (packages,) = interpreter.parents[1].glob("lib/python*/site-packages")
    (tests / "d2l").symlink_to(packages / "d2l")
    command = [str(interpreter), "-m", "pytest", "tests/d2l", "--tab", tab]
    return subprocess.run(command, cwd=tests).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Test the wheel in one framework; return 0 if all tests pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tab")
    parser.add_argument("--python", default="python3.11")
    parser.add_argument("--oldest", choices=("0", "1"), default="0")
    given = parser.parse_args(arguments)
    if given.tab not in EXTRAS:
        print(f"error: TAB: name one of {', '.join(EXTRAS)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            interpreter = environment(folder / "environment", given.python)
            wheel = build(folder)
            return test(wheel, given.tab, interpreter, given.oldest == "1", folder)
        except subprocess.CalledProcessError as error:
            return int(error.returncode)  # uv has printed the reason
        except BookError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
