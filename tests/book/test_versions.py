"""All files of the project name the same versions."""

import configparser
import re
import tomllib
from pathlib import Path

import pypandoc
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book.base import environments
from book.base.environments import PYTHON_VERSION
from book.publish import changelog

ROOT = Path(__file__).parents[2]
TABS = ("pytorch", "mxnet", "jax", "tensorflow")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def conda():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())[
        "dependencies"
    ]
    own = [d for d in dependencies if isinstance(d, str)]  # the other one is pip's
    return {d.partition("=")[0]: d.partition("=")[2] or None for d in own}


def pins(name):
    """Return the version of each package of an environment on this system."""
    here = environments.pins_on(None, name, ROOT)
    return dict(pin.split("==") for pin in here)


def test_python_is_the_same_everywhere(project, conda):
    major, minor = PYTHON_VERSION.split(".")
    assert conda["python"] == PYTHON_VERSION
    assert project["project"]["requires-python"] == f">={PYTHON_VERSION}"
    assert project["tool"]["mypy"]["python_version"] == PYTHON_VERSION
    assert project["tool"]["ruff"]["target-version"] == f"py{major}{minor}"


def test_conda_installs_the_system_tools(conda):
    assert {"make", "git", "librsvg"} <= set(conda)
    assert any("tex" in name for name in conda)
    assert conda["uv"] == pins("uv")["uv"]
    assert conda["pandoc"] == pypandoc.get_pandoc_version()


def extra(project, tab):
    """Return what the package asks for on this machine with an extra."""
    listed = map(Requirement, project["project"]["optional-dependencies"][tab])
    return [r for r in listed if r.marker is None or r.marker.evaluate()]


@pytest.mark.parametrize("tab", TABS)
def test_the_package_accepts_the_versions_of_its_tab(project, tab):
    locked = pins(tab)
    wanted = extra(project, tab)
    assert wanted
    assert [r.name for r in wanted if not r.specifier.contains(locked[r.name])] == []


@pytest.mark.parametrize("tab", TABS)
def test_an_environment_can_run_notebooks_and_the_package(project, tab):
    needed = {*project["project"]["dependencies"], *project["dependency-groups"]["run"]}
    assert needed <= set(pins(tab))


def test_shared_tools_have_one_version_in_book_and_test():
    book, test = pins("book"), pins("test")
    assert book.items() <= test.items()


@pytest.mark.parametrize("name", ["book", "test"])
def test_every_requirement_is_pinned(project, name):
    groups = project["dependency-groups"]
    listed = [r for r in groups[name] + groups["d2lbook"] if isinstance(r, str)]
    asked = {canonicalize_name(Requirement(r).name) for r in listed}
    assert asked <= {canonicalize_name(pin) for pin in pins(name)}


def test_the_release_is_the_version_of_the_package():
    config = configparser.ConfigParser()
    config.read(ROOT / "config.ini")
    release = config["project"]["release"]
    assert f'__version__ = "{release}"' in (ROOT / "d2l/__init__.py").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == release
    newest = next(version for version in changelog.read(ROOT) if version.number)
    assert (newest.number, newest.date) == (release, citation["date-released"])


def test_the_citation_names_the_book():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    title = (ROOT / "index.md").read_text("utf-8").partition("\n")[0]
    assert f"# {citation['title']}" == title


def test_the_compiler_for_gpus_fits_jax():
    jax, plans = pins("jax"), pins("plans")
    assert jax.items() <= plans.items()
    assert plans["jax-cuda12-plugin"] == plans["jax-cuda12-pjrt"] == jax["jax"]
    added = set(plans) - set(jax)
    assert added == {"jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12"}


# A name in prose and the package that has it.
PACKAGES = {
    "PyTorch": "torch",
    "torch": "torch",
    "JAX": "jax",
    "jax": "jax",
    "flax": "flax",
    "optax": "optax",
    "orbax-checkpoint": "orbax-checkpoint",
    "TensorFlow": "tensorflow-cpu",
    "tensorflow": "tensorflow-cpu",
    "tensorflow-cpu": "tensorflow-cpu",
    "Keras": "keras",
    "MXNet": "mxnet",
    "mxnet": "mxnet",
    "mxnet-cu117": "mxnet",
    "numpy": "numpy",
    "triton": "triton",
    "jax-cuda12-plugin": "jax",
    "d2lbook": "d2lbook",
}
NAMED = re.compile(
    r"(since )?(?<![\w-])(" + "|".join(map(re.escape, PACKAGES)) + r")(?:\[[\w-]+\])?"
    r"(?:==| )(\d+(?:\.\d+)+)(?! GB)"
)
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "config.ini",
    "pyproject.toml",
    "environment.yml",
)
PUBLISHED = "published.js"  # other people's measurements, in their versions


@pytest.fixture(scope="module")
def locked():
    """Return the versions that the environments of the book and of each tab pin."""
    found: dict[str, set[str]] = {}
    for name in ("book", *TABS):
        for package, version in pins(name).items():
            found.setdefault(package, set()).add(version)
    return found


def test_texts_name_the_versions_of_the_environments(locked):
    files = [ROOT / name for name in TEXTS]
    files += [*ROOT.glob("chapter_gpus/*.md"), *ROOT.glob("book/notebooks/*.py")]
    files += [f for f in ROOT.glob("static/explorables/*.js") if f.name != PUBLISHED]
    wrong, seen = [], set[str]()
    for file in files:
        for since, name, version in NAMED.findall(file.read_text()):
            if since:  # a release of the past
                continue
            seen.add(name)
            known = locked[PACKAGES[name]]
            # Prose may leave out the last part: PyTorch 2.13.
            if not any(f"{v}.".startswith(f"{version}.") for v in known):
                wrong.append(f"{file.name}: {name} {version}, not {sorted(known)}")
    assert not wrong
    assert {"PyTorch", "jax", "MXNet", "tensorflow", "Keras"} <= seen
