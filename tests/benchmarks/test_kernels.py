"""Tests of the bench of kernels without a GPU: definitions, ratios, the message."""

import sys
from pathlib import Path

import pytest

from benchmarks import kernels
from book.text.section import Section

ROOT = Path(__file__).parents[2]
SECTION = """# A section

```{.python .input}
%%tab pytorch
import math
from collections import namedtuple
Pair = namedtuple('Pair', 'a b')
x = math.inf

@decorated
def ours(x):
    return x
print(ours(1))
```

```{.python .input}
%%tab jax
def theirs(x):
    return x
```
"""


@pytest.fixture
def section(tmp_path):
    """Return a section with definitions and statements in two tabs."""
    path = tmp_path / "section.md"
    path.write_text(SECTION)
    return Section("section", path)


@pytest.fixture
def found():
    """Return what a machine with a GPU reports."""
    times = {"sum": [[2.0, 1.0], [3.0, 1.0], [2.2, 2.0]]}
    return {"gpu": "a GPU", "versions": "torch 2", "rounds": 3, "times": times}


def test_definitions_are_those_of_the_tab_with_their_decorators(section):
    code = kernels.definitions(section, "pytorch")
    assert "@decorated\ndef ours(x):" in code
    assert "Pair = namedtuple" in code and "import math" in code
    assert "theirs" not in code


def test_definitions_run_nothing(section):
    code = kernels.definitions(section, "pytorch")
    assert "print" not in code and "math.inf" not in code


def test_the_table_shows_the_median_and_the_spread_of_the_ratios(found):
    last = kernels.table(found).splitlines()[-1]
    assert last == "| sum | 2.00 (1.10 to 3.00) | 1.000 ms |"


def test_a_machine_without_a_gpu_gets_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    monkeypatch.setattr(kernels, "measure", lambda *_: {"gpu": None})
    monkeypatch.setattr(kernels.environments, "python", lambda _: Path(sys.executable))
    monkeypatch.setattr(sys, "argv", ["kernels", "--tab", "pytorch,jax"])
    assert kernels.main() == 1
    said = capsys.readouterr()
    advice = "use a machine with one, and its Python as PYTHON="
    assert said.err == (f"error: pytorch jax: no GPU for the kernels; {advice}\n")
    assert said.out == ""
    assert not list(tmp_path.iterdir())


def test_a_tab_with_a_gpu_gets_a_table(monkeypatch, capsys, tmp_path, found):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    monkeypatch.setattr(kernels, "measure", lambda *_: found)
    monkeypatch.setattr(sys, "argv", ["kernels", "--tab", "jax", "--python", "python"])
    assert kernels.main() == 0
    printed = capsys.readouterr().out
    assert printed == kernels.table(found) + "\n"
    assert (tmp_path / "kernels-jax.md").read_text() == printed
