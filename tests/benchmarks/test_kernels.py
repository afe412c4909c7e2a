"""Tests of the bench of kernels without a GPU: definitions, ratios, the message."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import kernels
from book.sources.section import Section

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


@pytest.mark.parametrize("tab", ["pytorch"])
def test_the_section_defines_what_the_bench_times(tab):
    code = "\n".join(kernels.definitions(each, tab) for each in kernels.SECTIONS)
    compile(code, "kernels.py", "exec")
    for name in ("add", "matmul", "softmax", "attention"):
        assert f"\ndef {name}(" in code


def test_the_table_shows_the_median_and_the_spread_of_the_ratios(found):
    last = kernels.table(found).splitlines()[-1]
    assert last == "| sum | 2.00 (1.10 to 3.00) | 1.000 ms |"


def test_a_machine_without_a_gpu_gets_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    monkeypatch.setattr(kernels, "measure", lambda *_: {"gpu": None})
    options = Namespace(python=Path(sys.executable), rounds=1)
    kernels.report("pytorch", options)
    assert capsys.readouterr().out == (
        "bench-kernels needs a GPU; pytorch finds none on this machine\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_failure_is_reported_in_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["kernels", "--python", str(tmp_path / "python")])
    (tmp_path / "python").write_text(
        "#!/bin/sh\necho 'ImportError: no torch' >&2\nexit 1"
    )
    (tmp_path / "python").chmod(0o755)
    assert kernels.main() == 1
    assert capsys.readouterr().err == (
        "error: the kernels of pytorch failed: ImportError: no torch\n"
    )
