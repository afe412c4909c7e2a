"""`make mutate` plants faults, and runs the tests that are nearest to a module."""

from pathlib import Path

import libcst
import pytest
from mutation import mutants, survivors

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "pattern, shorter",
    [
        ("no bar (here)[|]", []),
        ("a|b", ["b", "a"]),
        (r"a(?:b|\||c)d", [r"a(?:\||c)d", "a(?:b|c)d", r"a(?:b|\|)d"]),
        ("(?P<n>[(|]|a)|b", ["(?P<n>a)|b", "(?P<n>[(|])|b", "b", "(?P<n>[(|]|a)"]),
    ],
)
def test_a_pattern_loses_each_of_its_alternatives(pattern: str, shorter: list[str]):
    found = mutants.without_alternatives(libcst.SimpleString(f'r"{pattern}"'))
    assert [node.value for node in found] == [f'r"{text}"' for text in shorter]


def test_mutants_are_the_same_again_and_name_their_place():
    path = ROOT / "book" / "facts" / "map.py"
    lines = path.read_text("utf-8").splitlines()
    chosen = mutants.choose([path], 5)
    assert len(chosen) == 5 and chosen == mutants.choose([path], 5)
    for mutant in chosen:
        assert ROOT / mutant["file"] == path
        assert mutant["diff"][0] == f"-{lines[mutant['line'] - 1]}"


@pytest.mark.parametrize(
    "module, tests",
    [
        ("facts points", ["facts/test_points.py"]),
        ("facts map", ["checks/test_contents.py"]),
        ("text parsing", ["checks/test_markup.py", "text/test_parsing.py"]),
    ],
)
def test_the_nearest_tests_have_a_modules_name_or_import_it(
    module: str, tests: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    room, name = module.split()  # not as a path, which would make this file the nearest
    found = survivors.nearest(Path("book", room, f"{name}.py"))
    assert found == [f"tests/book/{test}" for test in tests]


def test_every_module_has_a_nearest_test_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    modules = (p.relative_to(ROOT) for p in mutants.sources(["book", "d2l"]))
    files = [module for module in modules if module.name != "__init__.py"]
    assert [module for module in files if not survivors.nearest(module)] == []


def test_a_run_that_does_not_end_is_given_up():
    assert survivors.forked(lambda: [1]) == [1]
    assert survivors.forked(lambda: 1 / 0) == survivors.STUCK
    assert survivors.forked(lambda: exec("while True: pass"), 0.1) == survivors.STUCK
