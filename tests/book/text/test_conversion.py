"""d2lbook converts cells to a tab, and what it would misread is a problem."""

import pytest

from book.runner.errors import BookError
from book.text.blocks import Cell
from book.text.conversion import BRANCHES, TabCode, convert

SETTINGS = {
    "lib_name": "lib",
    "simple_alias": "sinh, sin, exp -> power, log",
    "fluent_alias": "numpy -> detach().numpy, to",
    "args_alias": "size(a_x) -> lib.size(a_x)",
}


def converted(code: str, tab: str = "jax") -> TabCode:
    """Return what a tab has of a cell for all tabs."""
    rows = tuple(range(1, code.count("\n") + 2))
    cell = Cell(line=1, source=code, number=1, code=code, rows=rows)
    return convert([cell], tab, SETTINGS)[1]


# The code in PyTorch and that in JAX.
BRANCHED = {
    "if alone": (
        "x = 1\nif tab.selected('pytorch'):\n    y = 2  # two\nz = 3",
        "x = 1\ny = 2  # two\nz = 3",
        "x = 1\nz = 3",
    ),
    "several tabs": (
        "if tab.selected('jax', \"pytorch\"):\n    y = 2\nx = 1",
        *("y = 2\nx = 1", "y = 2\nx = 1"),
    ),
    "elif": (
        "if tab.selected('pytorch'):\n    y = 2\nelif tab.selected('jax'):\n    y = 3",
        *("y = 2", "y = 3"),
    ),
    "in a method": (
        "class A:\n    def f(self):\n        if tab.selected('pytorch'):\n"
        "            # in\n            return 1\n\n        return 2",
        "class A:\n    def f(self):\n"
        "        # in\n        return 1\n\n        return 2",
        "class A:\n    def f(self):\n        return 2",
    ),
    "with a command": (
        "!ls\nif tab.selected('pytorch'):\n    x = f(y,\n          z)\nx = 1",
        *("!ls\nx = f(y,\n      z)\nx = 1", "!ls\nx = 1"),
    ),
}


@pytest.mark.parametrize("name", BRANCHED)
def test_each_tab_gets_its_branch_with_its_rows(name):
    source, *expected = BRANCHED[name]
    before = [line.strip() for line in source.split("\n")]
    for tab, code in zip(("pytorch", "jax"), expected, strict=True):
        found = converted(source, tab)
        assert (found.code, found.problems) == (code, [])
        after = [line.strip() for line in code.split("\n")]
        assert [before[row - 1] for row in found.rows] == after


def test_aliases_are_replaced_and_rows_follow():
    found = converted("y = d2l.exp(x)\nd2l.to(x,\n    2)\n# z\nd2l.size(d2l.sinh(y))")
    assert found.code == "y = lib.power(x)\nx.to(2)\n# z\nlib.size(lib.sinh(y))"
    assert (found.rows, found.problems) == ([1, 2, 4, 5], [])


def test_rows_are_within_the_cell_even_if_its_end_is_at_the_start_of_the_tab():
    branch = "if tab.selected('jax'):\n    {}"
    lines = ["a", branch.format("b"), "c", "d2l.exp(1)", "d2l.exp(2)"]
    source = "\n".join([*lines, branch.format("a"), "    c"])
    found = converted(source, "pytorch")
    assert found.code == "a\nc\nlib.power(1)\nlib.power(2)"
    assert set(found.rows) <= set(range(1, 10))


def test_other_code_is_unchanged():
    source = "%%time\nif n:   # odd  spacing\n   x = ( 1,\n  d2l.other(2))\n\n\n# end"
    assert converted(source) == TabCode(source, [1, 2, 3, 4, 5, 6, 7], [])


MISREAD = {
    "else": "if tab.selected('jax'):\n    x = 1\nelse:\n    x = 2",
    "nested": "if tab.selected('jax'):\n    if tab.selected('jax'):\n        x = 1",
    "not": "if not tab.selected('jax'):\n    x = 1",
    "and": "if tab.selected('jax') and n:\n    x = 1",
    "after an ordinary if": "if n:\n    x = 1\nelif tab.selected('jax'):\n    x = 2",
    "outside an if": "x = 1 if tab.selected('jax') else 2",
    "without an if": "x = tab.selected('jax')",
    "on one line": "if tab.selected('jax'): x = 1",
    "a name": "if tab.selected(jax):\n    x = 1",
    "two spaces": "if tab.selected('jax'):\n  x = 1",
    "nothing left": "def f():\n    if tab.selected('jax'):\n        x = 1",
    "text of several lines": "if tab.selected('jax'):\n    x = '''\n    a\n  b'''",
}


@pytest.mark.parametrize("name", MISREAD)
def test_branches_that_d2lbook_misreads_are_problems(name):
    found = [converted(f"y = 0\n{MISREAD[name]}", t) for t in ("pytorch", "jax")]
    row = 2 + MISREAD[name][: MISREAD[name].index("tab.")].count("\n")
    assert (row, BRANCHES) in [problem for code in found for problem in code.problems]


# The cell, and the row and the beginning of its problem.
PROBLEMS = {
    "prefix": (
        "x = 1\ny = d2l.explain(x)",
        *(2, "d2lbook takes 'd2l.explain' for its alias 'exp'; rename it, or move"),
    ),
    "prefix of a name alike": ("d2l.sinus()", 1, "d2lbook takes 'd2l.sinus' for its"),
    "syntax": (
        "if tab.selected('pytorch'):\n    x = 1\ny = d2l.to(",
        *(3, "not valid Python ('(' was never closed); correct it"),
    ),
    "syntax below an alias": (
        "y = d2l.to(x)\nif x\n",
        *(2, "not valid Python (expected ':'); correct it"),
    ),
    "argument": ("d2l.to()", 1, "d2lbook fails (IndexError: list index out of range);"),
    "tabulator": ("if tab.selected('jax'):\n\tx = 1", 1, "d2lbook fails (Assertion"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_other_problems_are_one_line_with_their_row(name):
    source, row, message = PROBLEMS[name]
    ((found, text),) = converted(source).problems
    assert found == row and text.startswith(message) and "\n" not in text


def test_names_that_only_look_like_aliases_are_no_problem():
    source = (
        "def expand(x):  #@save\n    return together(d2l.together(x), d2l.total)\n"
        "if tab.selected('pytorch'):\n    y = d2l.explain(x)"
    )
    assert converted(source).problems == []


def test_an_alias_that_d2lbook_cannot_read_is_reported():
    message = r"^config.ini \[library-jax\]: wrong alias; not valid Python \("
    with pytest.raises(BookError, match=message):
        convert([], "jax", SETTINGS | {"args_alias": "size(a -> a.size"})
