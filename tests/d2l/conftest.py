"""The tests of the library, one framework a run.

`.venvs/jax/bin/python -m pytest tests/d2l --tab jax`. Without `--tab` the framework is
the one that this interpreter can import. No GPU is needed: where a test wants one, a
second, virtual device of the framework takes its place.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from frameworks import FRAMEWORKS, Framework

CHOSEN = pytest.StashKey[Framework]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tab", choices=list(FRAMEWORKS), help="the framework to test")


def chosen_tab(config: pytest.Config) -> str:
    """Return the tab given, or the only one that can be imported."""
    tab = config.getoption("--tab", default=None)
    if tab is not None:
        return tab
    here = [t for t, f in FRAMEWORKS.items() if importlib.util.find_spec(f.package)]
    if len(here) != 1:
        found = ", ".join(here) or "none"
        raise pytest.UsageError(
            f"tests/d2l needs --tab, one of {', '.join(FRAMEWORKS)}; "
            f"frameworks that {sys.executable} can import: {found}"
        )
    return here[0]


def framework(config: pytest.Config) -> Framework:
    """Return the framework of this run, with its virtual devices made."""
    if CHOSEN not in config.stash:
        chosen = FRAMEWORKS[chosen_tab(config)]
        os.environ["MPLBACKEND"] = "Agg"
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        config.stash[CHOSEN] = chosen()
        config.stash[CHOSEN].prepare()
    return config.stash[CHOSEN]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect test_TAB.py and test_..._TAB.py only when TAB is being tested.

    Collect test_zoo.py only if there is a zoo_TAB.py.
    """
    if collection_path.name == "test_zoo.py":
        zoo = collection_path.with_name(f"zoo_{chosen_tab(config)}.py")
        return None if zoo.exists() else True
    tab = collection_path.stem.rpartition("_")[2]
    if tab not in FRAMEWORKS:
        return None
    return True if tab != framework(config).tab else None


# Code that is the same in all libraries is tested in this one;
# tests/book/library/test_alike.py compares the libraries.
SHARED = "pytorch"


# The files of these subjects are not part of `make test`.
SLOW = (
    *("ranks", "kernels", "memory", "precision", "operations", "performance"),
    *("plans", "collectives", "quick_guide", "original_book", "fashion_mnist"),
    "report",
)


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark slow tests; leave out tests of code that another framework's run tests."""
    for item in items:
        if item.path.stem.removeprefix("test_").startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    if chosen_tab(config) == SHARED:
        return
    left = [item for item in items if item.get_closest_marker("shared")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of a `case` on each model of this framework, with and without GPU."""
    if "case" in metafunc.fixturenames:
        chosen = framework(metafunc.config)
        pairs = [(case, n) for case in chosen.cases() for n in chosen.case_gpus]
        names = [f"{case.name}-{n}" for case, n in pairs]
        metafunc.parametrize("case, num_gpus", pairs, ids=names)
    if "entry" in metafunc.fixturenames:
        entries = framework(metafunc.config).zoo.ZOO
        name = metafunc.function.__name__
        params = [pytest.param(e, id=e.name, marks=marks(e, name)) for e in entries]
        metafunc.parametrize("entry", params)


def marks(entry: Any, test: str) -> list:
    """Return the marks of a test, given by its name, on an entry of the zoo."""
    found = [] if entry.thin else [pytest.mark.slow]
    return found + [
        pytest.mark.xfail(reason=reason, strict=True) for reason in entry.reasons(test)
    ]


@pytest.fixture
def fw(request: pytest.FixtureRequest) -> Framework:
    """The framework of this run, its random numbers seeded."""
    chosen = framework(request.config)
    chosen.seed(0)
    return chosen


@pytest.fixture
def d2l(fw: Framework) -> ModuleType:
    """The library of this run."""
    return fw.d2l


@pytest.fixture
def fake_gpu(fw: Framework, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A device that the library takes for the only GPU, and can compute on."""
    fw.pretend(monkeypatch, fw.second)
    return fw.second


@pytest.fixture
def memory(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what `python -m d2l memory` prints, with the arguments of a test."""
    from d2l import __main__ as command

    def run(*arguments: str) -> str:
        assert command.main(["memory", *arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Close what a test has plotted."""
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(autouse=True, scope="module")
def no_compiled_programs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Free the programs that a file has compiled: a process can map 65,530 regions."""
    yield
    framework(request.config).free_programs()
