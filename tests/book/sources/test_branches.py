"""Each tab keeps only its own branches of `if tab.selected(...)` in a cell."""

import pytest

from book.base.errors import BookError
from book.sources.branches import select_branches

WHERE = "chapter/a.md:7"

CASES = {
    "if alone": (
        "x = 1\nif tab.selected('pytorch'):\n    y = 2  # two\nz = 3\n",
        "x = 1\ny = 2  # two\nz = 3\n",
        "x = 1\nz = 3\n",
    ),
    "several tabs": (
        "if tab.selected('jax', \"pytorch\"):\n    y = 2\n",
        "y = 2\n",
        "y = 2\n",
    ),
    "else": (
        "if tab.selected('pytorch'):\n    y = 2\nelse:\n    y = 3\n",
        "y = 2\n",
        "y = 3\n",
    ),
    "elif": (
        "if tab.selected('pytorch'):\n    y = 2\nelif tab.selected('jax'):\n"
        "    y = 3\nelse:\n    y = 4\n",
        "y = 2\n",
        "y = 3\n",
    ),
    "nested": (
        "if tab.selected('jax', 'pytorch'):\n    a = 1\n"
        "    if tab.selected('jax'):\n        b = 2\n    else:\n        b = 3\n",
        "a = 1\nb = 3\n",
        "a = 1\nb = 2\n",
    ),
    "in a method": (
        "class A:\n    def f(self):\n        if tab.selected('pytorch'):\n"
        "            return 1\n        if tab.selected('jax'):\n            return 2\n",
        "class A:\n    def f(self):\n        return 1\n",
        "class A:\n    def f(self):\n        return 2\n",
    ),
    "an empty body": (
        "def f():\n    if tab.selected('pytorch'):\n        g()\n",
        "def f():\n    g()\n",
        "def f():\n    pass\n",
    ),
    "an empty nested body": (
        "if tab.selected('jax', 'pytorch'):\n"
        "    if tab.selected('pytorch'):\n        g()\nx = 1\n",
        "g()\nx = 1\n",
        "x = 1\n",
    ),
    "not, and, or": (
        "if not tab.selected('jax'):\n    x = 1\n"
        "if tab.selected('jax') or tab.selected('mxnet'):\n    x = 2\n"
        "if not tab.selected('mxnet') and tab.selected('jax'):\n    y = 3\n",
        "x = 1\n",
        "x = 2\ny = 3\n",
    ),
    "an ordinary elif": (
        "if tab.selected('pytorch'):\n    x = 1\nelif n > 1:\n    x = 2\n"
        "else:\n    x = 3\n",
        "x = 1\n",
        "if n > 1:\n    x = 2\nelse:\n    x = 3\n",
    ),
    "an ordinary if first": (
        "if n > 1:\n    x = 1\nelif tab.selected('pytorch'):\n    x = 2\n"
        "elif n > 0:\n    x = 3\n",
        "if n > 1:\n    x = 1\nelse:\n    x = 2\n",
        "if n > 1:\n    x = 1\nelif n > 0:\n    x = 3\n",
    ),
    "on one line": (
        "if tab.selected('pytorch'): x = 1  # one\nelse: x = 2\n",
        "x = 1  # one\n",
        "x = 2\n",
    ),
    "a string keeps its lines": (
        'def f():\n    if tab.selected("pytorch"):\n        s = """a\n  b\n"""\n'
        "    return g(1,\n             2)\n",
        'def f():\n    s = """a\n  b\n"""\n    return g(1,\n             2)\n',
        "def f():\n    return g(1,\n             2)\n",
    ),
    "comments stay": (
        "# why\nif n:\n    pass\n# above\nif tab.selected('pytorch'):\n    # in\n"
        "    x = 1\n    # last\ny = 2\n",
        "# why\nif n:\n    pass\n# above\n# in\nx = 1\n# last\ny = 2\n",
        "# why\nif n:\n    pass\ny = 2\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_tab_gets_its_branch(name):
    source, pytorch, jax = CASES[name]
    for tab, expected in {"pytorch": pytorch, "jax": jax}.items():
        code, rows = select_branches(source, tab, WHERE)
        assert code == expected
        before = [line.strip() for line in source.split("\n")]
        for line, row in zip(code.split("\n"), rows, strict=True):
            # An empty body becomes `pass`, which comes from no line.
            if line.strip() not in ("", "pass", "else:"):
                assert line.strip() in before[row - 1]


def test_a_cell_without_branches_is_unchanged():
    source = "if n:   # odd  spacing\n   x = ( 1,\n  2)\n\n\n# end"
    rows = list(range(1, source.count("\n") + 2))
    assert select_branches(source, "jax", WHERE) == (source, rows)


MISTAKES = {
    "if tab.selected('jax') and n > 1:\n    x = 1\n": "cannot be combined with 'n > 1'",
    "x = 1 if tab.selected('jax') else 2\n": "outside an if",
    "if tab.selected(name):\n    x = 1\n": "takes names in quotes, not 'name'",
    "if tab.selected('jax')\n    x = 1\n": "not valid Python (expected ':')",
}


@pytest.mark.parametrize("source", MISTAKES)
@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_bad_branches_are_reported_in_every_tab(source, tab):
    with pytest.raises(BookError) as error:
        select_branches(source, tab, WHERE)
    assert str(error.value).startswith(f"{WHERE}: ")
    assert MISTAKES[source] in str(error.value)
    assert "\n" not in str(error.value)
