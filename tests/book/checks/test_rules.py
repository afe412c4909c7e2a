"""`make check` applies every rule."""

from pathlib import Path

import pytest

from book.__main__ import main
from book.checks import rules


def test_every_module_of_rules_is_applied():
    modules = {file.stem for file in Path(rules.__file__).parent.glob("*.py")}
    applied = {rule.__module__ for rule in (*rules.FOR_BUILDS, *rules.FOR_AUTHORS)}
    named = {name.rpartition(".")[2] for name in applied}
    assert modules - named == {"__init__", "rules"}


def test_the_command_reports_each_problem_in_a_line(make_book, capsys):
    make_book(one="# One\n\nIt simply works.\n\nNote that it is.\n")
    assert main(["check"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: chapter/one.md:3: 'simply' is a word to avoid; ")
    assert lines[1].startswith(
        "error: chapter/one.md:5: 'Note that' is a word to avoid; "
    )


@pytest.mark.parametrize("text", ["See :numref:`no`.", "[3 ms]{.cited id=no}."])
def test_problems_of_builds_come_first_and_alone(make_book, capsys, text):
    make_book(one=f"# One\n\nIt simply works.\n\n{text}\n")
    assert main(["check"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: chapter/one.md:5: ")
