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


@pytest.mark.parametrize(
    "text",
    [
        *("See :numref:`no`.", "[3 ms]{.cited id=no}.", "[**Never closed."),
        *("See :cite:`None.2026`.", ":begin_tab:`jax`", "[a]{.nomark}"),
    ],
)
def test_all_mistakes_of_a_text_are_told_in_one_run(make_book, capsys, text):
    make_book(one=f"# One\n\nIt simply works.\n\n{text}\n", two="# Two\n\nSimply so.\n")
    assert main(["check"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: chapter/one.md:5: ")
    places = {line.split(": ")[1] for line in lines}
    assert {"chapter/one.md:5", "chapter/one.md:3", "chapter/two.md:3"} <= places
