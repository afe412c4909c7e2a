"""All files of the project name the same versions."""

import configparser
import re
import tomllib
from pathlib import Path

import pypandoc
import pytest
import yaml

from book.base.environments import PYTHON_VERSION

ROOT = Path(__file__).parents[3]
TABS = ("pytorch", "mxnet", "jax", "tensorflow")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def conda():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())[
        "dependencies"
    ]
    return dict(d.split("=") if "=" in d else (d, None) for d in dependencies)


def pins(name):
    lines = (ROOT / f"environments/{name}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def test_python_is_the_same_everywhere(project, conda):
    major, minor = PYTHON_VERSION.split(".")
    assert conda["python"] == PYTHON_VERSION
    assert project["project"]["requires-python"] == (
        f">={PYTHON_VERSION},<{major}.{int(minor) + 1}"
    )
    assert project["tool"]["mypy"]["python_version"] == PYTHON_VERSION
    assert project["tool"]["ruff"]["target-version"] == f"py{major}{minor}"


def test_conda_installs_the_system_tools(conda):
    assert {"make", "git", "librsvg"} <= set(conda)
    assert any("tex" in name for name in conda)
    assert conda["uv"] == pins("uv")["uv"]
    assert conda["pandoc"] == pypandoc.get_pandoc_version()


@pytest.mark.parametrize("tab", TABS)
def test_the_package_requires_the_versions_of_its_tab(project, tab):
    requirements = project["project"]["optional-dependencies"][tab]
    locked = pins(tab)
    for requirement in requirements:
        name, version = requirement.split("==")
        assert locked[name] == version, requirement


@pytest.mark.parametrize("tab", TABS)
def test_an_environment_can_run_notebooks_and_the_package(project, tab):
    needed = {*project["project"]["dependencies"], "ipykernel", "nbclient", "pytest"}
    assert needed <= set(pins(tab))


def test_shared_tools_have_one_version_in_book_and_test():
    book, test = pins("book"), pins("test")
    assert book.items() <= test.items()


@pytest.mark.parametrize("name", ["book", "test", *TABS])
def test_every_requirement_is_pinned(name):
    source = (ROOT / f"environments/{name}.in").read_text()
    required = re.findall(r"^([A-Za-z][\w.-]*)", source, re.MULTILINE)
    locked = {pin.replace("_", "-").lower() for pin in pins(name)}
    assert {name.replace("_", "-").lower() for name in required} <= locked


def test_the_release_is_the_version_of_the_package():
    config = configparser.ConfigParser()
    config.read(ROOT / "config.ini")
    release = config["project"]["release"]
    assert f'__version__ = "{release}"' in (ROOT / "d2l/__init__.py").read_text()
    assert f"version: {release}" in (ROOT / "CITATION.cff").read_text()


def test_the_readme_names_the_pinned_versions(project):
    readme = (ROOT / "README.md").read_text()
    for tab in TABS:
        for requirement in project["project"]["optional-dependencies"][tab]:
            if not requirement.startswith("numpy"):
                assert requirement.replace("==", " ") in readme
